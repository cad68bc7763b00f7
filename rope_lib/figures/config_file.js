// A Hugging Face config.json, old or new: where in it the rotary fields are, as
// rope_lib.config._huggingface knows it. `rules` are Python's tables: see config_reader.py.

const MOST_LAYERS = 65536;

// The tables, from their JSON text; every model_type's row complete.
function parseRules(text) {
  const { models, unknown, nope, ...rules } = Object.fromEntries(parseJson(text));
  const complete = (row) => {
    const full = Object.fromEntries([...unknown, ...row]);
    return { ...full, nope: Object.fromEntries(full.nope ?? nope) };
  };
  const rows = new Map([...models].map(([name, row]) => [name, complete(row)]));
  return { ...rules, models: rows, unknown: complete(new Map()) };
}

function readConfig(file, layer_type, rules) {
  if (!(file instanceof Map))
    throw new Error(`config must be a dictionary of fields, got ${show(file)}`);
  const labels = layerLabels(file, rules);
  if (layer_type !== null)
    return readOne(file, knownLabel(file, labels, layer_type, rules), layer_type, rules);
  const found = (labels.length ? labels : [null]).map((each) => readOne(file, each, null, rules));
  const rotation = ({ layer }) => JSON.stringify(Object.values(layer).map(plain));
  if (new Set(found.map(rotation)).size > 1)
    throw new ParameterError("layer_type", `must be one of ${labels.join(", ")}`, null);
  return found[0];
}

// The layer types that may have parameters of their own; none where all are alike.
function layerLabels(file, rules) {
  const { text, model_type } = findText(file);
  const row = rowOf(model_type, rules) ?? rules.unknown;
  const nested = scalingLevels(text).flatMap(({ values }) => nestedLabels(values, rules));
  const isLocal = rules.local_thetas.some((name) => text.get(name) !== null);
  const own = isLocal ? [rules.full, rules.sliding] : row.layers.keys();
  return [...new Set([...nested, ...own])];
}

const nestedLabels = (parameters, rules) =>
  [...parameters].flatMap(([key, value]) => {
    const isType = key === rules.full || key === rules.sliding;
    return isType || (value instanceof Map && !rules.parameters.includes(key)) ? [key] : [];
  });

function knownLabel(file, labels, layer_type, rules) {
  const named = () => findText(file).text.texts("layer_types") ?? [];
  const known = labels.length ? labels : [...new Set([...named(), rules.full, rules.sliding])];
  if (!known.includes(layer_type))
    throw new ParameterError("layer_type", `must be one of ${known.join(", ")}`, layer_type);
  return labels.length ? layer_type : null;
}

function findText(file) {
  const top = new Fields(file);
  const text = top.child("text_config") ?? top;
  return { top, text, model_type: text.text("model_type") || top.text("model_type") };
}

// rope_scaling and rope_parameters, those that are there and not empty.
const scalingLevels = (text) =>
  [text.child("rope_scaling"), text.child("rope_parameters")].filter((level) => level?.values.size);

function rowOf(model_type, { models, text_models }) {
  return models.get(text_models.get(model_type ?? "") ?? model_type ?? "") ?? null;
}

function readOne(file, label, layer_type, rules) {
  const { top, text, model_type } = findText(file);
  const row = rowOf(model_type, rules);
  const silence =
    model_type === null ? "model_type is absent" : `model_type ${show(model_type)} unknown`;
  const notes = new Notes(row ? null : silence);
  warnOfOtherEncodings(text, notes);
  const model = row ?? rules.unknown;
  let longest = notes.settle(integersOf(text, rules.lengths));
  if (longest === null && model.max_positions !== null)
    longest = notes.assume("max_position_embeddings", model.max_positions);
  const own = model.layers.get(label ?? "") ?? new Map();
  const [layer, isLatent] = readLayer({
    text,
    scaling: levelsOf(text, label, model, rules),
    notes,
    defaults: { ...model, ...Object.fromEntries(own) },
    own_theta: own.has("rope_theta"),
    layer_type: label,
    longest,
    rules,
  });
  if (text !== top) compareThetas(top, layer.base, notes);
  const no_rope_layers = readNoRopeLayers(text, model.nope, notes);
  const isHalf = model.interleave_field && text.flag("rope_interleave") === false;
  return {
    layer,
    model_type,
    layer_type,
    max_positions: longest,
    no_rope_layers,
    layout: isHalf ? "half" : model.layout,
    scales_softmax: isLatent || row === null,
    used: text.used,
    assumed: notes.assumed,
    ignored: top.unread(),
    warnings: notes.warnings,
  };
}

// The scaling of one layer type: its own entry where nested, else the flat one, which is not for
// sliding layers.
function levelsOf(text, label, model, rules) {
  return scalingLevels(text).flatMap((level) => {
    const isFlat = !nestedLabels(level.values, rules).length;
    if (label === null || (isFlat && (label !== rules.sliding || model.shared_scaling)))
      return [level];
    if (!level.values.has(label)) return [];
    const below = level.child(label);
    if (below === null) {
      const rule = "is null: layers of this type have no rotary embedding";
      throw new ParameterError(level.path(label), rule, null);
    }
    return [below];
  });
}

function compareThetas(top, base, notes) {
  const stated = top.get("rope_theta");
  if ((isNumber(stated) || typeof stated === "boolean") && stated != Number(base))
    notes.warnings.push(
      `rope_theta ${show(stated)} beside text_config disagrees with the ${general(base)} of the ` +
        "text model, which is used",
    );
}

function warnOfOtherEncodings(text, notes) {
  const kind = text.text("position_embedding_type");
  if (kind !== null && kind !== "rope" && kind !== "rotary")
    notes.warnings.push(`position_embedding_type is ${repr(kind)}, not rotary`);
  if (text.get("alibi") === true)
    notes.warnings.push("alibi is true: positions are a bias on the scores, not rotary");
}

function readNoRopeLayers(text, rule, notes) {
  const rotates = text.integers("no_rope_layers", 0, 1);
  if (rotates?.length) {
    const count = text.integer("num_hidden_layers", 1, MOST_LAYERS);
    const path = text.path("no_rope_layers");
    if (count !== null && rotates.length !== count)
      throw new ParameterError(path, `must have ${count} entries, one a layer`, rotates.length);
    return Array.from(rotates.keys()).filter((i) => !rotates[i]);
  }
  if (rule.only_with !== null && text.take(rule.only_with) === null) return [];
  const types = rule.layer_type === null ? null : text.texts("layer_types");
  if (types !== null) return [...types.keys()].filter((i) => types[i] === rule.layer_type);
  return everySoMany(text, rule, notes);
}

// Layers 3, 7, 11, … for an interval of 4.
function everySoMany(text, rule, notes) {
  let every = rule.field === null ? null : text.integer(rule.field, 1, MOST_LAYERS);
  if (every === null && rule.every !== null) every = notes.assume(String(rule.field), rule.every);
  if (every === null) return [];
  let count = text.integer("num_hidden_layers", 1, MOST_LAYERS);
  if (count === null && rule.layers !== null)
    count = notes.assume("num_hidden_layers", rule.layers);
  if (count === null) {
    const path = text.path("num_hidden_layers");
    throw new ParameterError(path, "must be given with an interval", null);
  }
  return Array.from({ length: Math.floor(count / every) }, (_, i) => (i + 1) * every - 1);
}
