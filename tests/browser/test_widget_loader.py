"""The static widget host in a browser: each control, figures, links, errors, no JavaScript.

The pages are made from real ipywidgets by the extension itself, without a kernel or a book.
"""

import json
import shutil
import sys
from pathlib import Path

import anywidget
import ipywidgets as w
import pytest
import traitlets
from ipywidgets.embed import embed_data

EXTENSIONS = Path(__file__).parents[2] / "book" / "_ext"
sys.path.insert(0, str(EXTENSIONS))
import static_widgets  # noqa: E402  (extensions live beside the book, not in a package)

pytestmark = pytest.mark.browser
FAR = '<div style="height: 6000px"></div>'


class Probe(anywidget.AnyWidget):
    """Shows its trait as a dot in a drawing and as JSON, and sets it when its button is pressed."""

    x = traitlets.Any(1).tag(sync=True)
    _css = ".probe svg { display: block; height: 60px; }"
    _esm = """
    const SVG = "http://www.w3.org/2000/svg";
    export default {
      render({ model, el }) {
        el.classList.add("probe");
        const drawing = document.createElementNS(SVG, "svg");
        drawing.setAttribute("role", "img");
        drawing.setAttribute("aria-label", "a dot at x");
        const dot = document.createElementNS(SVG, "circle");
        dot.setAttribute("r", "5");
        dot.id = "dot";
        drawing.append(dot);
        const text = document.createElement("output");
        text.setAttribute("aria-labelledby", "dot");
        const button = document.createElement("button");
        button.textContent = "Set to 7";
        button.onclick = () => { model.set("x", 7); model.save_changes(); };
        const draw = () => {
          dot.setAttribute("cx", String(Number(model.get("x")) || 0));
          text.textContent = JSON.stringify(model.get("x"));
        };
        model.on("change:x", draw);
        draw();
        el.append(drawing, text, button);
      },
    };
    """


def module(source: str, **traits):
    """A figure that is this JavaScript module."""
    kind = type("Module", (anywidget.AnyWidget,), {"_esm": source})
    widget = kind()
    widget.add_traits(**{name: traitlets.Any(v).tag(sync=True) for name, v in traits.items()})
    return widget


@pytest.fixture
def widget_page(tmp_path):
    """``widget_page(*views)`` writes a page; text among the views is HTML. Returns its address."""

    def write(*parts, name="page.html"):
        views = iter(embed_data([p for p in parts if not isinstance(p, str)])["view_specs"])
        models = w.Widget.get_manager_state(drop_defaults=False)["state"]
        script = '<script type="application/vnd.jupyter.widget-view+json">{}</script>'
        body = "".join(
            p if isinstance(p, str) else script.format(json.dumps(next(views))) for p in parts
        )
        for asset in (*static_widgets.SCRIPTS, static_widgets.STYLESHEET):
            shutil.copy(static_widgets.HERE / asset, tmp_path)
        scripts = "".join(f'<script defer src="{s}"></script>' for s in static_widgets.SCRIPTS)
        head = f'<link rel="stylesheet" href="{static_widgets.STYLESHEET}">{scripts}'
        page = tmp_path / name
        page.write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Widgets</title>'
            f"{head}<main><h1>Widgets</h1>{static_widgets.rewrite(body, models, name)}</main>",
            encoding="utf-8",
        )
        return page.as_uri()

    yield write
    w.Widget.close_all()


def linked(control, trait="value"):
    """The control above a probe that shows one of its traits."""
    probe = Probe(x=getattr(control, trait))
    w.jslink((control, trait), (probe, "x"))
    return w.VBox([control, probe])


def shown(page, nth=0):
    page.locator(".probe").nth(nth).and_(page.locator("[data-live]")).wait_for()
    return json.loads(page.locator(".probe output").nth(nth).text_content())


def dot(page, nth=0):
    return page.locator(".probe circle").nth(nth).get_attribute("cx")


# ---- Sliders -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slider", "attributes", "readout"),
    [
        (
            lambda: w.IntSlider(5, 0, 20, 5, description="m"),
            {"min": "0", "max": "20", "step": "5", "aria-orientation": "horizontal"},
            "5",
        ),
        (
            lambda: w.FloatSlider(-0.4, min=-3, max=3, step=0.05, description="m"),
            {"min": "-3", "max": "3", "step": "0.05"},
            "\u22120.40",
        ),
        (
            lambda: w.FloatSlider(2, min=0, max=4, readout_format=".1e", description="m"),
            {"max": "4"},
            "2.0e+0",
        ),
        (
            lambda: w.FloatLogSlider(1000, base=10, min=2, max=6, step=0.5, description="m"),
            {"min": "2", "max": "6", "step": "0.5"},
            "1.00e+3",
        ),
        (
            lambda: w.IntSlider(3, 0, 9, orientation="vertical", description="m"),
            {"aria-orientation": "vertical"},
            "3",
        ),
        (lambda: w.IntSlider(3, 0, 9, disabled=True, description="m"), {"disabled": ""}, "3"),
    ],
)
def test_a_slider_keeps_its_traits(widget_page, page_factory, slider, attributes, readout):
    page = page_factory(widget_page(slider()))
    control = page.get_by_label("m", exact=True)
    assert control.get_attribute("type") == "range"
    for name, value in attributes.items():
        assert control.get_attribute(name) == value
    assert control.get_attribute("aria-valuetext") == readout
    assert page.locator(".sw-readout").text_content() == readout
    box = control.bounding_box()
    assert (box["height"] > box["width"]) == ("vertical" in attributes.values())


def test_a_slider_without_readout_still_tells_its_value(widget_page, page_factory):
    page = page_factory(widget_page(w.FloatSlider(0.5, max=1, readout=False, description="m")))
    assert not page.locator(".sw-readout").is_visible()
    assert page.get_by_label("m").get_attribute("aria-valuetext") == "0.50"


def test_a_value_between_two_steps_is_kept_until_the_slider_moves(widget_page, page_factory):
    slider = w.FloatSlider(0.123, min=0, max=1, step=0.1, readout_format=".3f", description="m")
    page = page_factory(widget_page(linked(slider)))
    assert shown(page) == 0.123
    page.get_by_label("m").press("ArrowRight")
    assert shown(page) == 0.2


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_keys_move_the_slider_and_its_figure(widget_page, page_factory, orientation):
    slider = w.IntSlider(50, 0, 100, description="m", orientation=orientation)
    page = page_factory(widget_page(linked(slider)))
    control = page.get_by_label("m")
    assert shown(page) == 50
    control.focus()
    for key, value in [
        ("ArrowUp", 51), ("ArrowDown", 50), ("ArrowRight", 51), ("ArrowLeft", 50),
        ("PageUp", 60), ("PageDown", 50), ("Home", 0), ("End", 100),
    ]:  # fmt: skip
        if orientation == "vertical" and key in {"ArrowRight", "ArrowLeft"}:
            continue  # across the slider: browsers differ
        page.keyboard.press(key)
        assert (shown(page), dot(page)) == (value, str(value)), key
        assert control.get_attribute("aria-valuetext") == str(value)


def test_a_logarithmic_slider_steps_by_exponent(widget_page, page_factory):
    slider = w.FloatLogSlider(100, base=10, min=0, max=6, step=1, description="base")
    page = page_factory(widget_page(linked(slider)))
    page.get_by_label("base").press("ArrowRight")
    assert shown(page) == pytest.approx(1000, rel=1e-12)
    assert page.get_by_label("base").get_attribute("aria-valuetext") == "1.00e+3"


def place(control, share):
    box = control.bounding_box()
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def test_the_figure_follows_the_mouse_before_it_lets_go(widget_page, page_factory):
    page = page_factory(widget_page(linked(w.IntSlider(0, 0, 100, description="m"))))
    shown(page)
    control = page.get_by_label("m")
    page.mouse.move(*place(control, 0.02))
    page.mouse.down()
    page.mouse.move(*place(control, 0.5))
    assert shown(page) == pytest.approx(50, abs=2)
    page.mouse.move(*place(control, 1.0))
    assert shown(page) == 100
    page.mouse.up()
    assert dot(page) == "100"


def test_a_finger_moves_the_slider(widget_page, page_factory):
    address = widget_page(linked(w.IntSlider(0, 0, 100, description="m")))
    phone = {"width": 390, "height": 800}
    page = page_factory(address, has_touch=True, is_mobile=True, viewport=phone)
    shown(page)
    control = page.get_by_label("m")
    page.touchscreen.tap(*place(control, 0.5))
    page.wait_for_function("+document.querySelector('.probe output').textContent > 40")
    assert shown(page) == pytest.approx(50, abs=2)

    def touch(kind, share=None):
        points = [] if share is None else [dict(zip("xy", place(control, share), strict=True))]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    finger = page.context.new_cdp_session(page)
    touch("touchStart", 0.5)
    for share in (0.55, 0.6, 0.7, 0.8):
        touch("touchMove", share)
    assert shown(page) == pytest.approx(80, abs=3)
    touch("touchEnd")


def test_without_continuous_update_the_figure_waits_for_the_end(widget_page, page_factory):
    slider = w.IntSlider(0, 0, 10, continuous_update=False, description="m")
    page = page_factory(widget_page(linked(slider)))
    shown(page)
    control = page.get_by_label("m")
    page.mouse.move(*place(control, 0.02))
    page.mouse.down()
    page.mouse.move(*place(control, 0.5))
    assert page.locator(".sw-readout").text_content() == "5"
    assert shown(page) == 0
    page.mouse.up()
    assert shown(page) == 5


# ---- The other controls ------------------------------------------------------------------------


def test_a_dropdown_by_keyboard_and_by_choice(widget_page, page_factory):
    names = ["interleaved", "half"]
    dropdown = w.Dropdown(options=names, index=1, description="layout")
    page = page_factory(widget_page(linked(dropdown, "index")))
    control = page.get_by_label("layout")
    assert shown(page) == 1
    assert control.locator("option:checked").text_content() == "half"
    control.press("ArrowUp")
    assert shown(page) == 0
    control.select_option("half")
    assert shown(page) == 1


def test_a_dropdown_without_a_choice_shows_none(widget_page, page_factory):
    page = page_factory(widget_page(w.Dropdown(options=["a"], value=None, description="layout")))
    assert page.get_by_label("layout").evaluate("select => select.selectedIndex") == -1


def test_a_checkbox(widget_page, page_factory):
    page = page_factory(widget_page(linked(w.Checkbox(True, description="Move both"))))
    control = page.get_by_label("Move both")
    assert control.is_checked()
    control.press("Space")
    assert shown(page) is False
    page.get_by_text("Move both").click()
    assert shown(page) is True


def test_toggle_buttons_are_a_group_of_choices(widget_page, page_factory):
    choice = w.ToggleButtons(options=["a", "b", "c"], index=1, description="kind")
    page = page_factory(widget_page(linked(choice, "index")))
    group = page.get_by_role("group", name="kind")
    assert group.get_by_label("b").is_checked()
    group.get_by_label("c").click()
    assert shown(page) == 2
    page.keyboard.press("ArrowLeft")
    assert shown(page) == 1


def test_play_counts_pauses_repeats_and_returns(widget_page, page_factory):
    player = w.Play(min=0, max=3, interval=20, description="turn", playing=True)
    page = page_factory(widget_page(linked(player)))
    buttons = page.get_by_role("group", name="turn")
    page.wait_for_timeout(100)
    assert shown(page) == 0  # nothing moves before the reader asks
    buttons.get_by_role("button", name="Play").click()
    buttons.get_by_role("button", name="Play").wait_for()  # it stops by itself at the end
    assert shown(page) == 3
    buttons.get_by_role("button", name="Repeat").click()
    buttons.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.probe output').textContent === '2'")
    page.wait_for_function("document.querySelector('.probe output').textContent === '0'")
    buttons.get_by_role("button", name="Pause").click()
    stopped_at = shown(page)
    page.wait_for_timeout(100)
    assert shown(page) == stopped_at
    buttons.get_by_role("button", name="Back to the start").click()
    assert shown(page) == 0


@pytest.mark.parametrize(("kind", "value"), [(w.Text, "abc"), (w.Textarea, "a\nb")])
def test_text_is_followed_letter_by_letter(widget_page, page_factory, kind, value):
    page = page_factory(widget_page(linked(kind(value, description="words", placeholder="type"))))
    control = page.get_by_label("words")
    assert control.input_value() == value
    assert control.get_attribute("placeholder") == "type"
    control.press("ControlOrMeta+End")
    page.keyboard.type("xy")
    assert shown(page) == value + "xy"


def test_label_html_and_boxes(widget_page, page_factory):
    page = page_factory(
        widget_page(
            w.VBox([
                w.HBox([w.Label("<i>plain</i>"), w.HTML("<b>bold</b>", description="note")]),
                w.Label("below", layout=w.Layout(width="50%", max_width="200px")),
            ])
        )
    )  # fmt: skip
    plain = page.get_by_text("<i>plain</i>").bounding_box()
    bold = page.locator("b").bounding_box()
    below = page.get_by_text("below").bounding_box()
    assert bold["x"] > plain["x"] + plain["width"]
    assert below["y"] >= plain["y"] + plain["height"]
    assert page.locator(".sw-words").last.bounding_box()["width"] == 200
    assert page.get_by_text("note").is_visible()


# ---- Figures and links -------------------------------------------------------------------------


def test_one_slider_moves_two_figures_in_different_cells(widget_page, page_factory):
    slider, figures = w.IntSlider(3, 0, 9, description="m"), [Probe(), Probe()]
    for figure in figures:
        w.jslink((slider, "value"), (figure, "x"))
    page = page_factory(widget_page(figures[0], slider, figures[1]))
    assert [shown(page, 0), shown(page, 1)] == [3, 3]  # a link begins with its source's value
    page.get_by_label("m").press("ArrowRight")
    assert [dot(page, 0), dot(page, 1)] == ["4", "4"]


def test_jslink_goes_both_ways_and_jsdlink_one(widget_page, page_factory):
    both, one = w.IntSlider(3, 0, 9, description="both"), w.IntSlider(3, 0, 9, description="one")
    probe = Probe(x=3)
    w.jslink((both, "value"), (probe, "x"))
    w.jsdlink((one, "value"), (probe, "x"))
    page = page_factory(widget_page(w.VBox([both, one, probe])))
    shown(page)
    page.get_by_role("button", name="Set to 7").click()
    assert page.get_by_label("both").input_value() == "7"
    assert page.get_by_label("one").input_value() == "3"
    page.get_by_label("one").press("ArrowRight")
    assert shown(page) == 4


def test_two_views_of_one_figure_share_its_state(widget_page, page_factory):
    probe = Probe(x=1)
    page = page_factory(widget_page(probe, probe))
    shown(page, 1)
    page.get_by_role("button", name="Set to 7").first.click()
    assert [dot(page, 0), dot(page, 1)] == ["7", "7"]


def test_a_figure_sleeps_until_it_is_near_and_wakes_with_the_latest_value(
    widget_page, page_factory
):
    page = page_factory(widget_page(linked(w.IntSlider(3, 0, 9, description="m")), FAR, Probe(x=8)))
    far = page.locator(".sw-figure").last
    shown(page)
    assert far.get_attribute("data-live") is None
    assert far.locator("circle").get_attribute("cx") == "8"  # its picture is there
    far.scroll_into_view_if_needed()
    assert shown(page, 1) == 8


def test_a_sleeping_figure_follows_its_slider(widget_page, page_factory):
    slider, probe = w.IntSlider(3, 0, 9, description="m"), Probe(x=3)
    w.jslink((slider, "value"), (probe, "x"))
    page = page_factory(widget_page(slider, FAR, probe))
    page.get_by_label("m").press("ArrowRight")
    assert page.locator(".sw-figure[data-live]").count() == 0
    page.locator(".sw-figure").scroll_into_view_if_needed()
    assert shown(page) == 4


def test_tab_reaches_into_figures_that_slept(widget_page, page_factory):
    page = page_factory(widget_page('<a href="#">first</a>', FAR, Probe()))
    page.get_by_text("first").focus()
    page.keyboard.press("Tab")
    shown(page)
    page.get_by_text("first").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Set to 7"


def test_a_picture_turns_live_without_moving_the_page(widget_page, page_factory):
    slider = linked(w.IntSlider(3, 0, 9, description="m"))
    address = widget_page(
        slider, "<p>after</p>", w.Dropdown(options=["a", "b"], description="kind")
    )
    still, live = page_factory(address, java_script_enabled=False), page_factory(address)
    shown(live)
    for nth in range(2):
        heights = [
            p.locator(".static-widget").nth(nth).bounding_box()["height"] for p in (still, live)
        ]
        assert heights[0] == heights[1] > 20
    shift = live.evaluate(
        """() => new Promise((done) => {
          let sum = 0;
          const add = (list) => { for (const entry of list.getEntries()) sum += entry.value; };
          new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done(sum), 200);
        })"""
    )
    assert shift == 0


def test_the_anywidget_interface(widget_page, page_factory):
    source = """
    let started = 0;
    export default async () => ({
      initialize({ model, signal, experimental }) {
        model.set("log", [...model.get("log"), `initialize ${++started} ${signal.aborted}`]);
        experimental.invoke("x").catch((e) => model.set("refusal", e.message));
      },
      render({ model, el }) {
        const log = (text) => model.set("log", [...model.get("log"), text]);
        const onX = (m, value) => log(`x ${value}`);
        const onAny = () => log("a or b");
        model.on("change:x", onX);
        model.on("change:a change:b", onAny);
        model.set("x", 2);
        model.set("x", 2);                    // equal: no event
        model.set({ a: [1, 2], b: { c: 1 } });
        model.set("a", [1, 2]);               // equal by value: no event
        model.off("change:x", onX);
        model.set("x", 3);
        model.off("change:b");
        model.set("b", 4);
        model.off();
        model.set("a", 5);
        model.send({ any: "thing" });
        model.save_changes();
        el.textContent = JSON.stringify([model.get("log"), model.get("b"), model.get("refusal")]);
        return () => {};
      },
    });
    """
    figure = module(source, x=1, a=0, b=0, log=[], refusal="")
    page = page_factory(widget_page(figure))
    page.locator(".sw-figure[data-live]").wait_for()
    log, b, refusal = json.loads(page.locator(".sw-figure").text_content())
    assert log == ["initialize 1 false", "x 2", "a or b", "a or b"]
    assert b == 4
    assert refusal == "this page has no kernel"


def test_a_module_is_initialised_once_for_all_its_views(widget_page, page_factory):
    source = """
    export default {
      initialize({ model }) { model.set("count", model.get("count") + 1); },
      render({ model, el }) { el.textContent = `started ${model.get("count")}`; },
    };
    """
    figure = module(source, count=0)
    page = page_factory(widget_page(figure, figure))
    page.locator(".sw-figure[data-live]").nth(1).wait_for()
    assert page.locator(".sw-figure").all_text_contents() == ["started 1", "started 1"]


def test_one_views_off_leaves_links_and_other_views_alone(widget_page, page_factory):
    source = """
    export default {
      render({ model, el }) {
        const text = document.createElement("output");
        model.on("change:x", () => { text.textContent = model.get("x"); });
        const button = (name, act) => {
          const element = document.createElement("button");
          element.textContent = name;
          element.onclick = act;
          el.append(element);
        };
        button("Off", () => model.off("change:x"));
        button("Set", () => model.set("x", 5));
        el.append(text);
      },
    };
    """
    figure, slider = module(source, x=1), w.IntSlider(1, 0, 9, description="m")
    w.jslink((slider, "value"), (figure, "x"))
    page = page_factory(widget_page(figure, figure, slider))
    page.locator(".sw-figure[data-live]").nth(1).wait_for()
    page.get_by_role("button", name="Off").first.click()
    page.get_by_label("m").press("ArrowRight")
    assert page.locator(".sw-figure output").all_text_contents() == ["", "2"]
    page.get_by_role("button", name="Set").last.click()
    assert page.get_by_label("m").input_value() == "5"


def test_a_binary_trait_arrives_as_a_view_of_its_bytes(widget_page, page_factory):
    source = """
    export default {
      render({ model, el }) { el.textContent = model.get("x").weights.getFloat32(4, true); },
    };
    """
    figure = module(source, x={"weights": memoryview(b"\x00\x00\x80?\x00\x00 @")})  # 1, 2.5
    page = page_factory(widget_page(figure))
    page.locator(".sw-figure[data-live]").wait_for()
    assert page.locator(".sw-figure").text_content() == "2.5"


ASKER = """
export default {
  render({ model, el }) {
    const text = document.createElement("output");
    const button = document.createElement("button");
    button.textContent = "Ask";
    button.onclick = () => { model.send({ other: 1 }); model.send({ file: "bytes" }); };
    model.on("msg:custom", (content, buffers) => {
      const bytes = buffers.map((view) => [...new Uint8Array(view.buffer)]);
      text.textContent += JSON.stringify([content, bytes]);
      if (buffers.length) structuredClone(buffers[0].buffer, { transfer: [buffers[0].buffer] });
    });
    el.append(text, button);
  },
};
"""
BYTES = b"\x00GGUF\xff"


def test_a_figure_is_given_the_file_that_it_asks_for(
    widget_page, page_factory, tmp_path, monkeypatch
):
    package = tmp_path / "package_with_bytes"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "bytes").write_bytes(BYTES)
    monkeypatch.syspath_prepend(tmp_path)
    address = widget_page(module(ASKER), module(ASKER))
    static_widgets.write_file("bytes", package.name, tmp_path)
    page = page_factory(address)
    page.locator(".sw-figure[data-live]").nth(1).wait_for()
    requests = []
    page.on("request", lambda request: request.url.endswith(".js") and requests.append(request.url))
    answers = page.locator(".sw-figure output")
    page.get_by_role("button", name="Ask").first.click()
    answers.first.get_by_text("bytes").wait_for()
    assert json.loads(answers.first.text_content()) == [{"file": "bytes"}, [list(BYTES)]]
    assert answers.last.text_content() == ""  # it did not ask
    page.get_by_role("button", name="Ask").last.click()  # though the first moved its bytes away
    answers.last.get_by_text("bytes").wait_for()
    assert json.loads(answers.last.text_content()) == [{"file": "bytes"}, [list(BYTES)]]
    assert [url.rpartition("/")[2] for url in requests] == ["bytes.js"]


def test_a_file_that_is_not_there_is_told_each_time(widget_page, page_factory):
    page = page_factory(widget_page(module(ASKER)), expect_errors=True)
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    error = {"file": "bytes", "error": "the browser did not load bytes.js"}
    for count in (1, 2):
        page.get_by_role("button", name="Ask").click()
        page.wait_for_function(
            "(n) => document.querySelector('.sw-figure output').textContent.length === n",
            arg=count * len(json.dumps([error, []], separators=(",", ":"))),
        )
        assert len(failed) == count


# ---- When something is wrong -------------------------------------------------------------------


def test_an_unknown_control_says_so_in_place(widget_page, page_factory):
    box = w.VBox([w.ColorPicker(description="hue"), linked(w.IntSlider(3, 0, 9, description="m"))])
    page = page_factory(widget_page(box))
    message = page.get_by_role("note").text_content()
    assert message == "The control ColorPicker does not work in this page. It works in JupyterLab."
    page.get_by_label("m").press("ArrowRight")
    assert shown(page) == 4


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("export default { render() { throw new Error('no ink'); } };", "no ink"),
        ("export default { initialize() { throw new Error('no start'); } };", "no start"),
        ("export default { render() { return Promise.reject(new Error('late')); } };", "late"),
        ("this is not JavaScript", "Unexpected identifier"),
    ],
)
def test_a_broken_figure_says_so_in_place_and_stops_no_other(
    widget_page, page_factory, source, reason
):
    address = widget_page(module(source), linked(w.IntSlider(3, 0, 9, description="m")))
    page = page_factory(address, expect_errors=True)
    page.get_by_label("m").press("ArrowRight")
    assert shown(page) == 4
    assert f"Module could not be drawn: {reason}" in page.locator(".sw-message").text_content()
    assert page.locator(".sw-message").count() == 1


def test_a_listener_that_throws_does_not_stop_the_next(widget_page, page_factory):
    broken = """
    export default {
      render({ model }) { model.on("change:x", () => { throw new Error("no"); }); },
    };
    """
    figure, probe = module(broken, x=3), Probe(x=3)
    slider = w.IntSlider(3, 0, 9, description="m")
    for each in (figure, probe):
        w.jslink((slider, "value"), (each, "x"))
    page = page_factory(widget_page(figure, slider, probe), expect_errors=True)
    page.locator(".sw-figure[data-live]").nth(1).wait_for()
    page.get_by_label("m").press("ArrowRight")
    assert dot(page) == "4"
    assert "Error: no" in page.errors[0]


def test_without_javascript_the_page_shows_pictures_and_a_note(widget_page, page_factory):
    controls = [
        linked(w.IntSlider(3, 0, 9, description="m")),
        w.Dropdown(options=["a", "b"], index=1, description="kind"),
        w.Checkbox(True, description="both"),
        w.Text("abc", description="words"),
    ]
    page = page_factory(widget_page(w.VBox(controls)), java_script_enabled=False)
    assert page.locator(".probe circle").get_attribute("cx") == "3"
    assert page.locator(".probe circle").is_visible()
    assert page.get_by_label("m").input_value() == "3"
    assert page.get_by_label("kind").locator("option:checked").text_content() == "b"
    assert page.get_by_label("both").is_checked()
    assert page.get_by_label("words").input_value() == "abc"
    for control in page.locator("input, select, button").all():
        assert control.is_disabled()
    assert page.locator(".static-widget-note").is_visible()
    assert page.locator(".static-widget-note").text_content() == static_widgets.NO_SCRIPT


def test_axe_finds_nothing_in_the_controls(widget_page, page_factory):
    from axe_playwright_python.sync_playwright import Axe

    controls = [
        linked(w.IntSlider(3, 0, 9, description="m")),
        w.IntSlider(3, 0, 9, orientation="vertical", description="n"),
        w.Dropdown(options=["a", "b"], description="kind"),
        w.Checkbox(True, description="both"),
        w.ToggleButtons(options=["a", "b"], description="either"),
        w.Play(description="turn"),
        w.Text("abc", description="words"),
        w.Textarea("abc", description="more words"),
        w.Label("label"),
        w.HTML("<b>html</b>"),
        w.ColorPicker(),
    ]
    page = page_factory(widget_page(w.VBox(controls)))
    shown(page)
    violations = Axe().run(page, options={"preload": False}).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in violations] == []
