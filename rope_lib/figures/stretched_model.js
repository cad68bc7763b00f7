// Stored perplexities of a real model over the stretch of its positions, and what it then writes.

function compute({ results, text, stretch }) {
  const points = results.points ?? [];
  const texts = [...new Set(points.map((point) => point.text))];
  const curves = texts.map((name) => ({
    name,
    points: points.filter((point) => point.text === name).sort((a, b) => a.stretch - b.stretch),
  }));
  const curve = curves.find(({ name }) => name === text) ?? curves[0];
  if (!curve) return { stored: 0, curves };
  const away = (point) => Math.abs(Math.log(point.stretch / stretch));
  const near = curve.points.reduce((best, point) => (away(point) < away(best) ? point : best));
  const plain = curve.points.find((point) => point.stretch === 1);
  return {
    stored: points.length,
    stretch: near.stretch,
    perplexity: near.perplexity,
    ratio: plain ? near.perplexity / plain.perplexity : NaN,
    line: near.line,
    curve,
    curves,
  };
}

// Axes that hold every curve, with a little room; any axes where there is none.
function axesFor(curves) {
  const points = curves.flatMap((curve) => curve.points);
  const ends = (values, room) => [Math.min(...values) / room, Math.max(...values) * room];
  const [left, right] = points.length ? ends(points.map((one) => one.stretch), 1.06) : [0.25, 4];
  const [low, high] = points.length ? ends(points.map((one) => one.perplexity), 1.25) : [2, 200];
  const doublings = [];
  for (let s = 2 ** Math.ceil(Math.log2(left)); s <= right; s *= 2) doublings.push(s);
  const x = { min: left, max: right, ticks: doublings, show: (s) => short(s, 3) };
  return {
    x: { ...x, log: true, label: WORDS.stretch_axis },
    y: { min: low, max: high, log: true, label: WORDS.perplexity_axis },
  };
}

// Names stand beside the ends of their curves, at least a line apart.
function nameCurves(area, shown) {
  const places = shown.map(({ points, title }) => [area.y(points.at(-1).perplexity), title]);
  places.sort(([a], [b]) => a - b);
  let above = -Infinity;
  for (const [wanted, title] of places) {
    above = Math.max(wanted, above + 17);
    set(title, { x: area.box.right + 5, y: above + 5 });
  }
}

function build(ui) {
  const area = chart(ui, { ...axesFor([]), room: { right: 62 } });
  const plain = area.rule("");
  const group = add(area.plot, "g");
  let marker;
  const caption = add(ui.panel, "p");
  const said = add(ui.panel, "p", { class: "rope-line-of-text", translate: "no", lang: "en" });
  const prompt = add(said, "span");
  const line = add(said, "b");
  const output = ui.readout();
  const rows = { perplexity: row(output, WORDS.perplexity), ratio: row(output, WORDS.ratio) };
  let made;
  let shown = [];

  function makeCurves(curves) {
    group.textContent = "";
    area.axes(axesFor(curves));
    plain(1);
    shown = curves.map((curve) => {
      const draw = area.line("rope-curve");
      group.appendChild(draw.node);
      const dots = add(group, "path");
      return { ...curve, draw, dots, title: add(group, "text", {}, curve.name) };
    });
    nameCurves(area, shown);
  }

  return ({ results }, result) => {
    const key = JSON.stringify(results);
    if (key !== made) makeCurves(result.curves);
    made = key;
    const { curve } = result;
    set(area.plot, { visibility: curve ? "visible" : "hidden" });
    if (!curve) {
      write(caption, WORDS.empty);
      set(said, { hidden: "" });
      return WORDS.empty;
    }
    for (const { name, points, draw, dots, title } of shown) {
      const look = name === curve.name ? "rope-curve rope-chosen" : "rope-curve";
      const places = points.map(({ stretch, perplexity }) => [stretch, perplexity]);
      draw(places);
      set(draw.node, { class: `rope-line ${look}` });
      const marks = places.map(([x, y]) => `M${round(area.x(x))} ${round(area.y(y))}h0`);
      set(dots, { d: marks.join(""), class: `rope-dots ${look}` });
      set(title, { class: look });
    }
    const perplexity = fixed(result.perplexity, result.perplexity < 1000 ? 2 : 0);
    marker ??= area.marker("");
    marker(result.stretch, result.perplexity, perplexity);
    const numbers = {
      text: curve.name,
      stretch: short(result.stretch, 3),
      perplexity,
      ratio: Number.isFinite(result.ratio) ? `× ${fixed(result.ratio)}` : "–",
      line: `${results.prompt ?? ""}${result.line}`,
    };
    write(caption, say(WORDS.continues, numbers));
    said.removeAttribute("hidden");
    write(prompt, results.prompt ?? "");
    write(line, result.line);
    rows.perplexity(perplexity);
    rows.ratio(numbers.ratio);
    return say(WORDS.says, numbers);
  };
}

export default figure({ inputs: ["results", "text", "stretch"], compute, build, wide: true });
