"""The light pages: what they weigh on a phone, and that all the theme's parts still work on them.

The pages come from a server that packs them, as a published site's does; test_pages.py opens them
from a folder.
"""

import functools
import gzip
import json
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from urllib.parse import urljoin

import pytest
from test_pages import DESK, HTML, MEASURES, PAGES, PHONE

pytestmark = pytest.mark.browser

CHAPTER = next(name for name in PAGES if name.endswith("complex"))
BUDGET = 300_000
# Elements that a phone lays out at first. The longest pages have ten thousand.
LAID_OUT = 1_500


@functools.cache
def packed(path: str) -> bytes:
    return gzip.compress(Path(path).read_bytes(), 6)


class Packed(SimpleHTTPRequestHandler):
    """Serves text files packed with gzip."""

    def send_head(self):
        path = self.translate_path(self.path)
        if not path.endswith((".html", ".css", ".js", ".svg")):
            return super().send_head()
        try:
            body = packed(path)
        except OSError:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return BytesIO(body)

    def log_message(self, *_):
        """Say nothing: the test's output is pytest's."""


@pytest.fixture(scope="module")
def site():
    """Address of the built book."""
    assert (HTML / "search.html").exists(), "the book is not built: run `make test-book` first"
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Packed, directory=str(HTML)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def chapter(site, page_factory):
    """``chapter(**options)`` opens one chapter when all that it loads at first has come."""

    def open_chapter(**options):
        page = page_factory(f"{site}{CHAPTER}.html", **options)
        page.wait_for_load_state("networkidle")
        return page

    return open_chapter


LOADED = """() => [...performance.getEntriesByType("navigation"),
                   ...performance.getEntriesByType("resource")]
    .filter((entry) => !entry.name.startsWith("blob:"))
    .map((entry) => [entry.name, entry.encodedBodySize])"""


@pytest.mark.parametrize("name", PAGES)
def test_what_a_phone_loads_at_first_is_light(name, site, page_factory):
    """At most 300 KB, packed, with sheets, scripts, fonts and the pictures that are near."""
    page = page_factory(f"{site}{name}.html", **PHONE)
    page.wait_for_load_state("networkidle")
    loaded = dict(page.evaluate(LOADED))
    assert sum(address.endswith(".css") or ".css?" in address for address in loaded) == 1
    total = sum(loaded.values())
    MEASURES.mkdir(parents=True, exist_ok=True)
    measure = MEASURES / f"first-load-{name.replace('/', '-')}.json"
    measure.write_text(json.dumps({"page": name, "first_load_bytes": total}))
    assert total <= BUDGET, sorted(loaded.items(), key=lambda item: -item[1])[:5]


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_lays_out_little_at_first(name, site, page_factory):
    page = page_factory(f"{site}{name}.html", **PHONE)
    page.wait_for_load_state("networkidle")
    laid_out = page.evaluate(
        """() => [...document.body.querySelectorAll("*")].filter((element) =>
        element.checkVisibility({ contentVisibilityAuto: true })).length"""
    )
    assert 50 < laid_out <= LAID_OUT


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_it_is(name):
    html = (HTML / f"{name}.html").read_text("utf-8")
    described = re.findall(r'<meta name="description" content="([^"]{30,})"', html)
    assert len(described) == 1
    assert (
        len(re.findall(r'<meta property="og:(title|description|type)" content="[^"]+"', html)) == 3
    )
    picture = re.search(r'<meta property="og:image" content="([^"]+)"', html)[1]
    assert (HTML / "cards" / picture.split("/")[-1]).exists()


# --- no rule that a page can need is missing ------------------------------------------------------

# Every selector of the sheets that the page asked for before it was made light, which matches an
# element of the page as it is now, must be in its one sheet with the same declarations.
MISSING = r"""
async (originals) => {
  const parse = (text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  };
  const text = async (address) => (await fetch(address)).text();
  const split = (selectors) => {
    const parts = [""];
    let depth = 0;
    for (const char of selectors) {
      depth += (char === "(" || char === "[") - (char === ")" || char === "]");
      if (char === "," && depth === 0) parts.push("");
      else parts[parts.length - 1] += char;
    }
    return parts.map((part) => part.trim());
  };
  const flatten = (rules, around = "") =>
    [...rules].flatMap((rule) =>
      rule.selectorText
        ? split(rule.selectorText).map((selector) => [selector, around, rule.style.cssText])
        : rule.cssRules && !rule.name
          ? flatten(rule.cssRules, `${around} ${rule.conditionText ?? ""}`)
          : [],
    );
  // A reader's and a browser's state is not an element's: ask for the element alone.
  const state = /::?(?!is|not|where|has|nth|first|last|only|root|empty|lang)[a-z-]+(\([^)]*\))?/g;
  const matches = (selector) => {
    if (selector.startsWith(":host")) return false; // the theme makes no shadow tree
    try {
      return document.querySelector(selector.replace(state, "") || "*") !== null;
    } catch {
      return false;
    }
  };
  // Addresses are written anew, from another folder.
  const key = (rule) => rule.join(" | ").replace(/url\("(?!data:)[^"]*"\)/g, "url()");
  const link = document.querySelector("link[data-sheets]");
  const kept = new Set(flatten(parse(await text(link.href)).cssRules).map(key));
  const asked = (await Promise.all(originals.map(text))).flatMap((each) =>
    flatten(parse(each).cssRules),
  );
  const gone = asked.filter((rule) => !kept.has(key(rule)));
  return { asked: asked.length, gone: gone.length, missing: gone.filter(([s]) => matches(s)) };
}
"""


def originals(page) -> list[str]:
    """Addresses of the sheets that the page asked for before it was made light."""
    link = page.locator("link[data-sheets]")
    names = link.get_attribute("data-sheets").split()
    static = urljoin(page.url, link.get_attribute("href"))
    sheets = [urljoin(static, name) for name in names]
    # The theme's first sheet only imports Sphinx's own, which a constructed sheet would not follow.
    return [urljoin(static, "basic.css") if s.endswith("/theme.css") else s for s in sheets]


def open_everything(page):
    """Folded parts, menus, the search box, a copy button's answer: all that scripts add."""
    for button in page.locator(".dropdown .toggle-button").all():
        button.click()
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    for figure in page.locator(".sw-figure").all():
        figure.scroll_into_view_if_needed()
    page.wait_for_function("!document.querySelector('.sw-figure:not([data-live])')")
    menu = page.locator(".dropdown-download-buttons button").first
    if menu.count():
        menu.click()
    page.evaluate("document.querySelector('#pst-search-dialog')?.showModal()")


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "light") for name in [*PAGES, "search", "genindex"]),
        (CHAPTER, "dark"),
        ("search", "dark"),
    ],
)
def test_no_rule_is_missing_that_matches_something(name, scheme, site, page_factory):
    query = "?q=score&highlight=score" if name == "search" else "?highlight=rotation"
    page = page_factory(f"{site}{name}.html{query}", color_scheme=scheme, **DESK)
    page.wait_for_load_state("networkidle")
    open_everything(page)
    found = page.evaluate(MISSING, originals(page))
    assert found["gone"] > 1000, "nothing was left out of the sheet"
    assert not found["missing"]


# --- the theme's parts work -----------------------------------------------------------------------

GROUND = "getComputedStyle(document.body).backgroundColor"


def test_the_theme_follows_the_system_before_scripts_and_the_button_after(site, chapter):
    page = chapter(color_scheme="dark", **DESK)
    dark = page.evaluate(GROUND)
    seen = []
    for _ in range(3):
        page.locator(".theme-switch-button").locator("visible=true").first.click()
        seen.append(page.evaluate(f"[document.documentElement.dataset.mode, {GROUND}]"))
    assert {mode for mode, _ in seen} == {"light", "dark", "auto"}
    assert len({ground for _, ground in seen}) == 2
    assert dict(seen)["dark"] == dict(seen)["auto"] == dark
    page.evaluate("localStorage.setItem('mode', 'light'); localStorage.setItem('theme', 'light')")
    page.reload()
    assert page.evaluate(GROUND) == dict(seen)["light"]


def test_a_page_is_as_the_system_is_now_not_as_it_was(site, page_factory):
    page = page_factory(f"{site}_static/favicon.svg", color_scheme="light", expect_errors=True)
    page.evaluate("localStorage.setItem('mode', 'auto'); localStorage.setItem('theme', 'dark')")
    page.route("**/*.js*", lambda route: route.abort())
    page.goto(f"{site}{CHAPTER}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_dark_page_is_dark_before_any_script_has_come(site, page_factory):
    page = page_factory(f"{site}_static/favicon.svg", color_scheme="dark", expect_errors=True)
    page.route("**/*.js*", lambda route: route.abort())
    page.goto(f"{site}{CHAPTER}.html")
    channels = map(int, re.findall(r"\d+", page.evaluate(GROUND))[:3])
    assert max(channels) < 60


def test_a_solution_opens_and_closes(chapter):
    page = chapter(**DESK)
    solution = page.locator(".admonition.dropdown").first
    inside = solution.locator(":scope > *:not(.admonition-title)").first
    assert not inside.is_visible()
    button = solution.locator(".toggle-button")
    assert button.bounding_box()["width"] > 10
    button.click()
    assert inside.is_visible()
    button.click()
    assert not inside.is_visible()


def test_search_box_opens_by_key_and_finds_with_excerpts(chapter):
    page = chapter(**DESK)
    page.keyboard.press("Control+k")
    box = page.locator("#pst-search-dialog input")
    assert box.is_visible()
    box.fill("rotation")
    box.press("Enter")
    page.wait_for_selector("#search-results li .context", timeout=20_000)
    assert page.locator("#search-results li a").first.is_visible()
    page.locator("#search-results li a").first.click()
    mark = page.locator("article span.highlighted").first
    mark.wait_for(timeout=20_000)
    assert mark.evaluate("(m) => getComputedStyle(m).backgroundColor") != "rgba(0, 0, 0, 0)"


# --- on a phone the theme's scripts come with the first move --------------------------------------

THEMES_SCRIPTS = """() => performance.getEntriesByType("resource").map((entry) => entry.name)
    .filter((name) => /scripts\\/(bootstrap|pydata|sphinx-book)/.test(name)).length"""


# Windows of their own, in which no mouse has been before.
FRESH = {"locale": "en-GB", "own": True, **PHONE}


@pytest.mark.parametrize(
    ("button", "opened"),
    [
        (".search-button", "#pst-search-dialog[open]"),
        (".dropdown-download-buttons button", ".dropdown-download-buttons .dropdown-menu.show"),
        (".primary-toggle", "#pst-primary-sidebar-modal[open]"),
        (".secondary-toggle", "#pst-secondary-sidebar-modal[open]"),
    ],
)
def test_a_phones_first_click_is_not_lost(button, opened, chapter):
    page = chapter(**FRESH)
    assert page.evaluate(THEMES_SCRIPTS) == 0
    # From a script, so that no movement goes before it, as when an eye or a voice points.
    page.locator(button).locator("visible=true").first.evaluate(
        """(button) => { button.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
        button.click(); }"""
    )
    page.locator(opened).wait_for(state="visible")
    assert page.evaluate(THEMES_SCRIPTS) == 3


def test_a_first_tap_changes_the_theme_once(chapter):
    page = chapter(color_scheme="light", **FRESH)
    page.locator(".theme-switch-button").locator("visible=true").first.tap()
    page.wait_for_function("document.documentElement.dataset.mode === 'dark'")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.dataset.mode") == "dark"


def test_the_first_key_may_be_the_searchs(chapter):
    page = chapter(**FRESH)
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").wait_for(state="visible")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").wait_for(state="hidden")


def test_a_first_scroll_and_a_change_of_the_systems_theme_load_them(chapter):
    page = chapter(color_scheme="light", **FRESH)
    page.evaluate("window.scrollTo(0, 500)")
    page.wait_for_function(f"({THEMES_SCRIPTS})() === 3")
    page = chapter(color_scheme="light", **FRESH)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")


def test_without_the_themes_scripts_a_click_is_only_a_click(site, page_factory):
    page = page_factory(f"{site}_static/favicon.svg", expect_errors=True, **PHONE)
    page.route("**/scripts/*.js*", lambda route: route.abort())
    page.goto(f"{site}{CHAPTER}.html")
    solution = page.locator(".admonition.dropdown").first
    solution.locator(".toggle-button").tap()
    assert solution.locator(":scope > *:not(.admonition-title)").first.is_visible()


@pytest.mark.parametrize(("window", "scrolls"), [(PHONE, True), (DESK, False)])
def test_code_is_a_stop_of_the_tab_key_if_it_scrolls_or_is_far(window, scrolls, chapter):
    page = chapter(**window)
    page.mouse.move(5, 5)
    page.wait_for_function("document.querySelector('article pre[tabindex]')")
    code = page.locator("article section > .cell:not(.admonition *) > .cell_input pre").last
    assert code.evaluate("(e) => e.tabIndex") == 0
    code.scroll_into_view_if_needed()
    assert code.evaluate("(e) => e.scrollWidth > e.clientWidth") is scrolls
    stop = f"(e) => e.tabIndex === {0 if scrolls else -1}"
    page.wait_for_function(stop, arg=code.element_handle())


def test_code_in_an_opened_solution_is_no_stop_unless_it_scrolls(chapter):
    page = chapter(**DESK)
    solution = page.locator(".admonition.dropdown", has=page.locator("pre")).first
    solution.locator(".toggle-button").click()
    code = solution.locator("pre").first
    stop = "(e) => e.tabIndex === (e.scrollWidth > e.clientWidth ? 0 : -1)"
    page.wait_for_function(stop, arg=code.element_handle())


def test_the_contents_beside_the_text_tell_where_the_reader_is(chapter):
    page = chapter(**DESK)
    entry = page.locator('#pst-page-toc-nav a[href="#exercises"]')
    assert "active" not in entry.get_attribute("class")
    page.locator("section#exercises > h2").evaluate("(heading) => heading.scrollIntoView()")
    page.wait_for_function("(a) => a.classList.contains('active')", arg=entry.element_handle())


@pytest.mark.parametrize(
    ("toggle", "dialog", "inside"),
    [
        (".primary-toggle", "#pst-primary-sidebar-modal", "Notation"),
        (".secondary-toggle", "#pst-secondary-sidebar-modal", "Exercises"),
    ],
)
def test_a_phone_opens_and_closes_its_sidebars(toggle, dialog, inside, chapter):
    page = chapter(**PHONE)
    link = page.locator(f"{dialog} a", has_text=inside).first
    assert not link.is_visible()
    button = page.locator(toggle).locator("visible=true").first
    icon = button.locator("svg").bounding_box()
    assert icon["width"] > 8
    button.tap()
    link.wait_for(state="visible")
    page.keyboard.press("Escape")
    link.wait_for(state="hidden")


def test_the_desks_sidebar_folds(chapter):
    page = chapter(**DESK)
    sidebar = page.locator("#pst-primary-sidebar")
    assert sidebar.is_visible()
    page.locator(".primary-toggle").locator("visible=true").first.click()
    sidebar.wait_for(state="hidden")


def test_code_is_copied(chapter):
    page = chapter(permissions=["clipboard-read", "clipboard-write"], **DESK)
    code = page.locator("div.highlight").first
    code.hover()
    button = code.locator("button.copybtn")
    assert button.bounding_box()["width"] > 10
    button.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip()
    assert copied.strip().splitlines()[0] in code.locator("pre").inner_text()
    page.wait_for_function("document.querySelector('button.copybtn.success')")


def test_menus_and_hints_show(chapter):
    page = chapter(**DESK)
    button = page.locator(".dropdown-download-buttons button").first
    button.click()
    item = page.locator(".dropdown-download-buttons .dropdown-item").first
    item.wait_for(state="visible")
    page.keyboard.press("Escape")
    page.locator(".btn-fullscreen-button").hover()  # the menu shows under a mouse, too
    item.wait_for(state="hidden")
    page.locator(".tooltip").wait_for(state="visible")


def test_every_icon_is_seen(chapter):
    page = chapter(**DESK)
    assert page.locator('i[class*="fa-"], span[class*="fa-"]').count() == 0
    drawn = page.locator("svg.svg-inline--fa").locator("visible=true").all()
    assert len(drawn) >= 5
    for icon in drawn:
        box = icon.bounding_box()
        assert 6 <= box["width"] <= 40
        assert 6 <= box["height"] <= 40
    # The icons that rules write before a title come from the font within the sheet.
    page.evaluate("document.fonts.load('900 1em \"Font Awesome 6 Free\"', '\\uf0f3')")
    loaded = page.evaluate(
        """() => [...document.fonts].filter((f) => f.family.includes("Awesome 6 Free") &&
        f.weight === "900").map((f) => f.status)"""
    )
    assert loaded == ["loaded"]


def test_formulas_show_before_their_fonts_come(chapter):
    page = chapter(**DESK)
    ways = page.evaluate(
        """() => [...document.fonts].filter((f) => f.family.includes("KaTeX"))
        .map((f) => f.display)"""
    )
    assert ways
    assert set(ways) == {"swap"}


def test_nothing_jumps_while_a_reader_scrolls(chapter):
    page = chapter(**DESK)
    page.evaluate(
        """() => {
          globalThis.shift = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries())
              if (!entry.hadRecentInput) globalThis.shift += entry.value;
          }).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    height = page.evaluate("document.documentElement.scrollHeight")
    for y in range(0, height, 600):
        page.evaluate(f"window.scrollTo(0, {y})")
        page.wait_for_timeout(50)
    assert page.evaluate("globalThis.shift") < 0.1


def test_a_link_to_a_far_part_arrives(chapter):
    page = chapter(**PHONE)
    target = page.locator("article section#exercises > h2")
    far = page.locator(
        "article section#exercises > p, article section#exercises > .admonition"
    ).last
    assert far.evaluate("(e) => getComputedStyle(e).contentVisibility") == "auto"
    page.evaluate("location.hash = 'exercises'")
    page.wait_for_timeout(500)
    assert -5 <= target.bounding_box()["y"] <= 200
    page.evaluate("window.scrollBy(0, -1500)")
    page.wait_for_timeout(500)
    page.evaluate("location.hash = ''; location.hash = 'exercises'")
    page.wait_for_timeout(500)
    assert -5 <= target.bounding_box()["y"] <= 200


def test_a_plot_loads_when_it_is_near_and_keeps_its_shape(chapter):
    page = chapter(**DESK)
    plot = page.locator("article img[loading=lazy]").last
    assert plot.evaluate("(i) => i.naturalWidth") == 0, "it came at once"
    plot.scroll_into_view_if_needed()
    page.wait_for_function("(i) => i.naturalWidth > 0", arg=plot.element_handle())
    ratio = plot.evaluate("(i) => i.width / i.height / (i.naturalWidth / i.naturalHeight)")
    assert abs(ratio - 1) < 0.02


def test_a_print_has_its_plots_and_no_sidebar(chapter):
    page = chapter(**DESK)
    page.pdf()
    came = page.evaluate(
        "[...document.querySelectorAll('article img')].every((i) => i.naturalWidth)"
    )
    assert came
    page.emulate_media(media="print")
    for part in ("#pst-primary-sidebar", ".bd-header-article", ".prev-next-footer"):
        assert not page.locator(part).first.is_visible()
    assert page.locator("#jb-print-docs-body h1").is_visible()
    assert page.locator("article h2").first.is_visible()
