// Turn by a, then by b: the same arrow, and the same matrix, as one turn by a + b.

const turning = (angle) => [Math.cos(angle), -Math.sin(angle), Math.sin(angle), Math.cos(angle)];
const product = ([a, b, c, d], [e, f, g, h]) => [
  a * e + b * g,
  a * f + b * h,
  c * e + d * g,
  c * f + d * h,
];

function compute({ a, b, vector }) {
  const steps = product(turning(b), turning(a));
  const once = turning(a + b);
  const middle = rotate(vector, a);
  const end = rotate(middle, b);
  return {
    x: end[0],
    y: end[1],
    sum: a + b,
    gap: Math.max(...steps.map((entry, i) => Math.abs(entry - once[i]))),
    steps,
    once,
    middle,
    end,
    direct: rotate(vector, a + b),
  };
}

function build(ui) {
  const plane = new Plane(ui, { least: 1.35 });
  const ring = plane.circle("");
  const shadow = plane.arrow("rope-angle rope-shadow");
  const arcs = {
    a: plane.arc("rope-angle", true),
    b: plane.arc("rope-angle rope-second", true),
    sum: plane.arc("rope-angle"),
  };
  const before = plane.arrow("rope-before");
  const middle = plane.arrow("rope-middle");
  const after = plane.arrow("rope-after");
  const handle = plane.handle("vector", "", ui.model.get("label"));

  const output = ui.readout();
  const equation = (words, left) => {
    add(output, "span", { class: "rope-name" }, words);
    const formula = add(output, "span", { class: "rope-formula" });
    math(add(formula, "span", { class: "rope-math" }), left);
    return matrix(formula, 2, "rope-angle");
  };
  const steps = equation(WORDS.steps, "R(b)R(a) =");
  const once = equation(WORDS.once, "R(a + b) =");
  const rows = {
    gap: row(output, WORDS.gap),
    sum: row(output, "", "a + b", "rope-angle"),
  };

  return ({ a, b, vector, label }, result) => {
    const start = direction(vector);
    set(ui.root, { class: `rope-figure rope-${label}` });
    plane.fit(norm(vector));
    ring(norm(vector));
    shadow(result.direct, "");
    arcs.a(60, start, a, "a");
    arcs.b(60, start + a, b, "b");
    arcs.sum(98, start, a + b, "a + b", start + (Math.abs(a) > Math.abs(b) ? a / 2 : a + b / 2));
    before(vector, label, a < 0 ? 0.9 : -0.9);
    middle(result.middle, `R(a)${label}`, 0);
    after(result.end, `R(b)R(a)${label}`, 0);
    handle(vector);
    steps(result.steps);
    once(result.once);
    rows.sum(`${fixed(a)} + ${fixed(b)} = ${fixed(a + b)} ${WORDS.radians}`);
    rows.gap(result.gap < 1e-12 ? "0" : result.gap.toExponential(1));
    return say(WORDS.says, {
      name: label,
      a: fixed(a),
      b: fixed(b),
      sum: fixed(a + b),
      x: fixed(result.x, 3),
      y: fixed(result.y, 3),
    });
  };
}

export default figure({ inputs: ["a", "b", "vector", "label"], compute, build });
