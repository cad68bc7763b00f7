// One dial a pair. Its hand has turned by position · θ_j; early pairs race, late ones hardly move.

const DIAL = 21; // the radius of a dial in a box of 48 units

function compute({ head_dim, base, position }) {
  const pairs = Math.floor(head_dim / 2);
  const inv_freq = Array.from({ length: pairs }, (_, j) => base ** ((-2 * j) / head_dim));
  const angles = inv_freq.map((frequency) => position * frequency);
  const wavelengths = inv_freq.map((frequency) => TURN / frequency);
  const turns = wavelengths.map((wavelength) => position / wavelength);
  return {
    pairs,
    completed: turns.filter((count) => Math.abs(count) >= 1).length,
    fastest: wavelengths[0],
    slowest: wavelengths[pairs - 1],
    inv_freq,
    angles,
    wavelengths,
    turns,
  };
}

function dial(parent, wavelength) {
  const box = add(parent, "div", { class: "rope-dial" });
  const svg = add(box, "svg", { viewBox: "-24 -24 48 48" });
  add(svg, "circle", { r: DIAL, class: "rope-face" });
  const swept = add(svg, "path", { class: "rope-swept" });
  add(svg, "line", { x1: 0, x2: DIAL, class: "rope-start" });
  const hand = add(svg, "line", { x2: DIAL - 2, class: "rope-hand" });
  add(svg, "circle", { r: 2.5, class: "rope-hub" });
  const length = add(box, "span");
  add(length, "span", { class: "rope-i" }, "λ");
  add(length, "span", {}, ` ${compact(wavelength)}`);
  const count = add(box, "span", { class: "rope-turns" });
  return (angle, turns) => {
    const full = Math.abs(turns) >= 1;
    const rest = angle % TURN;
    const [x, y] = [round(DIAL * Math.cos(rest)), round(-DIAL * Math.sin(rest))];
    const large = Math.abs(rest) > Math.PI ? 1 : 0;
    set(swept, { d: `M0 0H${DIAL}A${DIAL} ${DIAL} 0 ${large} ${rest > 0 ? 0 : 1} ${x} ${y}Z` });
    set(hand, { transform: `rotate(${round((-rest * 360) / TURN)})` });
    set(box, { class: full ? "rope-dial rope-full" : "rope-dial" });
    const tiny = turns !== 0 && Math.abs(turns) < 0.005;
    write(count, tiny ? "< 0.01" : compact(turns));
  };
}

function build(ui) {
  const dials = add(ui.picture, "div", { class: "rope-dials", role: "img" });
  ui.pictures.push(dials);
  add(ui.panel, "p", { class: "rope-legend" }, WORDS.legend);
  const output = ui.readout();
  const rows = {
    completed: row(output, WORDS.completed, "", "rope-angle"),
    fastest: row(output, WORDS.fastest),
    slowest: row(output, WORDS.slowest),
  };
  let hands = [];
  let made;

  return ({ head_dim, base, position }, result) => {
    if (made !== `${head_dim} ${base}`) {
      made = `${head_dim} ${base}`;
      dials.textContent = "";
      const size = result.pairs <= 8 ? "large" : result.pairs <= 24 ? "middle" : "small";
      set(dials, { class: `rope-dials rope-${size}` });
      hands = result.wavelengths.map((wavelength) => dial(dials, wavelength));
    }
    hands.forEach((hand, j) => hand(result.angles[j], result.turns[j]));
    const numbers = {
      some: result.completed,
      all: result.pairs,
      fastest: compact(result.fastest),
      slowest: compact(result.slowest),
      position: short(position),
    };
    rows.completed(say(WORDS.of, numbers));
    rows.fastest(say(WORDS.tokens, { count: numbers.fastest }));
    rows.slowest(say(WORDS.tokens, { count: numbers.slowest }));
    return say(WORDS.says, numbers);
  };
}

export default figure({ inputs: ["head_dim", "base", "position"], compute, build, wide: true });
