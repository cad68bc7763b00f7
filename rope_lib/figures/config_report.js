// A config told as data, under the names that rope_lib.report.describe has.

function describeConfig({ layer, scales_softmax, ...config }, rules, seq_len) {
  const length = seq_len === null ? null : integer("seq_len", seq_len);
  const scaled = frequenciesOf(layer, rules, length);
  const { inv_freq, attention_factor } = scaled;
  const base = Number(layer.base);
  // Of proportional scaling, the pairs that stand still do so from the start.
  const before = inverseFrequencies(layer.rotary_dim, base).map((theta, j) =>
    inv_freq[j] === 0 ? 0 : theta,
  );
  const fullTurns = (list, most) =>
    most === null ? null : list.filter((theta) => TURN / theta <= most).length;
  return {
    ...plain(new Map(Object.entries({ ...layer, ...config }))),
    layout_caveat: caveatOf(config, rules),
    seq_len,
    pairs: inv_freq.length,
    rotating_pairs: inv_freq.filter((theta) => theta !== 0).length,
    inv_freq,
    before,
    wavelengths: inv_freq.map((theta) => (theta === 0 ? null : TURN / theta)),
    full_turns: fullTurns(before, layer.original_max_positions),
    full_turns_scaled: fullTurns(inv_freq, config.max_positions),
    ...bandsOf(layer, before, inv_freq),
    attention_factor,
    softmax_multiplier: scales_softmax ? scaled.softmax_multiplier : 1,
  };
}

const caveatOf = ({ layout, model_type }, { layout_caveats: [unknown, known] }) =>
  layout === null ? unknown : say(known, { model_type });
