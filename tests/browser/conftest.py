"""One Chromium for all browser tests, and pages that notice errors and requests to elsewhere."""

import json
import os
import shutil
from urllib.parse import urlsplit

import pytest

# Without the switches about background work Chromium reports refused connections of its own.
SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> str | None:
    """Path of the browser: $CHROMIUM, else chromium on PATH, else where Debian puts it."""
    if named := os.environ.get("CHROMIUM"):
        return named
    return shutil.which("chromium") or shutil.which("chromium", path="/usr/bin")


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        reason = "NO BROWSER TEST RAN: no Chromium found; install it or set CHROMIUM to its path"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)  # a reader's machine may lack it; the CI run above does not
    playwright = pytest.importorskip("playwright.sync_api").sync_playwright().start()
    chromium_browser = playwright.chromium.launch(executable_path=path, args=SWITCHES)
    yield chromium_browser
    chromium_browser.close()
    playwright.stop()


def origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


# A page without an origin, such as the browser's own of a failure, may not ask and has no store.
CLEAR_STORES = "try { localStorage.clear(); sessionStorage.clear(); } catch {}"
# The second command empties the cache on disk, the third the one in memory.
FORGET = [
    ("Network.enable", {}),
    ("Network.clearBrowserCache", {}),
    ("Network.setCacheDisabled", {"cacheDisabled": True}),
    ("Network.setCacheDisabled", {"cacheDisabled": False}),
    ("Network.disable", {}),
]


class Windows:
    """Chromium's windows, lent to one test after another.

    To open one costs three times what a page in it does. A window has two attributes more than
    Playwright's page: ``errors`` holds what the console and uncaught exceptions said, ``foreign``
    the requests that left the page's origin.
    """

    def __init__(self, browser):
        self.browser = browser
        self.idle = {}

    def lend(self, url, **options):
        """The page at ``url`` in an empty window, opened with these options of its context."""
        idle = self.idle.setdefault(json.dumps(options, sort_keys=True), [])
        page = idle.pop() if idle else self.new(options)
        page.errors, page.foreign = [], []
        page.allowed = {origin(url), ("data", ""), ("blob", ""), ("about", "")}
        page.goto(url)
        return page

    def new(self, options):
        page = self.browser.new_context(**options).new_page()
        page.options, page.session = options, page.context.new_cdp_session(page)

        def note_request(request):
            if origin(request.url) not in page.allowed and not request.url.startswith("blob:"):
                page.foreign.append(request.url)

        page.on("console", lambda m: m.type == "error" and page.errors.append(m.text))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("request", note_request)
        return page

    def take_back(self, page):
        """Empty the window: what its page kept and fetched, its size, media, routes, mouse."""
        if page.options.get("java_script_enabled", True):
            page.evaluate(CLEAR_STORES)
        page.unroute_all()
        page.goto("about:blank")
        for command, arguments in FORGET:
            page.session.send(command, arguments)
        page.context.clear_cookies()
        page.emulate_media(media="null", color_scheme=page.options.get("color_scheme", "light"))
        page.set_viewport_size(page.options.get("viewport", {"width": 1280, "height": 720}))
        page.mouse.move(0, 0)
        self.idle[json.dumps(page.options, sort_keys=True)].append(page)


@pytest.fixture(scope="session")
def windows(browser):
    return Windows(browser)


def check(page, *, expect_errors=False):
    assert not page.foreign, f"requests left the page's origin: {page.foreign}"
    assert expect_errors or not page.errors, f"errors in the console: {page.errors}"


@pytest.fixture
def page_factory(windows):
    """``page_factory(url, **context options)`` opens a watched page and checks it at the end.

    A test that provokes errors passes ``expect_errors=True``; one that changes its window for
    good, with a script for every page say, ``own=True``.
    """
    opened = []

    def open_page(url, *, expect_errors=False, own=False, **options):
        page = windows.lend(url, **options)
        opened.append((page, expect_errors, own))
        return page

    yield open_page
    for page, _, own in opened:
        if own:
            page.context.close()
        else:
            windows.take_back(page)
    for page, expect_errors, _ in opened:
        check(page, expect_errors=expect_errors)


# A stand-in for the page's widget loader: one figure, and a model that calls its listeners.
FIGURE_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>figure</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root {{ --rope-ground: #fff }} body {{ margin: 1rem }} {css}</style>
<main class="static-widget"><div id="figure"></div></main>
<script type="module">
const traits = {traits};
const listeners = [];
const model = {{
  get: (name) => traits[name],
  set(name, value) {{
    if (traits[name] === value) return;
    traits[name] = value;
    for (const [event, call] of [...listeners]) if (event === `change:${{name}}`) call();
  }},
  save_changes() {{}},
  on: (event, call) => listeners.push([event, call]),
  off() {{}},
}};
const code = new Blob([{code}], {{ type: "text/javascript" }});
const {{ default: figure }} = await import(URL.createObjectURL(code));
figure.render({{ model, el: document.getElementById("figure") }});
window.traits = traits;
</script>"""


@pytest.fixture
def figure_page(tmp_path):
    """``figure_page(figure, names)`` writes a page with one figure; gives its address."""

    def write(figure, names):
        traits = json.dumps({name: getattr(figure, name) for name in names})
        path = tmp_path / "figure.html"
        page = FIGURE_PAGE.format(css=figure._css, traits=traits, code=json.dumps(figure._esm))
        path.write_text(page, encoding="utf-8")
        return path.as_uri()

    return write
