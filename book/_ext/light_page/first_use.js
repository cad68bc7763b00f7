// The theme's own scripts serve menus, dialogs and hints, which a phone shows only when asked: there
// they come with the reader's first move, and a click or a shortcut meant for them waits for them.
// A wide screen shows its sidebars, so they come at once.
(() => {
  const addresses = document.currentScript.dataset.waits.split(" ");
  const moves = ["pointerover", "pointerdown", "focusin", "keydown", "scroll"];
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const capture = { capture: true };
  let held = null;

  function hold(event) {
    const button = event.target.closest?.("button:not(article *)");
    const isSearch = event.key?.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (event.type === "click" ? !button : !isSearch) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    held = button ? () => button.click() : () => dispatchEvent(new KeyboardEvent("keydown", event));
  }

  function release() {
    for (const type of ["click", "keydown"]) removeEventListener(type, hold, capture);
    held?.();
  }

  function load() {
    for (const move of moves) removeEventListener(move, load, capture);
    isDark.removeEventListener("change", load);
    const scripts = addresses.map((src) =>
      Object.assign(document.createElement("script"), { src, async: false }),
    );
    scripts.at(-1).onload = scripts.at(-1).onerror = release;
    document.head.append(...scripts);
  }

  for (const type of ["click", "keydown"]) addEventListener(type, hold, capture);
  for (const move of moves) addEventListener(move, load, { passive: true, ...capture });
  isDark.addEventListener("change", load);
  if (matchMedia("(min-width: 960px)").matches) load();
})();
