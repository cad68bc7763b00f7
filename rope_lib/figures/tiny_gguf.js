// A GGUF file: named values, then what tensors there are, then their numbers. The parts of the worker
// come in this order: tiny_gguf.js, tiny_tokenizer.js, tiny_engine.js, tiny_worker.js.

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

// GGUF numbers the types of a value in this order; 7 is a bool, 8 a string, 9 a list.
const NUMBERS =
  "Uint8 Int8 Uint16 Int16 Uint32 Int32 Float32 Uint8 - - BigUint64 BigInt64 Float64".split(" ");
const [UINT32, STRING, LIST, UINT64] = [4, 8, 9, 10];

function readGguf(buffer) {
  const { at, text, number, value } = cursorOver(buffer);
  const magic = text(4);
  if (magic !== "GGUF") throw new Error(`the file must start with GGUF, got "${magic}"`);
  const version = number(UINT32);
  if (version !== 3) throw new Error(`the GGUF version must be 3, got ${version}`);
  const [tensorCount, valueCount] = [number(UINT64), number(UINT64)];
  const metadata = Object.fromEntries(times(valueCount, () => [value(STRING), value()]));
  const listed = times(tensorCount, () => {
    const name = value(STRING);
    const shape = times(number(UINT32), () => number(UINT64)).reverse(); // columns come first
    return { name, shape, type: number(UINT32), offset: number(UINT64) };
  });
  const alignment = metadata["general.alignment"] ?? 32;
  const start = Math.ceil(at() / alignment) * alignment;
  const read = (tensor) => [tensor.name, { ...tensor, values: numbersOf(buffer, start, tensor) }];
  return { metadata, tensors: Object.fromEntries(listed.map(read)) };
}

// A place in the file, which moves on.
function cursorOver(buffer) {
  const view = new DataView(buffer);
  let place = 0;
  const skip = (bytes) => {
    checkEnd("a value", place + bytes, buffer);
    place += bytes;
    return place - bytes;
  };
  const text = (bytes) => utf8().decode(new Uint8Array(buffer, skip(bytes), bytes));
  const number = (type) => {
    if (!NUMBERS[type]) throw new Error(`the file is damaged: no value has type ${type}`);
    const bytes = NUMBERS[type].match(/\d+/) / 8;
    return Number(view[`get${NUMBERS[type]}`](skip(bytes), true)); // exact up to 2^53
  };
  const value = (type = number(UINT32)) => {
    if (type === STRING) return text(number(UINT64));
    if (type !== LIST) return number(type);
    const each = number(UINT32);
    return times(number(UINT64), () => value(each));
  };
  return { at: () => place, text, number, value };
}

function checkEnd(what, end, { byteLength }) {
  if (end > byteLength)
    throw new Error(`truncated: ${what} ends at byte ${end}, the file at ${byteLength}`);
}

// By GGUF's number of a tensor's type: F32, and Q8_0, which keeps 32 numbers in 34 bytes.
const UNITS = { 0: [1, 4], 8: [32, 34] };

function numbersOf(buffer, data, { name, shape, type, offset }) {
  if (!UNITS[type]) throw new Error(`${name} must be of type 0 or 8, got ${type}`);
  const [unit, bytes] = UNITS[type];
  const count = shape.reduce((product, size) => product * size, 1);
  const [start, end] = [data + offset, data + offset + (count / unit) * bytes];
  checkEnd(name, end, buffer);
  const stored = buffer.slice(start, end);
  return unit === 1 ? new Float32Array(stored) : dequantised(new DataView(stored), count);
}

// A float16 scale, then 32 signed bytes.
function dequantised(view, count) {
  const values = new Float32Array(count);
  for (let i = 0, at = 0; i < count; at += 34) {
    const scale = float16(view.getUint16(at, true));
    for (let j = 2; j < 34; j += 1, i += 1) values[i] = scale * view.getInt8(at + j);
  }
  return values;
}

// A sign, 5 bits of exponent and 10 of fraction; exponent 0 has no leading 1.
function float16(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, (bits & 1023) / 1024];
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
  return bits >> 15 ? -size : size;
}
