// Checks of rope parameters, and the scalings: rope_lib._parameters and rope_lib.scaling again.

const LARGEST = 1e30;
const SMALLEST = 1e-30;
const EXACT = 2 ** 53;

class ParameterError extends Error {
  constructor(name, rule, value) {
    super(`${name} ${rule}, got ${show(value)}`);
    Object.assign(this, { parameter: name, rule, value });
  }
}

const isNumber = (value) =>
  typeof value === "number" || typeof value === "bigint" || value instanceof Float;

function number(name, value, least = SMALLEST, most = LARGEST, above = false) {
  if (!isNumber(value)) throw new ParameterError(name, "must be a number", value);
  const x = Number(value);
  const low = `${above ? "above" : "at least"} ${general(least)}`;
  if (!(above ? least < x : least <= x) || !(x <= most))
    throw new ParameterError(name, `must be ${low} and at most ${general(most)}`, value);
  return new Float(x);
}

function integer(name, value, least = 1, most = EXACT) {
  if (!isNumber(value)) throw new ParameterError(name, "must be an integer", value);
  // A BigInt is compared exactly, before it is rounded.
  if (!(least <= value && value <= most) || !Number.isInteger(Number(value)))
    throw new ParameterError(name, `must be an integer from ${least} to ${most}`, value);
  return Number(value);
}

function flag(name, value) {
  if (typeof value !== "boolean") throw new ParameterError(name, "must be true or false", value);
  return value;
}

function items(name, value) {
  if (!Array.isArray(value)) throw new ParameterError(name, "must be a list", value);
  return value;
}

function positiveNumbers(name, value, length) {
  const listed = items(name, value);
  if (listed.length !== length)
    throw new ParameterError(name, `must have ${length} entries, one a pair`, listed.length);
  return listed.map((entry, i) => Number(number(`${name}[${i}]`, entry)));
}

// ---- the scalings: (dim, base, parameters, present length) → frequencies and the two factors

const clip = (x) => Math.min(1, Math.max(0, x));
const inverseFrequencies = (dim, base) =>
  Array.from({ length: dim / 2 }, (_, j) => base ** ((-2 * j) / dim));
const outcome = (inv_freq, attention_factor = 1, softmax_multiplier = 1) => ({
  inv_freq,
  attention_factor,
  softmax_multiplier,
});

// A share of 0 keeps a frequency, 1 divides it.
const blend = (kept, factor, share) =>
  kept.map((theta, j) => (share[j] * theta) / factor + (1 - share[j]) * theta);
const original = (p) =>
  integer("original_max_position_embeddings", p.original_max_position_embeddings);

function grown(dim, base, multiplier) {
  if (dim < 4) throw new ParameterError("dim", "must be at least 4 for NTK scaling", dim);
  return inverseFrequencies(dim, base * multiplier ** (dim / (dim - 2)));
}

function dynamic(dim, base, p, length) {
  const factor = number("factor", p.factor, 1);
  const trained = original(p);
  const multiplier = (factor * Math.max(length ?? trained, trained)) / trained - (factor - 1);
  return outcome(grown(dim, base, Math.max(multiplier, 1)));
}

function yarnRamp(dim, base, p) {
  const length = original(p);
  const [fast, slow] = [number("beta_fast", p.beta_fast), number("beta_slow", p.beta_slow)];
  if (slow >= fast)
    throw new ParameterError("beta_fast", `must be above beta_slow ${general(slow)}`, p.beta_fast);
  const pairOf = (turns) => (dim * Math.log(length / (turns * TURN))) / (2 * Math.log(base));
  const whole = flag("truncate", p.truncate);
  const low = whole ? Math.floor(pairOf(fast)) : pairOf(fast);
  const high = whole ? Math.ceil(pairOf(slow)) : pairOf(slow);
  return [Math.max(low, 0), Math.min(high, dim - 1)];
}

function temperatures(factor, p) {
  const mscale = (m = 1) => 0.1 * m * Math.log(factor) + 1;
  const each = p.mscale === null ? 0 : Number(number("mscale", p.mscale, 0));
  const all = p.mscale_all_dim === null ? 0 : Number(number("mscale_all_dim", p.mscale_all_dim, 0));
  const given = p.attention_factor;
  const ownFactor = each && all ? mscale(each) / mscale(all) : mscale();
  const attention = given === null ? ownFactor : Number(number("attention_factor", given));
  return [attention, mscale(all) ** 2];
}

function yarn(dim, base, p) {
  const factor = number("factor", p.factor, 1);
  const [low, high] = yarnRamp(dim, base, p);
  const kept = inverseFrequencies(dim, base);
  const share = kept.map((_, j) => clip((j - low) / Math.max(high - low, 0.001)));
  return outcome(blend(kept, factor, share), ...temperatures(factor, p));
}

function llama3(dim, base, p) {
  const factor = number("factor", p.factor, 1);
  const low = number("low_freq_factor", p.low_freq_factor);
  const high = number("high_freq_factor", p.high_freq_factor);
  if (low >= high) {
    const rule = `must be above low_freq_factor ${general(low)}`;
    throw new ParameterError("high_freq_factor", rule, p.high_freq_factor);
  }
  const length = original(p);
  const kept = inverseFrequencies(dim, base);
  const turns = kept.map((theta) => (length * theta) / TURN);
  return outcome(blend(kept, factor, turns.map((each) => clip((high - each) / (high - low)))));
}

function longropeFactor({ factor, attention_factor: given }, trained) {
  const extension = factor === null ? null : number("factor", factor);
  if (given !== null) return Number(number("attention_factor", given));
  if (extension === null)
    throw new ParameterError("factor", "must be given where attention_factor is not", null);
  if (extension <= 1) return 1;
  if (trained < 2)
    throw new ParameterError("original_max_position_embeddings", "must be at least 2", trained);
  return Math.sqrt(1 + Math.log(extension) / Math.log(trained));
}

function longrope(dim, base, p, length) {
  const kept = inverseFrequencies(dim, base);
  const trained = original(p);
  const short = positiveNumbers("short_factor", p.short_factor, kept.length);
  const long = positiveNumbers("long_factor", p.long_factor, kept.length);
  const divisors = length !== null && length > trained ? long : short;
  const attention = longropeFactor(p, trained);
  return outcome(kept.map((theta, j) => theta / divisors[j]), attention);
}

function proportional(dim, base, p) {
  const share = number("partial_rotary_factor", p.partial_rotary_factor, 0, 1, true);
  const factor = number("factor", p.factor, 1);
  const turning = Math.trunc((share * dim) / 2);
  const kept = inverseFrequencies(dim, base);
  return outcome(kept.map((theta, j) => (j < turning ? theta / factor : 0)));
}

const SCALINGS = {
  default: (dim, base) => outcome(inverseFrequencies(dim, base)),
  linear(dim, base, p) {
    const factor = number("factor", p.factor, 1);
    return outcome(inverseFrequencies(dim, base).map((theta) => theta / factor));
  },
  ntk: (dim, base, p) => outcome(grown(dim, base, number("factor", p.factor, 1))),
  dynamic,
  yarn,
  llama3,
  longrope,
  proportional,
};

// `defaults` are those of Python's signature; a parameter that is absent or null takes its own.
function scaledFrequencies(dim, base, rope_type, parameters, defaults, length = null) {
  const given = Object.fromEntries(
    [...defaults].map(([name, value]) => [name, parameters.get(name) ?? value]),
  );
  return SCALINGS[rope_type](dim, Number(base), given, length);
}

// How the scaling sorts the pairs, pair by pair and counted; null where no one factor divides all
// that it divides.
function bandsOf({ rope_type, parameters }, before, after) {
  if (!["linear", "ntk", "yarn", "llama3"].includes(rope_type))
    return { bands: null, sorted: null };
  const factor = Number(parameters.get("factor"));
  const close = (a, b) => Math.abs(a - b) <= 1e-12 * Math.abs(b);
  const sorted = before.map((theta, j) => {
    const ratio = theta / Math.max(after[j], 2 ** -1022);
    if (close(ratio, 1)) return "kept";
    return factor !== 1 && close(ratio, factor) ? "divided" : "blended";
  });
  const count = (band) => sorted.filter((each) => each === band).length;
  return {
    bands: { kept: count("kept"), blended: count("blended"), divided: count("divided") },
    sorted,
  };
}
