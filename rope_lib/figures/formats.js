// Number formats, and the rounding of a number to them.

const FORMATS = {
  // bits of the significand, least exponent of a normal number, largest number
  float32: { bits: 24, least: -126, most: (2 - 2 ** -23) * 2 ** 127 },
  float16: { bits: 11, least: -14, most: 65504 },
  bfloat16: { bits: 8, least: -126, most: (2 - 2 ** -7) * 2 ** 127 },
  tf32: { bits: 11, least: -126, most: (2 - 2 ** -10) * 2 ** 127 },
};

// The distance between neighbours of the format where x ≥ 0 lies.
function spacing(x, { bits, least }) {
  let power = Math.floor(Math.log2(Math.max(x, 2 ** least)));
  if (2 ** power > x) power -= 1; // log2 may round up to the next whole number
  return 2 ** (Math.max(power, least) - bits + 1);
}

// x ≥ 0 to the nearest number of the format, ties to the even one.
function nearest(x, format) {
  const gap = spacing(x, format);
  const steps = x / gap;
  const whole = Math.floor(steps);
  const rest = steps - whole;
  const up = rest > 0.5 || (rest === 0.5 && whole % 2 === 1);
  const value = (whole + (up ? 1 : 0)) * gap;
  return value > format.most ? Infinity : value;
}
