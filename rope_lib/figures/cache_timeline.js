// The slots of a cache in a row: what the query sees, and how far away each key is.

const PROMPT = "the cat sat on the mat".split(" ");
const ANSWER = "so it naps too".split(" ");
const OTHER = "dogs bark all day long too".split(" ");
const PADS = 4;
const WINDOW = 4;
const SCENARIOS = {
  prefill: { tokens: PROMPT, first: 0, why: WORDS.prefill },
  decode: { tokens: [...PROMPT, ...ANSWER], first: 6, why: WORDS.decode },
  "left padding": {
    tokens: [...Array(PADS).fill("pad"), ...OTHER],
    first: 5,
    why: WORDS.left_padding,
  },
  packed: { tokens: [...PROMPT, ...OTHER.slice(0, 4)], first: 0, why: WORDS.packed },
  sliding: { tokens: [...PROMPT, ...ANSWER], first: WINDOW - 1, why: WORDS.sliding },
};

// -1 for a pad, which belongs to no document.
function documentOf(index, scenario) {
  if (scenario === "left padding") return index < PADS ? -1 : 0;
  return scenario === "packed" && index >= PROMPT.length ? 1 : 0;
}

function positionOf(index, scenario) {
  const number = documentOf(index, scenario);
  if (number < 0) return null;
  return index - (scenario === "left padding" ? PADS : PROMPT.length * number);
}

function compute({ scenario, step }) {
  const { tokens, first } = SCENARIOS[scenario];
  const last = tokens.length - 1 - first;
  const query = first + Math.min(step, last);
  const dropped = scenario === "sliding" ? query + 1 - WINDOW : 0;
  const end = ["prefill", "packed"].includes(scenario) ? tokens.length : query + 1;
  const naive = (index) => (scenario === "sliding" ? Math.min(index, WINDOW - 1) : index);
  const here = positionOf(query, scenario);
  const columns = tokens.map((token, index) => {
    const position = positionOf(index, scenario);
    const held = index >= dropped && index < end;
    const inSight = documentOf(index, scenario) === documentOf(query, scenario);
    const seen = held && index <= query && inSight;
    return {
      token,
      held,
      slot: held ? index - dropped : null,
      position,
      seen,
      distance: seen ? here - position : null,
      naive: naive(index),
      naive_distance: seen ? naive(query) - naive(index) : null,
      moved: position === null ? null : position - dropped,
    };
  });
  const distances = columns.filter(({ seen }) => seen).map(({ distance }) => distance);
  return {
    query_position: here,
    seen: distances.length,
    held: columns.filter(({ held }) => held).length,
    nearest: Math.min(...distances),
    farthest: Math.max(...distances),
    wrong: columns.some((one) => one.distance !== one.naive_distance) ? 1 : 0,
    last,
    query,
    dropped,
    end,
    columns,
  };
}

const WIDTH = 480;
const CELL = { top: 76, height: 38 };
const PITCH = 46; // from one line of numbers to the next

function build(ui) {
  const svg = add(ui.picture, "svg", { class: "rope-chart rope-cache" });
  const drawing = add(svg, "g", { role: "img" });
  ui.pictures.push(drawing);
  const keys = add(ui.picture, "p", { class: "rope-keys" });
  for (const [look, word] of [
    ["rope-q", WORDS.query],
    ["rope-k", WORDS.seen],
    ["rope-hidden", WORDS.hidden],
  ])
    add(keys, "span", { class: `rope-box-key ${look}` }, word);
  const why = add(ui.panel, "p", { class: "rope-reason" });
  const output = ui.readout();
  const rows = {
    step: row(output, WORDS.step),
    query: row(output, WORDS.query_position, "", "rope-q"),
    seen: row(output, WORDS.slots_seen, "", "rope-k"),
    distances: row(output, WORDS.distances, "", "rope-angle"),
    naive: row(output, WORDS.naive_distances),
  };

  return ({ scenario }, result) => {
    const { columns, query, dropped, end } = result;
    const step = Math.min(60, WIDTH / columns.length);
    const middle = (index) => round((WIDTH - step * columns.length) / 2 + (index + 0.5) * step);
    const isSliding = scenario === "sliding";
    drawing.textContent = "";

    const bottom = CELL.top - 3;
    for (const [index, { seen, distance }] of columns.entries()) {
      if (!seen || index === query) continue;
      const top = round(bottom - (12 + 6.5 * distance) * 1.33);
      const d = `M${middle(query)} ${bottom}C${middle(query)} ${top} ${middle(index)} ${top} ${middle(index)} ${bottom}`;
      add(drawing, "path", { d, class: "rope-look" });
      const tip = `M${middle(index)} ${bottom}l-4 -8h8Z`;
      add(drawing, "path", { d: tip, class: "rope-look-tip" });
    }
    for (const [index, { token, held, seen }] of columns.entries()) {
      const isNext = index >= end;
      const state = index === query ? "rope-q" : seen ? "rope-k" : held ? "rope-hidden" : "rope-gone";
      const group = add(drawing, "g", { class: `rope-slot ${state}` });
      const x = middle(index) - step / 2 + 2.5;
      const size = { y: CELL.top, width: step - 5, height: CELL.height, rx: 5 };
      add(group, "rect", { x, ...size });
      if (isNext) continue;
      const place = { x: middle(index), y: CELL.top + 24, "text-anchor": "middle" };
      add(group, "text", place, token === "pad" ? WORDS.pad : token);
      if (index < dropped) {
        const y = CELL.top + 19;
        add(group, "line", { x1: x + 4, x2: x + step - 9, y1: y, y2: y });
      }
    }
    if (isSliding) {
      const box = { x: middle(dropped) - step / 2 - 1, width: step * WINDOW + 2, rx: 8 };
      add(drawing, "rect", { ...box, y: CELL.top - 4, height: CELL.height + 8, class: "rope-window" });
    }
    if (scenario === "packed") {
      const x = middle(PROMPT.length) - step / 2;
      add(drawing, "line", { x1: x, x2: x, y1: 52, y2: CELL.top + CELL.height + 8, class: "rope-cut" });
    }

    // One line of numbers under the slots, with its name above it.
    const lines = [
      [WORDS.slot, ({ slot }) => slot, "rope-muted"],
      [WORDS.position, ({ held, position }) => (held ? (position ?? WORDS.no_id) : null), "rope-id"],
      [WORDS.distance, ({ distance }) => distance, "rope-angle"],
    ];
    if (isSliding) lines.push([WORDS.moved, ({ held, moved }) => (held ? moved : null), "rope-id"]);
    lines.push([
      result.wrong ? WORDS.naive_wrong : WORDS.naive_same,
      ({ distance, naive_distance }) =>
        distance === naive_distance ? naive_distance : `≠ ${naive_distance}`,
      "rope-naive",
    ]);
    lines.forEach(([name, value, look], i) => {
      const y = CELL.top + CELL.height + 26 + i * PITCH;
      add(drawing, "line", { x1: 2, x2: WIDTH - 2, y1: y - 15, y2: y - 15, class: "rope-between" });
      add(drawing, "text", { x: 3, y, class: "rope-row-name rope-muted" }, name);
      columns.forEach((one, index) => {
        const text = value(one);
        if (text === null) return;
        const place = { x: middle(index), y: y + 20, "text-anchor": "middle" };
        const isWrong = look === "rope-naive" && one.distance !== one.naive_distance;
        add(drawing, "text", { ...place, class: isWrong ? "rope-wrong" : look }, `${text}`);
      });
    });
    const height = CELL.top + CELL.height + 13 + lines.length * PITCH;
    set(svg, { viewBox: `0 0 ${WIDTH} ${height}` });

    const numbers = {
      scenario,
      token: columns[query].token,
      slot: columns[query].slot,
      position: result.query_position,
      seen: result.seen,
      held: result.held,
      nearest: result.nearest,
      farthest: result.farthest,
      pads: PADS,
      window: WINDOW,
      dropped,
      step: query - SCENARIOS[scenario].first,
      last: result.last,
    };
    const isFull = isSliding && dropped === 0;
    write(why, say(isFull ? WORDS.full : SCENARIOS[scenario].why, numbers));
    rows.step(say(WORDS.of_last, numbers));
    rows.query(`${numbers.position}`);
    rows.seen(say(WORDS.of, numbers));
    rows.distances(say(WORDS.range, numbers));
    rows.naive(result.wrong ? WORDS.changed : WORDS.unchanged);
    return say(WORDS.says, { ...numbers, verdict: result.wrong ? WORDS.changed : WORDS.unchanged });
  };
}

export default figure({ inputs: ["scenario", "step"], compute, build, wide: true });
