// The sandbox's controls: native and labelled, in groups; those that would do nothing are not there.

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

// A head that rotates whole goes on to rotate whole.
function withRotary(changes, state) {
  if (changes.head_dim === undefined) return changes;
  const isWhole = state.rotary_dim === state.head_dim;
  const most = changes.head_dim;
  return { ...changes, rotary_dim: isWhole ? most : Math.min(state.rotary_dim, most) };
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
  const copying = copyArea(ui, tell);
  function read(isOpened) {
    const fragment = globalThis.location.hash.slice(1);
    if (!/^[^:]+=/.test(fragment)) return; // it names a heading, or another figure's state
    try {
      change(stateOf(fragment, rules));
      tell(WORDS.from_link);
    } catch (error) {
      tell(say(WORDS.bad_link, { problem: error.message }));
    }
    if (isOpened) ui.root.scrollIntoView();
  }

  const isPage = ui.root.closest(".static-widget");
  button(WORDS.reset, () => {
    copying.hide();
    change(start);
    tell(WORDS.was_reset);
  });
  button(WORDS.copy_python, () => copying.copy(pythonOf(state(), rules), WORDS.python_copied));
  if (isPage)
    button(WORDS.copy_link, () => {
      const [address] = globalThis.location.href.split("#");
      const fragment = fragmentOf(state(), rules);
      copying.copy(fragment ? `${address}#${fragment}` : address, WORDS.link_copied);
    });
  parent.appendChild(told);
  parent.appendChild(copying.area);
  if (isPage && globalThis.location) {
    ui.listen(globalThis, "hashchange", () => read(true));
    read(false);
  }
  return copying.hide;
}
