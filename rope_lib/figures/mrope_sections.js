// One ladder of pairs shared by three axes: a lane for each axis, and the cosines that come of it.

const INPUTS = "sections order base time row column pair".split(" ");
const AXES = ["time", "row", "column"];
const LANES = { top: 14, step: 30 };

// The axis that each pair reads. Taking turns, axis 0 has what the others leave.
function axisOfPairs({ sections, order }) {
  const pairs = sections.reduce((sum, share) => sum + share, 0);
  return Array.from({ length: pairs }, (_, j) => {
    if (order === "interleaved") return j < 3 * sections[j % 3] ? j % 3 : 0;
    return sections[0] > j ? 0 : sections[0] + sections[1] > j ? 1 : 2;
  });
}

function compute(state) {
  const axes = axisOfPairs(state);
  const pairs = axes.length;
  const pair = Math.min(state.pair, pairs - 1);
  const theta = axes.map((_, j) => state.base ** (-j / pairs));
  const positions = axes.map((axis) => state[AXES[axis]]);
  const angles = theta.map((each, j) => positions[j] * each);
  const plain = theta.map((each) => state.time * each);
  const count = (wanted) => axes.filter((axis) => axis === wanted).length;
  return {
    pairs,
    time_pairs: count(0),
    row_pairs: count(1),
    column_pairs: count(2),
    axis: axes[pair],
    position: positions[pair],
    wavelength: TURN / theta[pair],
    angle: angles[pair],
    plain_angle: plain[pair],
    other: positions.filter((position) => position !== state.time).length,
    axes,
    angles,
    plain,
    pair,
  };
}

// Pair numbers for the axis: 0 and a few round ones.
function wholes(last) {
  const step = [1, 2, 4, 8, 16].find((each) => last / each <= 8) ?? 32;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

function build(ui) {
  const picture = chart(ui, {
    height: 330,
    room: { top: 128, left: 78 },
    x: { min: 0, max: 1 },
    y: { min: -1, max: 1 },
  });
  const { left, right } = picture.box;
  const names = [WORDS.time, WORDS.row, WORDS.column];
  const lanes = names.map((name, axis) => {
    const y = LANES.top + axis * LANES.step;
    add(picture.plot, "line", { x1: left, x2: right, y1: y, y2: y, class: "rope-between" });
    const text = add(picture.plot, "text", { x: left - 8, y: y + 5, "text-anchor": "end" }, name);
    return { y, text, marks: add(picture.plot, "path", { class: "rope-lane" }) };
  });
  const stem = picture.rule("rope-is-frequency");
  const spot = add(picture.plot, "path", { class: "rope-lane rope-chosen" });
  const gaps = add(picture.plot, "path", { class: "rope-gaps" });
  const plain = picture.line("rope-dashed");
  const dots = add(picture.plot, "path", { class: "rope-dots rope-is-frequency" });
  const marker = picture.marker("rope-is-frequency");
  const handle = picture.handle("pair", "rope-is-frequency", WORDS.handle_name);
  const keys = add(ui.picture, "p", { class: "rope-keys" });
  add(keys, "span", { class: "rope-dot-key rope-is-frequency" }, WORDS.mrope);
  const dashed = add(keys, "span", { class: "rope-key rope-key-dashed" });

  const output = ui.readout();
  const rows = names.map((name) => row(output, name));
  const chosen = row(output, WORDS.chosen, "", "rope-angle");
  const turned = row(output, WORDS.turned, "", "rope-angle");
  const verdict = row(output, WORDS.differing);

  return (state, result) => {
    const { pairs, pair, axes, angles } = result;
    picture.axes({
      x: { min: 0, max: pairs - 1, ticks: wholes(pairs - 1), label: WORDS.pairs },
      y: { min: -1, max: 1, ticks: [-1, 0, 1], show: short },
    });
    lanes.forEach(({ y, text, marks }, axis) => {
      const places = axes.flatMap((each, j) => (each === axis ? [round(picture.x(j))] : []));
      set(marks, { d: places.map((x) => `M${x} ${y - 9}v18`).join("") });
      set(text, { class: axis === result.axis ? "rope-angle" : "rope-muted" });
    });
    set(spot, { d: `M${round(picture.x(pair))} ${lanes[result.axis].y - 12}v24` });
    stem(pair);
    const at = (j, angle) => [round(picture.x(j)), round(picture.y(Math.cos(angle)))];
    plain(result.plain.map((angle, j) => [j, Math.cos(angle)]));
    set(dots, { d: angles.map((angle, j) => `M${at(j, angle).join(" ")}h0`).join("") });
    const fall = (j) => `M${at(j, angles[j]).join(" ")}V${at(j, result.plain[j])[1]}`;
    set(gaps, { d: angles.map((angle, j) => (angle === result.plain[j] ? "" : fall(j))).join("") });
    marker(pair, Math.cos(angles[pair]));
    write(dashed, say(WORDS.plain, { time: state.time }));

    const values = {
      pair,
      axis: names[result.axis],
      position: grouped(result.position),
      wavelength: compact(result.wavelength),
      angle: fixed(result.angle, 3),
      plain: fixed(result.plain_angle, 3),
      other: result.other,
      pairs,
      time: state.time,
      row: state.row,
      column: state.column,
    };
    handle(pair, [0, pairs - 1], say(WORDS.at_pair, values));
    rows.forEach((update, axis) => {
      const count = [result.time_pairs, result.row_pairs, result.column_pairs][axis];
      update(say(WORDS.share, { count, position: grouped(state[AXES[axis]]) }));
    });
    chosen(say(WORDS.reads, values), `${pair}`);
    turned(say(WORDS.both, values));
    verdict(result.other ? say(WORDS.of, values) : WORDS.same);
    return say(WORDS.says, values);
  };
}

export default figure({ inputs: INPUTS, compute, build, wide: true });
