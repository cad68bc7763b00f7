// The wavelength of each pair on a logarithmic axis, and how much of its circle training showed.

const INPUTS = ["model", "head_dim", "base", "length", "presets"];
const OWN = ["head_dim", "base", "length"]; // what a reader sets for "custom"
const DOT = 4;
const AXIS = [4, 3e7]; // wide enough for every preset, so that models can be compared

function compute({ model, presets, ...own }) {
  const preset = presets[model] ?? own;
  const { head_dim, base, length, rotary_dim = head_dim, original = length, divisors } = preset;
  const plain = Array.from(
    { length: rotary_dim / 2 },
    (_, j) => TURN / base ** ((-2 * j) / rotary_dim),
  );
  const wavelengths = plain.map((wavelength, j) => wavelength * (divisors?.[j] ?? 1));
  const complete = wavelengths.filter((wavelength) => wavelength <= length).length;
  return {
    pairs: plain.length,
    complete,
    never: plain.length - complete,
    shortest: Math.min(...wavelengths),
    longest: Math.max(...wavelengths),
    plain,
    wavelengths,
    settings: { head_dim, rotary_dim, base, length, original },
    scaled: Boolean(divisors),
  };
}

// Marks on stems: filled for a pair that completes a turn, hollow on a dashed stem for the others.
function marks(picture, look) {
  const stems = ["rope-stem", "rope-stem rope-open"].map((kind) =>
    add(picture.plot, "path", { class: `${kind} ${look}` }),
  );
  const heads = ["rope-head", "rope-head rope-open"].map((kind) =>
    add(picture.plot, "path", { class: `${kind} ${look}` }),
  );
  return (wavelengths, length) => {
    const paths = [
      ["", ""],
      ["", ""],
    ];
    for (const wavelength of wavelengths) {
      const [x, y] = [picture.x(wavelength), picture.y(Math.min(1, length / wavelength))];
      const path = paths[wavelength <= length ? 0 : 1];
      path[0] += `M${round(x)} ${picture.box.bottom}V${round(y)}`;
      path[1] += `M${round(x - DOT)} ${round(y)}a${DOT} ${DOT} 0 1 0 ${2 * DOT} 0`;
      path[1] += `a${DOT} ${DOT} 0 1 0 ${-2 * DOT} 0`;
    }
    paths.forEach(([stem, head], i) => {
      set(stems[i], { d: stem });
      set(heads[i], { d: head });
    });
  };
}

function build(ui) {
  for (const name of OWN)
    ui.follow(`change:${name}`, () => {
      ui.model.set("model", "custom");
      ui.model.save_changes();
    });
  const y = { min: 0, max: 1.2, ticks: [0, 0.5, 1], label: WORDS.seen };
  const picture = chart(ui, { x: { min: 1, max: 1e6, log: true }, y });
  const originally = picture.rule("");
  const before = picture.line("rope-fine rope-dashed");
  const show = marks(picture, "rope-is-frequency");
  const trained = picture.rule("rope-solid");

  const settings = add(ui.panel, "p");
  const output = ui.readout();
  const rows = {
    complete: row(output, WORDS.complete, "", "rope-angle"),
    never: row(output, WORDS.never),
    shortest: row(output, WORDS.shortest),
    longest: row(output, WORDS.longest),
  };

  return ({ model }, result) => {
    const { length, original, ...sizes } = result.settings;
    const far = Math.max(AXIS[1], 1.2 * result.longest, 1.2 * length);
    picture.axes({ x: { min: AXIS[0], max: far, log: true, ticks: 7, label: WORDS.wavelength } });
    show(result.wavelengths, length);
    trained(length, say(WORDS.trained, { length: grouped(length) }));
    originally(result.scaled ? original : null);
    before(
      result.scaled ? result.plain.map((x) => [x, Math.min(1, original / x)]) : [],
    );
    const values = {
      model,
      length: grouped(length),
      original: grouped(original),
      head: short(sizes.head_dim),
      rotary: short(sizes.rotary_dim),
      base: grouped(sizes.base),
      some: result.complete,
      all: result.pairs,
      shortest: compact(result.shortest),
      longest: compact(result.longest),
    };
    const told = [WORDS.settings, ...(result.scaled ? [WORDS.scaled] : [])];
    write(settings, told.map((text) => say(text, values)).join(" "));
    rows.complete(say(WORDS.of, values));
    rows.never(say(WORDS.of, { some: result.never, all: result.pairs }));
    rows.shortest(say(WORDS.tokens, { count: values.shortest }));
    rows.longest(say(WORDS.tokens, { count: values.longest }));
    return say(WORDS.says, values);
  };
}

export default figure({ inputs: INPUTS, compute, build });
