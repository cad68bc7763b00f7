/* Brings a notebook's widgets to life in the published page, with no kernel and no network.
 *
 * The page holds the widgets' saved state as JSON in #widget-state, and a .static-widget element
 * for each view. This script makes a model of every widget, ties the models that jslink or jsdlink
 * tied, draws the controls (widget-controls.js), and hosts anywidget modules
 * (https://anywidget.dev/en/afm). A classic script: browsers refuse modules from file://.
 */
(() => {
  "use strict";

  const WORDS = {
    unsupported: (name) =>
      `The control ${name} does not work in this page. It works in JupyterLab.`,
    failed: (name, reason) => `${name} could not be drawn: ${reason}`,
    missing: (file) => `the browser did not load ${file}.js`,
  };

  const store = document.getElementById("widget-state");
  if (!store) return;
  const page = JSON.parse(store.textContent);
  const own = document.currentScript?.src; // what else the page may load lies beside this script
  const { h, ...controls } = globalThis.staticWidgetControls;

  // ---- Models: traits that tell when they change -------------------------------------------

  function same(a, b) {
    if (a === b) return true;
    const isPlain = a !== null && typeof a === "object" && !ArrayBuffer.isView(a);
    return isPlain && JSON.stringify(a) === JSON.stringify(b);
  }

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
      const names = events?.split(/\s+/);
      const isDropped = (listener) =>
        listener.owner === owner &&
        (!names || names.includes(listener.event)) &&
        (!callback || listener.callback === callback);
      this.listeners = this.listeners.filter((listener) => !isDropped(listener));
    }
    emit(event, value) {
      this.call(event, this, value);
    }
    call(event, ...values) {
      for (const listener of this.listeners.filter((each) => each.event === event)) {
        try {
          listener.callback(...values);
        } catch (error) {
          console.error(error); // one view's fault must not stop the others
        }
      }
    }
  }

  const models = new Map();
  for (const [key, saved] of Object.entries(page.models)) models.set(key, new Model(saved));
  const find = (reference) => models.get(reference.replace("IPY_MODEL_", ""));

  function tie([source, from], [target, to]) {
    const copy = () => find(target).set(to, find(source).get(from));
    find(source).on(`change:${from}`, copy);
    copy();
  }

  function link(model) {
    tie(model.get("source"), model.get("target"));
    if (model.name === "LinkModel") tie(model.get("target"), model.get("source"));
  }

  // ---- Files that a figure asks for: a kernel would send them --------------------------------

  // A page may hold no fetch from file://, so a file is a classic script with its bytes in base64.
  const files = new Map();
  globalThis.staticWidgetFiles ??= {};
  function bytesOf(file) {
    const arrived = () => {
      const data = globalThis.staticWidgetFiles[file];
      if (data === undefined) throw new Error(WORDS.missing(file));
      return Uint8Array.from(atob(data), (char) => char.charCodeAt(0)).buffer;
    };
    const loading = new Promise((resolve, reject) => {
      const script = h("script", { src: new URL(`${file}.js`, own).href });
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(WORDS.missing(file))));
      document.head.append(script);
    });
    return loading.then(arrived);
  }

  // The answer is the message that a kernel would send: anywidget calls "msg:custom" with it.
  async function answer(model, content) {
    const { file } = content ?? {};
    if (typeof file !== "string") return;
    try {
      if (!files.has(file)) files.set(file, bytesOf(file));
      const copy = (await files.get(file)).slice(0); // one figure may move its bytes away
      model.call("msg:custom", { file }, [new DataView(copy)]);
    } catch (error) {
      files.delete(file); // another try may succeed
      model.call("msg:custom", { file, error: error.message }, []);
    }
  }

  // ---- Figures: anywidget modules ----------------------------------------------------------

  const experimental = { invoke: () => Promise.reject(new Error("this page has no kernel")) };
  const { signal } = new AbortController(); // never aborted: a view stays until its page goes

  // What a module sees of its model: it can drop its own listeners and no one else's.
  const facade = (model, owner) => ({
    get: (trait) => model.get(trait),
    set: (trait, value) => model.set(trait, value),
    on: (events, callback) => model.on(events, callback, owner),
    off: (events, callback) => model.off(events, callback, owner),
    save_changes() {},
    send: (content) => void answer(model, content),
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

  const widgets = new Map(); // model -> what its module exports, initialised once
  async function start(model) {
    const exported = (await load(model.get("_esm"))).default;
    const widget = typeof exported === "function" ? await exported() : exported;
    await widget.initialize?.({ model: facade(model, widgets), signal, experimental });
    return widget;
  }

  async function render(model, element) {
    try {
      if (!widgets.has(model)) widgets.set(model, start(model));
      const widget = await widgets.get(model);
      // The still's place is kept until the drawing fills it: nothing below jumps.
      if (element.offsetHeight) element.style.minHeight = `${element.offsetHeight}px`;
      element.replaceChildren();
      await widget.render?.({ model: facade(model, element), el: element, signal, experimental });
    } catch (error) {
      const name = model.get("_anywidget_id")?.split(".").at(-1) ?? "A figure";
      element.replaceChildren(failure(name, error));
    }
    element.style.removeProperty("min-height");
    element.dataset.live = "";
  }

  // A figure wakes when it comes near; until then its still stands in its place.
  const asleep = new Map();
  const isNear = { rootMargin: "100% 0px" };
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) wake(entry.target);
  }, isNear);

  function wake(element) {
    watch.unobserve(element);
    const model = asleep.get(element);
    asleep.delete(element);
    if (model) render(model, element);
  }

  // A still cannot take the focus, so all of them wake before Tab walks past.
  addEventListener("keydown", (event) => {
    if (event.key === "Tab") [...asleep.keys()].forEach(wake);
  });

  function figure(model, stills) {
    const element = stills.shift() ?? h("div", { class: "sw-figure" });
    asleep.set(element, model);
    watch.observe(element);
    return element;
  }

  // ---- The page ----------------------------------------------------------------------------

  function message(kind, widget, text) {
    const marks = { class: "sw-message", "data-kind": kind, "data-widget": widget, role: "note" };
    return h("p", marks, text);
  }

  function failure(widget, error) {
    console.error(error);
    return message("error", widget, WORDS.failed(widget, error.message));
  }

  function box(model, stills) {
    const kind = model.name === "HBoxModel" ? "sw-row" : "sw-column";
    return h("div", { class: kind }, ...model.get("children").map((child) => view(child, stills)));
  }

  const draw = { ...controls, AnyModel: figure, HBoxModel: box, VBoxModel: box };

  function view(reference, stills) {
    const model = find(reference);
    const name = model?.name.replace(/Model$/, "") ?? reference;
    if (!draw[model?.name]) return message("unsupported", name, WORDS.unsupported(name));
    try {
      const element = draw[model.name](model, stills);
      element.classList.add(...(model.get("_dom_classes") ?? []));
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
