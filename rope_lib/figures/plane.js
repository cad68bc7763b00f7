// The plane of the figures that draw one: a square of 400 units, the origin in its middle, with
// grid, arrows, arcs and handles. It follows base.js in the joined module.

const SIDE = 400;
const MIDDLE = SIDE / 2;
const REACH = MIDDLE - 16;
const STEPS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

const onCircle = (radius, angle) => {
  const x = round(MIDDLE + radius * Math.cos(angle));
  const y = round(MIDDLE - radius * Math.sin(angle));
  return `${x} ${y}`;
};

const arcPath = (radius, from, angle, wedge = false) => {
  const sweep = angle > 0 ? 0 : 1;
  const bend = (large, to) =>
    `A${round(radius)} ${round(radius)} 0 ${large} ${sweep} ${onCircle(radius, to)}`;
  const start = onCircle(radius, from);
  if (Math.abs(angle) >= TURN) return `M${start}${bend(1, from + Math.PI)}${bend(1, from)}`;
  const arc = start + bend(Math.abs(angle) > Math.PI ? 1 : 0, from + angle);
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
    const knob = look.includes("rope-before") ? 9 : 0; // a handle sits on this tip
    return (vector, label, turn = 0) => {
      const angle = direction(vector);
      const length = Math.max(0, norm(vector) * this.unit - knob);
      const size = Math.min(13, length);
      const x = MIDDLE + length * Math.cos(angle);
      const y = MIDDLE - length * Math.sin(angle);
      const back = (far, side) =>
        `${round(x - far * Math.cos(angle - side))} ${round(y + far * Math.sin(angle - side))}`;
      set(shaft, {
        x2: x - size * 0.8 * Math.cos(angle),
        y2: y + size * 0.8 * Math.sin(angle),
      });
      set(head, { d: `M${round(x)} ${round(y)}L${back(size, 0.42)}L${back(size, -0.42)}Z` });
      math(text, label);
      this.place(text, this.at(vector), angle + turn, 17 + knob / 2);
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

  // Returns update(radius, from, angle, label, aside): an arc, its label at the angle `aside`;
  // with `wedge`, filled to the origin.
  arc(look, wedge = false) {
    const group = add(this.drawing, "g", { class: `rope-arc ${look}` });
    const path = add(group, "path");
    const text = add(group, "text", { class: "rope-label", "text-anchor": "middle" });
    return (radius, from, angle, label = "", aside = from + angle / 2) => {
      set(path, { d: arcPath(radius, from, angle, wedge) });
      const tip = [MIDDLE + radius * Math.cos(aside), MIDDLE - radius * Math.sin(aside)];
      math(text, label);
      this.place(text, tip, aside, 13);
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
    add(knob, "circle", { r: 28, class: "rope-hit" });
    add(knob, "circle", { r: 8 });
    add(knob, "circle", { r: 13, class: "rope-focus" });

    const move = ([x, y]) => {
      const room = Math.min(1, this.range / norm([x, y]));
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
    listen(knob, "pointerdown", (event) => {
      if (event.button) return;
      knob.setPointerCapture(event.pointerId);
      this.dragging = true;
      knob.classList.add("rope-held");
      knob.focus({ preventScroll: true });
      event.preventDefault();
    });
    listen(knob, "pointermove", follow);
    listen(knob, "lostpointercapture", () => {
      this.dragging = false;
      knob.classList.remove("rope-held");
      this.ui.redraw(); // the plane may fit the vector now
    });
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
        transform: `translate(${round(x)} ${round(y)})`,
        "aria-valuenow": vector[0],
        "aria-valuetext": words,
      });
    };
  }
}
