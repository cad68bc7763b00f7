// The worker: after each step of a job other messages get in.

const idsOf = ({ tokenizer }, { ids, text }) => ids ?? tokenizer.encode(text);

const TASKS = {
  *load({ sizes, tokenizer }) {
    return { ...sizes, end: tokenizer.end };
  },
  *tokens({ tokenizer }, { text }) {
    const [ids, next] = [tokenizer.encode(text), tokenizer.stream()];
    return { ids, pieces: ids.map((id) => next(id)) };
  },
  *write(model, { how, ...given }) {
    const [next, ids] = [model.tokenizer.stream(), []];
    let text = "";
    for (const fresh of write(model, idsOf(model, given), how, given)) {
      const part = fresh.map((id) => next(id)).join("");
      ids.push(...fresh);
      text += part;
      yield { ids: fresh, text: part };
    }
    return { ids, text: text + next(), ended: ids.length < given.count };
  },
  *losses(model, { how, ...given }) {
    const all = [];
    for (const part of losses(model, idsOf(model, given), how)) {
      yield { from: all.length, losses: part };
      all.push(...part);
    }
    return { losses: all };
  },
  *attention(model, { how, layer, head, ...given }) {
    return { weights: attention(model, idsOf(model, given), how, layer, head) };
  },
};

// What takes a message. post sends one; pause lets those that wait come in.
function serve(post, pause) {
  const alive = new Set();
  let model = null;
  return async ({ job, task, ...given }) => {
    if (task === "stop") return job === undefined ? alive.clear() : alive.delete(job);
    alive.add(job);
    try {
      if (task === "load") model = makeModel(readGguf(given.file));
      const steps = model && TASKS[task]?.(model, given);
      if (!steps) throw new Error(`${task} is no task, or came before load`);
      for (let step = {}; !step.done; await pause()) {
        step = alive.has(job) ? steps.next() : { value: { stopped: true }, done: true };
        post({ job, ...step.value, done: step.done });
      }
    } catch (error) {
      post({ job, error: error.message });
    }
    return alive.delete(job);
  };
}

// A message to oneself comes after those that wait; a timer would cost 4 ms.
function pauseForMessages() {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()();
  return () => new Promise((go) => waiting.push(go) && port2.postMessage(null));
}

if (typeof WorkerGlobalScope !== "undefined") {
  const take = serve((message) => self.postMessage(message), pauseForMessages());
  self.onmessage = ({ data }) => take(data);
}
