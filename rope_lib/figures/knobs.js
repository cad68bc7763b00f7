// Native, labelled controls that figures share, and the text that a reader may copy.

const UNSUPPRESSED = { "data-lm-suppress-shortcuts": "true" }; // JupyterLab would take the keys

// Where the range stands for a value: a base by its logarithm.
const LOGARITHM = {
  stand: (value) => Math.round(100 * Math.log10(value)),
  value: (stand) => Math.round(Number((10 ** (stand / 100)).toPrecision(3))),
};
const STRAIGHT = { stand: (value) => value, value: (stand) => stand };
const scaleOf = (name) => (name === "base" ? LOGARITHM : STRAIGHT);

// The word of a control; a link, where there is a page about it.
function wordOf(label, words, address) {
  const word = add(label, "span", {}, address ? "" : words);
  if (address) add(word, "a", { href: address }, words);
}

// Returns update(state, limits): a range and a number field that keep step.
// `check(name, value)` may refuse what the rule alone allows.
function numberControl(ui, holder, [name, words], rule, { change, tell, state, check, address }) {
  const { stand, value } = scaleOf(name);
  const step = rule.step ?? (rule.even ? 2 : rule.whole ? 1 : 0.5);
  const label = add(holder, "label");
  wordOf(label, words, address?.(name));
  const ends = { min: stand(rule.least), max: stand(rule.most) };
  const range = add(label, "input", { type: "range", ...ends, step, ...UNSUPPRESSED });
  const field = add(holder, "input", {
    type: "number",
    min: rule.least,
    max: rule.most,
    step: rule.even ? 2 : rule.whole ? 1 : "any",
    inputmode: rule.whole ? "numeric" : "decimal",
    "aria-label": say(WORDS.as_number, { words }),
    ...UNSUPPRESSED,
  });
  ui.listen(range, "input", () => change({ [name]: value(Number(range.value)) }));
  ui.listen(field, "input", () => {
    try {
      const typed = checked(name, field.value, rule);
      check?.(name, typed);
      change({ [name]: typed });
      set(field, { "aria-invalid": "false" });
    } catch (error) {
      set(field, { "aria-invalid": "true" });
      tell(error.message);
    }
  });
  ui.listen(field, "change", () => {
    field.value = String(state()[name]);
    set(field, { "aria-invalid": "false" });
  });
  return (now, most = rule.most) => {
    set(range, { max: stand(most), "aria-valuetext": grouped(now) });
    range.value = String(stand(now));
    if (Number(field.value) !== now || field.value === "") field.value = String(now);
  };
}

// `names` says what a text is called, where that is not the text itself.
function choiceControl(ui, holder, [name, words], { texts, names = {} }, { change, address }) {
  const label = add(holder, "label");
  wordOf(label, words, address?.(name));
  const select = add(label, "select", UNSUPPRESSED);
  for (const text of texts) add(select, "option", { value: text }, names[text] ?? text);
  ui.listen(select, "change", () => change({ [name]: select.value }));
  return (now) => selectOption(select, now);
}

// The one alone: where stills are drawn, to take the choice from one takes it from all.
function selectOption(select, value) {
  for (const option of select.options) if (option.value === value) option.selected = true;
}

// A text to copy: on the clipboard, or selected where the browser forbids that.
function copyArea(ui, tell) {
  const area = ui.root.ownerDocument.createElement("textarea");
  set(area, {
    readonly: "",
    hidden: "",
    spellcheck: "false",
    "aria-label": WORDS.to_copy,
    ...UNSUPPRESSED,
  });
  async function copy(text, done) {
    area.value = text;
    set(area, { rows: Math.min(24, text.split("\n").length + 1) });
    area.hidden = false;
    try {
      await navigator.clipboard.writeText(text);
      tell(done);
    } catch {
      area.focus();
      area.select();
      tell(WORDS.by_hand);
    }
  }
  const hide = () => {
    area.hidden = true; // it would be that of another state
  };
  return { area, copy, hide };
}
