// The state of a figure as a link: what a value must be, and the part of an address that holds it.

// What a value must be; throws the sentence that Python would raise.
function checked(name, text, { texts, least, most, whole, even }) {
  const refuse = (rule) => {
    throw new Error(say(WORDS.must, { name, rule, got: text }));
  };
  if (texts) return texts.includes(text) ? text : refuse(say(WORDS.one_of, { texts: texts.join(", ") }));
  const value = Number(text);
  if (!/^\s*[\d.+-]/.test(text) || !Number.isFinite(value)) refuse(WORDS.a_number);
  if (whole && !Number.isInteger(value)) refuse(WORDS.whole);
  if (value < least || value > most) refuse(say(WORDS.within, { least, most }));
  if (even && value % 2) refuse(WORDS.even);
  return value;
}

// "head_dim=128&scaling=yarn": what differs from the defaults.
function fragmentOf(state, { inputs }) {
  const differs = Object.keys(inputs).filter((name) => String(state[name]) !== String(inputs[name].default));
  return differs.map((name) => `${name}=${encodeURIComponent(state[name])}`).join("&");
}
