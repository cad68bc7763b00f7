// A config.json in a text field, and what it says of the rotary embedding.

const INPUTS = ["text", "layer_type", "seq_len", "rules", "presets"];
const LARGEST_FILE = 1e6; // bytes; a config.json has a few thousand
const SHOWN_PAIRS = 9; // as in rope_lib.report

let tables = {}; // the rules that were parsed last

function compute({ text, layer_type, seq_len, rules }) {
  if (tables.source !== rules) tables = { source: rules, ...parseRules(rules) };
  let labels = [];
  try {
    const file = parseJson(text);
    if (file instanceof Map) labels = layerLabels(file, tables);
    const config = readConfig(file, layer_type || null, tables);
    const report = describeConfig(config, tables, seq_len || null);
    const warnings = report.warnings.length;
    return { refused: 0, ...report, ...report.bands, warnings, report, labels };
  } catch (error) {
    const isUnfinished = error instanceof JsonError;
    const told = isUnfinished ? say(WORDS.not_json, { problem: error.message }) : error.message;
    return { refused: 1, error: told, isUnfinished, labels };
  }
}

// ---- the controls: a drop-down of models, a file, the text, and what the file may ask for

function labelled(parent, words, tag, attributes = {}) {
  const label = add(parent, "label");
  add(label, "span", {}, words);
  const control = add(label, tag, { "data-lm-suppress-shortcuts": "true", ...attributes });
  return Object.assign(control, { holder: label });
}

function options(select, texts) {
  const key = JSON.stringify(texts);
  if (select.getAttribute("data-key") === key) return;
  set(select, { "data-key": key });
  select.textContent = "";
  for (const [value, words] of texts) add(select, "option", { value }, words);
}

function choose(select, value) {
  for (const option of select.options) option.selected = option.value === value;
}

function buildControls(ui, parent) {
  const save = (traits) => {
    for (const [name, value] of Object.entries(traits)) ui.model.set(name, value);
    ui.model.save_changes();
  };
  const top = add(parent, "div", { class: "rope-fields" });
  const preset = labelled(top, WORDS.preset, "select");
  const file = labelled(top, WORDS.file, "input", {
    type: "file",
    accept: ".json,application/json,text/plain",
  });
  const box = labelled(parent, WORDS.text, "textarea", {
    rows: 14,
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
  });
  const problem = add(parent, "p", { class: "rope-refusal", hidden: "" });
  const more = add(parent, "div", { class: "rope-fields" });
  const layer = labelled(more, WORDS.layer_type, "select");
  const length = labelled(more, WORDS.seq_len, "input", { type: "number", min: 0, step: 1 });

  const replace = (text) => save({ layer_type: "", seq_len: 0, text });
  async function open(chosen) {
    if (!chosen) return;
    const isLarge = chosen.size > LARGEST_FILE;
    if (!isLarge) replace(await chosen.text());
    problem.hidden = !isLarge;
    write(problem, isLarge ? say(WORDS.too_large, { name: chosen.name }) : "");
  }
  ui.listen(preset, "change", () => {
    const text = ui.model.get("presets")[preset.value];
    if (text !== undefined) replace(text);
  });
  ui.listen(file, "change", () => open(file.files[0]));
  ui.listen(box, "input", () => save({ text: box.value }));
  ui.listen(box, "dragover", (event) => event.preventDefault());
  ui.listen(box, "drop", (event) => {
    const [dropped] = event.dataTransfer.files;
    if (!dropped) return; // a piece of text goes where the hand drops it
    event.preventDefault();
    open(dropped);
  });
  ui.listen(layer, "change", () => save({ layer_type: layer.value }));
  ui.listen(length, "input", () => {
    const tokens = Number(length.value);
    if (Number.isInteger(tokens) && tokens >= 0 && tokens <= 1e8) save({ seq_len: tokens });
  });

  return ({ text, layer_type, seq_len, presets }, { labels, report }) => {
    const names = Object.keys(presets);
    options(preset, [["", WORDS.own], ...names.map((name) => [name, name])]);
    choose(preset, names.find((name) => presets[name] === text) ?? "");
    if (box.value !== text) box.value = text;
    const types = [...new Set([...labels, ...(layer_type ? [layer_type] : [])])];
    layer.holder.hidden = !types.length;
    options(layer, [["", WORDS.all_layers], ...types.map((name) => [name, name])]);
    choose(layer, layer_type);
    length.holder.hidden = !["dynamic", "longrope"].includes(report?.rope_type) && !seq_len;
    if (Number(length.value) !== seq_len) length.value = String(seq_len);
  };
}

// ---- the words and numbers

const lengthText = (tokens) =>
  tokens === null ? WORDS.not_given : say(WORDS.tokens, { count: grouped(tokens) });

function facts(report) {
  const { parameters, bands, mrope_section: sections, no_rope_layers: without } = report;
  const turns = (some) => say(WORDS.of, { some, all: report.pairs });
  const still = report.pairs - report.rotating_pairs;
  const head = { some: report.rotary_dim, all: report.head_dim };
  const way = report.mrope_interleaved ? WORDS.alternate : WORDS.blocks;
  const original = report.original_max_positions;
  const divided = say(WORDS.divided_by, parameters);
  const names = { kept: WORDS.kept, blended: WORDS.blended, divided };
  return [
    [WORDS.rope_type, report.rope_type],
    [WORDS.rotated, say(WORDS.of, head)],
    [WORDS.base, general(report.base, 12)],
    [WORDS.longest, lengthText(report.max_positions)],
    [WORDS.original, lengthText(original), original === report.max_positions],
    [WORDS.complete, turns(report.full_turns), report.full_turns === null],
    [WORDS.complete_after, turns(report.full_turns_scaled), original === report.max_positions],
    [WORDS.still, turns(still), !still],
    ...BANDS.map((band, dash) => [names[band], String(bands?.[band]), !bands, dash]),
    [WORDS.attention, general(report.attention_factor)],
    [WORDS.softmax, general(report.softmax_multiplier), report.softmax_multiplier === 1],
    [WORDS.axes, `${sections?.join(" + ")}, ${way}`, !sections],
    [WORDS.without, without.join(", "), !without.length],
    [WORDS.layout, report.layout ?? WORDS.unknown],
  ].filter(([, , isLeftOut]) => !isLeftOut);
}

function writeFacts(output, report) {
  output.textContent = "";
  for (const [name, value, , dash] of facts(report))
    if (dash === undefined) row(output, name)(value);
    else dashedRow(output, name, dash)(value);
}

// 6.283, 861.6, 11 971 and so on, while there is room.
const roomy = (x) => (x >= 1000 && x < 1e12 ? grouped(Math.round(x)) : general(x, 4));

function writePairs(table, { inv_freq, before, wavelengths, pairs }) {
  table.textContent = "";
  const line = (tag, cells) => {
    const made = add(table, "tr");
    for (const cell of cells) add(made, tag, {}, cell);
  };
  line("th", [WORDS.pair, WORDS.radians_a_token, WORDS.tokens_a_turn, WORDS.divisor]);
  const count = Math.min(pairs, SHOWN_PAIRS);
  const places = Array.from({ length: count }, (_, i) =>
    Math.round((i * (pairs - 1)) / Math.max(1, count - 1)),
  );
  for (const j of places) {
    const divisor = inv_freq[j] ? general(before[j] / inv_freq[j], 4) : "–";
    const wave = wavelengths[j] === null ? WORDS.never : roomy(wavelengths[j]);
    line("td", [String(j), general(inv_freq[j], 4), wave, divisor]);
  }
}

// Lists of words that the file caused, each under its name; nothing where there are none.
function writeAccount(parent, { used, assumed, ignored, layout_caveat }) {
  parent.textContent = "";
  const said = (fields) =>
    Object.entries(fields).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const lists = [
    [WORDS.layout, [layout_caveat]],
    [WORDS.used, said(used)],
    [WORDS.assumed, said(assumed)],
    [WORDS.ignored, ignored],
  ];
  for (const [name, entries] of lists.filter(([, list]) => list.length)) {
    const line = add(parent, "p");
    add(line, "b", {}, `${name}: `);
    add(line, "span", {}, entries.join(", "));
  }
}

function build(ui) {
  const columns = add(ui.panel, "div", { class: "rope-reader" });
  const controls = buildControls(ui, add(columns, "div"));
  const told = add(columns, "div");
  const message = add(told, "div");
  const output = add(told, "output", { class: "rope-readout", "aria-live": "off" });
  const results = add(ui.panel, "div");
  const drawPicture = buildPicture(ui, results);
  const table = add(results, "table", { class: "rope-pairs" });
  const account = add(results, "div", { class: "rope-account" });

  function writeMessages(kind, sentences) {
    message.textContent = "";
    for (const sentence of sentences) {
      const line = add(message, "p", { class: "rope-refusal" });
      add(line, "b", {}, `${kind} `);
      add(line, "span", {}, sentence);
    }
  }

  return (state, result) => {
    controls(state, result);
    // While a hand is in the middle of a word, what was there keeps its place, unseen.
    for (const node of [results, output]) {
      node.classList.toggle("rope-void", Boolean(result.isUnfinished));
      node.hidden = Boolean(result.error) && !result.isUnfinished;
    }
    if (result.error) {
      writeMessages(WORDS.refused, [result.error]);
      return say(WORDS.says_refused, result);
    }
    const { report } = result;
    writeMessages(WORDS.warning, report.warnings);
    writeFacts(output, report);
    drawPicture(report);
    writePairs(table, report);
    writeAccount(account, report);
    const longest = lengthText(report.original_max_positions);
    return say(WORDS.says, {
      ...report,
      base: general(report.base, 12),
      longest,
      turns: report.full_turns ?? WORDS.unknown,
      warned: report.warnings.length,
    });
  };
}

export default figure({ inputs: INPUTS, compute, build, wide: true });
