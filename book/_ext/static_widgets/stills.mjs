// Draws a page's widgets without a browser: reads the page's fragment of HTML, runs the very loader
// that the page runs, and prints what it drew. So a still cannot differ from the live page.
import { readFileSync } from "node:fs";
import { parseHTML } from "linkedom";

const PATIENCE_MS = 20_000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const fragment = readFileSync(0, "utf8");
const { window, document } = parseHTML(
  `<!doctype html><html lang="en"><body>${fragment}</body></html>`,
);

// What a figure may ask of a browser, answered for a page that is in view and does not move.
class Observer {
  constructor(callback) {
    this.callback = callback;
  }
  observe() {}
  unobserve() {}
  disconnect() {}
}
class InView extends Observer {
  observe(target) {
    this.callback([{ target, isIntersecting: true }], this);
  }
}
// Node imports data: URLs but not blob: ones.
class Text {
  constructor(parts) {
    this.text = parts.join("");
  }
}
const dataUrl = ({ text }) =>
  `data:text/javascript;base64,${Buffer.from(text, "utf8").toString("base64")}`;

const browser = {
  window: globalThis,
  document,
  addEventListener() {},
  removeEventListener() {},
  cancelAnimationFrame: clearTimeout,
  requestAnimationFrame: (callback) => setTimeout(() => callback(performance.now()), 16),
  devicePixelRatio: 1,
  innerWidth: 1280,
  innerHeight: 800,
  getComputedStyle: () => ({ getPropertyValue: () => "" }),
  matchMedia: (media) => ({ media, matches: false, addEventListener() {}, removeEventListener() {} }),
  ResizeObserver: Observer,
  IntersectionObserver: InView,
  Blob: Text,
};
for (const name of ["CustomEvent", "DOMParser", "Element", "Event", "HTMLElement",
  "MutationObserver", "Node", "SVGElement", "customElements"]) {
  browser[name] = window[name];
}
for (const [name, value] of Object.entries(browser)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
URL.createObjectURL = dataUrl;
console.log = console.info = console.debug = () => {}; // standard output carries the result

for (const script of ["widget-controls.js", "widget-loader.js"]) {
  await import(new URL(script, import.meta.url));
}
const deadline = Date.now() + PATIENCE_MS;
while (document.querySelector(".sw-figure:not([data-live])")) {
  if (Date.now() > deadline) throw new Error(`a figure did not finish drawing in ${PATIENCE_MS} ms`);
  await sleep(5);
}
await sleep(40); // a figure may draw in the next animation frame

// While one figure of the page is live and another still a picture, no id may occur twice.
const LISTS = ["for", "list", "aria-labelledby", "aria-describedby", "aria-controls"];
function prefixIds(root, prefix) {
  const ids = new Set([...root.querySelectorAll("[id]")].map((element) => element.id));
  const renamed = (id) => (ids.has(id) ? prefix + id : id);
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) {
      let text = value.replace(/url\(#([^)]+)\)/g, (_, id) => `url(#${renamed(id)})`);
      if (name === "id") text = renamed(value);
      if (LISTS.includes(name)) text = value.split(/\s+/).map(renamed).join(" ");
      if (name.endsWith("href")) text = value.replace(/^#(.+)/, (_, id) => `#${renamed(id)}`);
      if (text !== value) element.setAttribute(name, text);
    }
  }
}

const figures = [...document.querySelectorAll(".sw-figure")];
figures.forEach((figure, index) => prefixIds(figure, `still${index}-`));
// Nothing in a picture can be worked or reached with Tab.
for (const element of document.querySelectorAll(".static-widget [tabindex]")) {
  element.removeAttribute("tabindex");
  if (element.getAttribute("role") !== "slider") continue;
  // A picture of a handle: without the role, none of these may stand there.
  for (const { name } of [...element.attributes])
    if (/^(role|aria-.*)$/.test(name)) element.removeAttribute(name);
}
for (const name of ["button", "input", "select", "textarea"]) {
  for (const element of document.querySelectorAll(`.static-widget ${name}`)) {
    element.setAttribute("disabled", "");
  }
}
for (const figure of figures) figure.removeAttribute("data-live");
// A browser takes this property from the attribute; here the property alone is set.
for (const box of document.querySelectorAll(".static-widget input")) {
  if (box.checked === true) box.setAttribute("checked", "");
}

const problems = [...document.querySelectorAll(".sw-message")].map((message) => ({
  kind: message.getAttribute("data-kind"),
  widget: message.getAttribute("data-widget"),
  text: message.textContent,
}));
const mounts = [...document.querySelectorAll(".static-widget")];
const result = JSON.stringify({ mounts: mounts.map((mount) => mount.innerHTML), problems });
// A figure's timers must not keep the build waiting.
process.stdout.write(result, () => process.exit(0));
