// The prompt, the knobs that a figure shows, and how the model writes.

const FEW = 3; // knobs that need no column of their own

function buildButtons(ui, parent, words, { ready, go, stop }) {
  const buttons = add(parent, "div", { class: "rope-buttons" });
  const [start, end] = [words, WORDS.stop].map((text) =>
    add(buttons, "button", { type: "button" }, text),
  );
  ui.listen(start, "click", go);
  ui.listen(end, "click", stop);
  for (const sign of ["pointerenter", "focusin"]) ui.listen(parent, sign, ready);
}

function buildPrompt(ui, parent, rules, tools) {
  const { change } = tools;
  const label = add(parent, "label", { class: "rope-field" });
  add(label, "span", {}, WORDS.preset);
  const preset = add(label, "select", UNSUPPRESSED);
  add(preset, "option", { value: "" }, WORDS.own);
  for (const text of rules.prompts) add(preset, "option", { value: text }, visible(text));
  const field = add(parent, "label", { class: "rope-field" });
  add(field, "span", {}, WORDS.prompt);
  const box = add(field, "textarea", {
    ...{ rows: 3, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    ...UNSUPPRESSED,
  });
  buildButtons(ui, parent, WORDS.write, tools);
  ui.listen(preset, "change", () => preset.value && change({ prompt: preset.value }));
  ui.listen(box, "input", () => change({ prompt: box.value }));
  return ({ prompt }) => {
    if (!box.textContent) box.textContent = prompt; // what a still shows
    if (box.value !== prompt) box.value = prompt;
    selectOption(preset, rules.prompts.includes(prompt) ? prompt : "");
  };
}

// The next seed, where there is something to draw.
function buildDice(ui, parent, { inputs }, { change, state }) {
  const holder = add(parent, "div", { class: "rope-choices" });
  const button = add(holder, "button", { type: "button" }, WORDS.another_seed);
  const next = (seed) => (seed % inputs.seed.most) + 1;
  ui.listen(button, "click", () => change({ awake: true, seed: next(state().seed) }));
  return ({ temperature }) => {
    holder.hidden = temperature === 0;
  };
}

// All knobs of `shown`, and how the model writes where that is shown. Returns update(state).
function buildPanel(ui, panel, rules, has, tools) {
  const isRead = has("passage") || has("curve");
  const parts = knobParts();
  const knobs = Object.keys(parts).filter((knob) => has(knob) && (knob !== "length" || isRead));
  const wanted = knobs.flatMap((knob) => parts[knob]);
  const owners = Object.entries(parts).flatMap(([knob, list]) => list.map(([name]) => [name, knob]));
  const knobOf = Object.fromEntries(owners);
  const linked = { ...tools, address: (name) => chapterOf(knobOf[name], rules) };
  const updates = [buildKnobs(ui, panel, wanted, rules, linked)];
  if (has("writing")) {
    const details = add(panel, "details");
    add(details, "summary", {}, WORDS.how_to_write);
    updates.push(buildKnobs(ui, details, writingParts(), rules, linked));
    updates.push(buildDice(ui, details, rules, tools));
  }
  if (has("share")) buildSharing(ui, panel, rules, tools);
  panel.appendChild(tools.told);
  if (wanted.length <= FEW) panel.parentNode.classList.add("rope-tiny-few");
  return (state) => {
    for (const update of updates) update(state);
  };
}
