// What each method divides each pair's frequency by, as rope_lib.scaling computes it.

const INPUTS = ["head_dim", "base", "original", "factor", "method", "pair"];

const close = (a, b) => Math.abs(a - b) <= 1e-8 + 1e-12 * Math.abs(b); // as scaling.bands

function compute(state) {
  const { head_dim, base, original, factor, method } = state;
  const plain = frequencies(head_dim, base);
  const inv_freq = scaled(state);
  const divided = (list) => list.map((theta, j) => plain[j] / theta);
  const divisors = Object.fromEntries(
    Object.entries(inv_freq).map(([name, list]) => [name, divided(list)]),
  );
  const chosen = divisors[method];
  const pair = Math.min(state.pair, plain.length - 1);
  const bands = chosen.map((divisor) =>
    close(divisor, 1) ? "kept" : factor !== 1 && close(divisor, factor) ? "divided" : "blended",
  );
  const count = (band) => bands.filter((each) => each === band).length;
  return {
    divisor: chosen[pair],
    kept: count("kept"),
    blended: count("blended"),
    divided: count("divided"),
    attention_factor: attentionFactor(method, factor),
    turns: (original * plain[pair]) / TURN,
    bands,
    divisors,
    inv_freq,
    shown: { pair },
  };
}

const NAMES = {
  linear: WORDS.linear,
  ntk: WORDS.ntk,
  dynamic: WORDS.dynamic,
  yarn: WORDS.yarn,
  llama3: WORDS.llama3,
};
const METHODS = Object.keys(NAMES);
const TURNS = [1e5, 1e4, 1e3, 100, 10, 1, 0.1, 0.01, 1e-3];

// Powers of two up to `most`, few enough to read, and the factor itself.
function divisorTicks(most, factor) {
  const octaves = Math.log2(most);
  const every = Math.max(1, Math.ceil(octaves / 5));
  const powers = [];
  for (let i = 0; i <= octaves; i += every) powers.push(2 ** i);
  const apart = (power) => power === 1 || Math.abs(Math.log(power / factor)) > 0.08 * octaves;
  return [...powers.filter(apart), ...(factor > 1 ? [factor] : [])];
}

// A curve that leaves the picture stops at its upper edge.
function upTo(top, divisors) {
  const end = divisors.findIndex((divisor) => divisor > top);
  if (end < 1) return divisors.map((divisor, j) => [j, divisor]);
  const [before, after] = [divisors[end - 1], divisors[end]];
  const part = Math.log(top / before) / Math.log(after / before);
  return [...divisors.slice(0, end).map((divisor, j) => [j, divisor]), [end - 1 + part, top]];
}

// The ends of the blended pairs, of a method that sorts the pairs into bands.
function rampOf(method, bands) {
  const isBanded = ["yarn", "llama3"].includes(method) && bands.includes("blended");
  return isBanded ? [bands.indexOf("blended") - 0.5, bands.lastIndexOf("blended") + 0.5] : [0, 0];
}

function build(ui) {
  const first = { x: { min: 0, max: 1 }, y: { min: 1, max: 2, log: true } };
  const picture = chart(ui, first);
  const { left, right, top, bottom } = picture.box;
  const ramp = add(picture.plot, "rect", { y: top, height: bottom - top, class: "rope-ramp" });
  const turning = add(picture.plot, "g", { class: "rope-grid" });
  const stem = picture.rule("rope-is-frequency");
  const curves = METHODS.map((method, dash) => [method, picture.line(`rope-dash-${dash}`)]);
  const picked = picture.line("rope-chosen");
  const marker = picture.marker("rope-is-frequency");
  const handle = picture.handle("pair", "rope-is-frequency", WORDS.handle_name);

  const each = add(ui.panel, "p");
  const output = ui.readout();
  const rows = METHODS.map((method, dash) => [method, dashedRow(output, NAMES[method], dash)]);
  const bands = row(output, WORDS.bands);
  const attention = row(output, WORDS.attention);

  // Above the picture: how often a pair at that place turns within the original length.
  function drawTurns({ head_dim, base, original }) {
    const key = `${head_dim} ${base} ${original}`;
    if (turning.getAttribute("data-key") === key) return;
    set(turning, { "data-key": key });
    turning.textContent = "";
    const name = say(WORDS.turning, { original: grouped(original) });
    add(turning, "text", { x: right, y: 13, "text-anchor": "end" }, name);
    for (const turns of TURNS) {
      const j = (head_dim * Math.log(original / (turns * TURN))) / (2 * Math.log(base));
      if (j < 0 || j > head_dim / 2 - 1) continue;
      const x = picture.x(j);
      add(turning, "line", { x1: x, x2: x, y1: top, y2: top + 6, class: "rope-axis" });
      add(turning, "text", { x, y: top - 4, "text-anchor": "middle" }, tickText(turns));
    }
  }

  return (state, result) => {
    const { factor, method, original } = state;
    const { pair } = result.shown;
    const last = result.bands.length - 1;
    const most = method === "dynamic" ? Math.max(...result.divisors.dynamic) : factor;
    const high = 1.12 * Math.max(most, 1.2);
    const show = (x) => `÷ ${short(x)}`;
    const ticks = divisorTicks(high, factor);
    picture.axes({
      x: { min: 0, max: last, ticks: wholes(last), label: WORDS.pairs },
      y: { min: 1, max: high, log: true, ticks, show, label: WORDS.divisor },
    });
    drawTurns(state);
    const [start, end] = rampOf(method, result.bands).map((at) => picture.x(at));
    set(ramp, { x: start, width: end - start });
    for (const [name, draw] of curves) draw(upTo(high, result.divisors[name]));
    picked(upTo(high, result.divisors[method]));
    stem(pair);
    marker(pair, result.divisor);
    const values = {
      pair,
      method: NAMES[method],
      divisor: short(result.divisor, 3),
      turns: short(result.turns, result.turns < 10 ? 2 : 0),
      original: grouped(original),
      reach: grouped(factor * original),
      factor: short(factor),
      kept: result.kept,
      blended: result.blended,
      divided: result.divided,
    };
    handle(pair, [0, last], say(WORDS.at_pair, values));
    write(each, say(WORDS.each, values));
    for (const [name, update] of rows)
      update(`÷ ${fixed(result.divisors[name][pair], 3)}`, name === method);
    bands(`${result.kept} / ${result.blended} / ${result.divided}`);
    attention(fixed(result.attention_factor, 4));
    return say(WORDS.says, values);
  };
}

// Pair numbers for the axis: 0, the last, and a few round ones between.
function wholes(last) {
  const step = [1, 2, 4, 8, 16, 32].find((each) => last / each <= 8) ?? 32;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

export default figure({ inputs: INPUTS, compute, build });
