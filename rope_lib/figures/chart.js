// A chart with two axes, linear or logarithmic, for the figures that draw curves and bars. Everything
// is laid out in units of the viewBox; figures.css makes its text larger where the picture is small.

const ROOM = { left: 58, right: 16, top: 32, bottom: 50 }; // for the words round the plot

// {min, max, log, from, to} → number → place, held between `from` and `to`; `back` undoes it.
function scale({ min, max, log = false }, from, to) {
  const size = log ? (x) => Math.log(Math.max(x, Number.MIN_VALUE)) : (x) => x;
  const [low, high] = [size(min), size(max)];
  const within = (part) => Math.min(1, Math.max(0, part));
  const place = (x) => {
    const part = high > low ? (size(x) - low) / (high - low) : 0;
    return from + (to - from) * within(part);
  };
  place.back = (at) => {
    const x = low + (high - low) * within((at - from) / (to - from));
    return log ? Math.exp(x) : x;
  };
  return place;
}

// Round numbers between min and max: about `count` of them, or 1, 2, 5 a decade, or each decade.
function roundNumbers({ min, max, log = false }, count = 5) {
  const found = [];
  if (!log) {
    const rough = (max - min) / count;
    const decade = 10 ** Math.floor(Math.log10(rough));
    const step = decade * [1, 2, 5, 10].find((x) => rough <= x * decade * 1.0001);
    for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9; i++)
      found.push(Number((i * step).toPrecision(12)));
    return found;
  }
  const decades = Math.log10(max / min);
  const parts = decades < 1.2 ? [1, 2, 3, 5, 7] : decades < 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / (count + 1)));
  for (let i = Math.floor(Math.log10(min)); i <= Math.ceil(Math.log10(max)); i++)
    for (const part of i % every ? [] : parts) {
      const x = Number((part * 10 ** i).toPrecision(12));
      if (x >= min * (1 - 1e-9) && x <= max * (1 + 1e-9)) found.push(x);
    }
  return found;
}

const raised = (power) =>
  String(power)
    .replace("-", "⁻")
    .replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

const grouped = (x) => short(x).replace(/\B(?=(\d{3})+$)/g, "\u202f"); // 131 072, narrowly

// 0.2, 500, 10k; small powers of ten as 10⁻³.
function tickText(x) {
  const power = Math.round(Math.log10(Math.abs(x)));
  if (x === 0 || power > -2) return compact(x);
  const isPower = Math.abs(x / 10 ** power - 1) < 1e-9;
  return isPower ? `10${raised(power)}` : String(Number(x.toPrecision(2)));
}

// chart(ui, {x: {min, max, log, label, ticks, show}, y: {…}, width, height, room, parent})
//   room: {left, right, top, bottom} round the plot, where it differs from ROOM;
//   ticks: a list of numbers, or about how many (5); show(number) writes one (tickText).
// Returns
//   svg, plot: the group to draw in, above the grid;
//   x(number), y(number): places in units of the viewBox, kept inside the plot;
//   box: {left, right, top, bottom} of the plot;
//   axes({x, y}): change either axis, then draw what stands on it again;
//   line(look) → update([[x, y], …]): a curve, broken where a number is not finite; update.node is it;
//   marker(look) → update(x, y, label): a dot with a word beside it;
//   rule(look, drop) → update(x, label): a vertical line with a word `drop` below its top; none where
//   x is null;
//   handle(trait, look, name, y) → update(value, [least, most], words, shift): a knob on the x axis
//   (or at another height y) that writes whole numbers to a trait, by drag or by keys; it stands
//   at x = value + shift; none where value is null.
// `quiet` keeps a second picture, which repeats the first, from screen readers.
function chart(
  ui,
  { width = 480, height = 290, room = {}, parent = ui.picture, quiet = false, ...axes },
) {
  const svg = add(parent, "svg", { viewBox: `0 0 ${width} ${height}`, class: "rope-chart" });
  const drawing = add(svg, "g", quiet ? { "aria-hidden": "true" } : { role: "img" });
  const grid = add(drawing, "g", { class: "rope-grid" });
  const plot = add(drawing, "g");
  if (!quiet) ui.pictures.push(drawing);
  const { left, right, top, bottom } = { ...ROOM, ...room };
  const box = { left, right: width - right, top, bottom: height - bottom };
  const made = { svg, plot, box };

  function drawAxis(name, { label = "", ticks = 5, show = tickText, ...axis }) {
    const along = name === "x" ? [box.left, box.right] : [box.bottom, box.top];
    made[name] = scale(axis, ...along);
    for (const tick of Array.isArray(ticks) ? ticks : roundNumbers(axis, ticks)) {
      const at = made[name](tick);
      const ends =
        name === "x"
          ? { x1: at, x2: at, y1: box.top, y2: box.bottom }
          : { y1: at, y2: at, x1: box.left, x2: box.right };
      const place =
        name === "x"
          ? { x: at, y: box.bottom + 22, "text-anchor": at > box.right - 9 ? "end" : "middle" }
          : { x: box.left - 7, y: at + 5, "text-anchor": "end" };
      add(grid, "line", tick === 0 ? { ...ends, class: "rope-axis" } : ends);
      add(grid, "text", place, show(tick));
    }
    const place =
      name === "x"
        ? { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }
        : { x: 4, y: 15 };
    add(grid, "text", { ...place, class: "rope-axis-name" }, label);
  }

  made.axes = (changed) => {
    Object.assign(axes, changed);
    const key = JSON.stringify(axes);
    if (key === made.key) return;
    made.key = key;
    grid.textContent = "";
    for (const name of ["x", "y"]) drawAxis(name, axes[name]);
    add(grid, "path", {
      d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`,
      class: "rope-axis",
    });
  };

  made.line = (look) => {
    const path = add(plot, "path", { class: `rope-line ${look}` });
    const update = (points) => {
      let pen = "M";
      let d = "";
      for (const [x, y] of points) {
        if (Number.isFinite(x) && Number.isFinite(y)) {
          d += `${pen}${round(made.x(x))} ${round(made.y(y))}`;
          pen = "L";
        } else pen = "M";
      }
      set(path, { d });
    };
    return Object.assign(update, { node: path });
  };

  made.marker = (look) => {
    const dot = add(plot, "circle", { r: 6, class: `rope-marker ${look}` });
    const text = add(plot, "text", { class: `rope-label ${look}` });
    return (x, y, label = "") => {
      const [cx, cy] = [made.x(x), made.y(y)];
      set(dot, { cx, cy });
      const isLate = cx > (box.left + box.right) / 2; // the word stays inside the plot
      set(text, {
        x: cx + (isLate ? -11 : 11),
        y: Math.max(box.top + 14, cy - 9),
        "text-anchor": isLate ? "end" : "start",
      });
      math(text, label);
    };
  };

  made.rule = (look, drop = 12) => {
    const line = add(plot, "line", { y1: box.top, y2: box.bottom, class: `rope-rule ${look}` });
    const text = add(plot, "text", { y: box.top + drop, class: `rope-label ${look}` });
    return (x, label = "") => {
      const visibility = x === null ? "hidden" : "visible";
      for (const node of [line, text]) set(node, { visibility });
      if (x === null) return;
      const at = made.x(x);
      const isLate = at > (box.left + box.right) / 2;
      set(line, { x1: at, x2: at });
      set(text, { x: at + (isLate ? -6 : 6), "text-anchor": isLate ? "end" : "start" });
      math(text, label);
    };
  };

  made.handle = (trait, look, name, y = box.bottom) => {
    const knob = add(svg, "g", {
      class: `rope-handle ${look}`,
      role: "slider",
      tabindex: 0,
      "aria-label": say(WORDS.handle, { name }),
      "data-lm-suppress-shortcuts": "true", // JupyterLab would take the arrow keys
      "data-trait": trait,
    });
    add(knob, "circle", { r: 30, class: "rope-hit" });
    add(knob, "circle", { r: 8 });
    add(knob, "circle", { r: 13, class: "rope-focus" });
    let [least, most, shift, dragging] = [0, 1, 0, false];
    const move = (value) => {
      const next = Math.min(most, Math.max(least, Math.round(value)));
      if (next === ui.model.get(trait)) return;
      ui.model.set(trait, next);
      ui.model.save_changes();
    };
    ui.listen(knob, "pointerdown", (event) => {
      if (event.button) return;
      knob.setPointerCapture(event.pointerId);
      dragging = true;
      knob.classList.add("rope-held");
      knob.focus({ preventScroll: true });
      event.preventDefault();
    });
    ui.listen(knob, "pointermove", (event) => {
      if (!dragging) return;
      const seen = svg.getBoundingClientRect();
      move(made.x.back(((event.clientX - seen.left) * width) / seen.width) - shift);
    });
    ui.listen(knob, "lostpointercapture", () => {
      dragging = false;
      knob.classList.remove("rope-held");
    });
    ui.listen(knob, "keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
      const step = (steps[event.key] ?? 0) * (event.shiftKey ? 10 : 1);
      const ends = { Home: least, End: most };
      const wanted = step ? ui.model.get(trait) + step : ends[event.key];
      if (wanted === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      move(wanted);
    });
    return (value, range, words, offset = 0) => {
      set(knob, { visibility: value === null ? "hidden" : "visible" }); // nor can it be focused then
      if (value === null) return;
      [least, most] = range;
      shift = offset;
      set(knob, {
        transform: `translate(${round(made.x(value + shift))} ${y})`,
        "aria-valuemin": least,
        "aria-valuemax": most,
        "aria-valuenow": value,
        "aria-valuetext": words,
      });
    };
  };

  made.axes({});
  return made;
}

// A row of the readout with the dashes of its curve, one of six. Returns update(text, isChosen).
function dashedRow(output, name, dash) {
  const update = row(output, name);
  const line = output.lastChild;
  const box = { viewBox: "0 0 34 10", class: "rope-swatch", "aria-hidden": "true" };
  const swatch = add(line, "svg", box);
  const path = add(swatch, "path", { d: "M1 5H33" });
  line.insertBefore(swatch, line.firstChild);
  return (text, isChosen) => {
    const look = isChosen ? "rope-chosen" : "";
    set(line, { class: `rope-row ${look}` });
    set(path, { class: `rope-line rope-dash-${dash % 6} ${look}` });
    update(text);
  };
}
