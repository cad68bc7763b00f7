"""Every page of the built book, as a reader has it: from a folder, offline, desk and phone."""

import gzip
import json
import re
import statistics
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
MEASURES = ROOT / "_build" / "measures"

pytestmark = pytest.mark.browser


def toc_pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]


PAGES = toc_pages()
every_page = pytest.mark.parametrize("name", PAGES, ids=lambda n: n.split("/")[-1])
DESK = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


def path_of(name: str) -> Path:
    path = HTML / f"{name}.html"
    assert path.exists(), f"{path} is not built: run `make test-book` first"
    return path


def soup_of(name: str) -> BeautifulSoup:
    return BeautifulSoup(path_of(name).read_text("utf-8"), "html.parser")


@pytest.fixture
def open_page(page_factory):
    """Open a page of the book from its file, in the light or the dark, with every figure drawn."""

    def opened(name, *, dark=False, **options):
        scheme = "dark" if dark else "light"
        page = page_factory(path_of(name).as_uri(), color_scheme=scheme, **options)
        page.evaluate("() => document.fonts.ready")
        for figure in page.locator(".sw-figure").all():
            figure.scroll_into_view_if_needed()
        page.wait_for_function("!document.querySelector('.sw-figure:not([data-live])')")
        return page

    return opened


# --- what is in the files -------------------------------------------------------------------------


@every_page
def test_maths_is_rendered_and_every_picture_has_words(name):
    html = path_of(name).read_text("utf-8")
    soup = soup_of(name)
    assert "katex-error" not in html
    for image in soup.select("article img"):
        assert len(image.get("alt", "").split()) >= 3, f"alt text of {image.get('src')}"
    for figure in soup.select("article .rope-figure"):
        assert figure.get("aria-label"), "a figure needs an accessible name"
    assert len(soup.select("article h1")) == 1


@every_page
def test_next_and_previous_lead_through_the_book(name):
    soup = soup_of(name)
    index = PAGES.index(name)
    for kind, neighbour in (("right-next", index + 1), ("left-prev", index - 1)):
        link = soup.select_one(f".prev-next-area a.{kind}")
        if 0 <= neighbour < len(PAGES):
            target = (path_of(name).parent / link["href"]).resolve()
            assert target == path_of(PAGES[neighbour]).resolve()


@every_page
def test_links_within_the_book_arrive(name):
    for link in soup_of(name).select("article a[href]"):
        address, _, anchor = link["href"].partition("#")
        if "://" in address or address.startswith("mailto:"):
            continue
        target = (path_of(name).parent / address).resolve() if address else path_of(name)
        assert target.exists(), f"{link['href']} leads nowhere"
        if anchor and target.suffix == ".html":
            assert re.search(rf'id="{re.escape(anchor)}"', target.read_text("utf-8")), link["href"]


@every_page
def test_weight(name):
    """Budgets: page with all it loads at most 1.1 MB gzip; our own JavaScript at most 40 KB."""
    soup = soup_of(name)
    here = path_of(name)
    files = {here}
    for tag, attribute in (("script", "src"), ("img", "src"), ("link", "href")):
        for element in soup.select(f"{tag}[{attribute}]"):
            if tag == "link" and "stylesheet" not in element["rel"]:
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
    assert total <= 1_100_000
    assert own <= 40_000


# --- what a reader sees ---------------------------------------------------------------------------


@every_page
def test_a_phone_never_scrolls_sideways(name, open_page):
    for width in (360, 390):
        page = open_page(name, viewport={"width": width, "height": 844}, has_touch=True)
        # Solutions are part of the page: open them all.
        page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# The theme's own faults that a few lines cannot mend, by axe's rule, each with its reason.
THEME_FAULTS: dict[str, str] = {}


@every_page
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(name, dark, open_page):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(name, dark=dark, **DESK)
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    found = Axe().run(page, options={"preload": False}).response["violations"]
    told = [
        f"{violation['id']}: {violation['help']}: {node['html'][:160]} {node['failureSummary']}"
        for violation in found
        if violation["id"] not in THEME_FAULTS
        for node in violation["nodes"][:3]
    ]
    assert not told, "\n".join(told)


@every_page
def test_without_javascript_text_maths_and_stills_remain(name, page_factory):
    page = page_factory(path_of(name).as_uri(), java_script_enabled=False, **DESK)
    soup = soup_of(name)
    assert page.locator("article h1").is_visible()
    if formulas := soup.select("article .katex"):
        assert page.locator("article .katex").count() == len(formulas)
        assert page.locator("article .katex").first.is_visible()
    assert page.locator(".sw-figure").count() == len(soup.select(".sw-figure"))
    for figure in page.locator(".sw-figure").all():
        still = figure.locator("svg").first
        assert still.is_visible()
        box = still.bounding_box()
        assert box["width"] > 150
        assert box["height"] > 30


# --- what a reader does ---------------------------------------------------------------------------


def drawings(group) -> str:
    """The figures' drawings without their words: shapes, places, lengths."""
    return group.evaluate(
        """(group) => [...group.querySelectorAll(".rope-figure svg *, .rope-figure [style]")]
        .filter((e) => e.tagName !== "text" && e.tagName !== "title" && e.tagName !== "desc")
        .map((e) => [...e.attributes].filter((a) => !a.name.startsWith("aria")).map((a) => a.value))
        .join("|")"""
    )


@every_page
def test_every_slider_moves_its_figure_by_keyboard_and_by_mouse(name, open_page):
    page = open_page(name, **DESK)
    for group in page.locator(".static-widget").all():
        for slider in group.locator("input[type=range]").all():
            label = slider.get_attribute("id")
            before = drawings(group)
            at_end = slider.evaluate("(s) => Number(s.value) >= Number(s.max)")
            slider.focus()
            for _ in range(3):
                page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
            after_keys = drawings(group)
            assert after_keys != before, f"{label}: arrow keys do not move the drawing"
            slider.scroll_into_view_if_needed()
            box = slider.bounding_box()
            x = 0.35 if slider.evaluate("(s) => (s.value - s.min) / (s.max - s.min) > 0.6") else 0.8
            page.mouse.click(box["x"] + x * box["width"], box["y"] + box["height"] / 2)
            assert drawings(group) != after_keys, f"{label}: the mouse does not move the drawing"


@every_page
def test_sliders_answer_to_touch(name, open_page):
    page = open_page(name, **PHONE)
    for group in page.locator(".static-widget").all():
        for slider in group.locator("input[type=range]").all():
            before = drawings(group)
            slider.scroll_into_view_if_needed()
            box = slider.bounding_box()
            x = 0.25 if slider.evaluate("(s) => (s.value - s.min) / (s.max - s.min) > 0.5") else 0.9
            page.touchscreen.tap(box["x"] + x * box["width"], box["y"] + box["height"] / 2)
            assert drawings(group) != before


EVENT_TO_DOM = """
async (slider) => {
  const group = slider.closest(".static-widget");
  const times = [];
  for (let step = 0; step < 60; step++) {
    const low = Number(slider.min), high = Number(slider.max);
    slider.value = String(low + (high - low) * (((step * 7) % 60) / 59));
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


@every_page
def test_a_slider_changes_the_drawing_within_100_ms(name, open_page):
    page = open_page(name, **DESK)
    times = []
    for slider in page.locator(".static-widget input[type=range]").all():
        measured = slider.evaluate(EVENT_TO_DOM)
        assert len(measured) >= 30, "most moves change the drawing"
        times += measured
    if times:
        p95 = statistics.quantiles(times, n=20)[-1]
        MEASURES.mkdir(parents=True, exist_ok=True)
        measure = MEASURES / f"event-to-dom-{name.replace('/', '-')}.json"
        measure.write_text(json.dumps({"page": name, "event_to_dom_p95_ms": round(p95, 2)}))
        assert max(times) < 100


def test_search_finds_what_a_reader_types(page_factory):
    page = page_factory((HTML / "search.html").as_uri() + "?q=conjugate", **DESK)
    page.wait_for_selector("#search-results li a", timeout=10_000)
    found = page.locator("#search-results").inner_text().lower()
    assert "conjugate" in found


def test_the_front_door_leads_to_the_welcome_page(page_factory):
    page = page_factory((HTML / "index.html").as_uri(), **DESK)
    page.wait_for_url(f"**/{PAGES[0]}.html")
