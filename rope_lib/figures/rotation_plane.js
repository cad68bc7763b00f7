// One vector, turned: its arrow before and after, the circle it stays on, the matrix that does it.

function compute({ vector, theta }) {
  const rotated = rotate(vector, theta);
  return {
    x: rotated[0],
    y: rotated[1],
    norm_before: norm(vector),
    norm_after: norm(rotated),
    cos: Math.cos(theta),
    sin: Math.sin(theta),
    rotated,
  };
}

function build(ui) {
  const plane = new Plane(ui, { least: 2.5 });
  const ring = plane.circle("");
  const arc = plane.arc("rope-angle", true);
  const before = plane.arrow("rope-before");
  const after = plane.arrow("rope-after");
  const handle = plane.handle("vector", "", ui.model.get("label"));

  const output = ui.readout();
  const formula = add(output, "span", { class: "rope-formula" });
  const name = add(formula, "span", { class: "rope-math" });
  const turn = matrix(formula, 2, "rope-angle");
  const start = matrix(formula, 1, "rope-hue", 2);
  const right = add(formula, "span", { class: "rope-formula" }, "=");
  const end = matrix(right, 1, "rope-hue");
  const rows = {
    angle: row(output, WORDS.angle, "θ", "rope-angle"),
    before: row(output, WORDS.before),
    after: row(output, WORDS.after),
  };

  return ({ vector, theta, label }, { rotated, cos, sin, ...lengths }) => {
    set(ui.root, { class: `rope-figure rope-${label}` });
    plane.fit(lengths.norm_before);
    ring(lengths.norm_before);
    arc(56, direction(vector), theta, "θ");
    before(vector, label, theta < 0 ? 0.9 : -0.9);
    after(rotated, `R(θ)${label}`, theta < 0 ? -0.3 : 0.3);
    handle(vector);
    math(name, `R(θ)${label} =`);
    turn([cos, -sin, sin, cos]);
    start(vector);
    end(rotated);
    rows.angle(`${fixed(theta)} ${WORDS.radians} = ${fixed((theta * 360) / TURN, 1)}°`);
    rows.before(fixed(lengths.norm_before, 3), `|${label}|`);
    rows.after(fixed(lengths.norm_after, 3), `|R(θ)${label}|`);
    return say(WORDS.says, {
      name: label,
      x: short(vector[0]),
      y: short(vector[1]),
      theta: fixed(theta),
      u: fixed(rotated[0], 3),
      v: fixed(rotated[1], 3),
      norm: fixed(lengths.norm_after, 3),
    });
  };
}

export default figure({ inputs: ["vector", "theta", "label"], compute, build });
