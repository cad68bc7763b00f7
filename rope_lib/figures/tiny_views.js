// What the model writes and what it makes of a text: as the knobs have it, beside as it was trained.

const LEVELS = [1, 2, 4, 6]; // nats, between the shades of a token
const LOOKS = ["rope-loss-0", "rope-loss-1", "rope-loss-2", "rope-loss-3", "rope-loss-4"];
const MAP_TOKENS = 48;
const SMOOTHED = 32; // tokens, of which the curve is the mean
const average = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
const percent = (share) => `${short(100 * share, share < 0.1 ? 1 : 0)} %`;
const perplexityText = (x) => (x < 100 ? fixed(x, 1) : compact(Math.round(x)));

// A token as one can see it, white space included.
const visible = (piece) => piece.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");

// ---- two texts from one prompt, and where they part

// The place of the first token that differs; −1 where none does.
function parting(one, other) {
  const most = Math.max(one.length, other.length);
  for (let i = 0; i < most; i++) if (one[i] !== other[i]) return i;
  return -1;
}

function writingView(ui, parent) {
  const both = add(parent, "div", { class: "rope-both" });
  const [turned, right] = [
    [WORDS.with_knobs, "rope-angle"],
    [WORDS.as_trained, "rope-key-dashed"],
  ].map(([words, look]) => {
    const holder = add(both, "div");
    add(holder, "p", { class: `rope-key ${look}` }, words);
    const written = { class: "rope-line-of-text rope-written", translate: "no", lang: "en" };
    const line = add(holder, "p", { ...written, tabindex: 0, role: "group", "aria-label": words });
    const [prompt, same] = ["span", "b"].map((tag) => add(line, tag));
    const mark = add(line, "mark");
    return { prompt, same, mark, rest: add(line, "b") };
  });
  const note = add(parent, "p");

  function show(pane, { ids, pieces }, at) {
    const shared = at < 0 ? pieces.length : at;
    write(pane.same, pieces.slice(0, shared).join(""));
    write(pane.mark, pieces[shared] === undefined ? "" : pieces[shared] || "…");
    write(pane.rest, pieces.slice(shared + 1).join(""));
    pane.mark.hidden = !(shared < ids.length);
  }
  return {
    // Either text may be unfinished: it is compared as far as it goes.
    draw(prompt, one, other, isDone) {
      const length = isDone ? Infinity : Math.min(one.ids.length, other.ids.length);
      const at = parting(one.ids.slice(0, length), other.ids.slice(0, length));
      for (const [pane, text] of [
        [turned, one],
        [right, other],
      ]) {
        write(pane.prompt, prompt);
        show(pane, text, at);
      }
      const told = at < 0 ? WORDS.same_text : say(WORDS.parts_at, { count: at + 1 });
      write(note, isDone ? told : "");
      return told;
    },
  };
}

// ---- a text, each token shaded by its loss

const levelOf = (loss) => LEVELS.filter((limit) => loss >= limit).length;

function passageView(ui, parent) {
  add(parent, "p", {}, WORDS.passage_title);
  const box = add(parent, "div", {
    class: "rope-passage",
    tabindex: 0,
    role: "group",
    "aria-label": WORDS.passage_title,
    translate: "no",
  });
  const legend = add(parent, "p", { class: "rope-keys" });
  add(legend, "span", {}, WORDS.in_nats);
  const limits = [0, ...LEVELS];
  limits.forEach((low, i) => {
    const words = i < LEVELS.length ? say(WORDS.from_to, { low, high: limits[i + 1] }) : `> ${low}`;
    add(legend, "span", { class: `rope-loss ${LOOKS[i]}` }, words);
  });
  const label = add(parent, "label", { class: "rope-pointer" });
  add(label, "span", {}, WORDS.token);
  const range = add(label, "input", { type: "range", min: 1, max: 1, step: 1, ...UNSUPPRESSED });
  const output = add(parent, "output", { class: "rope-told", "aria-live": "off" });
  let [drawn, tokens, losses, rightLosses] = ["", [], [], []];

  function tell(i) {
    if (!(tokens[i] && losses.length)) return; // between two tokens there is none
    const text = say(WORDS.one_token, {
      number: i + 1,
      piece: visible(tokens[i].textContent),
      loss: fixed(losses[i - 1]),
      right: fixed(rightLosses[i - 1]),
    });
    write(output, i ? text : WORDS.first_token);
    set(range, { "aria-valuetext": text });
  }
  function point(i) {
    range.value = String(i);
    tokens.forEach((token, j) => token.classList.toggle("rope-pointed", j === i));
    tell(i);
  }
  const numberOf = (event) => tokens.indexOf(event.target);
  ui.listen(box, "pointerover", (event) => tell(numberOf(event)));
  ui.listen(box, "pointerleave", () => tell(Number(range.value)));
  ui.listen(box, "click", (event) => numberOf(event) > 0 && point(numberOf(event)));
  ui.listen(range, "input", () => point(Number(range.value)));

  return {
    // Before there are losses, the text alone.
    draw(pieces, some, right) {
      const key = JSON.stringify(pieces);
      if (key === drawn && some === losses) return;
      if (key !== drawn) {
        drawn = key;
        box.textContent = "";
        tokens = pieces.map((piece) => add(box, "span", {}, piece));
        set(range, { max: Math.max(1, pieces.length - 1) });
      }
      [losses, rightLosses] = [some, right];
      label.hidden = !some.length;
      tokens.forEach((token, i) => {
        const look = i && some.length ? LOOKS[levelOf(some[i - 1])] : "";
        for (const each of LOOKS) token.classList.toggle(each, each === look);
        if (look) token.classList.add("rope-loss");
      });
      if (some.length) point(Math.min(Number(range.value), pieces.length - 1));
      else write(output, "");
    },
  };
}

// ---- the loss by position

// [[position, mean], …]: means of so many losses, each at the middle of them.
function smoothed(losses, width) {
  const points = [];
  let sum = 0;
  losses.forEach((loss, i) => {
    sum += loss - (losses[i - width] ?? 0);
    if (i >= width - 1) points.push([i + 1 - (width - 1) / 2, sum / width]);
  });
  return points;
}

function curveView(ui, parent, { trained }) {
  const axes = { x: { min: 0, max: trained }, y: { min: 0, max: 6 } };
  const picture = chart(ui, { parent, ...axes, height: 240 });
  const right = picture.line("rope-dashed");
  const turned = picture.line("rope-chosen");
  const rule = picture.rule("rope-solid");
  rule(null);
  return {
    draw(losses, rightLosses) {
      const width = Math.min(SMOOTHED, Math.ceil(losses.length / 4));
      const curves = [losses, rightLosses].map((list) => smoothed(list, width));
      const heights = curves.flat().map(([, y]) => y);
      const label = say(WORDS.mean_loss, { width });
      picture.axes({
        x: { min: 0, max: Math.max(losses.length + 1, trained), label: WORDS.place },
        y: { min: 0, max: Math.max(4, 1.1 * Math.max(...heights)), label },
      });
      turned(curves[0]);
      right(curves[1]);
      rule(trained, say(WORDS.trained, { length: trained }));
    },
  };
}

// ---- what one head looks at

const SHADES = 6;

// A picture of the weights: row = the token that looks, column = what it looks at.
function attentionMap(ui, parent, words, pick) {
  const holder = add(parent, "div");
  const look = words === WORDS.as_trained ? "rope-key-dashed" : "rope-angle";
  add(holder, "p", { class: `rope-key ${look}` }, words);
  const svg = add(holder, "svg", { class: "rope-map", viewBox: "0 0 48 48" });
  const drawing = add(svg, "g", { role: "img", "aria-label": words });
  const ground = add(drawing, "path", { class: "rope-track" });
  const shades = Array.from({ length: SHADES }, (_, i) =>
    add(drawing, "path", { class: "rope-fill", "fill-opacity": (i + 1) / SHADES }),
  );
  const row = add(drawing, "rect", { class: "rope-map-row", x: 0, height: 1 });
  ui.listen(svg, "click", (event) => {
    const { top, height } = svg.getBoundingClientRect();
    pick(Math.floor(((event.clientY - top) / height) * svg.viewBox.baseVal.height));
  });
  return {
    draw(weights, n) {
      set(svg, { viewBox: `0 0 ${n} ${n}` });
      const stairs = Array.from({ length: n }, (_, m) => `M0 ${m}h${m + 1}v1H0z`);
      set(ground, { d: stairs.join("") });
      const paths = shades.map(() => "");
      for (let m = 0; m < n; m++)
        for (let i = 0; i <= m; i++) {
          const level = Math.round(SHADES * weights[m * n + i] ** 0.7); // small ones still show
          if (level) paths[level - 1] += `M${i} ${m}h1v1h-1z`;
        }
      shades.forEach((shade, i) => set(shade, { d: paths[i] }));
    },
    point: (m, n) => set(row, { y: m, width: n }),
  };
}

function attentionView(ui, parent, rules, { change }) {
  add(parent, "p", {}, WORDS.attention_title);
  const top = add(parent, "div", { class: "rope-fields" });
  const [layer, head] = [
    ["layer", WORDS.layer, rules.layers],
    ["head", WORDS.head, rules.heads],
  ].map(([name, words, count]) => {
    const texts = Array.from({ length: count }, (_, i) => String(i));
    const holder = add(top, "div", { class: "rope-knob" });
    const tools = { change: (changed) => change({ [name]: Number(changed[name]) }) };
    return choiceControl(ui, holder, [name, words], { texts }, tools);
  });
  const maps = add(parent, "div", { class: "rope-both" });
  const both = [WORDS.with_knobs, WORDS.as_trained].map((words) =>
    attentionMap(ui, maps, words, (m) => point(m)),
  );
  const label = add(parent, "label", { class: "rope-pointer" });
  add(label, "span", {}, WORDS.looking);
  const range = add(label, "input", { type: "range", min: 0, max: 1, step: 1, ...UNSUPPRESSED });
  const output = add(parent, "output", { class: "rope-told", "aria-live": "off" });
  let [pieces, weights, chosen] = [[], [], 11];

  // The three tokens that the one in row m looks at most.
  function most(list, m) {
    const n = pieces.length;
    const shares = Array.from(list.slice(m * n, m * n + m + 1), (share, i) => [share, i]);
    const first = shares.sort(([a], [b]) => b - a).slice(0, 3);
    return first.map(([share, i]) => `“${visible(pieces[i])}” ${percent(share)}`).join(", ");
  }
  function point(m) {
    const n = pieces.length;
    if (!weights.length || m < 0 || m >= n) return;
    chosen = m;
    range.value = String(m);
    for (const map of both) map.point(m, n);
    const [turned, right] = weights.map((list) => most(list, m));
    const text = say(WORDS.looks_at, { number: m + 1, piece: visible(pieces[m]), turned, right });
    write(output, text);
    set(range, { "aria-valuetext": text });
  }
  ui.listen(range, "input", () => point(Number(range.value)));
  label.hidden = true;
  return {
    choose(state) {
      layer(String(state.layer));
      head(String(state.head));
    },
    draw(shown, turned, right) {
      [pieces, weights] = [shown, [turned, right]];
      label.hidden = false;
      set(range, { max: pieces.length - 1 });
      both.forEach((map, i) => map.draw(weights[i], pieces.length));
      point(Math.min(chosen, pieces.length - 1));
    },
  };
}
