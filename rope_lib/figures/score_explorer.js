// q and k, each turned by its position, and their dot product.

const INPUTS = ["q", "k", "theta", "m", "n", "shift"];
const MOST_DOTS = 60;
const TAPE = [22, 268]; // the number line, from 0 to the far end
const BAR = 290;

function compute({ q, k, theta, m, n, shift }) {
  const angle_q = (m + shift) * theta;
  const angle_k = (n + shift) * theta;
  const rotated_q = rotate(q, angle_q);
  const rotated_k = rotate(k, angle_k);
  return {
    score: rotated_q[0] * rotated_k[0] + rotated_q[1] * rotated_k[1],
    distance: m - n,
    angle_q,
    angle_k,
    angle_between: wrap(direction(rotated_q) - direction(rotated_k)),
    norm_q: norm(q),
    norm_k: norm(k),
    rotated_q,
    rotated_k,
  };
}

// The way a tip has come along its circle, one dot a position.
function trail(plane, look) {
  const path = add(plane.drawing, "path", { class: `rope-trail ${look}` });
  const dots = add(plane.drawing, "path", { class: `rope-dots ${look}` });
  return (vector, theta, position) => {
    const radius = norm(vector) * plane.unit;
    const from = direction(vector);
    set(path, { d: arcPath(radius, from, theta * position) });
    const steps = Math.floor(Math.abs(position));
    const first = Math.max(0, Math.ceil(steps - TURN / Math.abs(theta))); // of the last turn
    let marks = "";
    for (let i = first; i <= steps && steps - first <= MOST_DOTS; i++) {
      const turn = from + i * theta * Math.sign(position);
      marks += `M${onCircle(radius, turn)}h0`;
    }
    set(dots, { d: marks });
  };
}

// The score between the least and the greatest that these lengths allow.
function scoreBar(panel) {
  const svg = add(panel, "svg", {
    viewBox: "0 0 300 38",
    class: "rope-bar",
    "aria-hidden": "true",
  });
  add(svg, "rect", { x: 5, y: 4, width: BAR, height: 12, rx: 6, class: "rope-track" });
  const fill = add(svg, "rect", { y: 4, height: 12, class: "rope-fill" });
  add(svg, "line", { x1: 150, x2: 150, y1: 0, y2: 20, class: "rope-axis" });
  const least = add(svg, "text", { x: 5, y: 34 });
  add(svg, "text", { x: 150, y: 34, "text-anchor": "middle" }, "0");
  const most = add(svg, "text", { x: 295, y: 34, "text-anchor": "end" });
  return (score, limit) => {
    const length = limit > 0 ? (Math.abs(score) / limit) * (BAR / 2) : 0;
    set(fill, { x: score < 0 ? 150 - length : 150, width: length });
    write(least, fixed(-limit));
    write(most, `|q||k| = ${fixed(limit)}`);
  };
}

// Both positions on one number line; it grows when they leave it and does not shrink under the hand.
function tape(panel) {
  const svg = add(panel, "svg", {
    viewBox: "0 0 300 66",
    class: "rope-tape",
    "aria-hidden": "true",
  });
  const marks = add(svg, "path", { class: "rope-ticks" });
  const [low, high] = [4, 296].map((x, i) =>
    add(svg, "text", { x, y: 38, class: "rope-muted", "text-anchor": i ? "end" : "start" }),
  );
  const span = add(svg, "line", { y1: 33, y2: 33, class: "rope-span" });
  const pin = (look, y) => [
    add(svg, "circle", { cy: 33, r: 7, class: `rope-pin ${look}` }),
    add(svg, "text", { y, class: `rope-label ${look}`, "text-anchor": "middle" }),
  ];
  const pins = { q: pin("rope-q", 17), k: pin("rope-k", 60) };
  let ends;
  return (at) => {
    const [from, to] = [Math.min(0, at.q, at.k), Math.max(0, at.q, at.k)];
    // Room to move at first, so that a walk along the line does not rescale it at once.
    const far = Math.max(to, -from) * (ends ? 1 : 8);
    const decade = 10 ** Math.max(1, Math.floor(Math.log10(far)));
    const reach = decade * [1, 2, 3, 4, 6, 8, 10].find((x) => far <= x * decade);
    if (!ends || from < ends[0] || to > ends[1]) {
      ends = [from < 0 ? -reach : 0, reach];
      const every = (ends[1] - ends[0]) / 10;
      const x = (i) => TAPE[0] + ((TAPE[1] - TAPE[0]) * i) / 10;
      let path = `M${TAPE[0]} 33H${TAPE[1]}`;
      for (let i = 0; i <= 10; i++) path += `M${x(i)} 28v10`;
      set(marks, { d: path });
      write(low, short(ends[0]));
      write(high, short(ends[0] + 10 * every));
    }
    const x = (p) => TAPE[0] + ((TAPE[1] - TAPE[0]) * (p - ends[0])) / (ends[1] - ends[0]);
    set(span, { x1: x(at.q), x2: x(at.k) });
    for (const name of ["q", "k"]) {
      const [dot, text] = pins[name];
      set(dot, { cx: x(at[name]) });
      set(text, { x: Math.min(272, Math.max(28, x(at[name]))) });
      math(text, say(WORDS.pin, { name, position: short(at[name]) }));
    }
  };
}

const sameTraits = (names, a, b) => names.every((name) => `${a[name]}` === `${b[name]}`);

// What the last move did to the score, and why.
function verdict(state, result, last) {
  const least = 1e-9 * Math.max(1, result.norm_q * result.norm_k); // rounding
  const same = Math.abs(result.score - last.result.score) <= least;
  const values = { before: short(last.result.distance), distance: short(result.distance) };
  let reason = WORDS.new_why;
  if (sameTraits(["q", "k", "theta"], state, last.state))
    reason = result.distance === last.result.distance ? WORDS.same_why : WORDS.other_why;
  return { same, reason: say(reason, values) };
}

function build(ui) {
  const plane = new Plane(ui, { least: 3.5 });
  const names = ["q", "k"];
  const each = (make) => Object.fromEntries(names.map((name) => [name, make(name)]));
  const rings = each((name) => plane.circle(`rope-${name}`));
  const trails = each((name) => trail(plane, `rope-${name}`));
  const between = plane.arc("rope-angle", true);
  const before = each((name) => plane.arrow(`rope-${name} rope-before`));
  const after = each((name) => plane.arrow(`rope-${name} rope-after`));
  const handles = each((name) => plane.handle(name, `rope-${name}`, name));

  const head = add(ui.panel, "div", { class: "rope-score" });
  const caption = add(head, "span", { class: "rope-name" }, `${WORDS.score} `);
  const symbol = add(caption, "span", { class: "rope-math" });
  const number = add(head, "output", { class: "rope-number", "aria-live": "off" });
  const badge = add(head, "span", { class: "rope-badge" });
  const showBar = scoreBar(ui.panel);
  const why = add(ui.panel, "p", { class: "rope-why" }, WORDS.ask);
  const showTape = tape(ui.panel);
  const output = ui.readout();
  const rows = {
    distance: row(output, WORDS.distance),
    q: row(output, WORDS.turn_q, "", "rope-q"),
    k: row(output, WORDS.turn_k, "", "rope-k"),
    between: row(output, WORDS.between, "", "rope-angle"),
  };

  return (state, result, last) => {
    const at = { q: state.m + state.shift, k: state.n + state.shift };
    const tips = { q: result.rotated_q, k: result.rotated_k };
    plane.fit(Math.max(result.norm_q, result.norm_k));
    for (const name of names) {
      rings[name](norm(state[name]));
      trails[name](state[name], state.theta, at[name]);
      before[name](state[name], name, -0.9);
      after[name](tips[name], `R_{${short(at[name])}}${name}`, 0.3);
      handles[name](state[name]);
      rows[name](
        `${short(at[name])} × ${short(state.theta)} = ${fixed(result[`angle_${name}`])} ${WORDS.radians}`,
      );
    }
    between(44, direction(tips.k), result.angle_between, fixed(result.angle_between));
    math(symbol, `R_{${short(at.q)}}q · R_{${short(at.k)}}k`);
    write(number, fixed(result.score, 3));
    showBar(result.score, result.norm_q * result.norm_k);
    showTape(at);
    rows.distance(`${short(at.q)} − ${short(at.k)} = ${short(result.distance)}`);
    rows.between(`${fixed(result.angle_between)} ${WORDS.radians}`);
    if (last && !sameTraits(INPUTS, state, last.state)) {
      const { same, reason } = verdict(state, result, last);
      set(badge, { class: `rope-badge ${same ? "rope-same" : "rope-other"}` });
      write(badge, same ? `= ${WORDS.same}` : `≠ ${WORDS.other}`);
      write(why, reason);
    }
    return say(WORDS.says, {
      m: short(at.q),
      n: short(at.k),
      distance: short(result.distance),
      angle: fixed(result.angle_between),
      score: fixed(result.score, 3),
    });
  };
}

export default figure({ inputs: INPUTS, compute, build });
