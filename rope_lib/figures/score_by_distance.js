// The score of one query and one key against their distance, and each pair's part of it.

const INPUTS = ["head_dim", "base", "kind", "distance", "peak", "max_distance"];
const KINDS = { equal: WORDS.equal, random: WORDS.random, aimed: WORDS.aimed };
const TICKS = [0, 1, 10, 100, 1000];

// Each pair turns z_q conj(z_k) / d: its size and its angle at distance 0.
function products({ head_dim, kind, peak }, inv_freq) {
  const one = 2 / head_dim;
  if (kind !== "random")
    return inv_freq.map((theta) => ({ size: one, phase: kind === "aimed" ? -peak * theta : 0 }));
  const numbers = listedNumbers(2 * head_dim);
  const [q, k] = [numbers.slice(0, head_dim), numbers.slice(head_dim)];
  const length = Math.hypot(...q) * Math.hypot(...k);
  return inv_freq.map((_, j) => {
    const [[a, b], [c, d]] = [q, k].map((vector) => vector.slice(2 * j, 2 * j + 2));
    const [real, imaginary] = [(a * c + b * d) / length, (b * c - a * d) / length];
    return { size: Math.hypot(real, imaginary), phase: Math.atan2(imaginary, real) };
  });
}

// RoFormer, section 3.4.3: |Σ h_j e^{irθ_j}| ≤ max |h_{j+1} − h_j| · Σ |S_{j+1}|; h_{d/2} = 0.
function abelBound(pairs, inv_freq, distance) {
  const ends = pairs.map(({ size, phase }) => [size * Math.cos(phase), size * Math.sin(phase)]);
  let [step, total, x, y] = [0, 0, 0, 0];
  ends.forEach(([real, imaginary], j) => {
    const [next_real, next_imaginary] = ends[j + 1] ?? [0, 0];
    step = Math.max(step, Math.hypot(next_real - real, next_imaginary - imaginary));
    x += Math.cos(distance * inv_freq[j]);
    y += Math.sin(distance * inv_freq[j]);
    total += Math.hypot(x, y);
  });
  return step * total;
}

let kept = {}; // the last curve: a move of `distance` alone needs no other

function curveOf(state, reach) {
  const { head_dim, base, kind, peak } = state;
  const key = JSON.stringify([head_dim, base, kind, kind === "aimed" && peak, reach]);
  if (kept.key === key) return kept;
  const inv_freq = Array.from({ length: head_dim / 2 }, (_, j) => base ** ((-2 * j) / head_dim));
  const pairs = products(state, inv_freq);
  const curve = scores(pairs, inv_freq, reach);
  const largest_at = curve.reduce((best, score, r) => (score > curve[best] + 1e-9 ? r : best), 0);
  kept = { key, inv_freq, pairs, curve, largest_at };
  return kept;
}

function compute(state) {
  const { kind, distance, peak, max_distance } = state;
  const reach = Math.max(max_distance, distance, kind === "aimed" ? peak : 0);
  const { inv_freq, pairs, curve, largest_at } = curveOf(state, reach);
  const parts = (r) => pairs.map(({ size, phase }, j) => size * Math.cos(r * inv_freq[j] + phase));
  const at = (r) => parts(r).reduce((sum, part) => sum + part, 0);
  return {
    score: at(distance),
    at_zero: at(0),
    largest: at(largest_at),
    largest_at,
    bound: abelBound(pairs, inv_freq, distance),
    parts: parts(distance),
    sizes: pairs.map(({ size }) => size),
    curve,
  };
}

// One bar a pair: as far as it could reach (pale), and where it stands at this distance.
function bars(ui) {
  const axes = { x: { min: 0, max: 1, ticks: [] }, y: { min: -1, max: 1, ticks: [0] } };
  const picture = chart(ui, { ...axes, height: 150, quiet: true });
  const pale = add(picture.plot, "path", { class: "rope-bars rope-pale" });
  const solid = add(picture.plot, "path", { class: "rope-bars" });
  return ({ parts, sizes }) => {
    const most = Math.max(...sizes);
    const ticks = [...new Set([0, parts.length - 1])];
    picture.axes({
      x: { min: -0.5, max: parts.length - 0.5, ticks, label: WORDS.pairs },
      y: { min: -1, max: 1, ticks: [0], label: WORDS.part },
    });
    const width = (0.7 * (picture.box.right - picture.box.left)) / parts.length;
    for (const path of [pale, solid]) set(path, { "stroke-width": width });
    const height = (part) => round(picture.y(part / most));
    const bar = ([low, high], j) => `M${round(picture.x(j))} ${height(low)}V${height(high)}`;
    const draw = (ends) => ends.map(bar).join("");
    set(pale, { d: draw(sizes.map((size) => [-size, size])) });
    set(solid, { d: draw(parts.map((part) => [0, part])) });
  };
}

function build(ui) {
  const picture = chart(ui, { x: { min: 1, max: 2, log: true }, y: { min: -1, max: 1 } });
  const chance = add(picture.plot, "path", { class: "rope-chance" });
  const chanceName = add(picture.plot, "text", { x: picture.box.left + 6, class: "rope-muted" });
  const curve = picture.line("rope-is-score rope-fine");
  const summit = picture.rule("rope-k", 32);
  const stem = picture.rule("rope-is-score");
  const marker = picture.marker("rope-is-score");
  const handle = picture.handle("distance", "rope-is-score", WORDS.handle_name);
  const aim = picture.handle("peak", "rope-k", WORDS.summit, picture.box.top);
  const showBars = bars(ui);
  const caption = add(ui.panel, "div", { class: "rope-score" });
  add(caption, "span", { class: "rope-name" }, `${WORDS.score} `);
  const number = add(caption, "output", { class: "rope-number", "aria-live": "off" });
  const why = add(ui.panel, "p", { class: "rope-why" });
  const output = ui.readout();
  const names = [WORDS.at_zero, WORDS.largest, WORDS.chance, WORDS.bound];
  const rows = names.map((name) => row(output, name));
  let drawn;

  return (state, result) => {
    const reach = result.curve.length - 1;
    const values = {
      distance: short(state.distance),
      peak: short(state.peak),
      score: fixed(result.score, 3),
      zero: fixed(result.at_zero, 3),
      largest: fixed(result.largest, 3),
      at: short(result.largest_at),
    };
    if (drawn !== result.curve) {
      drawn = result.curve;
      const ticks = [...TICKS.filter((r) => 2.5 * r <= reach), reach].map((r) => r + 1);
      const show = (place) => compact(place - 1);
      const low = result.curve.some((score) => score < -0.5) ? -1 : -0.5;
      const levels = [-1, -0.5, 0, 0.5, 1].filter((level) => level >= low);
      picture.axes({
        x: { min: 1, max: reach + 1, log: true, ticks, show, label: WORDS.distance },
        y: { min: low, max: 1.08, ticks: levels, label: WORDS.axis },
      });
      curve(columns(result.curve, picture.x));
    }
    const typical = 1 / Math.sqrt(state.head_dim);
    const { left, right } = picture.box;
    const across = (level) => `M${left} ${round(picture.y(level))}H${right}`;
    set(chance, { d: across(typical) + across(-typical) });
    set(chanceName, { y: picture.y(-typical) + 15 });
    math(chanceName, WORDS.typical);
    const isAimed = state.kind === "aimed";
    summit(isAimed ? state.peak + 1 : null, WORDS.summit);
    aim(isAimed ? state.peak : null, [0, reach], say(WORDS.at_peak, values), 1);
    stem(state.distance + 1);
    marker(state.distance + 1, result.score);
    handle(state.distance, [0, reach], say(WORDS.at_distance, values), 1);
    showBars(result);
    write(number, values.score);
    write(why, say(KINDS[state.kind], values));
    const texts = [values.zero, say(WORDS.reached, values), `± ${fixed(typical, 3)}`];
    [...texts, fixed(result.bound)].forEach((text, i) => rows[i](text));
    return say(WORDS.says, values);
  };
}

export default figure({ inputs: INPUTS, compute, build });
