// Values as Python has them and as its repr writes them, so that a message is the same in both: 2 and
// 2.0 stay apart.

class Float {
  constructor(x) {
    this.x = x;
  }
  valueOf() {
    return this.x;
  }
}
class Tuple extends Array {}

const exponent = (power) => `e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
const infinite = (x) => (Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf");

function floatText(x) {
  if (!Number.isFinite(x)) return infinite(x);
  if (Object.is(x, -0)) return "-0.0";
  const [digits, power] = x.toExponential().split("e");
  if (x !== 0 && (power < -4 || power >= 16)) return digits + exponent(Number(power));
  return Number.isInteger(x) ? `${x}.0` : String(x);
}

// "{:g}" of Python, with six digits or as many as are asked for.
function general(value, digits = 6) {
  const x = Number(value);
  if (!Number.isFinite(x)) return infinite(x);
  const [start, power] = x.toExponential(digits - 1).split("e");
  const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= digits) return bare(start) + exponent(Number(power));
  return bare(x.toFixed(digits - 1 - power));
}

const isUnprintable = /^(?! )[\p{C}\p{Z}]$/u;
const SHORT_ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const written = Array.from(text, (sign) => {
    if (sign === quote) return `\\${sign}`;
    if (SHORT_ESCAPES[sign]) return SHORT_ESCAPES[sign];
    if (!isUnprintable.test(sign)) return sign;
    const code = sign.codePointAt(0);
    const [letter, size] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(size, "0")}`;
  });
  return quote + written.join("") + quote;
}

function repr(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quoted(value);
  if (value instanceof Float) return floatText(value.x);
  if (value instanceof Map) {
    const entries = [...value].map((entry) => entry.map(repr).join(": "));
    return `{${entries.join(", ")}}`;
  }
  if (!Array.isArray(value)) return String(value);
  const inside = Array.from(value, repr).join(", ");
  if (value instanceof Tuple) return value.length === 1 ? `(${inside},)` : `(${inside})`;
  return `[${inside}]`;
}

// A short form of any value, for messages.
function show(value) {
  const signs = Array.from(repr(value));
  return signs.length <= 80 ? signs.join("") : `${signs.slice(0, 77).join("")}...`;
}

// Without the difference of 2 and 2.0: plain JSON.
function plain(value) {
  if (value instanceof Float || typeof value === "bigint") return Number(value);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
  return Array.isArray(value) ? Array.from(value, plain) : value;
}
