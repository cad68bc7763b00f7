// An angle is position × θ_j. Round one of the three, and see where the hand and the cosines go.

const INPUTS = ["position", "pair", "head_dim", "base", "dtype", "rounded"];
const WHAT = {
  positions: WORDS.what_positions,
  inv_freq: WORDS.what_inv_freq,
  angles: WORDS.what_angles,
};
const LARGE = 0.1; // an error of a cosine that changes a score
const FLOOR = 1e-9;
const NOTHING = "–";
const DIAL = 100;

function compute({ position, pair, head_dim, base, dtype, rounded }) {
  const format = FORMATS[dtype];
  const round_ = (x, name) => (name === rounded ? nearest(x, format) : x);
  const pairs = head_dim / 2;
  const j = Math.min(pair, pairs - 1);
  const stored = round_(position, "positions");
  const inv_freq = Array.from({ length: pairs }, (_, i) => base ** ((-2 * i) / head_dim));
  const angles = inv_freq.map((frequency) => position * frequency);
  const after = inv_freq.map((frequency) =>
    round_(stored * round_(frequency, "inv_freq"), "angles"),
  );
  const errors = after.map((angle, i) => Math.abs(Math.cos(angle) - Math.cos(angles[i])));
  const worst = Math.max(...errors);
  const exact = { positions: position, inv_freq: inv_freq[j], angles: angles[j] }[rounded];
  const kept = nearest(exact, format);
  return {
    stored,
    gap: Number.isFinite(kept) ? spacing(exact, format) : Infinity,
    angle_error: after[j] - angles[j],
    angle: angles[j],
    worst,
    worst_pair: Math.max(0, errors.indexOf(worst)),
    off: errors.filter((error) => !(error <= LARGE)).length,
    pairs,
    pair: j,
    exact,
    kept,
    after: after[j],
    errors,
  };
}

// 1 000 000, 0.0316, 1.2 × 10⁻⁷: all digits of a whole number, else `digits` of them.
function number(x, digits = 4) {
  if (!Number.isFinite(x)) return "∞";
  if (x === 0 || (Number.isInteger(x) && Math.abs(x) < 1e9)) return grouped(x);
  const size = Math.abs(x);
  if (size >= 1e-3 && size < 1e6) return short(Number(x.toPrecision(digits)), 9);
  const [value, power] = x.toExponential(1).split("e");
  return `${value.replace("-", "−")} × 10${raised(Number(power))}`;
}

function dial(parent, ui) {
  const svg = add(parent, "svg", { viewBox: "-128 -118 256 236", class: "rope-meter" });
  const drawing = add(svg, "g", { role: "img" });
  ui.pictures.push(drawing);
  add(drawing, "circle", { r: DIAL, class: "rope-face" });
  add(drawing, "line", { x1: DIAL - 8, x2: DIAL + 8, class: "rope-ticks" });
  const gap = add(drawing, "path", { class: "rope-swept" });
  const rounded = add(drawing, "line", { x2: DIAL - 3, class: "rope-hand" });
  const exact = add(drawing, "line", { x2: DIAL - 3, class: "rope-exact" });
  add(drawing, "circle", { r: 5, class: "rope-hub" });
  const none = add(drawing, "text", { y: 40, class: "rope-label", "text-anchor": "middle" });
  const turn = (angle) => ({ transform: `rotate(${round((-angle * 360) / TURN)})` });
  return (angle, after) => {
    const exists = Number.isFinite(after);
    const from = angle % TURN;
    const by = exists ? wrap(after - angle) : 0;
    const tip = (a) => `${round(0.8 * DIAL * Math.cos(a))} ${round(-0.8 * DIAL * Math.sin(a))}`;
    const bend = `A${0.8 * DIAL} ${0.8 * DIAL} 0 0 ${by > 0 ? 0 : 1} ${tip(from + by)}`;
    set(gap, { d: by ? `M0 0L${tip(from)}${bend}Z` : "" });
    set(exact, turn(from));
    set(rounded, { ...turn(from + by), visibility: exists ? "visible" : "hidden" });
    write(none, exists ? "" : WORDS.none);
  };
}

// The format's numbers as ticks; above them the true value, and where it falls. Where neighbouring
// positions can be told apart, they are shown too: those whose lines meet share one angle.
function ruler(parent) {
  const svg = add(parent, "svg", { viewBox: "0 0 300 92", class: "rope-ruler", "aria-hidden": "true" });
  const ticks = add(svg, "path", { class: "rope-ticks" });
  const falls = add(svg, "path", { class: "rope-falls" });
  const dots = add(svg, "path", { class: "rope-dots rope-others" });
  const fall = add(svg, "path", { class: "rope-falls rope-chosen" });
  const dot = add(svg, "circle", { cy: 27, r: 5.5, class: "rope-pin" });
  const place = add(svg, "circle", { cy: 62, r: 5.5, class: "rope-pin rope-angle" });
  const from = add(svg, "text", { y: 14, "text-anchor": "middle" });
  const to = add(svg, "text", { y: 86, class: "rope-angle", "text-anchor": "middle" });
  const above = add(svg, "text", { x: 4, y: 14, class: "rope-muted" });
  const below = add(svg, "text", { x: 4, y: 86, class: "rope-muted" });
  return ({ exact, kept, gap }, dtype, isPosition) => {
    const format = FORMATS[dtype];
    const exists = Number.isFinite(kept);
    const areNear = isPosition && !(gap > 8); // the neighbours' lines can be told apart
    const reach = areNear ? 6.5 + gap / 2 : (isPosition ? 1.6 : 2.6) * (exists ? gap : 32);
    const x = (value) => round(150 + (136 * (value - exact)) / reach);
    let path = "M4 62H296";
    let mark = nearest(Math.max(0, exact - reach), format);
    for (let i = 0; i < 60 && mark <= Math.min(exact + reach, format.most); i++) {
      if (mark >= exact - reach) path += `M${x(mark)} 55v14`;
      mark += spacing(mark, format);
    }
    set(ticks, { d: path });
    let [places, lines] = ["", ""];
    for (let i = -6; areNear && i <= 6; i++) {
      const [value, end] = [exact + i, nearest(Math.max(0, exact + i), format)];
      if (i === 0 || value < 0 || !Number.isFinite(end)) continue;
      places += `M${x(value)} 27h0`;
      lines += `M${x(value)} 27L${x(end)} 62`;
    }
    set(dots, { d: places });
    set(falls, { d: lines });
    set(fall, { d: exists ? `M150 27L${x(kept)} 62` : "" });
    set(dot, { cx: 150 });
    set(place, { cx: exists ? x(kept) : 150, visibility: exists ? "visible" : "hidden" });
    set(from, { x: 150 });
    set(to, { x: exists ? Math.min(270, Math.max(30, x(kept))) : 150 });
    write(above, isPosition ? WORDS.positions : WORDS.before);
    write(below, dtype);
    write(from, number(exact, 6));
    write(to, exists ? number(kept, 6) : WORDS.infinite);
  };
}

// One bar a pair, full where the error is large.
function bars(parent, ui) {
  const y = { min: FLOOR, max: 2, log: true, label: WORDS.cos_error };
  const x = (pairs) => ({ min: -0.5, max: pairs - 0.5, label: WORDS.pair_axis, show: whole });
  const whole = (value) => (Number.isInteger(value) ? short(value) : "");
  y.ticks = [1e-8, 1e-6, 1e-4, 1e-2, 1];
  const area = chart(ui, { parent, height: 230, x: x(32), y });
  const limit = add(area.plot, "line", { class: "rope-rule" });
  const limitName = add(area.plot, "text", { class: "rope-muted", "text-anchor": "end" });
  write(limitName, fixed(LARGE, 1));
  const small = add(area.plot, "path", { class: "rope-errors" });
  const large = add(area.plot, "path", { class: "rope-errors rope-large-error" });
  const none = add(area.plot, "text", { class: "rope-muted", "text-anchor": "middle" });
  const knob = area.handle("pair", "rope-angle", WORDS.handle_name);
  return ({ errors, pairs, pair: j }) => {
    area.axes({ x: x(pairs) });
    const { left, right, bottom } = area.box;
    const at = round(area.y(LARGE));
    set(limit, { x1: left, x2: right, y1: at, y2: at });
    set(limitName, { x: right - 2, y: at - 5 });
    const half = ((right - left) / pairs) * 0.36;
    const paths = { small: "", large: "" };
    errors.forEach((error, i) => {
      if (!(error > FLOOR)) return;
      const [from, to] = [area.x(i) - half, area.x(i) + half].map(round);
      const top = round(area.y(error));
      paths[error <= LARGE ? "small" : "large"] += `M${from} ${bottom}V${top}H${to}V${bottom}Z`;
    });
    set(small, { d: paths.small });
    set(large, { d: paths.large });
    set(none, { x: (left + right) / 2, y: bottom - 40 });
    write(none, errors.some(Number.isNaN) ? WORDS.no_cosine : "");
    const words = { pair: j, error: Number.isFinite(errors[j]) ? number(errors[j], 3) : NOTHING };
    knob(j, [0, pairs - 1], say(WORDS.at_pair, words));
  };
}

function build(ui) {
  const turnDial = dial(ui.picture, ui);
  const legend = add(ui.picture, "p", { class: "rope-keys" });
  add(legend, "span", { class: "rope-key rope-key-dashed" }, WORDS.exact);
  add(legend, "span", { class: "rope-key rope-angle" }, WORDS.rounded);
  const what = add(ui.panel, "p", { class: "rope-what" });
  const drawRuler = ruler(ui.panel);
  const output = ui.readout();
  const rows = {
    gap: row(output, WORDS.gap),
    angle: row(output, WORDS.angle),
    error: row(output, WORDS.error, "", "rope-angle"),
    worst: row(output, WORDS.worst),
    off: row(output, WORDS.off),
  };
  const drawBars = bars(add(ui.root, "div", { class: "rope-below" }), ui);

  return (state, result) => {
    const { position, dtype, rounded } = state;
    turnDial(result.angle, result.after);
    drawRuler(result, dtype, rounded === "positions");
    drawBars(result);
    const exists = Number.isFinite(result.kept);
    const same = result.exact === result.kept;
    const digits = [6, 9, 12].find((n) => number(result.exact, n) !== number(result.kept, n)) ?? 6;
    const numbers = {
      position: grouped(position),
      pair: result.pair,
      dtype,
      what: say(WHAT[rounded], { pair: result.pair }),
      exact: number(result.exact, digits),
      kept: exists ? number(result.kept, digits) : WORDS.infinite,
      error: exists ? number(result.angle_error, 3) : WORDS.none,
      worst: Number.isFinite(result.worst) ? number(result.worst, 3) : WORDS.none,
      worst_pair: result.worst_pair,
      some: result.off,
      all: result.pairs,
    };
    write(what, say(same ? WORDS.keeps : WORDS.moves, numbers));
    rows.gap(exists ? number(result.gap, 3) : NOTHING);
    rows.angle(`${number(result.angle, 6)} ${WORDS.radians}`, `${"mθ"}_{${result.pair}}`);
    rows.error(exists ? `${numbers.error} ${WORDS.radians}` : WORDS.none);
    rows.worst(exists ? say(WORDS.worst_at, numbers) : NOTHING);
    rows.off(say(WORDS.of, numbers));
    return say(WORDS.says, numbers);
  };
}

export default figure({ inputs: INPUTS, compute, build });
