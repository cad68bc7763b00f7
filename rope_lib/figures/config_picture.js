// Where each pair stood on the axis of wavelengths before scaling, and where it stands.

const BANDS = ["kept", "blended", "divided"];
const MOST_MARKS = 512;
const DOT = 4;

function buildPicture(ui, parent) {
  const axis = { min: 0, max: 1, ticks: [] };
  const first = { x: { min: 1, max: 1e6, log: true }, y: axis };
  const room = { left: 14, right: 14, top: 14 };
  const picture = chart(ui, { ...first, parent, height: 240, room });
  const links = BANDS.map((_, dash) =>
    add(picture.plot, "path", { class: `rope-line rope-fine rope-link rope-dash-${dash}` }),
  );
  const heads = ["", "rope-open"].map((kind) =>
    add(picture.plot, "path", { class: `rope-head ${kind} rope-is-frequency` }),
  );
  const trained = add(picture.plot, "path", { class: "rope-rule" });
  const names = [0, 1].map(() => add(picture.plot, "text", { x: picture.box.left + 4 }));
  const lengths = [0, 1].map(() => add(picture.plot, "text", { class: "rope-label" }));

  return (report) => {
    const { before, inv_freq, original_max_positions, max_positions } = report;
    const isScaled = before.some((theta, j) => theta !== inv_freq[j]);
    const rows = isScaled
      ? [
          [before, 0.72, original_max_positions, WORDS.before],
          [inv_freq, 0.26, max_positions, WORDS.after],
        ]
      : [[inv_freq, 0.45, max_positions, WORDS.turning]];
    const waves = rows.flatMap(([list]) => list.filter(Boolean).map((theta) => TURN / theta));
    const most = Math.max(1e4, ...waves, ...rows.map(([, , length]) => length ?? 0));
    picture.axes({ x: { min: 4, max: 1.5 * most, log: true, ticks: 7, label: WORDS.wavelength } });
    const every = Math.ceil(inv_freq.length / MOST_MARKS);
    const shown = [...inv_freq.keys()].filter((j) => j % every === 0 && inv_freq[j] !== 0);
    const paths = ["", ""];
    for (const [list, height, length] of rows)
      for (const j of shown) {
        const [x, y] = [picture.x(TURN / list[j]), picture.y(height)];
        const isOpen = length !== null && TURN / list[j] > length;
        paths[Number(isOpen)] += `M${round(x - DOT)} ${round(y)}a${DOT} ${DOT} 0 1 0 ${2 * DOT} 0`;
        paths[Number(isOpen)] += `a${DOT} ${DOT} 0 1 0 ${-2 * DOT} 0`;
      }
    heads.forEach((head, i) => set(head, { d: paths[i] }));
    const [top, bottom] = [0, 1].map((i) => rows[i] && picture.y(rows[i][1]));
    BANDS.forEach((band, i) => {
      const isOf = (j) => isScaled && (report.sorted?.[j] ?? "blended") === band;
      const link = (j) =>
        `M${round(picture.x(TURN / before[j]))} ${round(top + DOT)}` +
        `L${round(picture.x(TURN / inv_freq[j]))} ${round(bottom - DOT)}`;
      set(links[i], { d: shown.filter(isOf).map(link).join("") });
    });
    let rule = "";
    [0, 1].forEach((i) => {
      const [, height, length, name] = rows[i] ?? [[], 0, null, ""];
      const [x, y] = [picture.x(length ?? 1), picture.y(height)];
      const away = i ? 1 : -1; // words stand above the first row and below the second
      const at = i ? y + 28 : y - 20;
      set(names[i], { y: at });
      write(names[i], name);
      const isLate = x > (picture.box.left + picture.box.right) / 2;
      const anchor = isLate ? "end" : "start";
      set(lengths[i], { x: x + (isLate ? -6 : 6), y: at, "text-anchor": anchor });
      write(lengths[i], length === null ? "" : say(WORDS.length, { tokens: grouped(length) }));
      if (length !== null) rule += `M${round(x)} ${round(y - 12 * away)}V${round(y + 34 * away)}`;
    });
    set(trained, { d: rule });
  };
}
