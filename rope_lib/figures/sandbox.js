// Every knob at once, and four views of the one state: the score by distance, the numbers, one pair
// in its plane, and all pairs by wavelength.

const STATE = [
  ...["head_dim", "rotary_dim", "base", "channel_layout", "scaling", "factor", "original"],
  ...["m", "n", "shift", "pair", "dtype", "rounded", "kind", "seed", "peak"],
];
const TICKS = [0, 1, 10, 100, 1000, FARTHEST];
const DOT = 3.5;
const least = (a, b) => Math.min(a, b);

function scoreView(ui, parent) {
  const ticks = TICKS.map((r) => r + 1);
  const show = (place) => compact(place - 1);
  const x = { min: 1, max: FARTHEST + 1, log: true, ticks, show };
  const picture = chart(ui, { parent, x, y: { min: -1, max: 1 }, height: 250 });
  const plain = picture.line("rope-dashed rope-fine");
  const curve = picture.line("rope-is-score rope-fine");
  const stem = picture.rule("rope-is-score");
  const marker = picture.marker("rope-is-score");
  const handle = picture.handle("m", "rope-q", WORDS.m);
  let drawn;
  return ({ state, distance, score, exact, attention_factor, curves }) => {
    const { curve: after, plainCurve } = curves();
    if (drawn !== after) {
      drawn = after;
      const low = [after, plainCurve ?? []].flatMap((list) => [...list]).reduce(least, 0);
      const high = 1.08 * attention_factor ** 2;
      const label = distance < 0 ? WORDS.ahead : WORDS.behind;
      picture.axes({
        x: { ...x, label },
        y: { min: low < -0.45 ? -high : -0.5 * high, max: high, label: WORDS.axis },
      });
      curve(columns(after, picture.x));
      plain(plainCurve ? columns(plainCurve, picture.x) : []);
    }
    const r = Math.abs(distance);
    stem(r + 1);
    marker(r + 1, score, Math.abs(score - exact) > 5e-4 ? WORDS.off_curve : "");
    const words = say(WORDS.at_distance, { distance: short(distance), score: fixed(score, 3) });
    handle(distance < 0 ? null : state.m, [state.n, FARTHEST], words, 1 - state.n);
  };
}

function planeView(ui) {
  const holder = add(ui.picture, "div", { class: "rope-one-pair" });
  const plane = new Plane({ ...ui, picture: holder }, { least: 1.5 });
  const names = ["q", "k"];
  const before = names.map((name) => plane.arrow(`rope-${name} rope-before`));
  const after = names.map((name) => plane.arrow(`rope-${name}`));
  const between = plane.arc("rope-angle", true);
  return ({ state, tips, turned }) => {
    const longest = Math.max(...[...tips, ...turned].map(norm));
    plane.fit(longest);
    const [from, to] = [direction(turned[1]), direction(turned[0])];
    between(38, from, wrap(to - from));
    names.forEach((name, i) => {
      before[i](tips[i], name, i ? 0.9 : -0.9);
      const position = [state.m, state.n][i] + state.shift;
      after[i](turned[i], `R_{${short(position)}}${name}`, i ? -0.3 : 0.3);
    });
  };
}

function pairsView(ui) {
  const axis = { min: 1, max: 10, log: true };
  const picture = chart(ui, { x: { min: 0, max: 1 }, y: axis, height: 250 });
  const links = ["kept", "blended", "divided"].map((band, dash) => [
    band,
    add(picture.plot, "path", { class: `rope-line rope-fine rope-link rope-dash-${dash}` }),
  ]);
  const open = add(picture.plot, "path", { class: "rope-head rope-open rope-is-frequency" });
  const filled = add(picture.plot, "path", { class: "rope-head rope-is-frequency" });
  const trained = add(picture.plot, "path", { class: "rope-rule" });
  const name = add(picture.plot, "text", { x: picture.box.right - 2, "text-anchor": "end" });
  const marker = picture.marker("rope-is-frequency");
  const handle = picture.handle("pair", "rope-is-frequency", WORDS.pair);
  const dot = (x, y) =>
    `M${round(x - DOT)} ${round(y)}a${DOT} ${DOT} 0 1 0 ${2 * DOT} 0` +
    `a${DOT} ${DOT} 0 1 0 ${-2 * DOT} 0`;
  return ({ state, plain, inv_freq, sorted, wavelength }) => {
    const last = inv_freq.length - 1;
    const waves = [plain, inv_freq].map((list) => list.map((theta) => TURN / theta));
    const most = 2 * Math.max(state.original, ...waves.flat());
    const whole = (x) => (Number.isInteger(x) ? short(x) : "");
    picture.axes({
      x: { min: -0.5, max: last + 0.5, show: whole, label: WORDS.pair_axis },
      y: { min: 4, max: most, log: true, label: WORDS.wavelength_axis },
    });
    const moved = (j) => plain[j] !== inv_freq[j];
    const at = (list, j) => [picture.x(j), picture.y(list[j])];
    const indices = inv_freq.map((_, j) => j);
    set(open, { d: indices.filter(moved).map((j) => dot(...at(waves[0], j))).join("") });
    set(filled, { d: indices.map((j) => dot(...at(waves[1], j))).join("") });
    for (const [band, path] of links) {
      const isOf = (j) => moved(j) && (sorted?.[j] ?? "blended") === band;
      const link = (j) => `M${at(waves[0], j).map(round).join(" ")}V${round(picture.y(waves[1][j]))}`;
      set(path, { d: indices.filter(isOf).map(link).join("") });
    }
    const isShown = state.scaling !== "default";
    const y = round(picture.y(state.original));
    set(trained, { d: isShown ? `M${picture.box.left} ${y}H${picture.box.right}` : "" });
    set(name, { y: picture.box.bottom - 8 });
    write(name, isShown ? say(WORDS.trained, { length: grouped(state.original) }) : "");
    marker(state.pair, wavelength);
    const words = say(WORDS.at_pair, { pair: state.pair, wavelength: compact(wavelength) });
    handle(state.pair, [0, last], words);
  };
}

// 1.2e-7 as 1.2 × 10⁻⁷, larger ones plainly; what float64 itself loses is nothing.
function small(x) {
  if (Math.abs(x) < 1e-12 || Math.abs(x) >= 1e-3) return fixed(x, 4);
  const [digits, power] = x.toExponential(1).split("e");
  return `${digits.replace("-", "−")} × 10${raised(Number(power))}`;
}

function numbersView(ui) {
  const top = add(ui.picture, "div", { class: "rope-in-sight" });
  const caption = add(top, "div", { class: "rope-score" });
  const title = add(caption, "span", { class: "rope-name" });
  const number = add(caption, "output", { class: "rope-number", "aria-live": "off" });
  const drawScore = scoreView(ui, top);
  const output = add(ui.picture, "output", { class: "rope-readout", "aria-live": "off" });
  const rows = {
    before: row(output, WORDS.before),
    exact: row(output, WORDS.error),
    worst: row(output, WORDS.worst),
    attention: row(output, WORDS.attention),
    bands: row(output, WORDS.bands),
    angles: row(output, WORDS.angles, "", "rope-angle"),
    wavelength: row(output, WORDS.turn, "", "rope-angle"),
  };
  return (result) => {
    const { state, distance, kept: some, blended, divided } = result;
    drawScore(result);
    write(title, say(WORDS.score, { distance: short(distance) }));
    write(number, fixed(result.score, 3));
    rows.before(fixed(result.before, 3));
    rows.exact(state.dtype === "float64" ? WORDS.none : small(result.error));
    rows.worst(state.dtype === "float64" ? WORDS.none : small(result.worst));
    rows.attention(fixed(result.attention_factor, 4));
    rows.bands(some === undefined ? WORDS.none : `${some} / ${blended} / ${divided}`);
    const angles = `${fixed(result.angle_q)}, ${fixed(result.angle_k)} ${WORDS.radians}`;
    rows.angles(angles, `mθ_{${state.pair}}, nθ_{${state.pair}}`);
    const divisor = `${compact(result.wavelength)}, ÷ ${short(result.divisor, 3)}`;
    rows.wavelength(divisor, `2π/θ_{${state.pair}}`);
  };
}

function build(ui) {
  set(ui.root, { class: "rope-figure rope-sandbox" });
  let [isChanging, sentence] = [false, ""];
  const told = ui.root.ownerDocument.createElement("p");
  set(told, { class: "rope-told", role: "status" });
  const tools = {
    told,
    check(name, value) {
      if (name === "rotary_dim") checkRotary({ ...tools.state(), rotary_dim: value });
    },
    state: () => {
      const now = Object.fromEntries(STATE.map((name) => [name, ui.model.get(name)]));
      return { ...now, rotary_dim: Math.min(now.rotary_dim, now.head_dim) };
    },
    tell: (sentence) => write(told, sentence),
    change(changes) {
      const traits = changes.rotary_dim === undefined ? withRotary(changes, tools.state()) : changes;
      isChanging = true; // all at once, then one drawing
      for (const [name, value] of Object.entries(traits)) ui.model.set(name, value);
      isChanging = false;
      ui.model.save_changes();
      ui.redraw?.(); // not before the first drawing
      tools.tell("");
    },
  };
  const views = [numbersView(ui), planeView(ui), pairsView(ui)];
  const controls = buildControls(ui, ui.panel, ui.model.get("rules"), tools);
  const hideText = buildSharing(ui, ui.panel, tools);
  let first = true;
  return (given, result) => {
    if (isChanging) return sentence;
    const { state } = result;
    for (const view of views) view(result);
    controls(state);
    if (!first) hideText();
    first = false;
    sentence = say(WORDS.says, {
      m: state.m + state.shift,
      n: state.n + state.shift,
      distance: short(result.distance),
      score: fixed(result.score, 3),
      before: fixed(result.before, 3),
      pair: state.pair,
      wavelength: compact(result.wavelength),
      scaling: state.scaling,
    });
    return sentence;
  };
}

export default figure({ inputs: [...STATE, "rules"], compute, build });
