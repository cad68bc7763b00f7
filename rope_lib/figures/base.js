// What every figure stands on: SVG parts, handles, a text readout, accessible names.
// A drawing comes from the traits alone and is laid out by viewBox, so the same code also draws
// stills where nothing can be measured. WORDS is put before this text by Python.

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
const complex = ([x, y], digits = 3) =>
  `${short(x, digits)} ${y < 0 ? "−" : "+"} ${short(Math.abs(y), digits)}i`;
const say = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// ---- elements

const SVG_TAGS = new Set("svg g line circle path text tspan rect".split(" "));

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
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

// "R_{5}q": letters italic (but not a word such as cos), _{…} lowered, ^{…} raised.
function math(node, source) {
  if (node.getAttribute("data-math") === source) return;
  node.setAttribute("data-math", source);
  node.textContent = "";
  const inSvg = SVG_TAGS.has(node.tagName.toLowerCase());
  const italics = (parent, text) => {
    for (const piece of text.split(/(\p{L}+)/u).filter(Boolean)) {
      const letter = /^\p{L}{1,2}$/u.test(piece) && { class: "rope-i" };
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

// ---- the plane: a square of 400 units, the origin in its middle

const SIDE = 400;
const MIDDLE = SIDE / 2;
const REACH = MIDDLE - 16;
const STEPS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

const arcPath = (radius, from, angle, wedge = false) => {
  const point = (turn) => `${MIDDLE + radius * Math.cos(turn)} ${MIDDLE - radius * Math.sin(turn)}`;
  const sweep = angle > 0 ? 0 : 1;
  if (Math.abs(angle) >= TURN) {
    const half = `A${radius} ${radius} 0 1 ${sweep} `;
    return `M${point(from)}${half}${point(from + Math.PI)}${half}${point(from)}`;
  }
  const large = Math.abs(angle) > Math.PI ? 1 : 0;
  const arc = `${point(from)}A${radius} ${radius} 0 ${large} ${sweep} ${point(from + angle)}`;
  return wedge ? `M${MIDDLE} ${MIDDLE}L${arc}Z` : `M${arc}`;
};

class Plane {
  constructor(ui, { least, axes = ["", ""] }) {
    this.ui = ui;
    this.least = least;
    this.svg = add(ui.picture, "svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "rope-plane" });
    this.drawing = add(this.svg, "g", { role: "img" });
    this.grid = add(this.drawing, "g", { class: "rope-grid" });
    this.axes = axes;
    ui.pictures.push(this.drawing);
  }

  // Make room for vectors as long as `longest`; a drag keeps the room it began with.
  fit(longest) {
    const wanted = Math.max(this.least, longest * 1.05);
    const step = STEPS.find((size) => wanted <= 4 * size) ?? wanted / 4;
    const range = Math.max(this.least, (step * Math.ceil((2 * wanted) / step)) / 2);
    if (this.dragging || range === this.range) return;
    this.step = step;
    this.range = range;
    this.unit = REACH / this.range;
    this.drawGrid();
  }

  drawGrid() {
    this.grid.textContent = "";
    const lines = Math.floor(this.range / this.step);
    for (let i = -lines; i <= lines; i++) {
      const at = i * this.step * this.unit;
      const axis = i === 0 ? { class: "rope-axis" } : {};
      add(this.grid, "line", { x1: MIDDLE + at, x2: MIDDLE + at, y1: 8, y2: SIDE - 8, ...axis });
      add(this.grid, "line", { y1: MIDDLE - at, y2: MIDDLE - at, x1: 8, x2: SIDE - 8, ...axis });
      if (i === 0 || (lines > 2 && i % 2)) continue;
      const tick = short(i * this.step);
      add(this.grid, "text", { x: MIDDLE + at, y: MIDDLE + 15, "text-anchor": "middle" }, tick);
      add(this.grid, "text", { x: MIDDLE - 6, y: MIDDLE - at + 5, "text-anchor": "end" }, tick);
    }
    add(this.grid, "text", { x: SIDE - 8, y: MIDDLE - 7, "text-anchor": "end" }, this.axes[0]);
    add(this.grid, "text", { x: MIDDLE + 8, y: 18 }, this.axes[1]);
  }

  at([x, y]) {
    return [MIDDLE + x * this.unit, MIDDLE - y * this.unit];
  }

  // Returns update(vector, label, turn): the label stands past the tip, turned a little aside.
  arrow(look) {
    const group = add(this.drawing, "g", { class: `rope-arrow ${look}` });
    const shaft = add(group, "line", { x1: MIDDLE, y1: MIDDLE });
    const head = add(group, "path");
    const text = add(group, "text", { class: "rope-label", "text-anchor": "middle" });
    return (vector, label, turn = 0) => {
      const [x, y] = this.at(vector);
      const angle = direction(vector);
      const size = Math.min(13, norm(vector) * this.unit);
      const back = (length, side) =>
        `${x - length * Math.cos(angle - side)} ${y + length * Math.sin(angle - side)}`;
      set(shaft, {
        x2: x - size * 0.8 * Math.cos(angle),
        y2: y + size * 0.8 * Math.sin(angle),
      });
      set(head, { d: `M${x} ${y}L${back(size, 0.42)}L${back(size, -0.42)}Z` });
      math(text, label);
      this.place(text, [x, y], angle + turn, 17);
    };
  }

  // Put a label `away` from a point, but not over the edge of the plane.
  place(text, [x, y], angle, away) {
    const half = 4 + 4 * text.textContent.length;
    const inside = (value, room) => Math.min(SIDE - room, Math.max(room, value));
    set(text, {
      x: inside(x + (away + half / 3) * Math.cos(angle), half),
      y: inside(y - away * Math.sin(angle), 12) + 6,
    });
  }

  // Returns update(radius, from, angle, label): an arc; with `wedge`, filled to the origin.
  arc(look, wedge = false) {
    const group = add(this.drawing, "g", { class: `rope-arc ${look}` });
    const path = add(group, "path");
    const text = add(group, "text", { class: "rope-label", "text-anchor": "middle" });
    return (radius, from, angle, label = "") => {
      set(path, { d: arcPath(radius, from, angle, wedge) });
      const middle = from + angle / 2;
      const tip = [MIDDLE + radius * Math.cos(middle), MIDDLE - radius * Math.sin(middle)];
      math(text, label);
      this.place(text, tip, middle, 13);
    };
  }

  circle(look) {
    const ring = add(this.drawing, "circle", {
      cx: MIDDLE,
      cy: MIDDLE,
      class: `rope-ring ${look}`,
    });
    return (radius) => set(ring, { r: radius * this.unit });
  }

  // A point that can be dragged or moved with the arrow keys, writing to the trait `name`.
  handle(name, look, label) {
    const { model, listen } = this.ui;
    const knob = add(this.svg, "g", {
      class: `rope-handle ${look}`,
      role: "slider",
      tabindex: 0,
      "aria-label": say(WORDS.handle, { name: label }),
      "aria-roledescription": WORDS.handle_role,
      "data-lm-suppress-shortcuts": "true", // JupyterLab would take the arrow keys
      "data-trait": name,
    });
    add(knob, "circle", { r: 24, class: "rope-hit" });
    add(knob, "circle", { r: 8 });

    const move = ([x, y]) => {
      const room = Math.min(1, this.range / norm([x, y])) || 1;
      const snap = (value) => Math.round(value * room * 20) / 20;
      const now = model.get(name);
      const next = [snap(x), snap(y)];
      if (next[0] === now[0] && next[1] === now[1]) return;
      model.set(name, next);
      model.save_changes();
    };
    const follow = (event) => {
      if (!this.dragging) return;
      const box = this.svg.getBoundingClientRect();
      const units = SIDE / box.width / this.unit;
      move([
        (event.clientX - box.left - box.width / 2) * units,
        (box.top + box.height / 2 - event.clientY) * units,
      ]);
    };
    const release = () => {
      this.dragging = false;
      knob.classList.remove("rope-held");
    };
    listen(knob, "pointerdown", (event) => {
      if (event.button) return;
      this.dragging = true;
      knob.classList.add("rope-held");
      knob.setPointerCapture(event.pointerId);
      knob.focus({ preventScroll: true });
      event.preventDefault();
    });
    listen(knob, "pointermove", follow);
    listen(knob, "pointerup", release);
    listen(knob, "pointercancel", release);
    listen(knob, "lostpointercapture", release);
    listen(knob, "keydown", (event) => {
      const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const way = ways[event.key];
      if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      const step = event.shiftKey ? 1 : 0.1;
      const [x, y] = model.get(name);
      move([x + step * way[0], y + step * way[1]]);
    });
    return (vector) => {
      const [x, y] = this.at(vector);
      const words = say(WORDS.at, { x: short(vector[0]), y: short(vector[1]) });
      set(knob, {
        transform: `translate(${x} ${y})`,
        "aria-valuenow": vector[0],
        "aria-valuetext": words,
      });
    };
  }
}

// ---- the frame: picture, panel, readout, and one sentence for those who listen

const QUIET = 800; // ms without a change before the sentence is spoken

function frame(model, el) {
  const undo = [];
  const root = add(el, "div", { class: "rope-figure", role: "group", "aria-label": WORDS.title });
  const columns = add(root, "div", { class: "rope-columns" });
  const ui = {
    model,
    root,
    pictures: [],
    picture: add(columns, "div", { class: "rope-picture" }),
    panel: add(columns, "div", { class: "rope-panel" }),
    whole: add(root, "div", { class: "rope-whole" }), // below, over the full width
    spoken: add(root, "div", { class: "rope-unseen", role: "status" }),
    listen(node, type, handler) {
      node.addEventListener(type, handler);
      undo.push(() => node.removeEventListener(type, handler));
    },
    readout(parent = ui.panel) {
      return add(parent, "output", { class: "rope-readout", "aria-live": "off" });
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
function matrix(parent, columns, look = "") {
  const box = add(parent, "span", { class: `rope-matrix ${look}`, role: "img" });
  box.setAttribute("style", `--columns: ${columns}`);
  return (entries) => {
    const texts = entries.map((x) => fixed(x, 3));
    while (box.childNodes.length < texts.length) add(box, "span");
    texts.forEach((text, i) => write(box.childNodes[i], text));
    const rows = [];
    for (let i = 0; i < texts.length; i += columns)
      rows.push(texts.slice(i, i + columns).join(", "));
    set(box, { "aria-label": say(WORDS.matrix, { rows: rows.join("; ") }) });
  };
}

// ---- a figure: inputs (traits) → compute (numbers) → draw

// `build(ui)` makes the parts once and returns draw(state, result, last), which returns a sentence.
// The single numbers of `compute` are written back as the trait `readout`.
function figure({ inputs, compute, build }) {
  const render = ({ model, el }) => {
    const ui = frame(model, el);
    const draw = build(ui);
    let last;
    const update = () => {
      const state = Object.fromEntries(inputs.map((name) => [name, model.get(name)]));
      const result = compute(state);
      ui.describe(draw(state, result, last));
      last = { state, result };
      const numbers = Object.entries(result).filter(([, value]) => typeof value === "number");
      const readout = Object.fromEntries(numbers);
      if (JSON.stringify(readout) === JSON.stringify(model.get("readout"))) return;
      model.set("readout", readout);
      model.save_changes();
    };
    for (const name of inputs) model.on(`change:${name}`, update);
    update();
    return () => {
      for (const name of inputs) model.off(`change:${name}`, update);
      ui.stop();
      ui.root.remove();
    };
  };
  return { render, compute };
}
