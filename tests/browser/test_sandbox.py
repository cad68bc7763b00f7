"""The sandbox in a browser: every control by keys and by mouse, links, program, the way."""

import re
from pathlib import Path

import pytest
import yaml

from rope_lib.figures import Sandbox

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"


@pytest.fixture
def open_sandbox(page_factory, figure_page):
    """Give a function that opens a page with a sandbox, and waits until it is drawn."""

    def opened(fragment="", width=1280, **traits):
        names = [*Sandbox.input_names(), "rules", "start", "readout"]
        address = figure_page(Sandbox(**traits), names)
        page = page_factory(address + fragment, viewport={"width": width, "height": 900})
        page.wait_for_function("window.traits?.readout.score !== undefined")
        return page

    return opened


def drawing(page):
    """The shapes of the figure, without its words."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".rope-figure svg *")]
        .filter((e) => e.tagName !== "text")
        .map((e) => [...e.attributes].filter((a) => !a.name.startsWith("aria")).map((a) => a.value))
        .join("|")"""
    )


def states(page):
    names = Sandbox.input_names()
    return page.evaluate("(names) => names.map((name) => traits[name])", names)


def told(page):
    return page.locator(".rope-told").inner_text()


def text_to_copy(page):
    return page.get_by_role("textbox", name="text to copy").input_value()


ALL_SHOWN = {"scaling": "yarn", "original": 64, "kind": "aimed", "dtype": "bfloat16", "n": 300}


@pytest.mark.parametrize("given", [{}, ALL_SHOWN, {"kind": "random"}], ids=["start", "all", "seed"])
def test_every_number_moves_the_drawing_by_keys_by_mouse_and_typed(open_sandbox, given):
    page = open_sandbox(**given)
    knobs = page.locator(".rope-knob:has(input)")
    assert knobs.count() == {0: 7, 1: 8}.get(len(given), 10)
    for knob in knobs.all():
        name = knob.get_attribute("data-trait")
        before = drawing(page)
        slider = knob.locator("input[type=range]")
        slider.focus()
        at_end = slider.evaluate("(s) => Number(s.value) >= Number(s.max)")
        for _ in range(3):
            page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
        after = drawing(page)
        assert after != before, f"{name}: arrow keys"
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box["height"] >= 44, name
        is_late = slider.evaluate("(s) => (s.value - s.min) / (s.max - s.min) > 0.6")
        page.mouse.click(box["x"] + (0.35 if is_late else 0.8) * box["width"], box["y"] + 22)
        assert drawing(page) != after, f"{name}: mouse"
        field = knob.locator("input[type=number]")
        assert field.input_value() == str(page.evaluate(f"traits.{name}"))
        field.fill(str(page.evaluate(f"traits.rules.inputs.{name}.default")))
        assert field.bounding_box()["height"] >= 44, name


@pytest.mark.parametrize("name", ["channel_layout", "scaling", "kind", "dtype", "rounded"])
def test_every_choice_moves_the_drawing(open_sandbox, name):
    page = open_sandbox(kind="random", m=301, n=40, original=128, dtype="float16", shift=9000)
    select = page.locator(f'[data-trait="{name}"] select')
    assert select.bounding_box()["height"] >= 44
    seen = {drawing(page)}
    for index in range(1, len(Sandbox().traits()[name].texts)):
        select.focus()
        page.keyboard.press("ArrowDown")
        chosen = page.evaluate(f"traits.{name}")
        if index == 1 and chosen == select.locator("option").first.inner_text():
            page.keyboard.press("ArrowDown")  # the list began elsewhere
        seen.add(drawing(page))
        assert page.evaluate("document.activeElement.tagName") == "SELECT"
    assert len(seen) > 1


def test_controls_that_would_do_nothing_are_not_there(open_sandbox):
    page = open_sandbox()
    for name in ("factor", "original", "seed", "peak", "rounded"):
        assert page.locator(f'[data-trait="{name}"].rope-knob').count() == 0, name
    page.get_by_role("combobox", name="scaling").select_option("linear")
    assert page.get_by_role("slider", name="factor").is_visible()
    assert page.get_by_role("slider", name="trained length").count() == 0
    page.get_by_role("combobox", name="scaling").select_option("dynamic")
    assert page.get_by_role("slider", name="trained length").is_visible()


def test_what_cannot_be_typed_says_the_rule_and_changes_nothing(open_sandbox):
    page = open_sandbox()
    before = states(page)
    field = page.get_by_role("spinbutton", name="rotated channels, as a number")
    for typed, rule in [("63", "must be even, got 63"), ("128", "at most head_dim 64, got 128"),
                        ("", "must be a number")]:  # fmt: skip
        field.fill(typed)
        assert rule in told(page)
        assert field.get_attribute("aria-invalid") == "true"
        assert states(page) == before
    field.blur()
    assert field.input_value() == "64"
    assert field.get_attribute("aria-invalid") == "false"


def test_a_narrower_head_takes_its_rotated_part_along(open_sandbox):
    page = open_sandbox()
    head = page.get_by_role("spinbutton", name="head size d, as a number")
    head.fill("128")
    assert page.evaluate("traits.rotary_dim") == 128
    page.get_by_role("spinbutton", name="rotated channels, as a number").fill("32")
    head.fill("64")
    assert page.evaluate("traits.rotary_dim") == 32
    head.fill("16")
    assert page.evaluate("traits.rotary_dim") == 16


def test_a_knob_on_a_picture_moves_by_drag_and_by_keys(open_sandbox):
    page = open_sandbox()
    for trait, start in (("m", 24), ("pair", 4)):
        knob = page.locator(f'svg [data-trait="{trait}"]')
        knob.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate(f"traits.{trait}") == start + 1
        knob.scroll_into_view_if_needed()
        box = knob.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 40, y)
        page.mouse.up()
        assert page.evaluate(f"traits.{trait}") > start + 1


def copied_link(page):
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("document.querySelector('.rope-told').textContent")
    return text_to_copy(page)


def test_a_link_brings_its_state_back_and_a_reset_undoes_it(open_sandbox):
    page = open_sandbox(scaling="yarn", factor=2.5, kind="aimed", head_dim=128, n=300)
    state = states(page)
    link = copied_link(page)
    assert link.startswith("file://")
    fragment = "#" + link.partition("#")[2]
    assert "head_dim=128" in fragment
    assert "base" not in fragment
    other = open_sandbox(fragment)
    assert states(other) == state
    assert told(other) == "Set as the link says."
    other.get_by_role("button", name="Reset").click()
    assert states(other) == [getattr(Sandbox(), name) for name in Sandbox.input_names()]
    assert "#" not in copied_link(open_sandbox())


def test_a_link_on_the_page_itself_is_followed(open_sandbox):
    page = open_sandbox()
    page.evaluate("location.hash = 'scaling=linear&factor=8'")
    page.wait_for_function("traits.scaling === 'linear'")
    assert page.get_by_role("spinbutton", name="factor, as a number").input_value() == "8"
    page.evaluate("location.hash = 'pitfalls'")  # a heading
    page.wait_for_timeout(50)
    assert page.evaluate("traits.factor") == 8


@pytest.mark.parametrize("fragment", ["#m=5&turn=3", "#m=5&rotary_dim=63", "#dtype=int8"])
def test_a_bad_link_says_so_and_changes_nothing(open_sandbox, fragment):
    page = open_sandbox(fragment)
    assert told(page).startswith("The link was not read, and nothing changed: ")
    assert states(page) == [getattr(Sandbox(), name) for name in Sandbox.input_names()]


def test_the_program_is_copied_or_stands_selected(open_sandbox):
    given = {"scaling": "ntk", "kind": "random", "shift": 3}
    page = open_sandbox(**given)
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error()))")
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_function("document.querySelector('.rope-told').textContent")
    assert "copy it" in told(page)
    assert text_to_copy(page) == Sandbox(**given).as_python()
    assert page.evaluate("getSelection().toString()") == Sandbox(**given).as_python()
    page.evaluate(
        "void (navigator.clipboard.writeText = async (text) => void (window.kept = text))"
    )
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_function("window.kept")
    assert page.evaluate("kept") == Sandbox(**given).as_python()
    assert told(page) == "The program is copied."
    page.get_by_role("button", name="Reset").click()
    assert page.get_by_role("textbox", name="text to copy").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_the_window(open_sandbox, width):
    page = open_sandbox(width=width, **ALL_SHOWN)
    page.get_by_role("button", name="Copy as Python").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_way_from_the_welcome_page_by_keyboard(page_factory):
    """By Tab and Enter alone: the sidebar's link, then the first control."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    start = HTML / f"{toc['root']}.html"
    assert start.exists(), f"{start} is not built: run `make test-book` first"
    page = page_factory(start.as_uri(), viewport={"width": 1280, "height": 900})
    focused = "document.activeElement.getAttribute('href') ?? ''"
    for _ in range(200):
        page.keyboard.press("Tab")
        if re.search(r"practice/sandbox\.html$", page.evaluate(focused)):
            break
    else:
        pytest.fail("Tab does not reach a link to the sandbox")
    page.keyboard.press("Enter")
    page.wait_for_url("**/practice/sandbox.html")
    slider = "document.activeElement.matches?.('.rope-knob input[type=range]')"
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(slider):
            break
    else:
        pytest.fail("Tab does not reach a control of the sandbox")
    before = drawing(page)
    page.keyboard.press("ArrowRight")
    assert drawing(page) != before
