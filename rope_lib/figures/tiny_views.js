// What the model writes and what it makes of a text: as the knobs have it, beside as it was trained.

const LEVELS = [1, 2, 4, 6]; // nats, between the shades of a token
const LOOKS = ["rope-loss-0", "rope-loss-1", "rope-loss-2", "rope-loss-3", "rope-loss-4"];
const SMOOTHED = 32; // tokens, of which the curve is the mean
const SPARE = 24; // pixels, between a token that was scrolled to and the edge
const average = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
const perplexityText = (x) => (x < 100 ? fixed(x, 1) : compact(Math.round(x)));

// A token as one can see it, white space included.
const visible = (piece) => piece.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");

// A Tab stop only where there is something to scroll.
function stopIfLong(box) {
  if (box.scrollHeight > box.clientHeight + 1) set(box, { tabindex: 0 });
  else box.removeAttribute("tabindex");
}

// ---- two texts from one prompt, and where they part

// The place of the first token that differs; −1 where none does.
function parting(one, other) {
  const most = Math.max(one.length, other.length);
  for (let i = 0; i < most; i++) if (one[i] !== other[i]) return i;
  return -1;
}

function writingView(ui, parent, rules) {
  const both = add(parent, "div", { class: "rope-both" });
  const [turned, right] = [
    [WORDS.with_knobs, "rope-angle"],
    [WORDS.as_trained, "rope-key-dashed"],
  ].map(([words, look]) => {
    const holder = add(both, "div");
    add(holder, "p", { class: `rope-key ${look}` }, words);
    const written = { class: "rope-line-of-text rope-written", translate: "no", lang: "en" };
    const line = add(holder, "p", { ...written, role: "group", "aria-label": words });
    const [prompt, same] = ["span", "b"].map((tag) => add(line, tag));
    const mark = add(line, "mark");
    return { line, prompt, same, mark, rest: add(line, "b") };
  });
  const note = add(parent, "p");

  function show(pane, { ids, pieces }, at) {
    const shared = at < 0 ? pieces.length : at;
    write(pane.same, pieces.slice(0, shared).join(""));
    write(pane.mark, pieces[shared] === undefined ? "" : pieces[shared] || "…");
    write(pane.rest, pieces.slice(shared + 1).join(""));
    pane.mark.hidden = !(shared < ids.length);
    stopIfLong(pane.line);
  }
  return {
    // Either text may be unfinished: it is compared as far as it goes.
    draw(state, one, other, isDone) {
      const length = isDone ? Infinity : Math.min(one.ids.length, other.ids.length);
      const at = parting(one.ids.slice(0, length), other.ids.slice(0, length));
      for (const [pane, text] of [
        [turned, one],
        [right, other],
      ]) {
        write(pane.prompt, state.prompt);
        show(pane, text, at);
      }
      const same = isRight(state, rules) ? WORDS.right_text : WORDS.same_text;
      const told = at < 0 ? same : say(WORDS.parts_at, { count: at + 1 });
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
  // By its own hand: the box scrolls to the token, and not the page.
  function pick(i) {
    if (!losses.length) return;
    const near = Math.max(1, Math.min(i, tokens.length - 1));
    point(near);
    const [token, seen] = [tokens[near], box].map((node) => node.getBoundingClientRect());
    if (token.top < seen.top) box.scrollTop -= seen.top - token.top + SPARE;
    if (token.bottom > seen.bottom) box.scrollTop += token.bottom - seen.bottom + SPARE;
  }
  const numberOf = (event) => tokens.indexOf(event.target);
  ui.listen(box, "pointerover", (event) => tell(numberOf(event)));
  ui.listen(box, "pointerleave", () => tell(Number(range.value)));
  ui.listen(box, "click", (event) => numberOf(event) > 0 && point(numberOf(event)));
  ui.listen(range, "input", () => pick(Number(range.value)));

  return {
    pick,
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
        token.classList.toggle("rope-loss", look !== "");
      });
      if (some.length) point(Math.min(Number(range.value), pieces.length - 1));
      else write(output, "");
      stopIfLong(box);
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

// `pick`, where there is one, hears of the position that a click chooses.
function curveView(ui, parent, { trained }, pick) {
  const axes = { x: { min: 0, max: trained }, y: { min: 0, max: 6 } };
  const picture = chart(ui, { parent, ...axes, height: 240 });
  const right = picture.line("rope-dashed");
  const turned = picture.line("rope-chosen");
  const rule = picture.rule("rope-solid");
  rule(null);
  let drawn = 0;
  if (pick) {
    picture.svg.classList.add("rope-picked");
    ui.listen(picture.svg, "click", (event) => {
      const { left, width } = picture.svg.getBoundingClientRect();
      const x = ((event.clientX - left) / width) * picture.svg.viewBox.baseVal.width;
      pick(Math.round(picture.x.back(x)));
    });
  }
  return {
    // The old curves look old; they go where they are of another length, or none will follow.
    wait(length, isHalted) {
      picture.svg.classList.add("rope-old");
      if (length === drawn && !isHalted) return;
      for (const line of [turned, right]) line([]);
      picture.axes({ x: { min: 0, max: Math.max(length, trained), label: WORDS.place } });
      rule(trained, say(WORDS.trained, { length: trained }));
    },
    draw(losses, rightLosses, length) {
      drawn = length;
      picture.svg.classList.remove("rope-old");
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
