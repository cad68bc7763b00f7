// What every figure stands on: SVG parts, handles, a text readout, accessible names.
// A drawing comes from the traits alone and is laid out by viewBox, so the same code also draws
// stills where nothing can be measured. Nothing moves unless a hand moves it. Python puts this text, WORDS and the figure's own text together.

const SVG = "http://www.w3.org/2000/svg";
const TURN = 2 * Math.PI;

// ---- numbers and words

const rotate = ([x, y], angle) => {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [cos * x - sin * y, sin * x + cos * y];
};
const norm = ([x, y]) => Math.hypot(x, y);
const direction = ([x, y]) => Math.atan2(y, x);
const wrap = (angle) => {
  const rest = angle - TURN * Math.round(angle / TURN);
  return rest <= -Math.PI ? rest + TURN : rest; // in (-π, π]
};

const fixed = (x, digits = 2) => {
  const rounded = Number(x.toFixed(digits)); // no "-0.00"
  return (rounded === 0 ? 0 : rounded).toFixed(digits).replace("-", "−");
};
const short = (x, digits = 2) =>
  String(Number(x.toFixed(digits)))
    .replace(/^-0$/, "0")
    .replace("-", "−");
const pair = ([x, y]) => `(${short(x)}, ${short(y)})`;
const complex = ([x, y], show = (number) => fixed(number, 3)) =>
  `${show(x)} ${y < 0 ? "−" : "+"} ${show(Math.abs(y))}i`;
const say = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// 6.28, 628, 6.3k, 54k, 2.1M: three figures or so, where there is little room.
function compact(x) {
  const [size, unit] = [
    [1e6, "M"],
    [1e3, "k"],
    [1, ""],
  ].find(([least]) => Math.abs(x) >= least) ?? [1, ""];
  const value = x / size;
  return short(value, value >= 100 ? 0 : value >= 10 || size > 1 ? 1 : 2) + unit;
}

// ---- elements

const SVG_TAGS = new Set("svg g line circle path text tspan rect".split(" "));

const round = (x) => Math.round(x * 100) / 100; // a hundredth of a unit cannot be seen

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = String(typeof value === "number" ? round(value) : value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
  return node;
}

function add(parent, tag, attributes = {}, text = "") {
  const doc = parent.ownerDocument;
  const node = SVG_TAGS.has(tag) ? doc.createElementNS(SVG, tag) : doc.createElement(tag);
  if (text) node.textContent = text;
  return parent.appendChild(set(node, attributes));
}

const write = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

// "R_{5}q": single letters and iθ italic, _{…} lowered, ^{…} raised.
function math(node, source) {
  if (node.getAttribute("data-math") === source) return;
  node.setAttribute("data-math", source);
  node.textContent = "";
  const inSvg = SVG_TAGS.has(node.tagName.toLowerCase());
  const italics = (parent, text) => {
    for (const piece of text.split(/(\p{L}+)/u).filter(Boolean)) {
      const letter = /^(\p{L}|\p{L}?\p{Script=Greek})$/u.test(piece) && { class: "rope-i" };
      add(parent, inSvg ? "tspan" : "span", { ...letter }, piece);
    }
  };
  let back = 0;
  for (const [, script, inner, plain] of source.matchAll(/([_^])\{([^}]*)\}|([^_^]+)/g)) {
    const shift = script ? { _: 4, "^": -6 }[script] : 0;
    const holder = inSvg
      ? add(node, "tspan", { dy: shift - back, ...(script && { class: "rope-script" }) })
      : add(node, { _: "sub", "^": "sup" }[script] ?? "span");
    back = shift;
    italics(holder, script ? inner : plain);
  }
}

// ---- the frame: picture, panel, readout, and one sentence for those who listen

const QUIET = 800; // ms without a change before the sentence is spoken

function frame(model, el, wide) {
  const undo = [];
  const root = add(el, "div", { class: "rope-figure", role: "group", "aria-label": WORDS.title });
  const body = add(root, "div", { class: wide ? "rope-wide" : "rope-columns" });
  const ui = {
    model,
    root,
    pictures: [],
    picture: wide ? body : add(body, "div", { class: "rope-picture" }),
    panel: wide ? body : add(body, "div", { class: "rope-panel" }),
    spoken: add(root, "div", { class: "rope-unseen", role: "status" }),
    listen(node, type, handler) {
      node.addEventListener(type, handler);
      undo.push(() => node.removeEventListener(type, handler));
    },
    follow(event, handler) {
      model.on(event, handler);
      undo.push(() => model.off(event, handler));
    },
    readout() {
      return add(ui.panel, "output", { class: "rope-readout", "aria-live": "off" });
    },
    describe(sentence) {
      for (const picture of ui.pictures) set(picture, { "aria-label": sentence });
      clearTimeout(ui.timer);
      if (ui.told) ui.timer = setTimeout(() => write(ui.spoken, sentence), QUIET);
      ui.told = true;
    },
    stop() {
      clearTimeout(ui.timer);
      for (const step of undo) step();
    },
  };
  return ui;
}

// A line of the readout: name, symbol, value. Returns update(value, symbol).
function row(output, name, symbol = "", look = "") {
  const line = add(output, "span", { class: `rope-row ${look}` });
  const words = add(line, "span", { class: "rope-name" }, name ? `${name} ` : "");
  const letters = add(words, "span", { class: "rope-math" });
  const number = add(line, "span", { class: "rope-value" });
  return (value, letter = symbol) => {
    math(letters, letter);
    write(number, value);
  };
}

// A matrix in brackets; entries fill it row by row. Returns update(entries).
function matrix(parent, columns, look, digits = 3) {
  const box = add(parent, "span", { class: `rope-matrix ${look}`, role: "img" });
  box.setAttribute("style", `--columns: ${columns}`);
  return (entries) => {
    const texts = entries.map((x) => fixed(x, digits));
    while (box.childNodes.length < texts.length) add(box, "span");
    texts.forEach((text, i) => write(box.childNodes[i], text));
    const rows = [];
    for (let i = 0; i < texts.length; i += columns)
      rows.push(texts.slice(i, i + columns).join(", "));
    set(box, { "aria-label": say(WORDS.matrix, { rows: rows.join("; ") }) });
  };
}

// ---- choices: a drop-down links its index, so a choice `name` has a trait `name_index` beside it

function followChoices(model, inputs) {
  const ties = [];
  for (const name of inputs.filter((input) => model.get(`${input}_index`) !== undefined)) {
    const copy = (trait, value) => {
      if (value === undefined || value < 0 || value === model.get(trait)) return;
      model.set(trait, value);
      model.save_changes();
    };
    const texts = () => model.get("options")?.[name] ?? [];
    const adopt = () => copy(name, texts()[model.get(`${name}_index`)]);
    const tell = () => copy(`${name}_index`, texts().indexOf(model.get(name)));
    adopt(); // a page's reader may choose before the figure wakes
    ties.push([`change:${name}_index`, adopt], [`change:${name}`, tell]);
  }
  for (const [event, call] of ties) model.on(event, call);
  return () => {
    for (const [event, call] of ties) model.off(event, call);
  };
}

// ---- a figure: inputs (traits) → compute (numbers) → draw

// `build(ui)` makes the parts once and returns draw(state, result, last), which returns a sentence.
// `wide` has one column. The single finite numbers of `compute` (JSON has no others) are written
// back as the trait `readout`.
function figure({ inputs, compute, build, wide = false }) {
  const render = ({ model, el }) => {
    const ui = frame(model, el, wide);
    const draw = build(ui);
    let last;
    const drop = followChoices(model, inputs);
    const update = () => {
      const state = Object.fromEntries(inputs.map((name) => [name, model.get(name)]));
      const result = compute(state);
      ui.describe(draw(state, result, last));
      last = { state, result };
      const numbers = Object.entries(result).filter(([, value]) => Number.isFinite(value));
      const readout = Object.fromEntries(numbers);
      if (JSON.stringify(readout) === JSON.stringify(model.get("readout"))) return;
      model.set("readout", readout);
      model.save_changes();
    };
    for (const name of inputs) model.on(`change:${name}`, update);
    ui.redraw = update;
    update();
    return () => {
      for (const name of inputs) model.off(`change:${name}`, update);
      drop();
      ui.stop();
      ui.root.remove();
    };
  };
  return { render, compute };
}
