// Stored curves of loss by position, as perplexity or as a ratio to the same tokens in a window.

const INPUTS = ["results", "method", "text", "factor", "measure"];
const TRAINED = 8192;
const LEAST = 12_288; // the axis reaches at least this far
const NAMES = {
  plain: WORDS.plain,
  linear: WORDS.linear,
  pi: WORDS.linear,
  ntk: WORDS.ntk,
  dynamic: WORDS.dynamic,
  yarn: WORDS.yarn,
};
const nameOf = (method) => NAMES[method] ?? method;
const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;

// Perplexity below the trained length and from there on, and the latter over that in a window.
function sums({ bins, loss, windowed }) {
  const past = bins.map((start) => start >= TRAINED);
  const some = (list, wanted) => list.filter((_, i) => past[i] === wanted);
  const excess = loss.map((each, i) => each - windowed[i]);
  return {
    within: Math.exp(mean(some(loss, false))),
    past: Math.exp(mean(some(loss, true))),
    window: Math.exp(mean(some(excess, true))),
  };
}

// A value for each bin, as steps: two points a bin.
function steps({ bins, loss, windowed }, measure) {
  const width = bins.length > 1 ? bins.at(-1) - bins.at(-2) : TRAINED;
  return bins.flatMap((start, i) => {
    const value = Math.exp(loss[i] - (measure === "ratio" ? windowed[i] : 0));
    return [
      [start, value],
      [bins[i + 1] ?? start + width, value],
    ];
  });
}

function compute({ results, method, text, factor, measure }) {
  const points = (results.points ?? []).filter(
    (point) => point.text === text && (point.factor === factor || point.method === "plain"),
  );
  const curves = points.map((point) => ({
    method: point.method,
    points: steps(point, measure),
    ...sums(point),
  }));
  const chosen = curves.find((curve) => curve.method === method);
  const numbers = chosen && Object.entries(chosen).filter(([, x]) => Number.isFinite(x));
  const readout = Object.fromEntries(numbers ?? []);
  return { shown: curves.length, ...readout, curves, isEmpty: !results.points };
}

// The axes that hold every curve, and level 1 where the curves are ratios.
function axesFor(curves, isRatio) {
  const points = curves.flatMap((curve) => curve.points);
  const far = Math.max(LEAST, ...points.map(([x]) => x));
  const heights = points.map(([, value]) => value).concat(isRatio ? [1] : []);
  const [low, high] = heights.length ? [Math.min(...heights), Math.max(...heights)] : [2, 50];
  const ticks = Array.from({ length: Math.floor(far / 4096) + 1 }, (_, i) => 4096 * i);
  const label = isRatio ? WORDS.ratio : WORDS.perplexity;
  return {
    x: { min: 0, max: far, ticks, show: grouped, label: WORDS.position },
    y: { min: low / 1.15, max: high * 1.15, log: true, label },
  };
}

function build(ui) {
  const picture = chart(ui, axesFor([], false));
  const { left, right } = picture.box;
  const trained = picture.rule("rope-solid");
  const level = add(picture.plot, "path", { class: "rope-chance" });
  const others = add(picture.plot, "g");
  const picked = picture.line("rope-chosen");
  const head = add(ui.panel, "p");
  const output = ui.readout();
  let made;
  let rows = [];

  // One curve and one row of the readout for each stored method.
  function make(curves) {
    const key = curves.map((curve) => curve.method).join();
    if (key === made) return;
    made = key;
    others.textContent = "";
    output.textContent = "";
    rows = curves.map((curve, dash) => {
      const draw = picture.line(`rope-dash-${dash % 6}`);
      others.appendChild(picture.plot.lastChild);
      return { draw, show: dashedRow(output, nameOf(curve.method), dash) };
    });
  }

  return ({ method, text, factor, measure }, result) => {
    const isRatio = measure === "ratio";
    const { curves } = result;
    const chosen = curves.find((curve) => curve.method === method);
    picture.axes(axesFor(curves, isRatio));
    make(curves);
    set(level, { d: isRatio ? `M${left} ${round(picture.y(1))}H${right}` : "" });
    curves.forEach((curve, i) => {
      rows[i].draw(curve.points);
      rows[i].show(say(WORDS.both, told(curve)), curve === chosen);
    });
    picked(chosen ? chosen.points : []);
    const values = {
      text,
      method: nameOf(method),
      factor: short(factor),
      length: grouped(TRAINED),
      command: WORDS.command,
      ...(chosen && told(chosen)),
    };
    trained(TRAINED, say(WORDS.trained, values));
    const missing = result.isEmpty ? WORDS.missing : WORDS.absent;
    write(head, say(chosen ? WORDS.head : missing, values));
    return say(chosen ? WORDS.says : missing, values);
  };
}

const told = ({ within, past, window }) => {
  const texts = Object.entries({ within, past, window }).map(([name, x]) => [
    name,
    Number.isFinite(x) ? fixed(x) : WORDS.unknown,
  ]);
  return Object.fromEntries(texts);
};

export default figure({ inputs: INPUTS, compute, build });
