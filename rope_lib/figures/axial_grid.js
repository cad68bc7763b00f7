// Patches of a picture: the score of the chosen one with each, and a hand for the chosen pair.

const WIDTH = 480;
const EDGE = 24; // room for the numbers of rows and columns
const TALLEST = 380; // of the cells together
const INPUTS = "rows columns row column pair head_dim kind heading base".split(" ");

const ladder = (dim, base) =>
  Array.from({ length: dim / 2 }, (_, j) => base ** ((-2 * j) / dim));

// [radians a row, radians a column] of each pair.
function frequenciesOf({ kind, head_dim, base, heading, columns }) {
  if (kind === "flat") return ladder(head_dim, base).map((theta) => [columns * theta, theta]);
  const half = ladder(head_dim / 2, base);
  const along = (angle) =>
    half.map((theta) => [theta * Math.cos(angle), theta * Math.sin(angle)]);
  if (kind === "mixed") return [...along(heading), ...along(heading + Math.PI / 2)];
  return [...half.map((theta) => [theta, 0]), ...half.map((theta) => [0, theta])];
}

// The place that each patch is given. A list that runs down the columns gives it another's.
function placesOf({ rows, columns, kind }) {
  return Array.from({ length: rows * columns }, (_, at) =>
    kind === "transposed"
      ? [at % rows, Math.floor(at / rows)]
      : [Math.floor(at / columns), at % columns],
  );
}

function compute(state) {
  const { rows, columns, head_dim } = state;
  const [row, column] = [Math.min(state.row, rows - 1), Math.min(state.column, columns - 1)];
  const pairs = head_dim / 2;
  const pair = Math.min(state.pair, pairs - 1);
  const frequencies = frequenciesOf(state);
  const places = placesOf(state);
  const chosen = row * columns + column;
  const turn = ([a, b], [r, c]) => a * r + b * c;
  const scores = places.map(([r, c]) => {
    const away = [r - places[chosen][0], c - places[chosen][1]];
    const parts = frequencies.map((theta) => Math.cos(turn(theta, away)));
    return parts.reduce((sum, part) => sum + part, 0) / pairs;
  });
  const angles = places.map((place) => turn(frequencies[pair], place));
  return {
    right: column + 1 < columns ? scores[chosen + 1] : NaN,
    below: row + 1 < rows ? scores[chosen + columns] : NaN,
    lowest: Math.min(...scores),
    pairs,
    row_frequency: frequencies[pair][0],
    column_frequency: frequencies[pair][1],
    angle: angles[chosen],
    scores,
    angles,
    frequencies,
    places,
    shown: { row, column, pair, chosen },
  };
}

const REASONS = {
  axial: WORDS.axial,
  mixed: WORDS.mixed,
  flat: WORDS.flat,
  transposed: WORDS.transposed,
};

// A dial with a hand at (x, y). Angles run as elsewhere in the book: from the right, upwards.
function dial(parent, radius) {
  const group = add(parent, "g", { class: "rope-patch-dial" });
  add(group, "circle", { r: radius, class: "rope-face" });
  add(group, "line", { x1: 0, x2: radius, class: "rope-start" });
  const hand = add(group, "line", { x2: radius, class: "rope-hand" });
  return (x, y, angle) => {
    set(group, { transform: `translate(${round(x)} ${round(y)})` });
    set(hand, { transform: `rotate(${round((-(angle % TURN) * 360) / TURN)})` });
  };
}

// The patches of one grid. Returns update(result).
function drawPatches(parts, { rows, columns }, size, left) {
  parts.textContent = "";
  const label = (x, y, text) => add(parts, "text", { x, y, class: "rope-muted", "text-anchor": "middle" }, text);
  for (let c = 0; c < columns; c++) label(left + (c + 0.5) * size, 15, `${c}`);
  for (let r = 0; r < rows; r++) label(left - 12, EDGE + (r + 0.5) * size + 5, `${r}`);
  const patches = Array.from({ length: rows * columns }, (_, at) => {
    const [r, c] = [Math.floor(at / columns), at % columns];
    const [x, y] = [left + c * size, EDGE + r * size];
    const group = add(parts, "g");
    const box = { x: x + 1.5, y: y + 1.5, width: size - 3, height: size - 3, rx: 4 };
    const fill = add(group, "rect", box);
    const turn = dial(group, size * 0.22);
    const place = { x: x + size / 2, y: y + size - 6, "text-anchor": "middle" };
    const text = add(group, "text", place);
    return (score, angle, isMoved) => {
      set(group, { class: `rope-patch ${score < 0 ? "rope-negative" : ""} ${isMoved ? "rope-moved" : ""}` });
      set(fill, { "fill-opacity": Math.abs(score) * 0.45 });
      turn(x + size / 2, y + size * 0.34, angle);
      write(text, fixed(score, 2));
    };
  });
  return ({ scores, angles, places }) =>
    patches.forEach((update, at) => {
      const [r, c] = places[at];
      update(scores[at], angles[at], r * columns + c !== at);
    });
}

// One arrow a pair, in the direction in which it turns fastest: down is along the rows.
function drawCompasses(parts, frequencies, chosen, top) {
  parts.textContent = "";
  const step = Math.min(46, WIDTH / frequencies.length);
  const radius = Math.min(16, step * 0.42);
  frequencies.forEach(([a, b], j) => {
    const x = (WIDTH - step * frequencies.length) / 2 + (j + 0.5) * step;
    const look = j === chosen ? "rope-compass rope-chosen" : "rope-compass";
    const turned = (Math.atan2(a, b) * 360) / TURN;
    const at = `translate(${round(x)} ${top}) rotate(${round(turned)})`;
    const group = add(parts, "g", { transform: at, class: look });
    add(group, "circle", { r: radius, class: "rope-face" });
    add(group, "line", { x1: -radius * 0.8, x2: radius * 0.5 });
    const [tip, wing] = [round(radius * 0.95), round(radius * 0.45)];
    add(group, "path", { d: `M${tip} 0L${round(tip - wing * 1.3)} ${-wing}v${2 * wing}Z` });
    const place = { x, y: top + radius + 17, "text-anchor": "middle" };
    const number = j === chosen ? "rope-angle rope-chosen" : "rope-muted";
    if (step >= 28 || j === chosen) add(parts, "text", { ...place, class: number }, `${j}`);
  });
}

// The chosen patch: a ring that arrow keys move, on cells that a tap chooses.
function picker(ui, svg) {
  const knob = add(svg, "g", {
    class: "rope-pick",
    role: "slider",
    tabindex: 0,
    "aria-label": say(WORDS.pick, { name: WORDS.patch }),
    "aria-roledescription": WORDS.handle_role,
    "data-lm-suppress-shortcuts": "true", // JupyterLab would take the arrow keys
    "data-trait": "patch",
  });
  const cells = add(knob, "rect", { y: EDGE, class: "rope-hit" });
  const ring = add(knob, "path");
  let grid = { rows: 2, columns: 2, row: 0, column: 0, size: 1, left: 0 };
  const move = (row, column) => {
    const inside = (value, count) => Math.min(count - 1, Math.max(0, value));
    const next = { row: inside(row, grid.rows), column: inside(column, grid.columns) };
    for (const name of ["row", "column"])
      if (next[name] !== ui.model.get(name)) ui.model.set(name, next[name]);
    ui.model.save_changes();
  };
  ui.listen(knob, "click", (event) => {
    const seen = svg.getBoundingClientRect();
    const unit = seen.width / WIDTH;
    const [x, y] = [(event.clientX - seen.left) / unit, (event.clientY - seen.top) / unit];
    move(Math.floor((y - EDGE) / grid.size), Math.floor((x - grid.left) / grid.size));
  });
  ui.listen(knob, "keydown", (event) => {
    const ways = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const way = ways[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(grid.row + way[0], grid.column + way[1]);
  });
  return (now, at, words) => {
    grid = now;
    const { rows, columns, row, column, size, left } = now;
    set(cells, { x: left, width: size * columns, height: size * rows });
    const corner = `M${round(left + column * size)} ${round(EDGE + row * size)}`;
    set(ring, { d: `${corner}h${round(size)}v${round(size)}h${round(-size)}Z` });
    set(knob, { "aria-valuenow": at, "aria-valuetext": words });
  };
}

function build(ui) {
  const svg = add(ui.picture, "svg", { class: "rope-chart rope-patches" });
  const drawing = add(svg, "g", { role: "img" });
  ui.pictures.push(drawing);
  const parts = add(drawing, "g");
  const compasses = add(drawing, "g");
  const name = add(drawing, "text", { x: WIDTH / 2, "text-anchor": "middle", class: "rope-muted" }, WORDS.compasses);
  const pick = picker(ui, svg);
  const why = add(ui.panel, "p", { class: "rope-reason" });
  const output = ui.readout();
  const rows = {
    given: row(output, WORDS.given),
    right: row(output, WORDS.right, "", "rope-is-score"),
    below: row(output, WORDS.below, "", "rope-is-score"),
    turning: row(output, WORDS.turning, "", "rope-angle"),
  };
  let made;
  let update;

  return (state, result) => {
    const { rows: tall, columns, kind } = state;
    const { row: r, column: c, pair: j, chosen } = result.shown;
    const size = Math.min(64, (WIDTH - EDGE - 4) / columns, TALLEST / tall);
    const left = EDGE + (WIDTH - EDGE - size * columns) / 2;
    if (made !== `${tall} ${columns}`) {
      made = `${tall} ${columns}`;
      update = drawPatches(parts, state, size, left);
    }
    update(result);
    const bottom = EDGE + size * tall;
    set(name, { y: bottom + 24 });
    drawCompasses(compasses, result.frequencies, j, bottom + 50);
    set(svg, { viewBox: `0 0 ${WIDTH} ${round(bottom + 88)}` });
    const score = (value) => (Number.isFinite(value) ? fixed(value, 3) : WORDS.none);
    const values = {
      row: r,
      column: c,
      rows: tall,
      columns,
      pair: j,
      given: kind === "flat" ? `${chosen}` : `(${result.places[chosen].join(", ")})`,
      right: score(result.right),
      below: score(result.below),
      down: fixed(result.row_frequency, 3),
      along: fixed(result.column_frequency, 3),
    };
    pick({ rows: tall, columns, row: r, column: c, size, left }, chosen, say(WORDS.at_patch, values));
    write(why, say(REASONS[kind], values));
    rows.given(values.given);
    rows.right(values.right);
    rows.below(values.below);
    rows.turning(say(WORDS.rates, values), `${j}`);
    return say(WORDS.says, values);
  };
}

export default figure({ inputs: INPUTS, compute, build, wide: true });
