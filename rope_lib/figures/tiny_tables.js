// From the knobs to the two tables, cos and sin: all that the model ever learns of its positions.

// Where a token stands, as float32 or bfloat16 holds it.
function placeOf(m, { stretch, shift, bfloat16 }) {
  const place = Math.fround(stretch * m + shift);
  return bfloat16 ? nearest(place, FORMATS.bfloat16) : place;
}

// The frequency of each pair; a pair that is off stands still.
function turningOf({ base, scaling, factor, pairs_off }, { head_dim, trained }) {
  const plain = frequencies(head_dim, base);
  const all = { default: plain, ...scaled({ head_dim, base, factor, original: trained }) };
  return all[scaling].map((theta, j) => (pairs_off.includes(j) ? 0 : theta));
}

// Pair → tokens of the text to a turn of it, were it on.
const turnsOf = (state, rules) =>
  turningOf({ ...state, pairs_off: [] }, rules).map((theta) => TURN / (theta * state.stretch));

// How the first `length` tokens are rotated: cos and sin with a row a token and a column a pair,
// the layout, and which layers rotate at all.
function rotationOf(state, length, { layers, ...sizes }) {
  const turning = turningOf(state, sizes);
  const attention = attentionFactor(state.scaling, state.factor);
  const [cos, sin] = [0, 1].map(() => new Float32Array(length * turning.length));
  for (let m = 0; m < length; m++) {
    const place = placeOf(m, state);
    turning.forEach((theta, j) => {
      cos[m * turning.length + j] = attention * Math.cos(place * theta);
      sin[m * turning.length + j] = attention * Math.sin(place * theta);
    });
  }
  const rotate = Array.from({ length: layers }, (_, layer) => !state.layers_off.includes(layer));
  return { cos, sin, layout: state.channel_layout, rotate };
}

const TURNED = [
  ...["channel_layout", "base", "stretch", "shift", "bfloat16"],
  ...["scaling", "factor", "pairs_off", "layers_off"],
];
// The knobs as they matter: without a scaling its factor does nothing.
const knobsOf = (state) =>
  TURNED.map((name) => (name === "factor" && state.scaling === "default" ? 1 : state[name]));

// The same with every knob where training had it.
const asTrained = (state, { inputs }) => ({
  ...state,
  ...Object.fromEntries(TURNED.map((name) => [name, inputs[name].default])),
});
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const isRight = (state, rules) => isSame(knobsOf(state), knobsOf(asTrained(state, rules)));
