"""A window that one test gives back holds nothing of it for the next."""

import pytest

pytestmark = pytest.mark.browser

STATE = """() => ({
  stored: [localStorage.length, sessionStorage.length, document.cookie],
  size: [innerWidth, innerHeight],
  media: [matchMedia("print").matches, matchMedia("(prefers-color-scheme: dark)").matches],
  left: globalThis.left ?? "nothing",
})"""
OPTIONS = {"viewport": {"width": 800, "height": 600}}


@pytest.fixture
def address(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><p>Here</p>", "utf-8")
    return path.as_uri()


def test_a_window_comes_back_empty(windows, address):
    page = windows.lend(address, **OPTIONS)
    before = page.evaluate(STATE)
    page.evaluate("localStorage.a = sessionStorage.a = globalThis.left = 'something'")
    page.set_viewport_size({"width": 500, "height": 500})
    page.emulate_media(media="print", color_scheme="dark")
    page.route("**/page.html", lambda route: route.abort())
    page.evaluate("console.error('one'); new Image().src = 'http://127.0.0.1:9/'")
    page.wait_for_function("matchMedia('print').matches")
    changed = page.evaluate(STATE)
    assert not {name: value for name, value in before.items() if changed[name] == value}
    assert page.errors
    assert page.foreign
    windows.take_back(page)
    again = windows.lend(address, **OPTIONS)
    assert again is page
    assert again.evaluate(STATE) == before
    assert not again.errors
    assert not again.foreign
    windows.take_back(again)


def test_windows_of_other_options_and_open_ones_are_not_shared(windows, address):
    page = windows.lend(address, **OPTIONS)
    other = windows.lend(address, **OPTIONS)
    dark = windows.lend(address, color_scheme="dark", **OPTIONS)
    assert len({page, other, dark}) == 3
    assert dark.evaluate(STATE)["media"] == [False, True]
    for window in (page, other, dark):
        windows.take_back(window)
    assert windows.lend(address, color_scheme="dark", **OPTIONS) is dark
    windows.take_back(dark)
