// A language model that a reader can break: the knobs of its rotation, what it then writes, and what
// it makes of a text. The numbers come late, from a worker: they are traits, so that a drawing is of
// traits alone.

const ASKED = [
  ...TURNED,
  ...["prompt", "count", "temperature", "seed", "length", "passage", "layer", "head"],
];
const INPUTS = [...ASKED, "shown", "rules", "awake", "losses", "right_losses"];
const PAUSE = 150; // ms without a change before the model is asked
const FRAME = 40; // ms between two drawings of a text that grows
const FEW = 3; // knobs that need no column of their own
const NOTHING = { ids: [], pieces: [] };
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function compute({ losses, right_losses }) {
  if (!losses.length || losses.length !== right_losses.length) return {};
  const [loss, right_loss] = [average(losses), average(right_losses)];
  const [perplexity, right_perplexity] = [loss, right_loss].map(Math.exp);
  return { loss, perplexity, right_loss, right_perplexity, ratio: perplexity / right_perplexity };
}

// ---- asking the model

// `ask` does so after a pause; the newest question ends the older ones. `seen` is what it told so far.
function makeQuestions(ui, runner, rules, { state: stateNow, views, change, show, tell }) {
  const { writing, passage, curve, heads } = views;
  const seen = { turned: NOTHING, right: NOTHING, pieces: [] };
  let [turn, timer] = [0, 0];

  function halt() {
    turn += 1;
    clearTimeout(timer);
    runner.stop();
  }
  function ask(pause) {
    halt(); // what runs would answer an older question
    timer = setTimeout(answer, pause);
  }
  async function answer() {
    const mine = turn;
    const state = stateNow();
    try {
      show(WORDS.loading);
      await runner.open();
      if (mine !== turn) return;
      if (writing) await writeBoth(state);
      if (passage || curve) await readPassage(state);
      if (heads) await look(state);
      show("");
    } catch (error) {
      if (error === STOPPED) return;
      show("");
      tell(error.message);
    }
  }
  async function writeBoth(state) {
    show(WORDS.is_writing);
    let drawn = 0;
    const redraw = (isDone) => writing.draw(state.prompt, seen.turned, seen.right, isDone);
    const grow = (name) => (text) => {
      seen[name] = text;
      if (performance.now() - drawn < FRAME) return;
      redraw(false);
      drawn = performance.now();
    };
    seen.turned = NOTHING;
    seen.turned = await runner.continued(state, grow("turned"));
    seen.right = await runner.continued(asTrained(state, rules), grow("right"));
    write(ui.spoken, `${WORDS.with_knobs}: ${seen.turned.pieces.join("")} ${redraw(true)}`);
  }
  async function readPassage(state) {
    const text = textOf(state, rules);
    const { pieces } = await runner.tokens(text);
    const n = Math.min(state.length, pieces.length);
    const count = ({ from }) => show(say(WORDS.reading, { count: from, all: n }));
    const losses = await runner.lossesOf(state, text, n, count);
    const right_losses = await runner.lossesOf(asTrained(state, rules), text, n, count);
    seen.pieces = pieces.slice(0, n);
    change({ losses, right_losses });
  }
  async function look(state) {
    const text = textOf(state, rules);
    const { pieces } = await runner.tokens(text);
    const n = Math.min(MAP_TOKENS, state.length, pieces.length);
    const turned = await runner.attentionOf(state, text, n);
    const right = await runner.attentionOf(asTrained(state, rules), text, n);
    heads.draw(pieces.slice(0, n), turned, right);
  }
  return { ask, halt, seen };
}

const textOf = ({ passage }, { snippet }) => passage || snippet;

// ---- the prompt and the knobs

function buildButtons(ui, parent, words, { ready, go, stop }) {
  const buttons = add(parent, "div", { class: "rope-buttons" });
  const [start, end] = [words, WORDS.stop].map((text) =>
    add(buttons, "button", { type: "button" }, text),
  );
  ui.listen(start, "click", go);
  ui.listen(end, "click", stop);
  for (const sign of ["pointerenter", "focusin"]) ui.listen(parent, sign, ready);
}

function buildPrompt(ui, parent, rules, tools) {
  const { change } = tools;
  const label = add(parent, "label", { class: "rope-field" });
  add(label, "span", {}, WORDS.preset);
  const preset = add(label, "select", UNSUPPRESSED);
  add(preset, "option", { value: "" }, WORDS.own);
  for (const text of rules.prompts) add(preset, "option", { value: text }, visible(text));
  const field = add(parent, "label", { class: "rope-field" });
  add(field, "span", {}, WORDS.prompt);
  const box = add(field, "textarea", {
    ...{ rows: 3, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    ...UNSUPPRESSED,
  });
  buildButtons(ui, parent, WORDS.write, tools);
  ui.listen(preset, "change", () => preset.value && change({ prompt: preset.value }));
  ui.listen(box, "input", () => change({ prompt: box.value }));
  return ({ prompt }) => {
    if (!box.textContent) box.textContent = prompt; // what a still shows
    if (box.value !== prompt) box.value = prompt;
    selectOption(preset, rules.prompts.includes(prompt) ? prompt : "");
  };
}

// All knobs of `shown`, and how the model writes where that is shown. Returns update(state).
function buildPanel(ui, panel, rules, has, tools) {
  const isRead = has("passage") || has("curve");
  const parts = knobParts();
  const knobs = Object.keys(parts).filter((knob) => has(knob) && (knob !== "length" || isRead));
  const wanted = knobs.flatMap((knob) => parts[knob]);
  const owners = Object.entries(parts).flatMap(([knob, list]) => list.map(([name]) => [name, knob]));
  const knobOf = Object.fromEntries(owners);
  const linked = { ...tools, address: (name) => chapterOf(knobOf[name], rules) };
  const updates = [buildKnobs(ui, panel, wanted, rules, linked)];
  if (has("writing")) {
    const details = add(panel, "details");
    add(details, "summary", {}, WORDS.how_to_write);
    updates.push(buildKnobs(ui, details, writingParts(), rules, linked));
  }
  if (has("share")) buildSharing(ui, panel, rules, tools);
  panel.appendChild(tools.told);
  if (wanted.length <= FEW) panel.parentNode.classList.add("rope-tiny-few");
  return (state) => {
    for (const update of updates) update(state);
  };
}
// ---- the figure

function build(ui) {
  set(ui.root, { class: "rope-figure rope-sandbox rope-tiny" });
  const { model } = ui;
  const [rules, shown] = [model.get("rules"), model.get("shown")];
  const has = (name) => shown.includes(name);
  const grid = add(ui.picture, "div", { class: "rope-tiny-grid" });
  const area = (name) => add(grid, "div", { class: `rope-area-${name}` });
  const top = area("status");
  const status = add(top, "p", { class: "rope-status" });
  const progress = add(top, "p", { class: "rope-progress" });
  const told = ui.root.ownerDocument.createElement("p");
  set(told, { class: "rope-told", role: "status" });
  let isChanging = false;

  function change(changes) {
    isChanging = true; // all at once, then one drawing
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    isChanging = false;
    model.save_changes();
    ui.redraw?.(); // not before the first drawing
  }
  const stateNow = () => Object.fromEntries(ASKED.map((name) => [name, model.get(name)]));
  const tell = (sentence) => write(told, sentence);
  const show = (sentence) => write(progress, sentence);
  const tools = {
    told,
    tell,
    state: stateNow,
    change(changes) {
      tell(""); // it was about another state
      change(changes);
    },
    ready: () => void runner.open().catch(() => {}), // a hand is near; Write says what is wrong
    go() {
      const { temperature, seed } = stateNow();
      const isAgain = model.get("awake") && temperature > 0; // another draw, not the same again
      tools.change({ awake: true, ...(isAgain && { seed: (seed % 9999) + 1 }) });
      questions.ask(0);
    },
    stop() {
      questions.halt();
      show("");
      tell(WORDS.stopped);
    },
  };

  const pen = has("writing") && area("writing");
  const drawPrompt = pen && buildPrompt(ui, pen, rules, tools);
  const writing = pen && writingView(ui, pen);
  if (!pen) buildButtons(ui, top, WORDS.read, tools);
  const updatePanel = buildPanel(ui, area("knobs"), rules, has, tools);
  const passage = has("passage") && passageView(ui, area("passage"));
  const curve = has("curve") && curveView(ui, area("curve"), rules);
  const heads = has("attention") && attentionView(ui, area("attention"), rules, tools);
  const runner = makeRunner(model, rules);
  const views = { writing, passage, curve, heads };
  const answers = { state: stateNow, views, change, show, tell };
  const questions = makeQuestions(ui, runner, rules, answers);
  const { stop } = ui;
  ui.stop = () => {
    questions.halt();
    runner.end();
    stop();
  };

  // A change of anything that the model is asked for makes the old numbers those of another state.
  function follow(state, last) {
    const differs = (names) => names.some((name) => !isSame(state[name], last[name]));
    if (!last) return state.awake && questions.ask(0);
    if (!differs(ASKED) && state.awake === last.awake) return;
    const awake = state.awake || differs([...TURNED, "length"]);
    const isStale = differs([...TURNED, "passage", "length"]);
    // After this drawing, whose numbers would else be written over the new ones.
    queueMicrotask(() => change({ awake, ...(isStale && { losses: [], right_losses: [] }) }));
    if (awake) questions.ask(PAUSE);
  }
  function drawNumbers(state, result) {
    const isRight = isSame(knobsOf(state), knobsOf(asTrained(state, rules)));
    const numbers = {
      right: perplexityText(result.right_perplexity),
      turned: perplexityText(result.perplexity),
      ratio: fixed(result.ratio, 2),
    };
    if (passage) passage.draw(questions.seen.pieces, state.losses, state.right_losses);
    if (curve) curve.draw(state.losses, state.right_losses);
    return say(isRight ? WORDS.is_right : WORDS.is_turned, numbers);
  }
  function drawWaiting(state) {
    if (passage && !questions.seen.pieces.length) passage.draw([textOf(state, rules)], [], []);
    if (writing && !state.awake) writing.draw(state.prompt, NOTHING, NOTHING, false);
    return state.awake ? WORDS.asked : say(WORDS.asleep, { button: pen ? WORDS.write : WORDS.read });
  }
  let last;
  let sentence = "";
  return (state, result) => {
    if (isChanging) return sentence;
    const before = last;
    last = state;
    follow(state, before);
    updatePanel(state);
    if (drawPrompt) drawPrompt(state);
    if (heads) heads.choose(state);
    sentence = result.perplexity ? drawNumbers(state, result) : drawWaiting(state);
    write(status, sentence);
    return sentence;
  };
}

export default figure({ inputs: INPUTS, compute, build, wide: true });
