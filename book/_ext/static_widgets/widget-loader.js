/* Brings a notebook's widgets to life in the published page, with no kernel and no network.
 *
 * The page holds the widgets' saved state as JSON in #widget-state, and a .static-widget element
 * for each view. This script makes a model of every widget, ties the models that jslink or jsdlink
 * tied, draws the controls as native form controls, and hosts anywidget modules
 * (https://anywidget.dev/en/afm). A classic script: browsers refuse modules from file://.
 */
(() => {
  "use strict";

  const WORDS = {
    unsupported: (name) => `The control ${name} is not available in this page. It works in JupyterLab.`,
    failed: (name, reason) => `${name} could not be drawn: ${reason}`,
    play: "Play",
    pause: "Pause",
    stop: "Back to the start",
    repeat: "Repeat",
  };

  const store = document.getElementById("widget-state");
  if (!store) return;
  const page = JSON.parse(store.textContent);

  // ---- Models: traits that tell when they change -------------------------------------------

  const same = (a, b) =>
    a === b ||
    (a !== null && typeof a === "object" && !ArrayBuffer.isView(b) && JSON.stringify(a) === JSON.stringify(b));

  class Model {
    constructor({ name, state, buffers = [] }) {
      this.name = name;
      this.traits = state;
      this.listeners = [];
      for (const { path, data } of buffers) {
        const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
        const parent = path.slice(0, -1).reduce((value, key) => value[key], state);
        parent[path.at(-1)] = new DataView(bytes.buffer);
      }
    }
    get(trait) {
      return this.traits[trait];
    }
    set(trait, value) {
      const wanted = typeof trait === "string" ? { [trait]: value } : trait;
      const changed = Object.keys(wanted).filter((key) => !same(this.traits[key], wanted[key]));
      for (const key of changed) this.traits[key] = wanted[key];
      for (const key of changed) this.emit(`change:${key}`, wanted[key]);
      if (changed.length) this.emit("change");
    }
    on(events, callback, owner) {
      for (const event of events.split(/\s+/)) this.listeners.push({ event, callback, owner });
    }
    off(events, callback, owner) {
      const names = events ? events.split(/\s+/) : null;
      this.listeners = this.listeners.filter(
        (l) =>
          l.owner !== owner || (names && !names.includes(l.event)) || (callback && l.callback !== callback),
      );
    }
    emit(event, value) {
      for (const listener of [...this.listeners]) {
        if (listener.event !== event) continue;
        try {
          listener.callback(this, value);
        } catch (error) {
          console.error(error); // one view's fault must not stop the others
        }
      }
    }
  }

  const models = new Map(Object.entries(page.models).map(([key, saved]) => [key, new Model(saved)]));
  const find = (reference) => models.get(reference.replace("IPY_MODEL_", ""));

  function tie(source, from, target, to) {
    const copy = () => target.set(to, source.get(from));
    source.on(`change:${from}`, copy);
    copy();
  }

  function link(model) {
    const [[source, from], [target, to]] = [model.get("source"), model.get("target")];
    tie(find(source), from, find(target), to);
    if (model.name === "LinkModel") tie(find(target), to, find(source), from);
  }

  // ---- Drawing -----------------------------------------------------------------------------

  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function message(kind, widget, text) {
    return h("p", { class: "sw-message", role: "note", "data-kind": kind, "data-widget": widget }, text);
  }

  function failure(widget, error) {
    console.error(error);
    return message("error", widget, WORDS.failed(widget, error.message));
  }

  function follow(model, refresh) {
    model.on("change", refresh);
    refresh();
  }

  // The part of d3-format's notation that sliders use: [sign][,][.precision][~][type].
  function format(value, spec) {
    const match = /^([+ -]?)(,?)(?:\.(\d+))?(~?)([defg%]?)$/.exec(spec ?? "");
    if (!match) throw new Error(`the readout format "${spec}" is not supported`);
    const [, sign, comma, digits, trim, type] = match;
    const precision = digits === undefined ? (type ? 6 : 12) : Number(digits);
    const size = Math.abs(value);
    let text = {
      d: () => String(Math.round(size)),
      e: () => size.toExponential(precision),
      f: () => size.toFixed(precision),
      "%": () => (100 * size).toFixed(precision),
    }[type]?.() ?? size.toPrecision(Math.max(1, precision));
    if (trim || !type) text = text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
    if (comma) text = text.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
    const negative = value < 0 && Number(text.replaceAll(",", "")) !== 0;
    return (negative ? "\u2212" : sign === "-" ? "" : sign) + text + (type === "%" ? "%" : "");
  }

  let count = 0;
  function field(model, kind, input, extra, refresh) {
    input.id = `sw-${++count}`;
    const label = h("label", { for: input.id });
    follow(model, () => {
      label.textContent = model.get("description") ?? "";
      label.hidden = !label.textContent;
      input.disabled = Boolean(model.get("disabled"));
      if (model.get("tooltip")) input.title = model.get("tooltip");
      refresh();
    });
    return h("div", { class: `sw-field sw-${kind}` }, label, input, ...extra);
  }

  function slider(model) {
    const logarithmic = model.name === "FloatLogSliderModel"; // min, max and step are exponents
    const base = () => model.get("base");
    const toPlace = (value) => (logarithmic ? Math.log(value) / Math.log(base()) : value);
    const value = () => (logarithmic ? base() ** Number(input.value) : Number(input.value));
    const input = h("input", { type: "range" });
    const readout = h("span", { class: "sw-readout", "aria-hidden": "true" }); // as aria-valuetext
    const show = (number) => {
      readout.textContent = format(number, model.get("readout_format"));
      input.setAttribute("aria-valuetext", readout.textContent);
    };
    const commit = () => model.set("value", value());
    input.addEventListener("change", commit);
    input.addEventListener("input", () =>
      model.get("continuous_update") === false ? show(value()) : commit(),
    );
    return field(model, "slider", input, [readout], () => {
      for (const name of ["min", "max", "step"]) input.setAttribute(name, model.get(name) ?? "any");
      input.setAttribute("aria-orientation", model.get("orientation") ?? "horizontal");
      input.value = toPlace(model.get("value"));
      readout.hidden = model.get("readout") === false;
      show(model.get("value"));
    });
  }

  function dropdown(model) {
    const options = model.get("_options_labels").map((text) => h("option", {}, text));
    const select = h("select", {}, ...options);
    select.addEventListener("change", () => model.set("index", select.selectedIndex));
    return field(model, "dropdown", select, [], () => {
      options.forEach((option, index) => (option.selected = index === model.get("index")));
      if (model.get("index") === null) select.selectedIndex = -1;
    });
  }

  function toggleButtons(model) {
    const name = `sw-${++count}`;
    const radios = model.get("_options_labels").map((text, index) => {
      const radio = h("input", { type: "radio", name });
      radio.addEventListener("change", () => model.set("index", index));
      return [radio, h("label", {}, radio, h("span", {}, text))];
    });
    const legend = h("legend");
    const group = h("fieldset", { class: "sw-toggles" }, legend, ...radios.map(([, label]) => label));
    follow(model, () => {
      legend.textContent = model.get("description") ?? "";
      group.disabled = Boolean(model.get("disabled"));
      radios.forEach(([radio], index) => (radio.checked = index === model.get("index")));
    });
    return group;
  }

  function checkbox(model) {
    const input = h("input", { type: "checkbox" });
    input.addEventListener("change", () => model.set("value", input.checked));
    return field(model, "checkbox", input, [], () => (input.checked = Boolean(model.get("value"))));
  }

  function text(model) {
    const long = model.name === "TextareaModel";
    const input = long ? h("textarea", { rows: model.get("rows") ?? 2 }) : h("input", { type: "text" });
    const commit = () => model.set("value", input.value);
    input.addEventListener("change", commit);
    input.addEventListener("input", () => model.get("continuous_update") !== false && commit());
    return field(model, "text", input, [], () => {
      input.setAttribute("placeholder", model.get("placeholder") ?? "");
      if (input.value !== model.get("value")) input.value = model.get("value");
    });
  }

  function words(model) {
    const label = h("span", { class: "sw-description" });
    const content = h("div");
    follow(model, () => {
      label.textContent = model.get("description") ?? "";
      label.hidden = !label.textContent;
      if (model.name === "HTMLModel") content.innerHTML = model.get("value");
      else content.textContent = model.get("value");
    });
    return h("div", { class: "sw-words" }, label, content);
  }

  function play(model) {
    let timer;
    const button = (label, sign, click) => {
      const element = h("button", { type: "button", "aria-label": label, title: label }, sign);
      element.addEventListener("click", click);
      return element;
    };
    const advance = () => {
      const next = model.get("value") + model.get("step");
      if (next <= model.get("max")) model.set("value", next);
      else if (model.get("repeat")) model.set("value", model.get("min"));
      else model.set("playing", false);
    };
    const toggle = button(WORDS.play, "", () => {
      const atEnd = model.get("value") + model.get("step") > model.get("max");
      if (!model.get("playing") && atEnd) model.set("value", model.get("min"));
      model.set("playing", !model.get("playing"));
    });
    const stop = button(WORDS.stop, "\u23f9\ufe0e", () => model.set({ playing: false, value: model.get("min") }));
    const repeat = button(WORDS.repeat, "\u21bb", () => model.set("repeat", !model.get("repeat")));
    model.set("playing", false); // a page keeps still until its reader asks
    follow(model, () => {
      const playing = model.get("playing");
      clearInterval(timer);
      if (playing) timer = setInterval(advance, model.get("interval"));
      toggle.textContent = playing ? "\u23f8\ufe0e" : "\u25b6\ufe0e";
      toggle.title = playing ? WORDS.pause : WORDS.play;
      toggle.setAttribute("aria-label", toggle.title);
      repeat.setAttribute("aria-pressed", String(Boolean(model.get("repeat"))));
      repeat.hidden = model.get("show_repeat") === false;
      for (const each of [toggle, stop, repeat]) each.disabled = Boolean(model.get("disabled"));
    });
    const name = model.get("description") || WORDS.play;
    return h("div", { class: "sw-play", role: "group", "aria-label": name }, toggle, stop, repeat);
  }

  function box(model, stills) {
    const kind = model.name === "HBoxModel" ? "sw-row" : "sw-column";
    return h("div", { class: kind }, ...model.get("children").map((child) => view(child, stills)));
  }

  // ---- Figures: anywidget modules ----------------------------------------------------------

  const experimental = { invoke: () => Promise.reject(new Error("this page has no kernel")) };

  // What a module sees of its model: it can drop its own listeners and no one else's.
  const facade = (model, owner) => ({
    get: (trait) => model.get(trait),
    set: (trait, value) => model.set(trait, value),
    on: (events, callback) => model.on(events, callback, owner),
    off: (events, callback) => model.off(events, callback, owner),
    save_changes() {},
    send() {},
  });

  const modules = new Map();
  function load(pieces) {
    const key = String(pieces);
    if (!modules.has(key)) {
      const code = pieces.map((piece) => page.texts[piece]);
      const url = URL.createObjectURL(new Blob(code, { type: "text/javascript" }));
      modules.set(key, import(url));
    }
    return modules.get(key);
  }

  const widgets = new Map();
  async function start(model) {
    const exported = (await load(model.get("_esm"))).default;
    const widget = typeof exported === "function" ? await exported() : exported;
    const { signal } = new AbortController(); // a published view stays until the page goes
    await widget.initialize?.({ model: facade(model, model), signal, experimental });
    return widget;
  }

  async function render(model, element) {
    try {
      if (!widgets.has(model)) widgets.set(model, start(model));
      const widget = await widgets.get(model);
      if (element.offsetHeight) element.style.minHeight = `${element.offsetHeight}px`;
      element.replaceChildren();
      const { signal } = new AbortController();
      await widget.render?.({ model: facade(model, element), el: element, signal, experimental });
    } catch (error) {
      element.replaceChildren(failure(model.get("_anywidget_id")?.split(".").at(-1) ?? "A figure", error));
    }
    element.style.removeProperty("min-height");
    element.dataset.live = "";
  }

  // A figure wakes when it comes near; until then its still stands in its place.
  const asleep = new Map();
  const near = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.isIntersecting && wake(entry.target)),
    { rootMargin: "100% 0px" },
  );
  function wake(element) {
    near.unobserve(element);
    const model = asleep.get(element);
    asleep.delete(element);
    if (model) render(model, element);
  }
  // A still cannot take the focus, so all of them wake before Tab walks past.
  addEventListener("keydown", (event) => event.key === "Tab" && [...asleep.keys()].forEach(wake));

  function figure(model, stills) {
    const element = stills.shift() ?? h("div", { class: "sw-figure" });
    asleep.set(element, model);
    near.observe(element);
    return element;
  }

  // ---- The page ----------------------------------------------------------------------------

  const KINDS = {
    AnyModel: figure,
    CheckboxModel: checkbox,
    DropdownModel: dropdown,
    FloatLogSliderModel: slider,
    FloatSliderModel: slider,
    HBoxModel: box,
    HTMLModel: words,
    IntSliderModel: slider,
    LabelModel: words,
    PlayModel: play,
    TextModel: text,
    TextareaModel: text,
    ToggleButtonsModel: toggleButtons,
    VBoxModel: box,
  };

  function view(reference, stills) {
    const model = find(reference);
    const name = model?.name.replace(/Model$/, "") ?? reference;
    if (!KINDS[model?.name]) return message("unsupported", name, WORDS.unsupported(name));
    try {
      const element = KINDS[model.name](model, stills);
      for (const name of model.get("_dom_classes") ?? []) element.classList.add(name);
      for (const [property, value] of Object.entries(model.get("layout") ?? {})) {
        element.style.setProperty(property.replaceAll("_", "-"), value);
      }
      return element;
    } catch (error) {
      return failure(name, error);
    }
  }

  for (const model of models.values()) {
    if (/^(Directional)?LinkModel$/.test(model.name)) link(model);
  }
  for (const mount of document.querySelectorAll(".static-widget")) {
    const stills = [...mount.querySelectorAll(".sw-figure")];
    mount.replaceChildren(view(mount.dataset.model, stills));
  }
})();
