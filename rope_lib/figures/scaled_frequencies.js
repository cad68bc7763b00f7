// Frequencies, and what PI, NTK, YaRN and Llama 3 make of them, as rope_lib.scaling computes it. The
// inputs are known to be sound; config_scaling.js does the same for a file that may say anything.

const BETAS = { fast: 32, slow: 1 }; // YaRN's ramp, in turns
const BANDS = { low: 1, high: 4 }; // Llama 3.1's blend, in turns

const frequencies = (head_dim, base) =>
  Array.from({ length: head_dim / 2 }, (_, j) => base ** ((-2 * j) / head_dim));

// A share of 0 keeps a frequency, 1 divides it.
const blend = (kept, factor, share) =>
  kept.map((theta, j) => (share[j] * theta) / factor + (1 - share[j]) * theta);
const clip = (x) => Math.min(1, Math.max(0, x));

function ntk({ head_dim, base }, multiplier) {
  return frequencies(head_dim, base * multiplier ** (head_dim / (head_dim - 2)));
}

function yarnShares({ head_dim, base, original }) {
  const pairOf = (turns) =>
    (head_dim * Math.log(original / (turns * TURN))) / (2 * Math.log(base));
  const low = Math.max(Math.floor(pairOf(BETAS.fast)), 0);
  const high = Math.min(Math.ceil(pairOf(BETAS.slow)), head_dim - 1);
  const width = Math.max(high - low, 0.001);
  return frequencies(head_dim, base).map((_, j) => clip((j - low) / width));
}

// Method → inverse frequencies. The present length of `dynamic` is factor · original.
function scaled(state) {
  const { head_dim, base, original, factor } = state;
  const plain = frequencies(head_dim, base);
  const llama = plain.map((theta) => {
    const turns = (original * theta) / TURN;
    return clip((BANDS.high - turns) / (BANDS.high - BANDS.low));
  });
  return {
    linear: plain.map((theta) => theta / factor),
    ntk: ntk(state, factor),
    dynamic: ntk(state, Math.max(factor * factor - (factor - 1), 1)),
    yarn: blend(plain, factor, yarnShares(state)),
    llama3: blend(plain, factor, llama),
  };
}

// What cos and sin are multiplied by.
const attentionFactor = (method, factor) => (method === "yarn" ? 0.1 * Math.log(factor) + 1 : 1);
