"""The model in the page: its numbers against PyTorch's, its text, its manners.

The pages are made by the extension that makes the book's, without a kernel or a book.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import ipywidgets as w
import numpy as np
import pytest
import torch
from ipywidgets.embed import embed_data

from rope_lib.figures import TinyModel
from rope_lib.figures.tiny_model import FILE
from rope_lib.model import load_gguf

ROOT = Path(__file__).parents[2]
EXTENSIONS = ROOT / "book" / "_ext"
sys.path.insert(0, str(EXTENSIONS))
import static_widgets  # noqa: E402  (extensions live beside the book, not in a package)

pytestmark = pytest.mark.browser
VIEW = '<script type="application/vnd.jupyter.widget-view+json">{}</script>'
PAGE = """<!doctype html><html lang="en" data-content_root="../"><meta charset="utf-8">
<title>A model</title><meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 1rem; background: var(--rope-ground); color: var(--rope-ink) }}</style>
<link rel="stylesheet" href="{sheet}">{scripts}
<main><h1>A model</h1>{body}</main>"""
# Python that no model has seen, with some characters beyond ASCII: "Größe" and an arrow.
TEXT = (ROOT / "rope_lib" / "figures" / "tiny_model.py").read_text("utf-8") + "# Größe → 3\n"


@pytest.fixture(scope="module")
def llama():
    return load_gguf(ROOT / "rope_lib" / FILE)


@pytest.fixture
def written(tmp_path):
    """``written(*figures)`` writes a page with them, and beside it what it may ask for."""

    def write(*figures, with_file=True):
        views = embed_data(list(figures))["view_specs"]
        models = w.Widget.get_manager_state(drop_defaults=False)["state"]
        body = "".join(VIEW.format(json.dumps(view)) for view in views)
        for asset in (*static_widgets.SCRIPTS, static_widgets.STYLESHEET):
            shutil.copy(static_widgets.HERE / asset, tmp_path)
        asked = static_widgets.asked_files(models, static_widgets.roots_of(body))
        assert asked == {FILE: "rope_lib"}
        if with_file:
            static_widgets.write_file(FILE, "rope_lib", tmp_path)
        page = tmp_path / "page.html"
        tags = [f'<script defer src="{script}"></script>' for script in static_widgets.SCRIPTS]
        page.write_text(
            PAGE.format(
                sheet=static_widgets.STYLESHEET,
                scripts="".join(tags),
                body=static_widgets.rewrite(body, models, page.name),
            ),
            encoding="utf-8",
        )
        return page.as_uri()

    yield write
    w.Widget.close_all()


@pytest.fixture
def opened(written, page_factory):
    """``opened(figure)`` opens a page with it, counts requests for the file, and awaits it."""

    def open_page(*figures, fragment="", with_file=True, before="", **options):
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        address = written(*figures, with_file=with_file)
        page = page_factory(address, own=True, **options)
        page.asked = []
        page.on("request", lambda r: page.asked.append(r.url) if FILE in r.url else None)
        page.add_init_script(before)
        page.goto("about:blank")
        page.goto(address + fragment)
        page.locator(".sw-figure[data-live]").first.wait_for()
        return page

    return open_page


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def pair(page, number):
    return page.get_by_role("button", name=re.compile(f"^pair {number}: "))


def status(page):
    return page.locator(".rope-status").first.inner_text()


def wait_for_rest(page):
    """Until the model has answered everything."""
    page.wait_for_function(
        """() => [...document.querySelectorAll(".rope-status")].every((e) =>
          e.textContent.includes("perplexity")
        ) && [...document.querySelectorAll(".rope-progress")].every((e) => !e.textContent)""",
        timeout=60_000,
    )


def texts(page):
    """What stands in the two panes: with the knobs as they are, and as it was trained."""
    return page.locator(".rope-written").all_text_contents()


def told(page):
    return page.locator(".rope-told[role=status]").first.inner_text()


# ---- the numbers

KNOBS = {
    "plain": {},
    "layout": {"channel_layout": "half"},
    "base": {"base": 1000},
    "stretch": {"stretch": 2},
    "squeeze": {"stretch": 0.35},
    "shift": {"shift": 1000},
    "bfloat16": {"shift": 1000, "bfloat16": True},
    "fastest": {"pairs_off": [0]},
    "slow half": {"pairs_off": list(range(8, 16))},
    "one layer": {"layers_off": [2]},
    "no rotation": {"layers_off": [0, 1, 2, 3]},
    "linear": {"scaling": "linear", "factor": 4},
    "ntk": {"scaling": "ntk", "factor": 2.5},
    "yarn": {"scaling": "yarn", "factor": 4},
    "several": {"channel_layout": "half", "scaling": "yarn", "factor": 3, "pairs_off": [1, 9],
                "stretch": 1.3, "layers_off": [0]},
}  # fmt: skip
NUMBERS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>numbers</title>
<div id="figure"></div><script src="{file}.js"></script><script type="module">
const traits = {traits};
const listeners = [];
const call = (event, ...values) => {{
  for (const [name, hear] of [...listeners]) if (name === event) hear(...values);
}};
const bytes = Uint8Array.from(atob(staticWidgetFiles["{file}"]), (c) => c.charCodeAt(0));
window.model = {{
  get: (name) => traits[name],
  set(name, value) {{
    if (JSON.stringify(traits[name]) === JSON.stringify(value)) return;
    traits[name] = value;
    call(`change:${{name}}`);
  }},
  save_changes() {{}},
  on: (event, hear) => listeners.push([event, hear]),
  off(event, hear) {{
    const isIt = ([name, call]) => name === event && call === hear;
    listeners.splice(listeners.findIndex(isIt), 1);
  }},
  send: (content) => setTimeout(() => call("msg:custom", content, [new DataView(bytes.buffer)])),
}};
const code = new Blob([{code}], {{ type: "text/javascript" }});
const {{ default: figure }} = await import(URL.createObjectURL(code));
figure.render({{ model, el: document.getElementById("figure") }});
window.isReady = true;
</script>"""
ANSWER = """async (changes) => {
  const lengths = () => ["losses", "right_losses"].map((name) => model.get(name).length);
  const settled = () => lengths()[0] && lengths()[0] === lengths()[1];
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  await new Promise((go) => setTimeout(go, 50)); // the old ones are gone by then
  while (!settled()) await new Promise((go) => setTimeout(go, 10));
  const [losses, right] = [model.get("losses"), model.get("right_losses")];
  return { losses, right, readout: model.get("readout") };
}"""


@pytest.fixture(scope="module")
def numbers(browser, tmp_path_factory):
    """Give a function from traits to the losses that the browser then writes back."""
    folder = tmp_path_factory.mktemp("numbers")
    static_widgets.write_file(FILE, "rope_lib", folder)
    figure = TinyModel(passage=TEXT, length=320, shown=["passage"])
    names = [n for n, trait in figure.traits(sync=True).items() if not n.startswith("_")]
    traits = {n: getattr(figure, n) for n in names if n not in ("layout", "tabbable", "tooltip")}
    path = folder / "numbers.html"
    path.write_text(
        NUMBERS.format(file=FILE, traits=json.dumps(traits), code=json.dumps(figure._esm)), "utf-8"
    )
    page = browser.new_page()
    page.set_default_timeout(120_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("window.isReady")
    page.evaluate('model.set("awake", true)')
    standard = {name: getattr(TinyModel(), name) for knobs in KNOBS.values() for name in knobs}
    yield lambda knobs: page.evaluate(ANSWER, {**standard, **knobs})
    page.close()
    assert not errors


@pytest.mark.parametrize("knobs", KNOBS.values(), ids=KNOBS)
def test_the_browser_s_losses_are_pytorch_s_at_every_knob(numbers, llama, knobs):
    figure = TinyModel(passage=TEXT, length=320, **knobs)
    ids = llama.tokenizer.encode(figure.text)[: figure.length]
    with torch.inference_mode():
        expected = llama.token_losses(ids, **figure.keywords())
        right = llama.token_losses(ids)
    js = numbers({**knobs, "length": 320})
    difference = np.abs(js["losses"] - expected.numpy()).max()
    print(f"largest difference of a loss: {difference:.1e}")
    assert len(js["losses"]) == 319
    assert difference <= 1e-3
    np.testing.assert_allclose(js["right"], right, atol=1e-3)
    loss, right_loss = expected.mean(), right.mean()
    readout = {
        "loss": loss,
        "perplexity": loss.exp(),
        "right_loss": right_loss,
        "right_perplexity": right_loss.exp(),
        "ratio": (loss - right_loss).exp(),
        "perplexity_to": expected[:255].mean().exp(),
        "perplexity_past": expected[255:].mean().exp(),
        "right_perplexity_to": right[:255].mean().exp(),
        "right_perplexity_past": right[255:].mean().exp(),
    }
    for name, value in readout.items():
        assert js["readout"][name] == pytest.approx(float(value), rel=1e-3), name


def test_a_longer_and_a_shorter_reading_agree(numbers, llama):
    long = numbers({"base": 30_000, "length": 1024})
    ids = llama.tokenizer.encode(TEXT)[:1024]
    with torch.inference_mode():
        expected = llama.token_losses(ids, **TinyModel(base=30_000).keywords())
    np.testing.assert_allclose(long["losses"], expected, atol=1e-3)
    assert numbers({"base": 30_000, "length": 64})["losses"] == long["losses"][:63]


# ---- what a reader does


def test_nothing_is_fetched_until_a_hand_comes(opened):
    page = opened(TinyModel(), TinyModel(base=500))
    page.wait_for_timeout(300)
    assert page.asked == []
    assert status(page).startswith("Write, or turn a knob")
    button(page, "Write").first.click()
    button(page, "Write").last.click()
    wait_for_rest(page)
    assert len(page.asked) == 1  # one file for both


def test_it_writes_what_pytorch_writes_and_marks_where_the_texts_part(opened, llama):
    figure = TinyModel(count=30, prompt="for i in range(", shown=["layout", "writing", "passage"])
    page = opened(figure)
    button(page, "Write").click()
    wait_for_rest(page)
    prompt = figure.prompt
    right = prompt + llama.generate(prompt, 30)
    assert texts(page) == [right, right]
    assert page.locator(".rope-area-writing > p").inner_text() == (
        "Both texts are the same: no knob of the rotation is turned."
    )
    page.get_by_role("combobox", name="layout").select_option("half")
    page.locator(".rope-area-writing > p", has_text="The texts part at token").wait_for()
    wait_for_rest(page)
    figure.channel_layout = "half"
    turned = prompt + llama.generate(prompt, 30, **figure.keywords())
    assert texts(page) == [turned, right]
    for pane in page.locator(".rope-written").all():
        before = pane.locator("span, b").first.inner_text() + pane.locator("b").first.inner_text()
        assert turned.startswith(before)
        assert right.startswith(before)
        assert pane.locator("mark").is_visible()
    assert "→" in status(page)
    spoken = page.locator(".rope-unseen[role=status]")  # the sentence comes after a quiet second
    page.wait_for_function("document.querySelector('.rope-unseen').textContent.includes('→')")
    assert spoken.text_content() == status(page)


def test_a_seed_gives_the_same_text_and_another_seed_another(opened):
    figure = TinyModel(temperature=1, seed=7, count=20, length=32, shown=["writing", "passage"])
    page = opened(figure)
    seen = []
    for _ in range(2):
        button(page, "Write").click()
        wait_for_rest(page)
        seen.append(texts(page)[0])
    page.get_by_text("How it writes").click()
    button(page, "another seed").click()
    wait_for_rest(page)
    assert seen[0] == seen[1] != texts(page)[0]
    seed = page.get_by_role("spinbutton", name="seed, as a number")
    assert seed.input_value() == "8"
    seed.fill("7")
    wait_for_rest(page)
    assert texts(page)[0] == seen[0]
    page.get_by_role("spinbutton", name="temperature (0: the likeliest), as a number").fill("0")
    assert button(page, "another seed").is_hidden()


def test_stop_ends_it_and_a_knob_goes_on(opened):
    page = opened(TinyModel(count=200, length=1024, passage=TEXT))
    button(page, "Write").click()
    page.wait_for_function("document.querySelector('.rope-written b').textContent")
    button(page, "Stop").click()
    assert told(page) == "Stopped."
    kept = texts(page)
    page.wait_for_timeout(500)
    assert texts(page) == kept
    assert status(page) == "No numbers: Write asks for them again."
    page.get_by_role("spinbutton", name="tokens of the text to read, as a number").fill("64")
    wait_for_rest(page)
    assert told(page) == ""


def test_a_stopped_text_is_not_compared_with_that_of_another_seed(opened):
    figure = TinyModel(count=200, temperature=1, length=32, shown=["writing", "passage"])
    page = opened(figure)
    button(page, "Write").click()
    wait_for_rest(page)
    page.get_by_text("How it writes").click()
    button(page, "another seed").click()
    page.wait_for_function(
        "(n) => document.querySelector('.rope-written').textContent !== n", arg=texts(page)[0]
    )
    button(page, "Stop").click()
    assert texts(page)[1] == figure.prompt
    assert page.locator(".rope-written mark:visible").count() == 0


def test_old_numbers_stay_while_the_model_reads_and_go_where_it_stops(opened):
    page = opened(TinyModel(passage=TEXT, shown=["length", "passage", "curve"], length=64))
    page.get_by_role("slider", name="tokens of the text to read").press("ArrowRight")
    wait_for_rest(page)
    before = status(page)
    length = page.get_by_role("spinbutton", name="tokens of the text to read, as a number")
    length.fill("1024")
    assert status(page) == before
    assert page.locator(".rope-status.rope-old").count() == 1
    assert page.locator(".rope-progress").inner_text().startswith("Reading")
    line = page.locator(".rope-chart .rope-line.rope-chosen")
    assert line.get_attribute("d") == ""
    assert page.locator(".rope-grid text", has_text="1k").count() == 1
    button(page, "Stop").click()
    assert status(page) == "No numbers: Read asks for them again."
    assert page.locator(".rope-passage .rope-loss").count() == 0
    length.fill("320")
    wait_for_rest(page)
    assert "; after it: " in status(page)
    assert page.locator(".rope-old").count() == 0
    assert line.get_attribute("d").startswith("M")


def test_the_length_alone_wakes_it(opened):
    page = opened(TinyModel(shown=["length", "passage"]))
    page.get_by_role("slider", name="tokens of the text to read").press("ArrowLeft")
    wait_for_rest(page)
    assert page.locator(".rope-passage span.rope-loss").count() == 224 - 1


def test_a_shift_changes_no_loss_and_both_parts_are_told(opened):
    page = opened(
        TinyModel(shown=["shift", "length", "passage"], length=320, shift=3, passage=TEXT)
    )
    page.get_by_role("slider", name="positions plus", exact=True).press("ArrowRight")
    wait_for_rest(page)
    assert ": no token's loss changes. To token 256: " in status(page)


def test_every_knob_turns_by_keys(opened):
    page = opened(TinyModel(length=64, count=2, shown=[
        "layout", "base", "stretch", "shift", "bfloat16", "scaling", "pairs", "layers", "length",
        "passage"]))  # fmt: skip
    pair(page, 0).press("Space")  # wakes it
    wait_for_rest(page)
    assert pair(page, 0).get_attribute("aria-pressed") == "false"
    seen = [status(page)]
    keys = {
        "layout": "ArrowDown", "base": "ArrowLeft", "positions times": "ArrowRight",
        "scaling from 256 tokens": "ArrowDown", "by a factor of": "ArrowRight",
        "tokens of the text to read": "ArrowRight",
    }  # fmt: skip
    for name, key in keys.items():
        role = "combobox" if key == "ArrowDown" else "slider"
        control = page.get_by_role(role, name=name, exact=True)
        assert control.bounding_box()["height"] >= 44
        control.focus()
        for _ in range(30 if name == "base" else 1):
            page.keyboard.press(key)
        wait_for_rest(page)
        assert status(page) != seen[-1], name
        seen.append(status(page))
    button(page, "layer 1").press("Enter")
    wait_for_rest(page)
    assert status(page) != seen[-1]
    # The model hears of distances alone: these two change no number that shows, apart.
    page.get_by_role("slider", name="positions plus", exact=True).press("ArrowRight")
    page.get_by_role("checkbox", name="positions in bfloat16").press("Space")
    page.get_by_role("button", name="without the slow half").press("Enter")
    assert pair(page, 8).get_attribute("aria-pressed") == "false"
    assert pair(page, 0).get_attribute("aria-pressed") == "true"


def test_a_row_of_buttons_is_one_tab_stop_and_a_pair_says_its_speed(opened):
    page = opened(TinyModel(shown=["pairs", "layers", "passage"]))
    focused = "document.activeElement.ariaLabel ?? document.activeElement.textContent"
    hint = page.locator(".rope-hint")
    height = hint.bounding_box()["height"]
    pair(page, 0).focus()
    for key, name in {
        "ArrowDown": "pair 8: 628 tokens a turn", "ArrowRight": "pair 9: 1.1k tokens a turn",
        "End": "pair 15: 35.3k tokens a turn", "Home": "pair 0: 6.28 tokens a turn",
        "ArrowLeft": "pair 0: 6.28 tokens a turn", "Tab": "all",
    }.items():  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate(focused) == name
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")  # the word of the next knob, a link
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "layer 0"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focused) == "none"
    pair(page, 8).hover()
    assert hint.inner_text() == "pair 8: 628 tokens a turn"
    assert hint.bounding_box()["height"] == height
    stops = "[...document.querySelectorAll('.rope-tiny [tabindex=\"0\"]')].map((e) => e.className)"
    # A line of buttons each; the passage is long enough to scroll.
    assert page.evaluate(stops) == ["", "", "", "", "rope-passage"]


def test_the_headline_stays_in_sight(opened):
    page = opened(TinyModel(count=2, length=48))
    button(page, "Write").click()
    wait_for_rest(page)
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 700})
        page.locator(".rope-map").last.scroll_into_view_if_needed()
        top = page.locator(".rope-status").bounding_box()["y"]
        assert 0 <= top < 100
    page.emulate_media(media="print")
    sticks = page.locator(".rope-area-status").evaluate("(e) => getComputedStyle(e).position")
    assert sticks == "static"


def test_a_token_tells_its_loss_and_a_head_what_it_looks_at(opened):
    page = opened(TinyModel(length=48, count=2))
    button(page, "Write").click()
    wait_for_rest(page)
    token = page.get_by_role("slider", name="token", exact=True)
    token.press("ArrowRight")
    told_by_keys = token.get_attribute("aria-valuetext")
    assert told_by_keys.startswith("Token 3, “")
    shaded = page.locator(".rope-passage span")
    # Between two tokens there is none: the margin of the box says nothing, and throws nothing.
    page.locator(".rope-passage").hover(position={"x": 2, "y": 2})
    assert page.get_by_text(told_by_keys).is_visible()
    shaded.nth(5).hover()
    assert page.get_by_text("Token 6, “").is_visible()
    shaded.nth(9).click()
    assert token.input_value() == "9"
    assert page.locator(".rope-passage span.rope-loss").count() == 47
    looking = page.get_by_role("slider", name="token that looks")
    before = looking.get_attribute("aria-valuetext")
    assert re.match(r"Token 12, “.+”, looks most at token \d+ “.+” [\d.]+ %, token", before)
    named = [f"layer 2, head 0, {how}" for how in ("with these knobs", "as it was trained")]
    for name in named:
        assert page.get_by_role("img", name=name, exact=True).is_visible()
    assert page.get_by_text("in the first 48 tokens of the passage").is_visible()
    page.get_by_role("combobox", name="layer").select_option("3")
    page.wait_for_function(
        "(n) => document.querySelectorAll('.rope-pointer input')[1].ariaValueText !== n",
        arg=before,
    )
    page.locator(".rope-map").first.scroll_into_view_if_needed()
    box = page.locator(".rope-map").first.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + (30.5 / 48) * box["height"])
    assert looking.get_attribute("aria-valuetext").startswith("Token 31, “")


def test_the_passage_follows_its_slider_and_a_click_on_the_curve(opened):
    page = opened(TinyModel(length=256, passage=TEXT, shown=["length", "passage", "curve"]))
    button(page, "Read").click()
    wait_for_rest(page)
    inside = """() => {
      const [token, box] = [".rope-pointed", ".rope-passage"].map((name) =>
        document.querySelector(name).getBoundingClientRect());
      return token.top >= box.top && token.bottom <= box.bottom;
    }"""
    token = page.get_by_role("slider", name="token", exact=True)
    token.focus()
    where = page.evaluate("scrollY")
    for key, value in (("End", "255"), ("Home", "1")):
        token.press(key)
        assert token.input_value() == value
        assert page.evaluate(inside)
    assert page.evaluate("scrollY") == where
    chart = page.locator(".rope-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert 110 < int(token.input_value()) < 150
    assert page.evaluate(inside)


# ---- links


def test_a_link_brings_its_state_back_and_wakes_the_model(opened):
    page = opened(TinyModel(length=64, count=5))
    page.get_by_role("combobox", name="layout").select_option("half")
    pair(page, 3).click()
    page.get_by_role("textbox", name="text to go on from").fill("a & b")
    wait_for_rest(page)
    button(page, "Copy link").click()
    link = page.get_by_role("textbox", name="text to copy").input_value()
    fragment = "#" + link.partition("#")[2]
    assert fragment == (
        "#model:channel_layout=half&pairs_off=3&length=64&prompt=a%20%26%20b&count=5"
    )
    other = opened(TinyModel(), fragment=fragment)
    assert told(other) == "Set as the link says."
    wait_for_rest(other)
    assert (status(other), texts(other)) == (status(page), texts(page))
    other.get_by_role("combobox", name="head").select_option("3")
    wait_for_rest(other)
    button(other, "Reset").click()
    assert other.get_by_role("combobox", name="layout").input_value() == "interleaved"
    wait_for_rest(other)
    assert "as it was trained" in status(other)
    # Only the knobs go back.
    assert other.get_by_role("combobox", name="head").input_value() == "3"
    assert other.get_by_role("textbox", name="text to go on from").input_value() == "a & b"


def test_a_bad_link_says_so_and_one_of_another_figure_is_left_alone(opened):
    page = opened(TinyModel(), fragment="#model:base=1")
    assert told(page).startswith("The link was not read, and nothing changed: base must be from 2")
    page.evaluate("location.hash = 'head_dim=32'")
    page.wait_for_timeout(50)
    assert page.asked == []


def test_words_of_knobs_lead_to_their_chapters(opened):
    page = opened(TinyModel())
    links = [link.get_attribute("href") for link in page.locator(".rope-knob a").all()]
    assert len(links) == 9 + 1  # scaling has two controls
    for link in links:
        assert (ROOT / link.removeprefix("../").replace(".html", ".ipynb")).is_file(), link


def test_a_chapter_may_show_one_knob(opened):
    page = opened(TinyModel(shown=["layout"], count=2, length=32))
    assert page.locator(".rope-knob[data-trait]").count() == 1 + 3  # and how it writes
    for absent in (".rope-chart", ".rope-map", ".rope-buttons >> text=Reset"):
        assert page.locator(absent).count() == 0
    page.get_by_role("combobox", name="layout").select_option("half")
    wait_for_rest(page)


def test_without_a_prompt_a_button_reads_the_text(opened):
    page = opened(TinyModel(shown=["scaling", "curve"], scaling="linear", length=48))
    assert status(page).startswith("Read, or turn a knob")
    button(page, "Read").click()
    wait_for_rest(page)
    assert "→" in status(page)


# ---- when something is missing


def test_without_workers_it_says_what_it_needs(opened):
    page = opened(TinyModel(), before="delete globalThis.Worker;")
    button(page, "Write").click()
    page.get_by_text("does not let the page start a worker").wait_for()


def test_without_its_file_it_says_so_and_another_try_may_succeed(opened, page_factory, tmp_path):
    page = opened(TinyModel(count=3, length=32), with_file=False, expect_errors=True)
    button(page, "Write").click()
    page.get_by_text(f"could not be read: the browser did not load {FILE}.js").wait_for()
    static_widgets.write_file(FILE, "rope_lib", tmp_path)
    button(page, "Write").click()
    wait_for_rest(page)


# ---- its looks


@pytest.mark.parametrize(("width", "theme"), [(360, "light"), (360, "dark"), (1280, "dark")])
def test_it_fits_and_axe_finds_nothing(opened, width, theme):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(TinyModel(count=8, length=80), viewport={"width": width, "height": 800},
                  reduced_motion="reduce")  # fmt: skip
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
    pair(page, 0).click()
    wait_for_rest(page)
    page.get_by_text("How it writes").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = Axe().run(page, options={"preload": False}).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in violations] == []


# ---- how fast


def test_how_fast_it_is(opened):
    """Times depend on the machine: they are printed, and only order is asserted."""
    page = opened(TinyModel(count=200, shown=["writing"]))
    first, all_of_them = page.evaluate(
        """async () => {
          const pane = document.querySelector(".rope-written b");
          const until = async (is) => {
            while (!is()) await new Promise((go) => setTimeout(go, 4));
            return performance.now() - start;
          };
          const start = performance.now();
          [...document.querySelectorAll("button")].find((b) => b.textContent === "Write").click();
          const first = await until(() => pane.textContent);
          const progress = document.querySelector(".rope-progress");
          return [first, await until(() => !progress.textContent)];
        }"""
    )
    rate = 200 / (all_of_them - first) * 1000
    print(f"first text after {first:.0f} ms, loading included; then {rate:.0f} tokens a second")
    assert 0 < first < all_of_them
