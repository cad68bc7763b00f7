// What the sandbox computes from its one state, as rope_lib computes it.

// q and k as they are written before any rotation, of length √head_dim; k is aimed, and all is
// written, with adjacent channels paired and frequencies not scaled.
function vectorsOf({ head_dim, kind, seed, peak }, plain) {
  const ones = Array(head_dim).fill(1);
  if (kind === "equal") return [ones, ones];
  if (kind === "aimed") {
    const aimed = plain.flatMap((theta) => rotate([1, 1], peak * theta));
    return [ones, [...aimed, ...ones.slice(aimed.length)]];
  }
  const numbers = listedNumbers(2 * head_dim, seed);
  return [numbers.slice(0, head_dim), numbers.slice(head_dim)].map((vector) => {
    const size = Math.sqrt(head_dim) / Math.hypot(...vector);
    return vector.map((x) => size * x);
  });
}

const pairOf = ({ channel_layout }, vector, j, pairs) =>
  channel_layout === "half"
    ? [vector[j], vector[j + pairs]]
    : [vector[2 * j], vector[2 * j + 1]];

// The present length, on which dynamic scaling depends, ends with the later of the two tokens.
const presentLength = ({ m, n, shift }) => Math.max(m, n) + shift + 1;

const LLAMA3_BANDS = { low_freq_factor: 1, high_freq_factor: 4 };

function frequenciesAt(state, rotary_dim, keywords) {
  const { base, scaling, factor, original: length } = state;
  const given = { factor, original_max_position_embeddings: length, ...LLAMA3_BANDS };
  const parameters = new Map(Object.entries(given));
  const defaults = Object.entries(keywords[scaling]);
  const length_now = presentLength(state);
  return scaledFrequencies(rotary_dim, base, scaling, parameters, defaults, length_now);
}

// What each pair adds to the score, as a size and an angle at distance 0; the channels that pass
// through add a pair that stands still.
function productsOf(state, [q, k], count, attention) {
  const { head_dim } = state;
  const products = Array.from({ length: count }, (_, j) => {
    const [[a, b], [c, d]] = [q, k].map((vector) => pairOf(state, vector, j, count));
    const [real, imaginary] = [a * c + b * d, b * c - a * d];
    const size = (attention ** 2 * Math.hypot(real, imaginary)) / head_dim;
    return { size, phase: Math.atan2(imaginary, real) };
  });
  const rest = q.slice(2 * count).reduce((sum, x, i) => sum + x * k[2 * count + i], 0);
  return [...products, { size: rest / head_dim, phase: 0 }];
}

// Angles of every pair at a position: exact, and with what is rounded rounded.
function anglesAt(position, inv_freq, { dtype, rounded }) {
  const exact = inv_freq.map((theta) => position * theta);
  if (dtype === "float64") return [exact, exact];
  const format = FORMATS[dtype];
  if (rounded === "angles") return [exact, exact.map((angle) => nearest(angle, format))];
  const stored = nearest(position, format);
  return [exact, inv_freq.map((theta) => stored * theta)];
}

// The score of the rotated vectors, channel by channel.
function rotatedScore(state, [q, k], [angles_q, angles_k], attention) {
  const count = angles_q.length;
  const turned = (vector, angles, j) =>
    rotate(pairOf(state, vector, j, count), angles[j]).map((x) => attention * x);
  let sum = 0;
  for (let j = 0; j < count; j++) {
    const [[a, b], [c, d]] = [turned(q, angles_q, j), turned(k, angles_k, j)];
    sum += a * c + b * d;
  }
  for (let i = 2 * count; i < q.length; i++) sum += q[i] * k[i];
  return sum / state.head_dim;
}

const FARTHEST = 4096; // of the curve
let drawnLast = {}; // the last curves: a move of both positions needs no other

// Scores at 0 … FARTHEST, of a key behind the query or ahead of it.
function curvesOf(state, side, before, after) {
  const { head_dim, rotary_dim, base, channel_layout, kind, seed, peak } = state;
  const { inv_freq, attention_factor } = after;
  const vectors = [head_dim, rotary_dim, base, channel_layout, kind, seed, peak];
  const key = JSON.stringify([side, ...vectors, attention_factor, inv_freq]);
  if (drawnLast.key === key) return drawnLast;
  const curve = ({ products, inv_freq: list }) =>
    scores(
      products.map(({ size, phase }) => ({ size, phase: side * phase })),
      [...list, 0],
      FARTHEST,
    );
  const isScaled = before.inv_freq.some((theta, j) => theta !== inv_freq[j]);
  drawnLast = { key, curve: curve(after), plainCurve: isScaled ? curve(before) : null };
  return drawnLast;
}

function compute({ rules, ...given }) {
  const rotary_dim = Math.min(given.rotary_dim, given.head_dim);
  const state = { ...given, rotary_dim };
  const { head_dim, base, m, n, shift, scaling, factor } = state;
  const count = rotary_dim / 2;
  const plain = inverseFrequencies(rotary_dim, base);
  const scaled = frequenciesAt(state, rotary_dim, rules.keywords);
  const { inv_freq, attention_factor } = scaled;
  const vectors = vectorsOf(state, plain);
  const angles = [m + shift, n + shift].map((position) => anglesAt(position, inv_freq, state));
  const used = angles.map(([, rounded]) => rounded);
  const score = rotatedScore(state, vectors, used, attention_factor);
  const distance = m - n;
  const before = { inv_freq: plain, products: productsOf(state, vectors, count, 1) };
  const after = { inv_freq, products: productsOf(state, vectors, count, attention_factor) };
  const exact = after.products.reduce(
    (sum, { size, phase }, j) => sum + size * Math.cos(distance * (inv_freq[j] ?? 0) + phase),
    0,
  );
  const errors = angles.flatMap(([true_, used_]) =>
    true_.map((angle, j) => Math.abs(Math.cos(used_[j]) - Math.cos(angle))),
  );
  const pair = Math.min(state.pair, count - 1);
  const parameters = new Map([["factor", factor]]);
  const { bands, sorted } = bandsOf({ rope_type: scaling, parameters }, plain, inv_freq);
  const tips = vectors.map((vector) => pairOf(state, vector, pair, count));
  return {
    score,
    before: vectors[0].reduce((sum, x, i) => sum + x * vectors[1][i], 0) / head_dim,
    exact,
    error: score - exact,
    distance,
    angle_q: used[0][pair],
    angle_k: used[1][pair],
    wavelength: TURN / inv_freq[pair],
    divisor: plain[pair] / inv_freq[pair],
    ...bands,
    attention_factor,
    worst: Math.max(...errors),
    state: { ...state, pair },
    plain,
    inv_freq,
    sorted,
    tips,
    turned: tips.map((tip, i) => rotate(tip, used[i][pair]).map((x) => attention_factor * x)),
    curves: () => curvesOf(state, distance < 0 ? -1 : 1, before, after),
  };
}
