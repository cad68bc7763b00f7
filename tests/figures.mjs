// Runs figures for tests/test_figures_js.py: one job a line as JSON, one answer a line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const load = async (path) => import(pathToFileURL(path).href);
const [modules, linkedom] = process.argv.slice(2);
const { parseHTML } = await load(linkedom);
const figures = {};
for (const [name, path] of Object.entries(JSON.parse(modules)))
  figures[name] = (await load(path)).default;

function modelOf(state) {
  const listeners = [];
  return {
    listeners,
    saves: 0,
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      for (const [event, call] of [...listeners]) if (event === `change:${name}`) call();
    },
    save_changes() {
      this.saves += 1;
    },
    on: (event, call) => listeners.push([event, call]),
    off(event, call) {
      listeners.splice(
        listeners.findIndex(([e, c]) => e === event && c === call),
        1,
      );
    },
  };
}

// What a hand does to the handle of a trait: a key, or a drag to a place given in units of the
// picture (the DOM here has no layout, so the picture says that it is as large as its viewBox); a
// tap has its place, too.
function work(Event, el, trait, { key, shiftKey = false, to, tap }) {
  const knob = el.querySelector(`[data-trait="${trait}"]`);
  const happen = (type, properties) =>
    knob.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), properties));
  if (key) return happen("keydown", { key, shiftKey });
  knob.setPointerCapture = () => {};
  knob.focus = () => {};
  const picture = knob.closest("svg");
  const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  picture.getBoundingClientRect = () => ({ left: 0, top: 0, width, height });
  if (tap) return happen("click", { clientX: tap[0], clientY: tap[1] });
  happen("pointerdown", { button: 0, pointerId: 1 });
  happen("pointermove", { clientX: to[0], clientY: to[1] });
  return happen("lostpointercapture", {});
}

// Draw, then take each step in turn, [trait, value] or [trait, what a hand does to its handle];
// keep the markup, the traits and the number of saves after every step.
function draw({ figure, state, changes }) {
  const { document, Event } = parseHTML("<!doctype html><html><body><div></div></body></html>");
  const el = document.querySelector("div");
  const traits = { readout: {}, ...state };
  const model = modelOf(traits);
  const stop = figures[figure].render({ model, el });
  const look = () => ({ html: el.innerHTML, ...structuredClone(traits), saves: model.saves });
  const steps = [look()];
  for (const [name, value] of changes) {
    if (value.key || value.to || value.tap) work(Event, el, name, value);
    else model.set(name, value);
    steps.push(look());
  }
  stop();
  return { steps, after: { html: el.innerHTML, listeners: model.listeners.length } };
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  const answer = job.states ? job.states.map(figures[job.figure].compute) : draw(job);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
