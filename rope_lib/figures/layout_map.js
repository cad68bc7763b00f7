// The same values in two orders: interleaved above, half below, a line from each place to the other.

const WIDTH = 480;
const [TOP, BOTTOM] = [66, 200]; // the rows' upper edges
const DEEPEST = 46; // the arcs' reach above and below the rows

function compute({ head_dim, rotary_dim, pair }) {
  const rotated = Math.min(rotary_dim, head_dim);
  const pairs = rotated / 2;
  const j = Math.min(pair, pairs - 1);
  const target = Array.from({ length: head_dim }, (_, channel) => {
    if (channel >= rotated) return channel;
    return channel % 2 ? pairs + (channel - 1) / 2 : channel / 2;
  });
  return {
    interleaved_first: 2 * j,
    interleaved_second: 2 * j + 1,
    half_first: j,
    half_second: j + pairs,
    pairs,
    pair: j,
    passed: head_dim - rotated,
    moved: target.filter((to, from) => to !== from).length,
    target, // interleaved channel → half channel
  };
}

// What stands in the cells: x and y of each pair; nothing moves in or out of a passing channel.
const valueName = (channel) => `${channel % 2 ? "y" : "x"}_{${Math.floor(channel / 2)}}`;

const curve = (from, to, y1, y2, bend) =>
  `M${round(from)} ${round(y1)}C${round(from)} ${round(bend)} ` +
  `${round(to)} ${round(bend)} ${round(to)} ${round(y2)}`;

// Both rows in one group. Returns highlight(j), which marks a pair and lays it on top.
function drawRows(parts, head_dim, pairs, target) {
  const cell = Math.min(59, (WIDTH - 4) / head_dim);
  const start = (WIDTH - cell * head_dim) / 2;
  const size = cell - Math.min(8, cell / 5);
  const height = Math.max(24, size);
  const middle = (channel) => start + (channel + 0.5) * cell;
  const marked = Array.from({ length: pairs }, () => []); // the nodes of each pair, and their look
  const mark = (channel, node, look) => {
    set(node, { class: look });
    if (channel < 2 * pairs) marked[Math.floor(channel / 2)].push([node, look]);
  };
  const kind = (channel) =>
    channel >= 2 * pairs ? "rope-passed" : channel % 2 ? "rope-odd" : "rope-even";

  const arc = (pair, a, b, edge, way) => {
    const bend = edge + Math.min(DEEPEST, 12 + (b - a) * cell * 0.16) * way * 1.33;
    const d = curve(middle(a), middle(b), edge, edge, bend);
    mark(2 * pair, add(parts, "path", { d }), "rope-pairing");
  };
  const box = (channel, place, edge) => {
    const group = add(parts, "g");
    const x = middle(place) - size / 2;
    add(group, "rect", { x, y: edge, width: size, height, rx: Math.min(5, size / 4) });
    const centre = { x: middle(place), "text-anchor": "middle" };
    if (cell >= 44 && channel < 2 * pairs) {
      const name = add(group, "text", { ...centre, y: edge + size * 0.45, class: "rope-label" });
      math(name, valueName(channel));
    }
    if (cell >= 28) {
      const y = edge + (cell >= 44 ? size - 6 : height / 2 + 5);
      add(group, "text", { ...centre, y, class: "rope-channel" }, `${place}`);
    }
    mark(channel, group, `rope-cell ${kind(channel)}`);
  };

  parts.textContent = "";
  for (let pair = 0; pair < pairs; pair++) {
    arc(pair, 2 * pair, 2 * pair + 1, TOP - 2, -1);
    arc(pair, pair, pair + pairs, BOTTOM + height + 2, 1);
  }
  for (const [from, to] of target.entries()) {
    const [high, low] = [TOP + height + 3, BOTTOM - 3];
    const bend = (high + low) / 2;
    const d = curve(middle(from), middle(to), high, low, bend);
    mark(from, add(parts, "path", { d }), `rope-wire ${kind(from)}`);
    box(from, from, TOP);
    box(from, to, BOTTOM);
  }
  // Where cells are narrow, the chosen channels' numbers stand outside.
  const beside = [0, 1, 2].map((i) => {
    const anchor = ["middle", "end", "start"][i];
    const y = i ? BOTTOM + height + 20 : TOP - 22;
    return add(parts, "text", { y, "text-anchor": anchor, class: "rope-label rope-number-beside" });
  });

  let last;
  return (j) => {
    for (const [node, look] of marked[last] ?? []) set(node, { class: look });
    for (const [node, look] of marked[j]) {
      set(node, { class: `${look} rope-chosen` });
      parts.appendChild(node);
    }
    last = j;
    if (cell >= 28) return;
    const texts = [`${2 * j}, ${2 * j + 1}`, `${j}`, `${j + pairs}`];
    const places = [
      Math.max(26, middle(2 * j) + cell / 2),
      Math.max(24, middle(j) - 6),
      Math.min(WIDTH - 24, middle(j + pairs) + 6),
    ];
    beside.forEach((node, i) => {
      set(node, { x: places[i] });
      write(node, texts[i]);
      parts.appendChild(node);
    });
  };
}

function build(ui) {
  const svg = add(ui.picture, "svg", {
    viewBox: `0 0 ${WIDTH} 328`,
    class: "rope-chart rope-layouts",
  });
  const drawing = add(svg, "g", { role: "img" });
  ui.pictures.push(drawing);
  const formulas = [
    [16, WORDS.interleaved],
    [320, WORDS.half],
  ].map(([y, name]) => {
    add(drawing, "text", { x: 2, y, class: "rope-row-name" }, name);
    return add(drawing, "text", { x: WIDTH - 2, y, class: "rope-label", "text-anchor": "end" });
  });
  math(formulas[0], "(2j, 2j + 1)");
  const parts = add(drawing, "g");
  const output = ui.readout();
  const rows = {
    interleaved: row(output, WORDS.interleaved, "", "rope-angle"),
    half: row(output, WORDS.half, "", "rope-angle"),
    moved: row(output, WORDS.moved),
    passed: row(output, WORDS.passed),
  };
  let made;
  let highlight;

  return ({ head_dim }, result) => {
    const { pair, pairs, target, moved, passed } = result;
    if (made !== `${head_dim} ${pairs}`) {
      made = `${head_dim} ${pairs}`;
      highlight = drawRows(parts, head_dim, pairs, target);
      math(formulas[1], `(j, j + ${pairs})`);
    }
    highlight(pair);
    const numbers = { pair, moved, passed, some: moved, all: head_dim };
    const above = { a: result.interleaved_first, b: result.interleaved_second };
    const below = { a: result.half_first, b: result.half_second };
    rows.interleaved(say(WORDS.channels, above));
    rows.half(say(WORDS.channels, below));
    rows.moved(say(WORDS.of, numbers));
    rows.passed(`${passed}`);
    return say(WORDS.says, { ...numbers, ...above, c: below.a, d: below.b });
  };
}

export default figure({
  inputs: ["head_dim", "rotary_dim", "pair"],
  compute,
  build,
  wide: true,
});
