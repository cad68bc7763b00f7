// The knobs of the model: its rotation, what it reads, and how it writes; a link to all of them.

const MARK = "model:"; // before the state in an address: other figures have theirs there, too
const TOGGLES = 8; // a line of them, as figures.css lays them out
const UNRESET = ["prompt", "layer", "head"]; // what a reader looks at is no knob

// Knob → what it is made of; a function, because a part of the module stands before its words.
const knobParts = () => ({
  layout: [["channel_layout", WORDS.layout, choiceControl]],
  base: [["base", WORDS.base, numberControl]],
  stretch: [["stretch", WORDS.stretch, numberControl]],
  shift: [["shift", WORDS.shift, numberControl]],
  bfloat16: [["bfloat16", WORDS.bfloat16, flagControl]],
  scaling: [
    ["scaling", WORDS.scaling, choiceControl],
    ["factor", WORDS.factor, numberControl],
  ],
  pairs: [["pairs_off", WORDS.pairs, togglesControl]],
  layers: [["layers_off", WORDS.layers, togglesControl]],
  length: [["length", WORDS.length, numberControl]],
});
const writingParts = () => [
  ["count", WORDS.count, numberControl],
  ["temperature", WORDS.temperature, numberControl],
  ["seed", WORDS.seed, numberControl],
];

const namesOfChoices = () => ({
  scaling: { default: WORDS.no_scaling, linear: WORDS.linear, ntk: WORDS.ntk, yarn: WORDS.yarn },
});

function flagControl(ui, holder, [name, words], rule, { change, address }) {
  const label = add(holder, "label");
  wordOf(label, words, address(name));
  const box = add(label, "input", { type: "checkbox", ...UNSUPPRESSED });
  ui.listen(box, "change", () => change({ [name]: box.checked }));
  return (now) => {
    box.checked = now;
  };
}

// A row of buttons with one Tab stop: the arrow keys walk it, `columns` of them to a line.
function walked(ui, row, words, columns = 1) {
  set(row, { role: "toolbar", "aria-label": words, ...UNSUPPRESSED });
  const buttons = [...row.children];
  const visit = (i) => buttons.forEach((each, j) => set(each, { tabindex: i === j ? 0 : -1 }));
  visit(0);
  ui.listen(row, "focusin", (event) => visit(buttons.indexOf(event.target)));
  ui.listen(row, "keydown", (event) => {
    const at = buttons.indexOf(event.target);
    const targets = {
      ...{ ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 },
      ...{ ArrowUp: at - columns, ArrowDown: at + columns },
    };
    if (!Object.hasOwn(targets, event.key)) return;
    event.preventDefault(); // the page would scroll
    buttons[targets[event.key]]?.focus();
  });
}

// One line of fixed height: what is said of the toggle under the hand.
function pointedLine(ui, holder, row, toggles) {
  const line = add(holder, "p", { class: "rope-hint" });
  let chosen = -1;
  const tell = () => write(line, toggles[chosen]?.getAttribute("title") ?? WORDS.speed_hint);
  for (const sign of ["pointerover", "focusin"])
    ui.listen(row, sign, (event) => {
      chosen = toggles.includes(event.target) ? toggles.indexOf(event.target) : chosen;
      tell();
    });
  return tell;
}

// What each toggle is called: for a pair, with its speed.
function namesOfToggles(name, state, rules) {
  if (name === "layers_off")
    return Array.from({ length: rules.layers }, (_, i) => say(WORDS.one_layer, { number: i }));
  return turnsOf(state, rules).map((tokens, i) =>
    say(WORDS.one_pair, { number: i, tokens: compact(tokens) }),
  );
}

// A button for each of a few things that can be switched off, and one for each common choice.
function togglesControl(ui, holder, [name, words], { below }, { change, state, address, rules }) {
  wordOf(holder, words, address(name));
  const all = Array.from({ length: below }, (_, i) => i);
  const row = add(holder, "div", { class: "rope-toggles" });
  const toggles = all.map((i) => {
    const toggle = add(row, "button", { type: "button" }, String(i));
    ui.listen(toggle, "click", () => {
      const off = state()[name];
      change({ [name]: off.includes(i) ? off.filter((j) => j !== i) : [...off, i].sort((a, b) => a - b) });
    });
    return toggle;
  });
  walked(ui, row, words, TOGGLES);
  const tell = name === "pairs_off" && pointedLine(ui, holder, row, toggles);
  const choices = add(holder, "div", { class: "rope-choices" });
  const common = { [WORDS.all_rotate]: [], [WORDS.none_rotates]: all };
  if (name === "pairs_off") {
    common[WORDS.without_fastest] = [0];
    common[WORDS.without_slow] = all.slice(below / 2);
  }
  for (const [text, off] of Object.entries(common)) {
    const button = add(choices, "button", { type: "button" }, text);
    ui.listen(button, "click", () => change({ [name]: off }));
  }
  walked(ui, choices, say(WORDS.common_choices, { words }));
  return (now) => {
    const names = namesOfToggles(name, state(), rules);
    toggles.forEach((toggle, i) => {
      const pressed = String(!now.includes(i));
      set(toggle, { "aria-pressed": pressed, "aria-label": names[i], title: names[i] });
    });
    if (tell) tell();
  };
}

// Returns update(state).
function buildKnobs(ui, parent, controls, rules, tools) {
  const made = controls.map(([name, words, make]) => {
    const holder = add(parent, "div", { class: "rope-knob", "data-trait": name });
    const names = namesOfChoices()[name];
    const rule = { ...rules.inputs[name], ...(names && { names }) };
    return { name, holder, update: make(ui, holder, [name, words], rule, { ...tools, rules }) };
  });
  return (state) => {
    for (const { name, holder, update } of made) {
      if (name === "factor") holder.hidden = state.scaling === "default";
      update(state[name]);
    }
  };
}

// Knob → the address of the page about it; none outside the book, nor on that very page.
function chapterOf(knob, { chapters }) {
  const root = globalThis.document?.documentElement.dataset?.content_root;
  const page = `${chapters[knob]}.html`;
  if (root === undefined || !chapters[knob]) return undefined;
  return globalThis.location.pathname.endsWith(`/${page}`) ? undefined : root + page;
}

// ---- the state in an address

function readValue(name, text, rule) {
  if (rule.below) {
    const wanted = text === "" ? [] : text.split(",");
    const range = { least: 0, most: rule.below - 1, whole: true };
    return [...new Set(wanted.map((each) => checked(name, each, range)))].sort((a, b) => a - b);
  }
  if (typeof rule.default === "boolean")
    return checked(name, text, { texts: ["false", "true"] }) === "true";
  return typeof rule.default === "string" && !rule.texts ? text : checked(name, text, rule);
}

function stateOf(fragment, { inputs }) {
  const state = {};
  for (const name of Object.keys(inputs)) state[name] = inputs[name].default;
  for (const [name, text] of new URLSearchParams(fragment)) {
    if (!Object.hasOwn(inputs, name)) throw new Error(say(WORDS.no_such, { name }));
    state[name] = readValue(name, text, inputs[name]);
  }
  return state;
}

// Reset, and a link where there is a page to link to.
function buildSharing(ui, parent, rules, { change, tell, state }) {
  const buttons = add(parent, "div", { class: "rope-buttons" });
  const button = (words, call) =>
    ui.listen(add(buttons, "button", { type: "button" }, words), "click", call);
  const copying = copyArea(ui, tell);
  button(WORDS.reset, () => {
    copying.hide();
    const start = Object.entries(ui.model.get("start"));
    change(Object.fromEntries(start.filter(([name]) => !UNRESET.includes(name))));
    tell(WORDS.was_reset);
  });
  if (!ui.root.closest(".static-widget") || !globalThis.location) return;
  button(WORDS.copy_link, () => {
    const [address] = globalThis.location.href.split("#");
    copying.copy(`${address}#${MARK}${fragmentOf(state(), rules)}`, WORDS.link_copied);
  });
  parent.appendChild(copying.area);
  function read(isOpened) {
    const fragment = globalThis.location.hash.slice(1);
    if (!fragment.startsWith(MARK)) return;
    try {
      change({ ...stateOf(fragment.slice(MARK.length), rules), awake: true });
      tell(WORDS.from_link);
    } catch (error) {
      tell(say(WORDS.bad_link, { problem: error.message }));
    }
    if (isOpened) ui.root.scrollIntoView();
  }
  ui.listen(globalThis, "hashchange", () => read(true));
  read(false);
}
