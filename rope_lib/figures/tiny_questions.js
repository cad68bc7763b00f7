// What the figure asks the model, one question after the other, and where the answers go.

const FRAME = 40; // ms between two drawings of a text that grows
const NOTHING = { ids: [], pieces: [] };

// `ask` does so after a pause; the newest question ends the older ones. `seen` is what it told so far.
function makeQuestions(ui, runner, rules, { state: stateNow, views, change, show, tell }) {
  const { writing, passage, curve, heads } = views;
  const seen = { turned: NOTHING, right: NOTHING, pieces: [], isHalted: false };
  let [turn, timer] = [0, 0];

  function halt() {
    turn += 1;
    clearTimeout(timer);
    runner.stop();
  }
  function ask(pause) {
    halt(); // what runs would answer an older question
    seen.isHalted = false;
    show(runner.isOpen() ? WORDS.asked : WORDS.loading);
    timer = setTimeout(answer, pause);
  }
  async function answer() {
    const mine = turn;
    const state = stateNow();
    try {
      await runner.open();
      if (mine !== turn) return;
      if (writing) await writeBoth(state);
      if (passage || curve) await readPassage(state);
      if (heads) await look(state);
      show("");
    } catch (error) {
      if (error === STOPPED || mine !== turn) return;
      rest();
      tell(error.message);
    }
  }
  // No answer will come: what stands there is that of another question.
  function rest() {
    halt();
    seen.isHalted = true;
    if (writing) writing.draw(stateNow(), seen.turned, seen.right, false);
    show("");
    ui.redraw?.();
  }
  async function writeBoth(state) {
    show(WORDS.is_writing);
    let drawn = 0;
    const right = asTrained(state, rules);
    const redraw = (isDone) => writing.draw(state, seen.turned, seen.right, isDone);
    const grow = (name) => (text) => {
      seen[name] = text;
      if (performance.now() - drawn < FRAME) return;
      redraw(false);
      drawn = performance.now();
    };
    seen.turned = NOTHING;
    seen.right = runner.written(right) ?? NOTHING; // another seed's is no comparison
    redraw(false);
    seen.turned = await runner.continued(state, grow("turned"));
    seen.right = await runner.continued(right, grow("right"));
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
    heads.draw(state, pieces.slice(0, n), turned, right);
  }
  return { ask, halt, rest, seen };
}

const textOf = ({ passage }, { snippet }) => passage || snippet;
