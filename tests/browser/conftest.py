"""One Chromium for all browser tests, and pages that notice errors and requests to elsewhere."""

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


def watched_page(browser, url, **options):
    """Open a page in a context of its own, with two more attributes.

    ``errors`` holds what the console and uncaught exceptions said, ``foreign`` the requests that
    left the page's origin.
    """
    page = browser.new_context(**options).new_page()
    page.errors, page.foreign = [], []
    allowed = {origin(url), ("data", ""), ("blob", "")}

    def note_request(request):
        if origin(request.url) not in allowed and not request.url.startswith("blob:"):
            page.foreign.append(request.url)

    page.on("console", lambda m: m.type == "error" and page.errors.append(m.text))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", note_request)
    page.goto(url)
    return page


def check(page, *, expect_errors=False):
    assert not page.foreign, f"requests left the page's origin: {page.foreign}"
    assert expect_errors or not page.errors, f"errors in the console: {page.errors}"


@pytest.fixture
def page_factory(browser):
    """``page_factory(url, **context options)`` opens a watched page and checks it at the end.

    A test that provokes errors passes ``expect_errors=True``.
    """
    opened = []

    def open_page(url, *, expect_errors=False, **options):
        page = watched_page(browser, url, **options)
        opened.append((page, expect_errors))
        return page

    yield open_page
    for page, expect_errors in opened:
        page.context.close()
        check(page, expect_errors=expect_errors)
