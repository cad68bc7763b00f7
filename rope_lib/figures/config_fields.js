// Reading a config field by field, and keeping account of it, as rope_lib.config._fields does.

// One level of a file: its values, their paths in it, and (for all levels together) what was read.
// A value of null counts as absent.
class Fields {
  constructor(values, path = (key) => key, used = new Map()) {
    Object.assign(this, { values, path, used, children: new Map() });
  }
  get(key) {
    return this.values.get(key) ?? null;
  }
  take(key) {
    if (!this.values.has(key)) return null;
    this.used.set(this.path(key), this.values.get(key));
    return this.values.get(key);
  }
  read(key, convert) {
    const value = this.take(key);
    return value === null ? null : convert(this.path(key), value);
  }
  number(key, above, most = LARGEST) {
    return this.read(key, (path, value) => number(path, value, above, most, true));
  }
  integer(key, least = 1, most = EXACT) {
    return this.read(key, (path, value) => integer(path, value, least, most));
  }
  flag(key) {
    return this.read(key, flag);
  }
  text(key) {
    return this.read(key, textOf);
  }
  integers(key, least, most) {
    const entry = (path) => (value, i) => integer(`${path}[${i}]`, value, least, most);
    return this.read(key, (path, value) => Tuple.from(items(path, value).map(entry(path))));
  }
  texts(key) {
    return this.read(key, (path, value) =>
      items(path, value).map((entry, i) => textOf(`${path}[${i}]`, entry)),
    );
  }
  child(key) {
    const value = this.get(key);
    if (value === null) {
      this.take(key);
      return null;
    }
    const below = this.path(key);
    if (!(value instanceof Map)) throw new ParameterError(below, "must be a dictionary", value);
    if (!this.children.has(key))
      this.children.set(key, new Fields(value, (name) => `${below}.${name}`, this.used));
    return this.children.get(key);
  }
  // The paths of everything that nobody asked for.
  unread() {
    return [...this.values.keys()].flatMap((key) => {
      if (this.children.has(key)) return this.children.get(key).unread();
      return this.used.has(this.path(key)) ? [] : [this.path(key)];
    });
  }
}

function textOf(path, value) {
  if (typeof value !== "string") throw new ParameterError(path, "must be a string", value);
  return value;
}

function same(a, b) {
  const isPlain = (value) => isNumber(value) || typeof value === "boolean";
  if (!isPlain(a) || !isPlain(b)) return show(a) === show(b);
  const [x, y] = [a, b].map((value) => (typeof value === "bigint" ? value : Number(value)));
  return x == y; // a BigInt and a Number are compared by value
}

// What a reader has to tell besides the values: what it assumed, and warnings. `silent` says why
// nothing is known of the model, or is null where its row is known.
class Notes {
  constructor(silent) {
    Object.assign(this, { silent, assumed: new Map(), warnings: [] });
  }
  derive(name, value) {
    this.assumed.set(name, value);
    return value;
  }
  assume(name, value) {
    this.derive(name, value);
    if (this.silent !== null)
      this.warnings.push(`${name} is absent and ${this.silent}: ${show(value)} is assumed`);
    return value;
  }
  // The first of [[path, value], …] that is there; one that contradicts it becomes a warning.
  settle(readings) {
    const given = readings.filter(([, value]) => value !== null);
    if (!given.length) return null;
    const [[firstPath, first], ...others] = given;
    for (const [path, value] of others)
      if (!same(value, first))
        this.warnings.push(
          `${firstPath} ${show(first)} and ${path} ${show(value)} disagree: ${firstPath} is used`,
        );
    return first;
  }
}
