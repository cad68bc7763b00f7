// From the fields of a file to the rotary embedding of one layer type: rope_lib.config._scaling and
// ._layer again.

const ORIGINAL = "original_max_position_embeddings";
const missing = (path, ropeType) =>
  new ParameterError(path, `is required by rope_type '${ropeType}'`, null);

// ---- the scaling

function readRopeType({ scaling, notes, rules }) {
  let isMultimodal = false;
  const given = [];
  for (const level of scaling)
    for (const name of ["rope_type", "type"]) {
      const value = level.text(name);
      if (value === null) continue;
      isMultimodal ||= value === "mrope";
      const known = rules.aliases.get(value) ?? value;
      const names = [...rules.scalings.keys(), ...rules.aliases.keys()].join(", ");
      if (!rules.scalings.has(known))
        throw new ParameterError(level.path(name), `must be one of ${names}`, value);
      given.push([level.path(name), known]);
    }
  return [notes.settle(given) ?? "default", isMultimodal];
}

function readSections({ scaling, notes, defaults }, pairs, isNeeded) {
  const name = "mrope_section";
  const sum = (list) => list.reduce((total, each) => total + each, 0);
  const given = readings(scaling, name, (level) => level.integers(name, 1, WIDEST_HEAD));
  for (const [path, sections] of given)
    if (sections !== null && sum(sections) !== pairs)
      throw new ParameterError(path, `must sum to the ${pairs} pairs that rotate`, sections);
  const settled = notes.settle(given);
  const assumed = defaults.mrope_section;
  if (settled === null && assumed !== null && sum(assumed) === pairs)
    return notes.assume(name, Tuple.from(assumed));
  if (settled === null && isNeeded)
    throw missing(scaling[0].path(name), "mrope");
  return settled;
}

function readInterleaved({ scaling, notes, defaults }, sections) {
  const name = "mrope_interleaved";
  const given = notes.settle(readings(scaling, name, (level) => level.flag(name)));
  if (given !== null) return given;
  return sections !== null && defaults[name] ? notes.assume(name, true) : false;
}

function readOriginal(source, ropeType) {
  const { text, scaling, notes, rules, longest } = source;
  const read = (level) => level.integer(ORIGINAL);
  const given = notes.settle(readings([text, ...scaling], ORIGINAL, read));
  if (given !== null) {
    compareLengths(source, ropeType, given);
    return given;
  }
  if (longest !== null && rules.scalings.get(ropeType).has(ORIGINAL))
    notes.derive(ORIGINAL, longest);
  return longest;
}

function compareLengths({ longest, notes }, ropeType, length) {
  if (longest === null) return;
  const warn = (rest) => notes.warnings.push(`${ORIGINAL} ${length} is ${rest}`);
  if (length > longest) warn(`above max_position_embeddings ${longest}`);
  if (length < longest && ropeType === "default")
    warn(
      `below max_position_embeddings ${longest}, but nothing is scaled: the rope_type is 'default'`,
    );
  if (length !== longest && ropeType === "dynamic")
    warn(
      "where dynamic scaling starts here; transformers starts at max_position_embeddings " +
        `${longest}`,
    );
}

function readParameters(source, ropeType, length) {
  const { scaling, notes, rules } = source;
  const wanted = rules.scalings.get(ropeType);
  const parameters = new Map();
  for (const name of wanted.keys()) {
    const value = name === ORIGINAL ? length : readParameter(source, ropeType, name, length);
    if (value === null && rules.required.get(ropeType).includes(name))
      throw missing(scaling[0].path(name), ropeType);
    if (value !== null) parameters.set(name, value);
  }
  if (!wanted.has("factor"))
    for (const level of scaling)
      if (level.get("factor") !== null)
        notes.warnings.push(
          `${level.path("factor")} ${show(level.get("factor"))} scales nothing without a rope_type`,
        );
  return parameters;
}

function readParameter(source, ropeType, name, length) {
  const { notes, scaling, longest } = source;
  if (name === "partial_rotary_factor") return notes.settle(shares(source));
  const value = notes.settle(readings(scaling, name, (level) => level.take(name)));
  if (name !== "factor") return value;
  const areKnown = length !== null && longest !== null;
  if (value !== null) {
    const isOther = areKnown && isNumber(value) && length !== longest && value != longest / length;
    if (ropeType === "yarn" && isOther)
      notes.warnings.push(
        `factor ${show(value)} is not the ${general(longest / length)} of ` +
          `max_position_embeddings ${longest} over ${ORIGINAL} ${length}`,
      );
    return value;
  }
  // The ratio of the lengths, for a null yarn factor and an absent longrope factor.
  const isStated = scaling.some((level) => level.values.has("factor"));
  const isImplied = ropeType === "longrope" || (ropeType === "yarn" && isStated);
  return isImplied && areKnown ? notes.derive("factor", new Float(longest / length)) : null;
}

// ---- all of it

function readLayer(source) {
  const { text, notes, defaults } = source;
  if (!source.scaling.length && defaults.rope_parameters.size) {
    const assumed = notes.assume("rope_parameters", defaults.rope_parameters);
    source.scaling = [new Fields(assumed, (name) => `rope_parameters.${name}`)];
  }
  const [rope_type, isMultimodal] = readRopeType(source);
  const [head_dim, isLatent] = readHead(source);
  const base = readBase(source);
  const headName = isLatent ? "qk_rope_head_dim" : "head_dim";
  const rotary_dim =
    isLatent || rope_type === "proportional"
      ? paired(text.path(headName), head_dim, head_dim, head_dim)
      : readRotaryDim(source, head_dim);
  const mrope_section = readSections(source, rotary_dim / 2, isMultimodal);
  const original_max_positions = readOriginal(source, rope_type);
  const layer = {
    rope_type,
    head_dim,
    rotary_dim,
    base,
    original_max_positions,
    mrope_section,
    mrope_interleaved: readInterleaved(source, mrope_section),
    parameters: readParameters(source, rope_type, original_max_positions),
  };
  checkComputable(source, layer);
  return [layer, isLatent];
}

// Compute once, so that a bad parameter is refused under the name that it has in the file.
function checkComputable({ scaling, text, rules }, layer) {
  try {
    frequenciesOf(layer, rules);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    const { parameter, rule, value } = error;
    const [name] = parameter.split("[");
    if (name === "dim") throw new ParameterError("rotary_dim", rule, value);
    const level = [...scaling, text].find((each) => each.values.has(name));
    throw new ParameterError(level ? level.path(parameter) : parameter, rule, value);
  }
}

function frequenciesOf({ rotary_dim, base, rope_type, parameters }, rules, length = null) {
  const defaults = rules.scalings.get(rope_type);
  return scaledFrequencies(rotary_dim, base, rope_type, parameters, defaults, length);
}
