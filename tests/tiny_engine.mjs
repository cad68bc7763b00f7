// Runs the engine of the tiny model for tests/test_tiny_engine.py: one job a line as JSON, one
// answer a line. Arguments: the engine as a module, its text as a script, and the model's file.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modulePath, scriptPath, filePath] = process.argv.slice(2);
const engine = await import(pathToFileURL(modulePath).href);
const script = readFileSync(scriptPath, "utf8");

const bufferOf = ({ buffer, byteOffset, length }) => buffer.slice(byteOffset, byteOffset + length);
const file = bufferOf(readFileSync(filePath));
const model = engine.makeModel(engine.readGguf(file));

const howOf = ({ cos, sin, ...rest }) => ({
  ...rest,
  cos: Float32Array.from(cos),
  sin: Float32Array.from(sin),
});
const hash = ({ buffer }) => createHash("sha256").update(Buffer.from(buffer)).digest("hex");

// The bottom of the script in a worker that is none: `says` are [after, message], sent as soon as
// so many messages have come out. Answers with all that came out.
function talk(says) {
  const [heard, waiting] = [[], says.map(([after, message]) => ({ after, message }))];
  return new Promise((resolve) => {
    const busy = new Set(waiting.map(({ message }) => message.job));
    const self = {
      postMessage(message) {
        heard.push(structuredClone(message));
        if (message.done || message.error) busy.delete(message.job);
        queueMicrotask(sendDue); // not from inside the engine, as no browser does
        if (!busy.size) resolve(heard);
      },
    };
    busy.delete(undefined);
    new Function("self", "WorkerGlobalScope", script)(self, Object);
    function sendDue() {
      while (waiting.length && waiting[0].after <= heard.length) {
        const { message } = waiting.shift();
        const how = message.how && howOf(message.how);
        const whole = message.task === "load" ? (message.file ?? file) : undefined;
        self.onmessage({ data: { ...message, how, file: whole } });
      }
    }
    sendDue();
  });
}

const ASKS = {
  hashes() {
    const { metadata, tensors } = engine.readGguf(file);
    const entries = Object.entries(tensors);
    const listed = entries.map(([name, { shape, values }]) => [name, [shape, hash(values)]]);
    return { metadata, tensors: Object.fromEntries(listed) };
  },
  halves: ({ bits }) => bits.map(engine.float16),
  open: ({ file: text }) =>
    Object.keys(engine.makeModel(engine.readGguf(bufferOf(Buffer.from(text, "base64"))))),
  encode: ({ texts }) => texts.map(model.tokenizer.encode),
  decode: ({ lists }) => lists.map(model.tokenizer.decode),
  pieces: ({ ids }) => ids.map(model.tokenizer.piece),
  // The logits after each part, with one cache for all.
  logits({ parts, how, room }) {
    const cache = engine.emptyCache(model, room ?? parts.flat().length);
    const given = howOf(how);
    return parts.map((ids) => Array.from(engine.run(model, ids, given, cache)));
  },
  losses: ({ ids, how }) => [...engine.losses(model, ids, howOf(how))],
  attention: ({ ids, how, layer, head }) =>
    Array.from(engine.attention(model, ids, howOf(how), layer, head)),
  write({ ids, how, end = model.tokenizer.end, ...options }) {
    const ending = { ...model, tokenizer: { ...model.tokenizer, end } };
    return [...engine.write(ending, ids, howOf(how), options)];
  },
  talk: ({ says }) => talk(says),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { ask, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = await ASKS[ask](given);
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(); // the engine's channel of messages would keep Node alive
