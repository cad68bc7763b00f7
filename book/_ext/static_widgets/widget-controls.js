/* The controls of the published page: ipywidgets' core widgets as native form controls.
 *
 * Each function below takes a model with get, set and on, and returns an element that shows the
 * model's traits and sets them. widget-loader.js, which runs next, calls them.
 */
(() => {
  "use strict";

  const WORDS = { play: "Play", pause: "Pause", stop: "Back to the start", repeat: "Repeat" };
  let count = 0;

  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function follow(model, refresh) {
    model.on("change", refresh);
    refresh();
  }

  function describe(element, model) {
    element.textContent = model.get("description") ?? "";
    element.hidden = !element.textContent;
  }

  // The part of d3-format's notation that readouts use: [sign][,][.precision][type].
  function format(value, spec) {
    const match = /^([+ -]?)(,?)(?:\.(\d+))?([defg%]?)$/.exec(spec ?? "");
    if (!match) throw new Error(`the readout format "${spec}" is not supported`);
    const [, sign, comma, digits, type] = match;
    const precision = Number(digits ?? (type ? 6 : 12));
    const size = Math.abs(value);
    const write = {
      d: () => String(Math.round(size)),
      e: () => size.toExponential(precision),
      f: () => size.toFixed(precision),
      "%": () => (100 * size).toFixed(precision),
    };
    let text = write[type]?.() ?? size.toPrecision(Math.max(1, precision));
    if (!type) text = text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
    const isNegative = value < 0 && Number(text) !== 0;
    if (comma) text = text.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
    const prefix = isNegative ? "\u2212" : sign.replace("-", "");
    return prefix + text + (type === "%" ? "%" : "");
  }

  // A label, its input, and what stands after it.
  function field(kind, model, input, extra, refresh) {
    input.id = `sw-${++count}`;
    const label = h("label", { for: input.id });
    follow(model, () => {
      describe(label, model);
      input.disabled = Boolean(model.get("disabled"));
      input.title = model.get("tooltip") ?? "";
      refresh();
    });
    return h("div", { class: `sw-field sw-${kind}` }, label, input, ...extra);
  }

  function slider(model) {
    // A FloatLogSlider's min, max and step are exponents of its base.
    const base = model.name === "FloatLogSliderModel" ? model.get("base") : null;
    const toPlace = (value) => (base ? Math.log(value) / Math.log(base) : value);
    const toValue = (place) => (base ? base ** place : place);
    const input = h("input", { type: "range" });
    // aria-valuetext says the same.
    const readout = h("span", { class: "sw-readout", "aria-hidden": "true" });
    const show = (value) => {
      readout.textContent = format(value, model.get("readout_format"));
      input.setAttribute("aria-valuetext", readout.textContent);
    };
    const commit = () => model.set("value", toValue(Number(input.value)));
    input.addEventListener("change", commit);
    input.addEventListener("input", () => {
      if (model.get("continuous_update") === false) show(toValue(Number(input.value)));
      else commit();
    });
    return field("slider", model, input, [readout], () => {
      for (const name of ["min", "max", "step"]) input.setAttribute(name, model.get(name) ?? "any");
      input.setAttribute("aria-orientation", model.get("orientation") ?? "horizontal");
      input.value = toPlace(model.get("value"));
      readout.hidden = model.get("readout") === false;
      show(model.get("value"));
    });
  }

  function dropdown(model) {
    const options = model.get("_options_labels").map((label) => h("option", {}, label));
    const select = h("select", {}, ...options);
    select.addEventListener("change", () => model.set("index", select.selectedIndex));
    return field("dropdown", model, select, [], () => {
      const chosen = options[model.get("index")]; // none where the index is null
      if (chosen) chosen.selected = true;
      else select.selectedIndex = -1;
    });
  }

  function toggleButtons(model) {
    const name = `sw-${++count}`;
    const radios = model.get("_options_labels").map(() => h("input", { type: "radio", name }));
    const choices = radios.map((radio, index) => {
      radio.addEventListener("change", () => model.set("index", index));
      return h("label", {}, radio, h("span", {}, model.get("_options_labels")[index]));
    });
    const legend = h("legend");
    const group = h("fieldset", { class: "sw-toggles" }, legend, ...choices);
    follow(model, () => {
      describe(legend, model);
      group.disabled = Boolean(model.get("disabled"));
      radios.forEach((radio, index) => (radio.checked = index === model.get("index")));
    });
    return group;
  }

  function checkbox(model) {
    const input = h("input", { type: "checkbox" });
    input.addEventListener("change", () => model.set("value", input.checked));
    return field("checkbox", model, input, [], () => {
      input.checked = Boolean(model.get("value"));
    });
  }

  function text(model) {
    const isLong = model.name === "TextareaModel";
    const input = isLong ? h("textarea") : h("input", { type: "text" });
    if (isLong) input.setAttribute("rows", model.get("rows") ?? 2);
    input.setAttribute("placeholder", model.get("placeholder") ?? "");
    const commit = () => model.set("value", input.value);
    input.addEventListener("change", commit);
    if (model.get("continuous_update") !== false) input.addEventListener("input", commit);
    return field("text", model, input, [], () => {
      if (input.value !== model.get("value")) input.value = model.get("value"); // keeps the caret
    });
  }

  function words(model) {
    const label = h("span", { class: "sw-description" });
    const content = h("div");
    follow(model, () => {
      describe(label, model);
      content[model.name === "HTMLModel" ? "innerHTML" : "textContent"] = model.get("value");
    });
    return h("div", { class: "sw-words" }, label, content);
  }

  function button(name, sign, click) {
    const element = h("button", { type: "button", "aria-label": name, title: name }, sign);
    element.addEventListener("click", click);
    return element;
  }

  function play(model) {
    let timer;
    const next = () => model.get("value") + model.get("step");
    const advance = () => {
      if (next() <= model.get("max")) model.set("value", next());
      else if (model.get("repeat")) model.set("value", model.get("min"));
      else model.set("playing", false);
    };
    const toggle = button(WORDS.play, "", () => {
      const playing = !model.get("playing");
      if (playing && next() > model.get("max")) model.set("value", model.get("min"));
      model.set("playing", playing);
    });
    const stop = button(WORDS.stop, "|\u25c0", () =>
      model.set({ playing: false, value: model.get("min") }),
    );
    const repeat = button(WORDS.repeat, "\u21bb", () => model.set("repeat", !model.get("repeat")));
    model.set("playing", false); // a page keeps still until its reader asks
    follow(model, () => {
      const playing = model.get("playing");
      clearInterval(timer);
      if (playing) timer = setInterval(advance, model.get("interval"));
      toggle.textContent = playing ? "\u275a\u275a" : "\u25b6";
      toggle.title = playing ? WORDS.pause : WORDS.play;
      toggle.setAttribute("aria-label", toggle.title);
      repeat.setAttribute("aria-pressed", String(Boolean(model.get("repeat"))));
      repeat.hidden = model.get("show_repeat") === false;
      for (const each of [toggle, stop, repeat]) each.disabled = Boolean(model.get("disabled"));
    });
    const name = model.get("description") || WORDS.play;
    const parts = [toggle, stop, repeat];
    return h("div", { class: "sw-play", role: "group", "aria-label": name }, ...parts);
  }

  globalThis.staticWidgetControls = {
    h,
    CheckboxModel: checkbox,
    DropdownModel: dropdown,
    FloatLogSliderModel: slider,
    FloatSliderModel: slider,
    HTMLModel: words,
    IntSliderModel: slider,
    LabelModel: words,
    PlayModel: play,
    TextModel: text,
    TextareaModel: text,
    ToggleButtonsModel: toggleButtons,
  };
})();
