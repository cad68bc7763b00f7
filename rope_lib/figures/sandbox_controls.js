// The sandbox's controls: native and labelled, in groups; those that would do nothing are not there.

const UNSUPPRESSED = { "data-lm-suppress-shortcuts": "true" }; // JupyterLab would take the keys
const isScaled = ({ scaling }) => scaling !== "default";
// A function, because a part of the module stands before its words.
const groupsOfControls = () => [
  [
    WORDS.head,
    [
      ["head_dim", WORDS.head_dim],
      ["rotary_dim", WORDS.rotary_dim],
      ["base", WORDS.base],
      ["channel_layout", WORDS.channel_layout],
    ],
  ],
  [
    WORDS.scaling_group,
    [
      ["scaling", WORDS.scaling],
      ["factor", WORDS.factor, isScaled],
      ["original", WORDS.length, ({ scaling }) => ["dynamic", "yarn", "llama3"].includes(scaling)],
    ],
  ],
  [
    WORDS.places,
    [
      ["m", WORDS.m],
      ["n", WORDS.n],
      ["shift", WORDS.shift],
    ],
  ],
  [
    WORDS.vectors,
    [
      ["kind", WORDS.kind],
      ["seed", WORDS.seed, ({ kind }) => kind === "random"],
      ["peak", WORDS.peak, ({ kind }) => kind === "aimed"],
      ["pair", WORDS.pair],
    ],
  ],
  [
    WORDS.precision,
    [
      ["dtype", WORDS.dtype],
      ["rounded", WORDS.rounded, ({ dtype }) => dtype !== "float64"],
    ],
  ],
];

// Where the range stands for a value: a base by its logarithm.
const LOGARITHM = {
  stand: (value) => Math.round(100 * Math.log10(value)),
  value: (stand) => Math.round(Number((10 ** (stand / 100)).toPrecision(3))),
};
const STRAIGHT = { stand: (value) => value, value: (stand) => stand };
const scaleOf = (name) => (name === "base" ? LOGARITHM : STRAIGHT);

// A head that rotates whole goes on to rotate whole.
function withRotary(changes, state) {
  if (changes.head_dim === undefined) return changes;
  const isWhole = state.rotary_dim === state.head_dim;
  const most = changes.head_dim;
  return { ...changes, rotary_dim: isWhole ? most : Math.min(state.rotary_dim, most) };
}

// Returns update(state, limits): a range and a number field that keep step.
function numberControl(ui, holder, [name, words], rule, { change, tell, state }) {
  const { stand, value } = scaleOf(name);
  const step = rule.even ? 2 : rule.whole ? 1 : 0.5;
  const label = add(holder, "label");
  add(label, "span", {}, words);
  const ends = { min: stand(rule.least), max: stand(rule.most) };
  const range = add(label, "input", { type: "range", ...ends, step, ...UNSUPPRESSED });
  const field = add(holder, "input", {
    type: "number",
    min: rule.least,
    max: rule.most,
    step: rule.whole ? step : "any",
    inputmode: rule.whole ? "numeric" : "decimal",
    "aria-label": say(WORDS.as_number, { words }),
    ...UNSUPPRESSED,
  });
  ui.listen(range, "input", () => change({ [name]: value(Number(range.value)) }));
  ui.listen(field, "input", () => {
    try {
      const typed = checked(name, field.value, rule);
      if (name === "rotary_dim") checkRotary({ ...state(), rotary_dim: typed });
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

function choiceControl(ui, holder, [name, words], { texts }, { change }) {
  const label = add(holder, "label");
  add(label, "span", {}, words);
  const select = add(label, "select", UNSUPPRESSED);
  for (const text of texts) add(select, "option", { value: text }, text);
  ui.listen(select, "change", () => change({ [name]: select.value }));
  return (now) => {
    for (const option of select.options) option.selected = option.value === now;
  };
}

// Returns update(state). `change` takes new values, `tell` a sentence about what was refused.
function buildControls(ui, parent, rules, tools) {
  const groups = groupsOfControls().map(([words, controls]) => {
    const fieldset = add(parent, "fieldset");
    add(fieldset, "legend", {}, words);
    const made = controls.map(([name, label, isShown]) => {
      const holder = add(fieldset, "div", { class: "rope-knob", "data-trait": name });
      const rule = rules.inputs[name];
      const make = rule.texts ? choiceControl : numberControl;
      const update = make(ui, holder, [name, label], rule, tools);
      return { name, holder, update, isShown: isShown ?? (() => true) };
    });
    return { fieldset, made };
  });
  return (state) => {
    const ends = { rotary_dim: state.head_dim, pair: state.rotary_dim / 2 - 1 };
    for (const { fieldset, made } of groups) {
      let next = null; // from the last to the first, each before the one that follows
      for (const { name, holder, update, isShown } of made.toReversed()) {
        if (!isShown(state)) {
          holder.remove();
          continue;
        }
        if (holder.parentNode !== fieldset) fieldset.insertBefore(holder, next);
        next = holder;
        update(state[name], ends[name]);
      }
    }
  };
}

// Reset, a link to the state where there is a page to link to, and the state as Python.
function buildSharing(ui, parent, { change, tell, told, state }) {
  const { rules, start } = { rules: ui.model.get("rules"), start: ui.model.get("start") };
  const buttons = add(parent, "div", { class: "rope-buttons" });
  const button = (words, call) =>
    ui.listen(add(buttons, "button", { type: "button" }, words), "click", call);
  const area = add(parent, "textarea", {
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
  function read(isOpened) {
    const fragment = globalThis.location.hash.slice(1);
    if (!fragment.includes("=")) return; // it names a heading
    try {
      change(stateOf(fragment, rules));
      tell(WORDS.from_link);
    } catch (error) {
      tell(say(WORDS.bad_link, { problem: error.message }));
    }
    if (isOpened) ui.root.scrollIntoView();
  }

  const isPage = ui.root.closest(".static-widget");
  const hideText = () => {
    area.hidden = true; // it would be that of another state
  };
  button(WORDS.reset, () => {
    hideText();
    change(start);
    tell(WORDS.was_reset);
  });
  button(WORDS.copy_python, () => copy(pythonOf(state(), rules), WORDS.python_copied));
  if (isPage)
    button(WORDS.copy_link, () => {
      const [address] = globalThis.location.href.split("#");
      const fragment = fragmentOf(state(), rules);
      copy(fragment ? `${address}#${fragment}` : address, WORDS.link_copied);
    });
  parent.appendChild(told);
  parent.appendChild(area);
  if (isPage && globalThis.location) {
    ui.listen(globalThis, "hashchange", () => read(true));
    read(false);
  }
  return hideText;
}
