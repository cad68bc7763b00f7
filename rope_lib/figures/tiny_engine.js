// A Llama in plain JavaScript: it takes tokens and says what may follow. It knows no base, no scaling and no precision: RoPE is two tables here.
//
// how = {cos, sin: Float32Array, a row a place in the text, a column a pair; layout: "interleaved"
//        or "half"; rotate: a boolean a layer; scale: of the scores, 1 if left out}
//
// Numbers are kept as float32 and summed as doubles, always in the same order: a text read at once
// and one read token by token give the same bits.

const BLOCK = 8; // tokens that share one reading of the weights

// ---- the model: its sizes, its weights, and room for one block of tokens

function makeModel({ metadata, tensors }) {
  const architecture = metadata["general.architecture"];
  if (architecture !== "llama")
    throw new Error(`the architecture must be llama, got ${architecture}`);
  const tokenizer = makeTokenizer(metadata);
  const about = (name) => metadata[`llama.${name}`];
  const [width, heads] = [about("embedding_length"), about("attention.head_count")];
  const sizes = {
    layers: about("block_count"),
    width,
    inner: about("feed_forward_length"),
    heads,
    headDim: width / heads,
    pairs: width / heads / 2,
    vocabulary: metadata["tokenizer.ggml.tokens"].length,
    trained: about("context_length"),
    base: about("rope.freq_base"),
  };
  for (const name of ["headDim", "inner", "vocabulary"])
    if (!(sizes[name] > 0) || sizes[name] % 4)
      throw new Error(`${name} must be a positive multiple of 4, got ${sizes[name]}`);
  const epsilon = about("attention.layer_norm_rms_epsilon");
  const room = roomFor(sizes);
  return { ...sizes, ...weightsOf(tensors, sizes), sizes, epsilon, tokenizer, room };
}

// The embedding is also the output.
function weightsOf(tensors, { layers, width, inner, vocabulary }) {
  const [all, count] = [2 + 9 * layers, Object.keys(tensors).length];
  if (count !== all) throw new Error(`the file must have ${all} tensors, got ${count}`);
  const take = (name, ...shape) => {
    const found = tensors[name]?.shape ?? "none";
    if (`${found}` !== `${shape}`) throw new Error(`${name} must be (${shape}), got (${found})`);
    return tensors[name].values;
  };
  const block = (layer) => {
    const of = (name, ...shape) => take(`blk.${layer}.${name}.weight`, ...shape);
    return {
      attn_norm: of("attn_norm", width),
      attn_q: of("attn_q", width, width),
      attn_k: of("attn_k", width, width),
      attn_v: of("attn_v", width, width),
      attn_output: of("attn_output", width, width),
      ffn_norm: of("ffn_norm", width),
      ffn_gate: of("ffn_gate", inner, width),
      ffn_up: of("ffn_up", inner, width),
      ffn_down: of("ffn_down", width, inner),
    };
  };
  return {
    embedding: take("token_embd.weight", vocabulary, width),
    output_norm: take("output_norm.weight", width),
    blocks: times(layers, block),
  };
}

function roomFor({ width, inner, vocabulary }) {
  const of = (size) => new Float32Array(BLOCK * size);
  const [x, normed, q, k, v, mixed, added] = times(7, () => of(width));
  const [gate, up, logits] = [of(inner), of(inner), of(vocabulary)];
  return { x, normed, q, k, v, mixed, added, gate, up, logits };
}

// The keys, rotated already, and the values of all tokens so far. A key is a row, a value a
// column: then a score and a mixture are both dot products of neighbouring numbers.
function emptyCache({ layers, width }, length) {
  const capacity = 4 * Math.ceil(length / 4);
  const perLayer = () => times(layers, () => new Float32Array(capacity * width));
  const weights = new Float32Array(capacity);
  return { length: 0, capacity, keys: perLayer(), values: perLayer(), weights };
}

// ---- arithmetic

const SUMS = new Float64Array(4);

// Four dot products, of one row with four that lie a stride apart: no sum waits for another.
// Nearly all of the time goes here.
function fourDots(one, at, four, from, stride, size) {
  const [second, third, fourth] = [from + stride, from + 2 * stride, from + 3 * stride];
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < size; i += 1) {
    const x = one[at + i];
    a += x * four[from + i];
    b += x * four[second + i];
    c += x * four[third + i];
    d += x * four[fourth + i];
  }
  SUMS[0] = a;
  SUMS[1] = b;
  SUMS[2] = c;
  SUMS[3] = d;
}

// out (n × rows) = x (n × size) times weight (rows × size), transposed.
function multiply(weight, x, n, size, out) {
  const rows = weight.length / size;
  const together = n - (n % 4); // tokens in fours share a row; a last few take rows in fours
  for (let row = 0; row < rows; row += 1)
    for (let t = 0; t < together; t += 4) {
      fourDots(weight, row * size, x, t * size, size, size);
      for (let i = 0; i < 4; i += 1) out[(t + i) * rows + row] = SUMS[i];
    }
  for (let t = together; t < n; t += 1)
    for (let row = 0; row < rows; row += 4) {
      fourDots(x, t * size, weight, row * size, size, size);
      for (let i = 0; i < 4; i += 1) out[t * rows + row + i] = SUMS[i];
    }
}

// Each token divided by its root mean square, then each channel by a weight of its own.
function normalise(x, weight, n, epsilon, out) {
  const width = weight.length;
  for (let start = 0; start < n * width; start += width) {
    let squares = 0;
    for (let i = 0; i < width; i += 1) squares += x[start + i] ** 2;
    const factor = 1 / Math.sqrt(squares / width + epsilon);
    for (let i = 0; i < width; i += 1) out[start + i] = x[start + i] * factor * weight[i];
  }
}

function softmax(scores, count) {
  let [most, total] = [-Infinity, 0];
  for (let i = 0; i < count; i += 1) most = Math.max(most, scores[i]);
  for (let i = 0; i < count; i += 1) total += scores[i] = Math.exp(scores[i] - most);
  for (let i = 0; i < count; i += 1) scores[i] /= total;
}

// ---- RoPE: every pair of channels turns by the angle that the tables hold for its place

function rotateHeads(vectors, n, place, { headDim, pairs, width }, { cos, sin, layout }) {
  const [next, apart] = layout === "half" ? [1, pairs] : [2, 1];
  for (let t = 0; t < n; t += 1)
    for (let head = t * width; head < (t + 1) * width; head += headDim)
      for (let j = 0; j < pairs; j += 1) {
        const [first, angle] = [head + j * next, (place + t) * pairs + j];
        const [x, y] = [vectors[first], vectors[first + apart]];
        vectors[first] = x * cos[angle] - y * sin[angle];
        vectors[first + apart] = x * sin[angle] + y * cos[angle];
      }
}

// ---- the forward pass of one block of tokens

// What the model thinks after each of up to BLOCK tokens: room.normed.
function readBlock(model, ids, how, cache, watch) {
  const { width, embedding, blocks, room } = model;
  ids.forEach((id, t) => room.x.set(embedding.subarray(id * width, (id + 1) * width), t * width));
  blocks.forEach((weights, layer) => {
    attend(model, weights, layer, ids.length, how, cache, watch);
    feed(model, weights, ids.length);
  });
  cache.length += ids.length;
  normalise(room.x, model.output_norm, ids.length, model.epsilon, room.normed);
}

// Each token looks at those up to itself, and adds what it finds.
function attend(model, weights, layer, n, how, cache, watch) {
  const { room, width, epsilon } = model;
  normalise(room.x, weights.attn_norm, n, epsilon, room.normed);
  multiply(weights.attn_q, room.normed, n, width, room.q);
  multiply(weights.attn_k, room.normed, n, width, room.k);
  multiply(weights.attn_v, room.normed, n, width, room.v);
  if (how.rotate[layer]) {
    rotateHeads(room.q, n, cache.length, model, how);
    rotateHeads(room.k, n, cache.length, model, how);
  }
  remember(room, n, width, layer, cache);
  const scale = (how.scale ?? 1) / Math.sqrt(model.headDim);
  for (let t = 0; t < n; t += 1)
    for (let head = 0; head < model.heads; head += 1) {
      weigh(model, t, head, layer, cache, scale);
      watch?.(layer, head, cache.length + t, cache.weights);
      mix(model, t, head, layer, cache);
    }
  multiply(weights.attn_output, room.mixed, n, width, room.added);
  addTo(room.x, room.added, n * width);
}

function remember({ k, v }, n, width, layer, { keys, values, length, capacity }) {
  keys[layer].set(k.subarray(0, n * width), length * width);
  for (let t = 0; t < n; t += 1)
    for (let i = 0; i < width; i += 1) values[layer][i * capacity + length + t] = v[t * width + i];
}

// How much it looks at each: the softmax of q · k, scaled.
function weigh({ room, width, headDim }, t, head, layer, cache, scale) {
  const { weights, length } = cache;
  const [keys, channel, count] = [cache.keys[layer], head * headDim, length + t + 1];
  for (let n = 0; n < count; n += 4) {
    fourDots(room.q, t * width + channel, keys, n * width + channel, width, headDim);
    for (let i = 0; i < 4; i += 1) weights[n + i] = scale * SUMS[i];
  }
  softmax(weights, count);
}

// Their values, in these shares.
function mix({ room, width, headDim }, t, head, layer, { values, weights, length, capacity }) {
  const [first, count] = [head * headDim, length + t + 1];
  for (let i = first; i < first + headDim; i += 4) {
    fourDots(weights, 0, values[layer], i * capacity, capacity, count);
    for (let j = 0; j < 4; j += 1) room.mixed[t * width + i + j] = SUMS[j];
  }
}

// SwiGLU: each token by itself, in more channels, some of them let through.
function feed({ room, width, inner, epsilon }, weights, n) {
  const { gate, up } = room;
  normalise(room.x, weights.ffn_norm, n, epsilon, room.normed);
  multiply(weights.ffn_gate, room.normed, n, width, gate);
  multiply(weights.ffn_up, room.normed, n, width, up);
  for (let i = 0; i < n * inner; i += 1) up[i] *= gate[i] / (1 + Math.exp(-gate[i]));
  multiply(weights.ffn_down, up, n, inner, room.added);
  addTo(room.x, room.added, n * width);
}

function addTo(x, added, count) {
  for (let i = 0; i < count; i += 1) x[i] += added[i];
}

// ---- what is asked of the model

// The logits after the last of the tokens, which follow those in the cache.
function run(model, ids, how, cache, watch) {
  check(model, ids, how, cache, 1);
  for (const block of inBlocks(ids)) readBlock(model, block, how, cache, watch);
  const { embedding, room, width, vocabulary } = model;
  const last = ((ids.length - 1) % BLOCK) * width;
  multiply(embedding, room.normed.subarray(last), 1, width, room.logits);
  return room.logits.slice(0, vocabulary);
}

const inBlocks = (ids) =>
  times(Math.ceil(ids.length / BLOCK), (i) => ids.slice(i * BLOCK, (i + 1) * BLOCK));

// The loss, −ln p, of each token but the first, as a list for each block.
function* losses(model, ids, how) {
  const cache = emptyCache(model, ids.length);
  check(model, ids, how, cache, 2);
  for (const block of inBlocks(ids.slice(0, -1))) {
    const following = ids.slice(cache.length + 1, cache.length + 1 + block.length);
    readBlock(model, block, how, cache);
    yield lossesOf(model, following);
  }
}

// −ln p = ln Σ e^(x − the logit of the token that came).
function lossesOf({ embedding, room, width, vocabulary }, following) {
  multiply(embedding, room.normed, following.length, width, room.logits);
  return following.map((id, t) => {
    const logits = room.logits.subarray(t * vocabulary, (t + 1) * vocabulary);
    return Math.log(logits.reduce((sum, x) => sum + Math.exp(x - logits[id]), 0));
  });
}

// One head's attention: row m says how much token m looks at each.
function attention(model, ids, how, layer, head) {
  checkBelow("layer", layer, model.layers);
  checkBelow("head", head, model.heads);
  const found = new Float32Array(ids.length ** 2);
  run(model, ids, how, emptyCache(model, ids.length), (atLayer, atHead, place, weights) => {
    if (atLayer === layer && atHead === head)
      found.set(weights.subarray(0, place + 1), place * ids.length);
  });
  return found;
}

// Lists of new tokens, empty while it reads the prompt, then of one, until the model ends or count
// are written. Temperature 0: the likeliest.
function* write(model, ids, how, { count, temperature = 0, seed = 0 }) {
  if (!(temperature >= 0)) throw new Error(`temperature must be at least 0, got ${temperature}`);
  const cache = emptyCache(model, ids.length + count);
  check(model, ids, how, cache, 1, count);
  const [draw, prompt] = [drawer(seed), inBlocks(ids)];
  let next = prompt.pop();
  for (const block of prompt) {
    run(model, block, how, cache);
    yield [];
  }
  for (let written = 0; written < count; written += 1) {
    const logits = run(model, next, how, cache);
    next = [temperature > 0 ? drawn(logits, temperature, draw()) : likeliest(logits)];
    if (next[0] === model.tokenizer.end) return;
    yield next;
  }
}

const likeliest = (logits) => logits.reduce((best, x, id) => (x > logits[best] ? id : best), 0);

// The token at which the chances so far exceed a number from 0 to 1.
function drawn(logits, temperature, number) {
  const chances = logits.map((logit) => logit / temperature);
  softmax(chances, chances.length);
  const id = chances.findIndex((chance) => (number -= chance) < 0);
  return id < 0 ? likeliest(logits) : id; // the sum was rounded below 1
}

// Numbers from 0 to 1, the same on every machine. The first of a small seed are small: left out.
function drawer(seed) {
  const prime = 2 ** 31 - 1;
  checkBelow("seed", seed, prime - 1);
  let state = seed + 1;
  const next = () => (state = (16_807 * state) % prime) / prime;
  for (let i = 0; i < 8; i += 1) next();
  return next;
}

// ---- checks

function check({ vocabulary, pairs, layers }, ids, how, cache, least, more = 0) {
  const { cos, sin, layout, rotate } = how;
  if (ids.length < least) throw new Error(`ids must be at least ${least}, got ${ids.length}`);
  for (const id of ids) checkBelow("a token", id, vocabulary);
  const due = cache.length + ids.length + more;
  const rows = Math.min(cos.length, sin.length) / pairs;
  const places = Math.floor(Math.min(rows, cache.capacity));
  if (places < due) throw new Error(`tables and cache must have ${due} places, got ${places}`);
  if (layout !== "interleaved" && layout !== "half")
    throw new Error(`layout must be "interleaved" or "half", got "${layout}"`);
  if (rotate.length !== layers)
    throw new Error(`rotate must have ${layers} entries, got ${rotate.length}`);
}

function checkBelow(name, number, count) {
  if (!Number.isInteger(number) || number < 0 || number >= count)
    throw new Error(`${name} must be an integer from 0 to ${count - 1}, got ${number}`);
}
