// The state of the sandbox as a link, and as Python.

function checkRotary({ rotary_dim, head_dim }) {
  if (rotary_dim <= head_dim) return;
  const rule = say(WORDS.at_most, { head_dim });
  throw new Error(say(WORDS.must, { name: "rotary_dim", rule, got: rotary_dim }));
}

// The whole state that a fragment describes. A narrower head whose rotated part is not given rotates
// whole.
function stateOf(fragment, rules) {
  const state = {};
  for (const name of Object.keys(rules.inputs)) state[name] = rules.inputs[name].default;
  const given = new URLSearchParams(fragment);
  for (const [name, text] of given) {
    if (!Object.hasOwn(rules.inputs, name)) throw new Error(say(WORDS.no_such, { name }));
    state[name] = checked(name, text, rules.inputs[name]);
  }
  if (!given.has("rotary_dim")) state.rotary_dim = Math.min(state.rotary_dim, state.head_dim);
  checkRotary(state);
  return state;
}

// The snippets that sandbox.py wrote, chosen as its as_python chooses them.
function pythonOf(state, { snippets }) {
  const { kind, scaling, rounded, dtype, m, n, shift } = state;
  const isRounded = dtype !== "float64";
  const chosen = ["start", kind, scaling];
  if (!isRounded || rounded === "positions") {
    chosen.push(isRounded ? "float_positions" : "positions");
    if (isRounded) chosen.push(dtype);
    chosen.push("tables");
  } else chosen.push("angles", dtype, "rounded_tables");
  const moved = (position) => (shift ? `${position} + ${shift}` : position);
  const values = {
    ...state,
    m: moved(m),
    n: moved(n),
    imports: kind === "aimed" ? "inverse_frequencies, scaling" : "scaling",
  };
  return [...chosen, "score"].map((name) => say(snippets[name], values)).join("\n");
}
