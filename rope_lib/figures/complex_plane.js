// z times e^{iθ}: the modulus stays, θ is added to the phase.

function compute({ z, theta }) {
  const unit = [Math.cos(theta), Math.sin(theta)];
  const turned = [z[0] * unit[0] - z[1] * unit[1], z[0] * unit[1] + z[1] * unit[0]];
  return {
    real: turned[0],
    imaginary: turned[1],
    modulus: norm(z),
    modulus_after: norm(turned),
    phase: direction(z),
    phase_after: direction(turned),
    cos: unit[0],
    sin: unit[1],
    unit,
    turned,
  };
}

function build(ui) {
  const plane = new Plane(ui, { least: 2.75, axes: ["Re", "Im"] });
  const circle = plane.circle("rope-one");
  const ring = plane.circle("");
  const arcs = [plane.arc("rope-angle", true), plane.arc("rope-angle", true)];
  const unit = plane.arrow("rope-angle rope-middle");
  const before = plane.arrow("rope-before");
  const after = plane.arrow("rope-after");
  const handle = plane.handle("z", "", "z");

  const output = ui.readout();
  const rows = {
    z: row(output, "", "z", "rope-own"),
    unit: row(output, "", "e^{iθ}", "rope-angle"),
    turned: row(output, "", "z · e^{iθ}", "rope-own"),
    modulus: row(output, WORDS.modulus, "|z|"),
    phase: row(output, WORDS.phase, "arg z"),
  };

  return ({ z, theta, label }, result) => {
    set(ui.root, { class: `rope-figure rope-${label}` });
    plane.fit(Math.max(1, result.modulus));
    circle(1);
    ring(result.modulus);
    arcs[0](36, 0, theta, "θ");
    arcs[1](58, result.phase, theta, "θ");
    unit(result.unit, "e^{iθ}", -0.6);
    before(z, "z", theta < 0 ? 0.9 : -0.9);
    after(result.turned, "z e^{iθ}", theta < 0 ? -0.3 : 0.3);
    handle(z);
    rows.z(complex(z, short));
    rows.unit(complex(result.unit));
    rows.turned(complex(result.turned));
    rows.modulus(`${fixed(result.modulus, 3)} → ${fixed(result.modulus_after, 3)}`);
    const phases = [result.phase, result.phase_after].map((phase) => fixed(phase, 3));
    rows.phase(`${phases.join(" → ")} ${WORDS.radians}`);
    return say(WORDS.says, {
      z: complex(z, short),
      theta: fixed(theta),
      w: complex(result.turned),
      modulus: fixed(result.modulus, 3),
      before: phases[0],
      after: phases[1],
    });
  };
}

export default figure({ inputs: ["z", "theta", "label"], compute, build });
