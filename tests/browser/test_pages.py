"""Every page of the built book, as a reader has it: from a folder, offline, desk and phone."""

import gzip
import json
import re
import statistics
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import check

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
MEASURES = ROOT / "_build" / "measures"

pytestmark = pytest.mark.browser


def toc_pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]


PAGES = toc_pages()
DESK = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, id=name.split("/")[-1], marks=pytest.mark.xdist_group(name))
        for name in PAGES
    ],
)
def name(request):
    """A page of the book. All tests of one page follow one another and share its open windows."""
    return request.param


def path_of(name: str) -> Path:
    path = HTML / f"{name}.html"
    assert path.exists(), f"{path} is not built: run `make test-book` first"
    return path


@pytest.fixture(scope="module")
def soup(name) -> BeautifulSoup:
    return BeautifulSoup(path_of(name).read_text("utf-8"), "html.parser")


def window(windows, name, options):
    """The page from its file, with every figure drawn; its errors are judged when it closes."""
    page = windows.lend(path_of(name).as_uri(), color_scheme="light", **options)
    # What is far below would be laid out late, and no check must miss it.
    page.add_style_tag(content="* { content-visibility: visible !important; }")
    page.evaluate("() => document.fonts.ready")
    for figure in page.locator(".sw-figure").all():
        figure.scroll_into_view_if_needed()
    page.wait_for_function("!document.querySelector('.sw-figure:not([data-live])')")
    yield page
    windows.take_back(page)
    check(page)


@pytest.fixture(scope="module")
def desk(windows, name):
    yield from window(windows, name, DESK)


@pytest.fixture(scope="module")
def phone(windows, name):
    yield from window(windows, name, PHONE)


@pytest.fixture
def desk_in(desk):
    """``desk_in(scheme)``: the same window when the system turns light or dark."""

    def turn(scheme):
        desk.emulate_media(color_scheme=scheme)
        desk.wait_for_function(
            "(scheme) => document.documentElement.dataset.theme === scheme", arg=scheme
        )
        # Colours fade from one theme to the other.
        desk.wait_for_function("document.getAnimations().every((a) => a.playState !== 'running')")
        return desk

    yield turn
    turn("light")


# --- what is in the files -------------------------------------------------------------------------


def test_maths_is_rendered_and_every_picture_has_words(soup):
    assert not soup.select(".katex-error")
    for image in soup.select("article img"):
        assert len(image.get("alt", "").split()) >= 3, f"alt text of {image.get('src')}"
    for figure in soup.select("article .rope-figure"):
        assert figure.get("aria-label"), "a figure needs an accessible name"
    assert len(soup.select("article h1")) == 1


def test_next_and_previous_lead_through_the_book(name, soup):
    index = PAGES.index(name)
    for kind, neighbour in (("right-next", index + 1), ("left-prev", index - 1)):
        link = soup.select_one(f".prev-next-area a.{kind}")
        if 0 <= neighbour < len(PAGES):
            target = (path_of(name).parent / link["href"]).resolve()
            assert target == path_of(PAGES[neighbour]).resolve()


def test_links_within_the_book_arrive(name, soup):
    for link in soup.select("article a[href]"):
        address, _, anchor = link["href"].partition("#")
        if "://" in address or address.startswith("mailto:"):
            continue
        target = (path_of(name).parent / address).resolve() if address else path_of(name)
        assert target.exists(), f"{link['href']} leads nowhere"
        if anchor and target.suffix == ".html" and "=" not in anchor:  # else a state of a figure
            assert re.search(rf'id="{re.escape(anchor)}"', target.read_text("utf-8")), link["href"]


def test_weight(name, soup):
    """Budgets: page with all it loads at first at most 300 KB gzip; our own JavaScript 40 KB."""
    here = path_of(name)
    files = {here}
    for tag, attribute in (("script", "src"), ("img", "src"), ("link", "href")):
        for element in soup.select(f"{tag}[{attribute}]"):
            if tag == "link" and "stylesheet" not in element["rel"]:
                continue
            if element.get("loading") == "lazy":
                continue
            address = element[attribute].partition("?")[0]
            if not address.startswith("data:"):
                files.add((here.parent / address).resolve())
    weights = {path: len(gzip.compress(path.read_bytes(), 6)) for path in files}
    own = sum(w for p, w in weights.items() if p.suffix == ".js" and "widget" in p.name)
    state = soup.select_one("#widget-state")
    own += len(gzip.compress(state.text.encode(), 6)) if state else 0
    fonts = sum(p.stat().st_size for p in (HTML / "katex" / "fonts").glob("KaTeX_Main-Regular*"))
    total = sum(weights.values()) + fonts
    MEASURES.mkdir(parents=True, exist_ok=True)
    measure = MEASURES / f"weight-{name.replace('/', '-')}.json"
    measure.write_text(json.dumps({"page": name, "gzip_bytes": total, "own_js_gzip_bytes": own}))
    assert total <= 300_000
    # The language model's worker, at most 8 KB by a test of its own, comes on top.
    assert own <= 40_000 + (8_192 if soup.select(".rope-tiny") else 0)


# --- what a reader sees ---------------------------------------------------------------------------


def test_a_phone_never_scrolls_sideways(phone):
    # Solutions are part of the page: open them all.
    phone.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    for width in (360, 390):
        phone.set_viewport_size({"width": width, "height": 844})
        assert phone.evaluate("document.documentElement.scrollWidth") <= width


# The theme's own faults that a few lines cannot mend, by axe's rule, each with its reason.
THEME_FAULTS: dict[str, str] = {}


def axe_tells(page, context, **options) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    # Only what is wrong: axe words every element that it reports, thousands that are right, too.
    options = {"preload": False, "resultTypes": ["violations"], **options}
    # A formula is thousands of boxes that a screen reader skips (it reads the MathML beside them);
    # tests/test_figures.py asserts the contrast of their colours.
    found = Axe().run(page, context={"exclude": [".katex"], **context}, options=options)
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:160]} {node['failureSummary']}"
        for violation in found.response["violations"]
        if violation["id"] not in THEME_FAULTS
        for node in violation["nodes"][:3]
    ]


def test_axe_finds_nothing(desk):
    """By all rules but the one of contrast, which has a test of its own."""
    told = axe_tells(desk, {}, rules={"color-contrast": {"enabled": False}})
    assert not told, "\n".join(told)


# Marks the texts that axe must look at. Texts of one kind have one contrast: their own colour, size
# and weight are the same, and so is all that is painted behind them: the grounds of the elements
# around them, and boxes that stand apart from the flow. Of each kind: first, middle and last.
MARK_KINDS = r"""
() => {
  const style = new Map(); // of all elements: asked once, the browser lays out once
  for (const element of document.querySelectorAll("*:not(.katex *)"))
    style.set(element, getComputedStyle(element));
  const isApart = (s) => s.position !== "static" && s.position !== "relative";
  const apart = [...style.keys()].filter((element) => isApart(style.get(element)));
  const boxes = apart.map((element) => element.getBoundingClientRect());
  const known = new Map([[null, ""]]);
  const ground = (element) => {
    if (known.has(element)) return known.get(element);
    const s = style.get(element);
    const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode].join();
    let all = ground(element.parentElement);
    if (own !== "rgba(0, 0, 0, 0),none,1,none,normal") all += `/${own}`;
    if (isApart(s)) all += `/apart ${apart.indexOf(element)}`;
    known.set(element, all);
    return all;
  };
  const crossed = (element) => {
    const r = element.getBoundingClientRect();
    return boxes.flatMap((b, at) =>
      b.left < r.right && r.left < b.right && b.top < r.bottom && r.top < b.bottom ? [at] : [],
    );
  };
  const texts = [...style.keys()].filter(
    (element) =>
      document.body.contains(element) &&
      [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()) &&
      element.checkVisibility({ visibilityProperty: true }),
  );
  const kinds = Map.groupBy(texts, (element) => {
    const s = style.get(element);
    const own = [s.color, s.fontSize, s.fontWeight, s.textShadow];
    return [...own, ground(element), crossed(element)].join(" ");
  });
  document.querySelectorAll("[data-kind]").forEach((e) => e.removeAttribute("data-kind"));
  for (const [, some] of kinds)
    for (const at of [0, some.length >> 1, some.length - 1]) some[at].dataset.kind = "";
  return [kinds.size, document.querySelectorAll("[data-kind]").length, texts.length];
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_kind_of_text_has_contrast(desk_in, scheme):
    page = desk_in(scheme)
    kinds, marked, texts = page.evaluate(MARK_KINDS)
    assert 10 <= kinds <= marked <= texts
    told = axe_tells(page, {"include": ["[data-kind]"]}, runOnly=["color-contrast"])
    assert not told, "\n".join(told)


def test_without_javascript_text_maths_and_stills_remain(name, soup, page_factory):
    page = page_factory(path_of(name).as_uri(), java_script_enabled=False, **DESK)
    assert page.locator("article h1").is_visible()
    if formulas := soup.select("article .katex"):
        assert page.locator("article .katex").count() == len(formulas)
        assert page.locator("article .katex").first.is_visible()
    assert page.locator(".sw-figure").count() == len(soup.select(".sw-figure"))
    for figure in page.locator(".sw-figure").all():
        # TinyModel has no drawing before its model has read; its still shows the knobs.
        assert figure.locator("svg, .rope-tiny").first.is_visible()
        box = figure.locator(".rope-figure").bounding_box()
        assert box["width"] > 150
        assert box["height"] > 30


# --- what a reader does ---------------------------------------------------------------------------


# A knob of TinyModel shows what its worker finds, later: test_tiny_model.py turns each of them.
SLIDERS = "input[type=range]:not(.rope-tiny *)"


def drawings(group) -> str:
    """The figures' drawings without their words: shapes, places, lengths."""
    return group.evaluate(
        """(group) => [...group.querySelectorAll(".rope-figure svg *, .rope-figure [style]")]
        .filter((e) => e.tagName !== "text" && e.tagName !== "title" && e.tagName !== "desc")
        .map((e) => [...e.attributes].filter((a) => !a.name.startsWith("aria")).map((a) => a.value))
        .join("|")"""
    )


def test_every_slider_moves_its_figure_by_keyboard_and_by_mouse(desk):
    for group in desk.locator(".static-widget").all():
        for slider in group.locator(SLIDERS).all():
            label = slider.get_attribute("id")
            before = drawings(group)
            at_end = slider.evaluate("(s) => Number(s.value) >= Number(s.max)")
            slider.focus()
            for _ in range(3):
                desk.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
            after_keys = drawings(group)
            assert after_keys != before, f"{label}: arrow keys do not move the drawing"
            slider.scroll_into_view_if_needed()
            box = slider.bounding_box()
            x = 0.35 if slider.evaluate("(s) => (s.value - s.min) / (s.max - s.min) > 0.6") else 0.8
            desk.mouse.click(box["x"] + x * box["width"], box["y"] + box["height"] / 2)
            assert drawings(group) != after_keys, f"{label}: the mouse does not move the drawing"


def test_sliders_answer_to_touch(phone):
    for group in phone.locator(".static-widget").all():
        for slider in group.locator(SLIDERS).all():
            before = drawings(group)
            slider.scroll_into_view_if_needed()
            box = slider.bounding_box()
            x = 0.25 if slider.evaluate("(s) => (s.value - s.min) / (s.max - s.min) > 0.5") else 0.9
            phone.touchscreen.tap(box["x"] + x * box["width"], box["y"] + box["height"] / 2)
            assert drawings(group) != before


EVENT_TO_DOM = """
async (slider) => {
  const group = slider.closest(".static-widget");
  const times = [];
  const low = Number(slider.min), size = Number(slider.step);
  const stops = Math.round((Number(slider.max) - low) / size) + 1;
  const jump = Math.max(1, Math.round((stops * 7) / 60)); // no two moves to one stop
  for (let step = 0; step < 60; step++) {
    const value = String(low + size * ((step * jump) % stops));
    if (Number(value) === Number(slider.value)) continue; // it stands there already
    slider.value = value;
    const changed = new Promise((resolve) => {
      const observer = new MutationObserver(() => { observer.disconnect(); resolve(true); });
      const what = { subtree: true, childList: true, attributes: true, characterData: true };
      group.querySelectorAll(".rope-figure").forEach((figure) => observer.observe(figure, what));
      setTimeout(() => { observer.disconnect(); resolve(false); }, 200);
    });
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    if (await changed) times.push(performance.now() - start);
  }
  return times;
}
"""


def test_a_slider_changes_the_drawing_within_100_ms(name, desk):
    times = []
    for slider in desk.locator(f".static-widget {SLIDERS}").all():
        measured = slider.evaluate(EVENT_TO_DOM)
        assert len(measured) >= 30, "most moves change the drawing"
        times += measured
    if times:
        p95 = statistics.quantiles(times, n=20)[-1]
        MEASURES.mkdir(parents=True, exist_ok=True)
        measure = MEASURES / f"event-to-dom-{name.replace('/', '-')}.json"
        measure.write_text(json.dumps({"page": name, "event_to_dom_p95_ms": round(p95, 2)}))
        assert p95 < 100  # not the slowest of all: a busy machine pauses a page now and then


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("conjugate", "conjugate"),
        ("rotate_half", "Glossary"),
        ("gibberish", "The bug gallery"),
        ("yarn factor", "Stretching the context"),
    ],
)
def test_search_finds_what_a_reader_types(page_factory, words, title):
    address = (HTML / "search.html").as_uri() + "?" + urlencode({"q": words})
    page = page_factory(address, **DESK)
    page.wait_for_selector("#search-results li a", timeout=10_000)
    found = page.locator("#search-results").inner_text()
    assert title.lower() in found.lower()


def test_the_front_door_leads_to_the_welcome_page(page_factory):
    page = page_factory((HTML / "index.html").as_uri(), **DESK)
    page.wait_for_url(f"**/{PAGES[0]}.html")
