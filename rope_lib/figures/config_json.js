// JSON as Python reads it: keys keep their order, NaN is a number, integers are exact.

class JsonError extends Error {}

const DEEPEST = 500;
const LONGEST_INTEGER = 4300; // digits; Python refuses more
const JSON_STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const JSON_NUMBER = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y;
const JSON_WORDS = {
  null: null,
  true: true,
  false: false,
  NaN: new Float(NaN),
  Infinity: new Float(Infinity),
  "-Infinity": new Float(-Infinity),
};

// Text → null, booleans, strings, lists, Maps, Floats and whole numbers (BigInt where large).
function parseJson(text) {
  let at = text.startsWith("\ufeff") ? 1 : 0;

  function fail(what) {
    const lines = text.slice(0, at).split("\n");
    const [line, column] = [lines.length, lines.at(-1).length + 1];
    throw new JsonError(say(WORDS.json_place, { what, line, column }));
  }
  const expect = (sign) => fail(say(WORDS.json_expected, { sign }));
  function next() {
    while (text[at] && " \t\n\r".includes(text[at])) at++;
    return text[at];
  }
  function match(pattern) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  }
  function string() {
    const found = match(JSON_STRING);
    return found ? JSON.parse(found[0]) : expect(WORDS.json_string);
  }

  // What stands between two brackets, entry by entry.
  function entries(close, read) {
    at++;
    if (next() !== close)
      for (;;) {
        read();
        if (next() === close) break;
        if (text[at] !== ",") expect(`, ${WORDS.json_or} ${close}`);
        at++;
      }
    at++;
  }
  function object(depth) {
    const found = new Map();
    entries("}", () => {
      if (next() !== '"') expect(WORDS.json_name);
      const key = string();
      if (next() !== ":") expect(":");
      at++;
      found.set(key, value(depth));
    });
    return found;
  }
  function list(depth) {
    const found = [];
    entries("]", () => found.push(value(depth)));
    return found;
  }
  function numberAt() {
    const found = match(JSON_NUMBER);
    if (!found) return expect(WORDS.json_value);
    const [all, whole, part, power] = found;
    if (part || power) return new Float(Number(all));
    if (whole.length > LONGEST_INTEGER) fail(WORDS.json_long);
    return Number.isSafeInteger(Number(whole)) ? Number(whole) + 0 : BigInt(whole);
  }
  function value(depth = 0) {
    const sign = next();
    if (depth > DEEPEST) fail(WORDS.json_deep);
    if (sign === '"') return string();
    if (sign === "{") return object(depth + 1);
    if (sign === "[") return list(depth + 1);
    for (const [word, meaning] of Object.entries(JSON_WORDS))
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    return numberAt();
  }

  const found = value();
  if (next() !== undefined) expect(WORDS.json_end);
  return found;
}
