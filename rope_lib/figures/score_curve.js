// The score of a query and a key at every distance, and the listed numbers to make them of.

// The listed numbers of score_by_distance.py: every product is a whole number below 2^53.
function listedNumbers(count, seed = 1) {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (16807 * state) % 2147483647;
    return (2 * state) / 2147483647 - 1;
  });
}

// The score at every whole distance, by turning each pair one step at a time.
function scores(pairs, inv_freq, reach) {
  const sums = new Float64Array(reach + 1);
  pairs.forEach(({ size, phase }, j) => {
    const [cos, sin] = [Math.cos(inv_freq[j]), Math.sin(inv_freq[j])];
    let x = size * Math.cos(phase);
    let y = size * Math.sin(phase);
    for (let r = 0; r <= reach; r++) {
      sums[r] += x;
      const next = cos * x - sin * y;
      y = sin * x + cos * y;
      x = next;
    }
  });
  return sums;
}

// A column of the picture holds many distances: draw the least and the greatest of each, in turn.
function columns(curve, place) {
  const points = [];
  let [column, low, high] = [undefined, 0, 0];
  const close = () => {
    for (const r of new Set([Math.min(low, high), Math.max(low, high)]))
      points.push([r + 1, curve[r]]);
  };
  curve.forEach((score, r) => {
    const here = Math.round(place(r + 1));
    if (here !== column) {
      if (column !== undefined) close();
      [column, low, high] = [here, r, r];
    } else if (score < curve[low]) low = r;
    else if (score > curve[high]) high = r;
  });
  close();
  return points;
}
