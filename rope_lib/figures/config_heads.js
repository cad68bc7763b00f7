// How wide a head is, how much of it turns, and by which base: rope_lib.config._heads again. A source
// has: text (Fields), scaling (list of Fields), defaults (the model_type's row), rules (the tables of
// Python), layer_type, own_theta, notes, longest (the trained length).

const WIDEST_HEAD = 65536;
const readings = (levels, name, read) =>
  levels.map((level) => [level.path(name), read(level, name)]);
const integersOf = (level, names, least, most) =>
  names.map((name) => [level.path(name), level.integer(name, least, most)]);

// ---- the head

function readHead(source) {
  const { text, defaults, notes } = source;
  let latent = text.integer("qk_rope_head_dim", 2, WIDEST_HEAD);
  if (latent === null && defaults.qk_rope_head_dim !== null)
    latent = notes.assume("qk_rope_head_dim", defaults.qk_rope_head_dim);
  if (latent !== null) return [latent, true];
  const name = defaults.head_dim_field;
  const head =
    notes.settle(perLayerHeads(source)) ??
    notes.settle(integersOf(text, [name, "kv_channels"], 2, WIDEST_HEAD));
  if (head !== null) return [head, false];
  if (defaults.head_dim !== null) return [notes.assume(name, defaults.head_dim), false];
  return [quotient(source), false];
}

function perLayerHeads({ text, layer_type }) {
  const overrides = text.child("per_layer_config");
  if (overrides === null || layer_type === null) return [];
  const types = text.texts("layer_types") ?? [];
  const numbers = types.flatMap((name, i) => (name === layer_type ? [String(i)] : []));
  return [layer_type, ...numbers].flatMap((key) => {
    const level = overrides.child(key);
    return level ? integersOf(level, ["head_dim"], 2, WIDEST_HEAD) : [];
  });
}

function quotient({ text, notes }) {
  const hidden = notes.settle(integersOf(text, ["hidden_size", "n_embd"]));
  const heads = notes.settle(integersOf(text, ["num_attention_heads", "n_head"]));
  const path = text.path("hidden_size");
  if (hidden === null || heads === null) {
    const rule = "or hidden_size and num_attention_heads must be given";
    throw new ParameterError(text.path("head_dim"), rule, null);
  }
  if (hidden % heads)
    throw new ParameterError(path, `must divide by num_attention_heads ${heads}`, hidden);
  if (hidden / heads < 2 || hidden / heads > WIDEST_HEAD) {
    const rule = `over num_attention_heads ${heads} must be from 2 to ${WIDEST_HEAD}`;
    throw new ParameterError(path, rule, hidden);
  }
  return hidden / heads;
}

function paired(path, given, channels, head_dim) {
  const rule = `must leave an even number, at least 2, of ${head_dim} channels to rotate`;
  if (channels < 2 || channels % 2) throw new ParameterError(path, rule, given);
  return channels;
}

// The shares of the head that the file gives.
function shares({ text, scaling }) {
  const share = (level, name) => level.number(name, 0, 1);
  const name = "partial_rotary_factor";
  const beside = [name, "rotary_pct", "rope_pct"].flatMap((each) => readings([text], each, share));
  return [...readings(scaling, name, share), ...beside].filter(([, value]) => value !== null);
}

function readRotaryDim(source, head_dim) {
  const { text, notes, defaults } = source;
  const given = shares(source).map(([path, share]) => [path, share, Math.trunc(share * head_dim)]);
  const direct = text.integer("rotary_dim", 2, head_dim);
  if (direct !== null) given.push([text.path("rotary_dim"), direct, direct]);
  const channels = ([path, value, count]) => [
    `channels by ${path}`,
    paired(path, value, count, head_dim),
  ];
  const settled = notes.settle(given.map(channels));
  if (settled !== null) return settled;
  if (defaults.rotary_dim !== null)
    return notes.assume("rotary_dim", Math.min(defaults.rotary_dim, 2 * Math.floor(head_dim / 2)));
  // A whole head goes without saying where the model_type is known.
  const part = defaults.partial_rotary_factor;
  if (Number(part) === 1 && notes.silent === null)
    return paired("head_dim", head_dim, head_dim, head_dim);
  const share = notes.assume("partial_rotary_factor", part);
  return paired("partial_rotary_factor", share, Math.trunc(share * head_dim), head_dim);
}

// ---- the base

function readBase(source) {
  const { text, scaling, notes, defaults, rules } = source;
  const theta = (level, name) => level.number(name, 1);
  const named = (names) => names.flatMap((name) => readings([text], name, theta));
  function globalThetas() {
    const thetas = named(rules.global_thetas);
    const ratio = text.number("rope_ratio", 1e-4, LARGEST / 1e4);
    const base = ratio === null ? null : new Float(ratio * 1e4);
    return [...thetas, [`${text.path("rope_ratio")} x 10000 =`, base]];
  }
  const isLocal = source.layer_type === rules.sliding;
  const inside = readings(scaling, "rope_theta", theta);
  let base = notes.settle([...inside, ...(isLocal ? named(rules.local_thetas) : globalThetas())]);
  if (base === null && isLocal && !source.own_theta) base = notes.settle(globalThetas());
  return base ?? notes.assume("rope_theta", defaults.rope_theta);
}
