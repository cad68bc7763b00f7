// A row of tokens for each rank: what it holds, the ids it turns them by, and its share of the work.

function compute({ tokens, ranks, order, ids }) {
  const chunk = Math.ceil(tokens / (2 * ranks));
  const padded = 2 * ranks * chunk;
  const chunksOf = (rank) =>
    order === "contiguous" ? [2 * rank, 2 * rank + 1] : [rank, 2 * ranks - 1 - rank];
  const rows = Array.from({ length: ranks }, (_, rank) => {
    const held = chunksOf(rank).flatMap((first) =>
      Array.from({ length: chunk }, (_, at) => first * chunk + at),
    );
    const real = held.filter((token) => token < tokens);
    return {
      held,
      ids: ids === "global" ? held : held.map((_, at) => at),
      scores: real.reduce((sum, token) => sum + token + 1, 0), // a token sees itself and all before
    };
  });
  const idOf = [];
  for (const { held, ids: own } of rows) held.forEach((token, at) => (idOf[token] = own[at]));
  let wrong = 0;
  for (let m = 0; m < tokens; m++)
    for (let n = 0; n <= m; n++) wrong += idOf[m] - idOf[n] === m - n ? 0 : 1;
  const work = rows.map(({ scores }) => scores);
  return {
    padded,
    held: 2 * chunk,
    scores: work.reduce((sum, scores) => sum + scores, 0),
    least: Math.min(...work),
    most: Math.max(...work),
    wrong,
    rows,
  };
}

const WIDTH = 480;
const BLOCK = 74; // from one rank to the next

function build(ui) {
  const svg = add(ui.picture, "svg", { class: "rope-chart rope-cache" });
  const drawing = add(svg, "g", { role: "img" });
  ui.pictures.push(drawing);
  const verdict = add(ui.panel, "p", { class: "rope-why" });
  const output = ui.readout();
  const rows = {
    held: row(output, WORDS.held, "", "rope-k"),
    share: row(output, WORDS.share, "", "rope-is-score"),
    ratio: row(output, WORDS.ratio),
    wrong: row(output, WORDS.wrong, "", "rope-angle"),
  };

  return ({ tokens, ranks, order, ids }, result) => {
    const step = WIDTH / result.padded;
    const full = (2 * result.scores) / ranks; // twice an equal share
    drawing.textContent = "";
    result.rows.forEach(({ held, ids: own, scores }, rank) => {
      const top = rank * BLOCK;
      const words = say(WORDS.rank, { rank, scores });
      add(drawing, "text", { x: 2, y: top + 17, class: "rope-row-name" }, words);
      for (let token = 0; token < result.padded; token++) {
        const at = held.indexOf(token);
        const isPad = token >= tokens;
        const look = at < 0 ? "rope-gone" : isPad ? "rope-hidden" : "rope-k";
        const cell = add(drawing, "g", { class: `rope-slot ${look}` });
        const size = { y: top + 24, width: step - 3, height: 28, rx: 4 };
        add(cell, "rect", { x: token * step + 1.5, ...size });
        if (at < 0 || step < 23) continue; // two digits would touch
        const place = { x: (token + 0.5) * step, y: top + 43, "text-anchor": "middle" };
        const isWrong = own[at] !== token;
        add(cell, "text", { ...place, class: isWrong ? "rope-wrong" : "" }, `${own[at]}`);
      }
      const width = Math.min(WIDTH, (WIDTH * scores) / full);
      add(drawing, "rect", { x: 0, y: top + 57, width, height: 6, class: "rope-fill" });
    });
    const height = ranks * BLOCK - 4;
    const even = { x1: WIDTH / 2, x2: WIDTH / 2, class: "rope-rule" };
    for (let rank = 0; rank < ranks; rank++)
      add(drawing, "line", { ...even, y1: rank * BLOCK + 54, y2: rank * BLOCK + 66 });
    set(svg, { viewBox: `0 0 ${WIDTH} ${height}` });

    const numbers = {
      tokens,
      ranks,
      order: order === "contiguous" ? WORDS.contiguous : WORDS.zig_zag,
      ids: ids === "global" ? WORDS.global : WORDS.from_0,
      held: result.held,
      least: result.least,
      most: result.most,
      scores: result.scores,
      wrong: result.wrong,
      pads: result.padded - tokens,
    };
    write(verdict, say(result.wrong ? WORDS.off : WORDS.right, numbers));
    rows.held(say(numbers.pads ? WORDS.with_pads : WORDS.without, numbers));
    rows.share(say(WORDS.range, numbers));
    rows.ratio(`${fixed((result.most * ranks) / result.scores, 2)}`);
    rows.wrong(say(WORDS.of, numbers));
    return say(WORDS.says, numbers);
  };
}

export default figure({ inputs: ["tokens", "ranks", "order", "ids"], compute, build, wide: true });
