// A language model that a reader can break: the knobs of its rotation, what it then writes, and what
// it makes of a text. The numbers come late, from a worker: they are traits, so that a drawing is of
// traits alone.

const ASKED = [
  ...TURNED,
  ...["prompt", "count", "temperature", "seed", "length", "passage", "layer", "head"],
];
const INPUTS = [...ASKED, "shown", "rules", "awake", "losses", "right_losses"];
const PAUSE = 150; // ms without a change before the model is asked
const HARMLESS = 1e-3; // nats, below which no loss is called changed

// A mean over a long text hides where it breaks: past the trained length there are two parts.
function compute({ losses, right_losses, rules: { trained } }) {
  if (!losses.length || losses.length !== right_losses.length) return {};
  const [loss, right_loss] = [average(losses), average(right_losses)];
  const [perplexity, right_perplexity] = [loss, right_loss].map(Math.exp);
  const ratio = perplexity / right_perplexity;
  const largest_change = Math.max(...losses.map((x, i) => Math.abs(x - right_losses[i])));
  const found = { loss, perplexity, right_loss, right_perplexity, ratio, largest_change };
  const within = trained - 1; // the first token has no loss
  if (losses.length <= within) return found;
  for (const [name, list] of [
    ["perplexity", losses],
    ["right_perplexity", right_losses],
  ]) {
    found[`${name}_to`] = Math.exp(average(list.slice(0, within)));
    found[`${name}_past`] = Math.exp(average(list.slice(within)));
  }
  return found;
}

// The numbers of `compute` in a sentence.
function headline({ ratio, ...result }, isRight, { trained }, passage) {
  const isLong = result.perplexity_past !== undefined;
  const isHarmless = result.largest_change < HARMLESS;
  const [words, ofParts] = isRight
    ? [WORDS.is_right, WORDS.is_right_long]
    : isHarmless
      ? [WORDS.is_same, WORDS.is_same_long]
      : [WORDS.is_turned, WORDS.is_turned_long];
  const numbers = Object.entries(result).map(([name, x]) => [name, perplexityText(x)]);
  const texts = { ...Object.fromEntries(numbers), ratio: fixed(ratio, 2), trained, passage };
  return say(isLong ? ofParts : words, texts);
}

// ---- the figure

function build(ui) {
  set(ui.root, { class: "rope-figure rope-sandbox rope-tiny" });
  const { model } = ui;
  const [rules, shown] = [model.get("rules"), model.get("shown")];
  const has = (name) => shown.includes(name);
  const top = add(ui.picture, "div", { class: "rope-area-status" });
  const grid = add(ui.picture, "div", { class: "rope-tiny-grid" });
  const area = (name) => add(grid, "div", { class: `rope-area-${name}` });
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
      tools.change({ awake: true });
      questions.ask(0);
      ui.redraw(); // it may have been stopped
    },
    stop() {
      questions.rest();
      tell(WORDS.stopped);
    },
  };

  const first = area("writing");
  const pen = has("writing") && first;
  const drawPrompt = pen && buildPrompt(ui, pen, rules, tools);
  const writing = pen && writingView(ui, pen, rules);
  if (!pen) buildButtons(ui, first, WORDS.read, tools);
  const updatePanel = buildPanel(ui, area("knobs"), rules, has, tools);
  const passage = has("passage") && passageView(ui, area("passage"));
  const curve = has("curve") && curveView(ui, area("curve"), rules, passage?.pick);
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

  // A change of anything that the model is asked for makes the old numbers those of another state:
  // returns whether it does.
  function follow(state, last) {
    const differs = (names) => names.some((name) => !isSame(state[name], last[name]));
    if (!last) {
      if (state.awake) questions.ask(0);
      return false;
    }
    if (!differs(ASKED) && state.awake === last.awake) return false;
    const awake = state.awake || differs([...TURNED, "length"]);
    const isStale = differs([...TURNED, "passage", "length"]);
    // After this drawing, whose numbers would else be written over the new ones.
    queueMicrotask(() => change({ awake, ...(isStale && { losses: [], right_losses: [] }) }));
    if (awake) questions.ask(PAUSE);
    return isStale;
  }
  function drawNumbers(state, result) {
    if (passage) passage.draw(questions.seen.pieces, state.losses, state.right_losses);
    if (curve) curve.draw(state.losses, state.right_losses, state.length);
    return headline(result, isRight(state, rules), rules, passage ? WORDS.below : WORDS.text);
  }
  // Old numbers stay until the new ones come, and look old; none stay where none will come.
  function drawWaiting(state) {
    const { pieces, isHalted } = questions.seen;
    const button = pen ? WORDS.write : WORDS.read;
    if (passage && !pieces.length) passage.draw([textOf(state, rules)], [], []);
    if (!state.awake) {
      if (writing) writing.draw(state, NOTHING, NOTHING, false);
      return say(WORDS.asleep, { button });
    }
    if (curve) curve.wait(state.length, isHalted);
    if (!isHalted) return WORDS.asked;
    if (passage && pieces.length) passage.draw(pieces, [], []);
    return say(WORDS.no_numbers, { button });
  }
  function drawStatus(state, isNew) {
    if (isNew) numbers = sentence;
    const isOld = !isNew && state.awake && numbers && !questions.seen.isHalted;
    status.classList.toggle("rope-old", Boolean(isOld));
    write(status, isOld ? numbers : sentence);
  }
  let last;
  let [sentence, numbers] = ["", ""];
  return (state, result) => {
    if (isChanging) return sentence;
    const before = last;
    last = state;
    const isNew = !follow(state, before) && Boolean(result.perplexity);
    updatePanel(state);
    if (drawPrompt) drawPrompt(state);
    if (heads) heads.choose(state);
    sentence = isNew ? drawNumbers(state, result) : drawWaiting(state);
    drawStatus(state, isNew);
    return sentence;
  };
}

export default figure({ inputs: INPUTS, compute, build, wide: true });
