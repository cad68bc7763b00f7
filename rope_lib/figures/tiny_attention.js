// What one head looks at: as the knobs have it, beside as it was trained.

const MAP_TOKENS = 48;
const percent = (share) => `${short(100 * share, share < 0.1 ? 1 : 0)} %`;
const SHADES = 6;

// A picture of the weights: row = the token that looks, column = what it looks at.
function attentionMap(ui, parent, words, pick) {
  const holder = add(parent, "div");
  const look = words === WORDS.as_trained ? "rope-key-dashed" : "rope-angle";
  add(holder, "p", { class: `rope-key ${look}` }, words);
  const svg = add(holder, "svg", { class: "rope-map", viewBox: "0 0 48 48" });
  const drawing = add(svg, "g", { role: "img", "aria-label": words }); // until the model has read
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
    draw(weights, n, name) {
      set(drawing, { "aria-label": name });
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

// From no shade to the darkest.
function shadesKey(parent) {
  const key = add(parent, "p", { class: "rope-shades" });
  add(key, "span", {}, say(WORDS.shades, { least: percent(0) }));
  const size = { viewBox: `0 0 ${SHADES + 1} 1` };
  const svg = add(key, "svg", { ...size, "aria-hidden": "true" });
  add(svg, "rect", { class: "rope-track", width: SHADES + 1, height: 1 });
  for (let i = 1; i <= SHADES; i++) {
    const shade = { class: "rope-fill", "fill-opacity": i / SHADES };
    add(svg, "rect", { ...shade, x: i, width: 1, height: 1 });
  }
  add(key, "span", {}, percent(1));
}

function attentionView(ui, parent, rules, { change }) {
  const title = add(parent, "p", {}, say(WORDS.attention_title, { count: MAP_TOKENS }));
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
  shadesKey(parent);
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
    const looks = first.map(([share, i]) =>
      say(WORDS.one_look, { number: i + 1, piece: visible(pieces[i]), share: percent(share) }),
    );
    return looks.join(", ");
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
    draw(state, shown, turned, right) {
      [pieces, weights] = [shown, [turned, right]];
      label.hidden = false;
      set(range, { max: pieces.length - 1 });
      write(title, say(WORDS.attention_title, { count: pieces.length }));
      both.forEach((map, i) => {
        const how = i ? WORDS.as_trained : WORDS.with_knobs;
        map.draw(weights[i], pieces.length, say(WORDS.map_name, { ...state, how }));
      });
      point(Math.min(chosen, pieces.length - 1));
    },
  };
}
