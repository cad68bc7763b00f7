// The tokenizer: byte-level BPE, digits one by one.

// JavaScript's own \s takes U+FEFF for a space and U+0085 for none.
const PIECES =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

function makeTokenizer(metadata) {
  const about = (name) => metadata[`tokenizer.ggml.${name}`];
  const kind = `${about("model")}, ${about("pre")}`;
  if (kind !== "gpt2, smollm") throw new Error(`the tokenizer must be gpt2, smollm, got ${kind}`);
  const [tokens, end] = [about("tokens"), about("eos_token_id")];
  const numbers = new Map(tokens.map((token, id) => [token, id]));
  const ranks = new Map(about("merges").map((pair, rank) => [pair, rank]));
  const alphabet = byteAlphabet();
  const words = (text) => splitWords(text, alphabet).flatMap((word) => merged(word, ranks));
  const encode = (text) =>
    text
      .split(tokens[end])
      .flatMap((part, i) => (i ? [tokens[end], ...words(part)] : words(part)))
      .map((token) => numbers.get(token));
  const spelt = tokens.map((token) => Uint8Array.from(token, (c) => alphabet.indexOf(c)));
  const stream = () => streamOf(spelt);
  const decode = (ids) => {
    const next = stream();
    return Array.from(ids, (id) => next(id)).join("") + next();
  };
  return { encode, decode, stream, piece: (id) => decode([id]), end };
}

// Each byte as a letter that can be seen: GPT-2's spelling, in which a space is "Ġ".
function byteAlphabet() {
  const isSeen = (byte) => byte > 32 && byte !== 173 && (byte < 127 || byte > 160);
  let unseen = 256;
  return times(256, (byte) => String.fromCharCode(isSeen(byte) ? byte : unseen++));
}

// Words as lists of letters. Digits first: what stands before one is split as if the text ended.
const splitWords = (text, alphabet) =>
  text
    .split(/(\p{N})/u)
    .flatMap((part) => part.match(PIECES) ?? [])
    .map((word) => Array.from(new TextEncoder().encode(word), (byte) => alphabet[byte]));

// Join the pair that was learned first, wherever it stands, until no neighbours are a pair.
function merged(parts, ranks) {
  const pairs = parts.slice(1).map((part, i) => `${parts[i]} ${part}`);
  const rank = (pair) => ranks.get(pair) ?? Infinity;
  const first = pairs.reduce((best, pair) => (rank(pair) < rank(best) ? pair : best), "");
  if (rank(first) === Infinity) return parts;
  const joined = [];
  for (let i = 0; i < parts.length; i += 1)
    joined.push(pairs[i] === first ? parts[i] + parts[++i] : parts[i]);
  return merged(joined, ranks);
}

// From each token to the text that it completes: a character may span tokens. No token: the rest.
function streamOf(spelt) {
  const decoder = utf8();
  return (id) => {
    if (id === undefined) return decoder.decode();
    checkBelow("a token", id, spelt.length);
    return decoder.decode(spelt[id], { stream: true });
  };
}

const utf8 = () => new TextDecoder("utf-8", { ignoreBOM: true }); // which keeps a U+FEFF
