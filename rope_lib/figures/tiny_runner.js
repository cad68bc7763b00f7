// The model's file and the worker that runs it: both are asked for once, when they are first needed.

const STOPPED = new Error("stopped"); // what a job that a later one replaced is rejected with

// The bytes come from Python, or from a script beside the published page: the same message.
function askForFile(model, file) {
  return new Promise((resolve, reject) => {
    const hear = (content, buffers) => {
      if (content?.file !== file) return;
      model.off("msg:custom", hear);
      if (content.error) return reject(new Error(say(WORDS.no_file, { problem: content.error })));
      const { buffer, byteOffset, byteLength } = buffers[0];
      resolve(buffer.slice(byteOffset, byteOffset + byteLength));
    };
    model.on("msg:custom", hear);
    model.send({ file });
  });
}

// A thread that runs ENGINE. `ask` sends it a job and promises the last answer; the answers before it
// go to onPart.
function openWorker() {
  if (!globalThis.Worker) throw new Error(WORDS.no_worker);
  const address = URL.createObjectURL(new Blob([ENGINE], { type: "text/javascript" }));
  const worker = new Worker(address);
  const jobs = new Map();
  let count = 0;
  const rejectAll = (error) => {
    for (const { reject } of jobs.values()) reject(error);
    jobs.clear();
  };
  worker.onerror = () => rejectAll(new Error(WORDS.no_worker));
  worker.onmessage = ({ data: { job, ...answer } }) => {
    const waiting = jobs.get(job); // none: it was stopped
    if (!waiting) return;
    if (!answer.done && !answer.error) return waiting.onPart?.(answer);
    jobs.delete(job);
    if (answer.error) waiting.reject(new Error(answer.error));
    else waiting.resolve(answer);
  };
  return {
    ask(task, given, onPart, moved = []) {
      const job = ++count;
      return new Promise((resolve, reject) => {
        jobs.set(job, { resolve, reject, onPart });
        worker.postMessage({ job, task, ...given }, moved);
      });
    },
    stop() {
      worker.postMessage({ task: "stop" });
      rejectAll(STOPPED);
    },
    end() {
      worker.terminate();
      URL.revokeObjectURL(address);
      rejectAll(STOPPED);
    },
  };
}

// What was computed before, by key; the oldest goes when there are too many.
function memory(most = 60) {
  const kept = new Map();
  return {
    get: (key) => kept.get(key),
    keep(key, value) {
      kept.delete(key);
      kept.set(key, value);
      if (kept.size > most) kept.delete(kept.keys().next().value);
      return value;
    },
  };
}

// The model as the figure asks it: each answer is kept, so that a knob turned back costs nothing.
function makeRunner(model, rules) {
  const kept = memory();
  let [worker, opening, isOpen, isEnded] = [null, null, false, false];

  async function load() {
    const file = await askForFile(model, model.get("package_file"));
    if (isEnded) throw STOPPED;
    worker = openWorker();
    const sizes = await worker.ask("load", { file }, null, [file]);
    isOpen = true;
    return sizes;
  }
  async function open() {
    opening ??= load();
    try {
      return await opening;
    } catch (error) {
      opening = null; // the next try asks again
      worker?.end();
      worker = null;
      throw error;
    }
  }
  async function remembered(key, make) {
    const name = JSON.stringify(key);
    return kept.get(name) ?? kept.keep(name, await make());
  }
  const tokens = (text) => remembered(["tokens", text], () => worker.ask("tokens", { text }));

  const writeKey = ({ prompt, count, temperature, seed, ...state }) => [
    ...["write", knobsOf(state), prompt, count, temperature, seed],
  ];

  // What the model writes: {ids, pieces}, and so far to onPart.
  function continued(state, onPart) {
    const { prompt, count, temperature, seed } = state;
    return remembered(writeKey(state), async () => {
      const { end } = await opening;
      const { ids: given } = await tokens(prompt);
      const ids = given.length ? given : [end]; // as after the end of another file
      const how = rotationOf(state, ids.length + count, rules);
      const written = { ids: [], pieces: [] };
      await worker.ask("write", { ids, how, count, temperature, seed }, (part) => {
        written.ids.push(...part.ids);
        if (part.ids.length) written.pieces.push(part.text);
        onPart(written);
      });
      return written;
    });
  }

  // The losses of the first n tokens but one. Those of a longer beginning hold them.
  async function lossesOf(state, text, n, onPart) {
    const key = JSON.stringify(["losses", knobsOf(state), text]);
    const known = kept.get(key);
    if (known?.length >= n - 1) return known.slice(0, n - 1);
    const ids = (await tokens(text)).ids.slice(0, n);
    const how = rotationOf(state, n, rules);
    const { losses } = await worker.ask("losses", { ids, how }, onPart);
    return kept.keep(key, Array.from(losses));
  }

  const attentionOf = (state, text, n) =>
    remembered(["attention", knobsOf(state), text, n, state.layer, state.head], async () => {
      const ids = (await tokens(text)).ids.slice(0, n);
      const { layer, head } = state;
      const how = rotationOf(state, n, rules);
      return (await worker.ask("attention", { ids, how, layer, head })).weights;
    });

  return {
    open,
    isOpen: () => isOpen,
    written: (state) => kept.get(JSON.stringify(writeKey(state))),
    tokens,
    continued,
    lossesOf,
    attentionOf,
    stop: () => isOpen && worker.stop(),
    end() {
      isEnded = true;
      worker?.end();
    },
  };
}
