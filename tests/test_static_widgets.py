"""The static widget host at build time: pruning, stills, warnings, and whole Sphinx builds."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anywidget
import ipywidgets as w
import nbformat
import pytest
import traitlets
from ipywidgets.embed import embed_data

EXTENSIONS = Path(__file__).parents[1] / "book" / "_ext"
sys.path.insert(0, str(EXTENSIONS))
import static_widgets  # noqa: E402  (extensions live beside the book, not in a package)
from static_widgets import state, stills  # noqa: E402

VIEW_TYPE = "application/vnd.jupyter.widget-view+json"
BASE = "const SVG = 'http://www.w3.org/2000/svg'; // </script> <!-- \u03b8\n" + 6 * (
    "// what every figure shares, far more than two modules would share by chance\n"
)


class Dot(anywidget.AnyWidget):
    x = traitlets.Float(2.0).tag(sync=True)
    style = traitlets.Unicode("solid").tag(sync=True)
    _css = ".dot { color: red; }"
    _esm = (
        BASE
        + """
    export default { render({ model, el }) {
      const dot = document.createElementNS(SVG, "circle");
      const copy = document.createElementNS(SVG, "use");
      dot.id = "dot";
      copy.setAttribute("href", "#dot");
      dot.setAttribute("fill", "url(#dot)");
      dot.setAttribute("tabindex", "0");
      dot.setAttribute("aria-labelledby", "dot elsewhere");
      dot.setAttribute("cx", String(model.get("x")));
      requestAnimationFrame(() => dot.setAttribute("class", "drawn"));
      el.append(dot, copy);
    } };
    """
    )


class Ring(anywidget.AnyWidget):
    x = traitlets.Float(2.0).tag(sync=True)
    _css = ".ring { color: blue; }"
    _esm = (
        BASE + "export default { render({ model, el }) { el.append(`ring ${model.get('x')}`); } };"
    )


class Asker(Ring):
    """May ask for a file of the package that the models name as its own."""

    package_file = traitlets.Unicode("static-widgets.css").tag(sync=True)


class Broken(anywidget.AnyWidget):
    _esm = "export default { render() { throw new Error('no ink'); } };"


@pytest.fixture(autouse=True)
def close_widgets():
    yield
    w.Widget.close_all()


def saved(*views):
    """What a kernel that made these widgets (and any others) saves: all models, the views' ids."""
    specs = embed_data(list(views))["view_specs"]
    models = w.Widget.get_manager_state(drop_defaults=False)["state"]
    return models, [spec["model_id"] for spec in specs]


def body_of(roots):
    script = f'<script type="{VIEW_TYPE}">{{}}</script>'
    views = [{"version_major": 2, "version_minor": 0, "model_id": root} for root in roots]
    return "<p>before</p>" + "".join(script.format(json.dumps(view)) for view in views)


def rewritten(*views):
    models, roots = saved(*views)
    return static_widgets.rewrite(body_of(roots), models, "page")


def stored(html):
    return json.loads(re.search(r'id="widget-state">(.*?)</script>', html, re.DOTALL)[1])


def warnings_of(caplog):
    """(subtype, text) of each warning that the extension gave."""
    return [(record.subtype, record.message) for record in caplog.records]


# ---- Pruning ---------------------------------------------------------------------------------


def test_only_what_the_views_reach_is_kept():
    shown, _hidden = w.VBox([w.IntSlider(), w.HBox([Dot()])]), w.VBox([w.Text(), Ring()])
    page = state.page_state(*saved(shown))
    kinds = [model["name"] for model in page.models.values()]
    assert kinds == ["VBoxModel", "IntSliderModel", "HBoxModel", "AnyModel"]
    assert page.models["w0"]["state"]["children"] == ["IPY_MODEL_w1", "IPY_MODEL_w2"]
    assert page.css == Dot._css


def test_a_slider_keeps_what_a_reader_sees_and_drops_the_rest():
    slider = w.IntSlider(3, 0, 9, 2, description="m", orientation="vertical")
    [model] = state.page_state(*saved(slider)).models.values()
    kept = {"value": 3, "min": 0, "max": 9, "step": 2, "description": "m", "readout": True,
            "orientation": "vertical", "readout_format": "d", "disabled": False}  # fmt: skip
    assert kept.items() <= model["state"].items()
    dropped = {"layout", "style", "tooltip", "_dom_classes", "_view_name", "_model_module"}
    assert not dropped & model["state"].keys()


def test_a_layout_is_written_into_its_widget_and_a_figures_own_style_stays():
    dot = Dot(layout=w.Layout(width="50%", max_width="20em"))
    [model] = state.page_state(*saved(dot)).models.values()
    assert model["state"]["layout"] == {"width": "50%", "max_width": "20em"}
    assert model["state"]["style"] == "solid"


def test_links_are_kept_with_both_ends_even_through_a_widget_that_is_not_shown():
    slider, middle, dot, stranger = w.FloatSlider(), w.FloatText(), Dot(), w.FloatSlider()
    w.jslink((slider, "value"), (middle, "value"))
    w.jsdlink((middle, "value"), (dot, "x"))
    w.jslink((stranger, "value"), (Ring(), "x"))
    page = state.page_state(*saved(dot))
    kinds = sorted(model["name"] for model in page.models.values())
    assert kinds == [
        "AnyModel", "DirectionalLinkModel", "FloatSliderModel", "FloatTextModel", "LinkModel",
    ]  # fmt: skip
    ends = {m["name"]: m["state"] for m in page.models.values() if "source" in m["state"]}
    names = {model["name"]: name for name, model in page.models.items()}
    assert ends["DirectionalLinkModel"]["target"] == [f"IPY_MODEL_{names['AnyModel']}", "x"]


def test_a_link_to_a_layout_is_counted_and_left_out():
    text = w.Text("50%")
    w.jslink((text, "value"), (text.layout, "width"))
    page = state.page_state(*saved(text))
    assert page.loose_links == 1
    assert [model["name"] for model in page.models.values()] == ["TextModel"]


def test_each_text_is_stored_once_and_so_is_a_shared_beginning():
    dots, ring, stranger = [Dot(), Dot()], Ring(), Broken()
    page = state.page_state(*saved(w.VBox([*dots, ring, stranger])))
    assert len(page.texts) == 4  # the beginning, two endings, the stranger
    assert sum(text.count("far more than two modules") for text in page.texts) == 6
    sources = {}
    for model in page.models.values():
        if "_esm" in model["state"]:
            kind = model["state"]["_anywidget_id"].rsplit(".", 1)[-1]
            sources[kind] = "".join(page.texts[piece] for piece in model["state"]["_esm"])
    assert sources == {"Dot": Dot._esm, "Ring": Ring._esm, "Broken": Broken._esm}


def test_the_shared_beginning_is_the_one_that_all_relatives_have():
    long, longer = "a" * 300, "a" * 300 + "b" * 300
    texts = [longer + "1", longer + "2", long + "3"]
    pieces, recipe = state.split_texts(texts)
    assert pieces.count(long) == 1
    for text in texts:
        assert pieces[recipe[text][0]] == long
        assert "".join(pieces[i] for i in recipe[text]) == text


def test_short_texts_that_begin_alike_stay_whole():
    assert state.split_texts(["export 1", "export 2"]) == (
        ["export 1", "export 2"],
        {"export 1": [0], "export 2": [1]},
    )


def test_the_same_notebook_gives_the_same_page_whatever_its_ids():
    def page():
        dot, ring = Dot(), Ring()
        low, high = w.IntSlider(description="low"), w.IntSlider(description="high")
        w.jslink((low, "value"), (dot, "x"))
        w.jslink((high, "value"), (ring, "x"))
        w.jslink((high, "value"), (dot, "x"))
        models, roots = saved(w.VBox([low, high, dot]), ring)
        shuffled = dict(sorted(models.items()))  # the execution cache sorts by id
        return static_widgets.as_script(state.page_state(shuffled, roots))

    assert len({page() for _ in range(8)}) == 1


# ---- Stills ----------------------------------------------------------------------------------


def test_a_view_becomes_its_picture():
    html = rewritten(w.VBox([w.IntSlider(3, 0, 9, description="m"), Ring(x=7.5)]))
    assert "<p>before</p>" in html
    assert VIEW_TYPE not in html
    assert '<div class="static-widget" data-model="w0"><div class="sw-column">' in html
    assert '<div class="sw-figure">ring 7.5</div>' in html
    assert f'<noscript><p class="static-widget-note">{static_widgets.NO_SCRIPT}</p>' in html
    assert f"<style>{Ring._css}</style>" in html
    assert "data-live" not in html


def test_a_picture_shows_what_the_links_say():
    slider, ring = w.FloatSlider(4.5), Ring(x=0)
    w.jslink((slider, "value"), (ring, "x"))
    assert "ring 4.5" in rewritten(ring)


def test_a_picture_cannot_be_worked_and_its_ids_are_its_own():
    controls = [w.IntSlider(), w.Text(), w.Textarea(), w.Dropdown(options=["a"]), w.Play()]
    html = rewritten(w.VBox([*controls, Dot(), Dot()]))
    assert "tabindex" not in html.split("<script")[0]
    tags = re.findall(r"<(?:input|select|textarea|button)\b[^>]*>", html)
    assert len(tags) == 7
    assert all("disabled" in tag for tag in tags)
    for nth in range(2):
        assert f'id="still{nth}-dot"' in html
        assert f'href="#still{nth}-dot"' in html
        assert f'fill="url(#still{nth}-dot)"' in html
        assert f'aria-labelledby="still{nth}-dot elsewhere"' in html
    assert html.count('class="drawn"') == 2  # also what waits for the next animation frame


def test_saved_choices_show_in_the_picture():
    html = rewritten(
        w.Dropdown(options=["a", "b", "c"], index=1),
        w.Checkbox(True),
        w.ToggleButtons(options=["x", "y"], index=1),
        w.Textarea("two\nlines"),
    )
    assert re.findall(r"<option[^>]*selected[^>]*>(\w)", html) == ["b"]
    assert len(re.findall(r'<input[^>]*checked[^>]*type="checkbox"', html)) == 1
    assert re.findall(r"<label><input([^>]*)><span>(\w)", html)[1][0].find("checked") >= 0
    assert ">two\nlines</textarea>" in html


# Expected values: d3-format's notation, worked by hand.
READOUTS = [
    (0.4, ".2f", "0.40"), (-0.4, ".2f", "\u22120.40"), (-0.001, ".2f", "0.00"),
    (2.5, "+.1f", "+2.5"), (-2.5, "+.1f", "\u22122.5"), (1234567.891, ",.1f", "1,234,567.9"),
    (-1234.0, ",d", "\u22121,234"), (41.6, "d", "42"), (10000.0, ".3g", "1.00e+4"),
    (0.000123456, ".3g", "0.000123"), (1000.0, ".3g", "1.00e+3"), (12.5, ".3g", "12.5"),
    (12345.0, ".1e", "1.2e+4"), (0.256, ".0%", "26%"), (0.1, "", "0.1"), (100.0, "", "100"),
    (0.25, ".1", "0.3"), (1500.0, ".3", "1.5e+3"), (3.0, "f", "3.000000"), (7.0, " d", " 7"),
]  # fmt: skip


def test_readouts_are_written_as_jupyterlab_writes_them():
    sliders = [w.FloatSlider(v, min=-1e9, max=1e9, readout_format=f) for v, f, _ in READOUTS]
    html = rewritten(*sliders)
    spoken = re.findall(r'aria-valuetext="([^"]*)"', html)
    assert spoken == [text for _, _, text in READOUTS]
    assert re.findall(r'class="sw-readout">([^<]*)<', html) == spoken


def test_no_text_can_close_the_script_that_holds_it():
    html = rewritten(Dot(), w.HTML("</script><script>alert(1)</script><!--"))
    assert html.count("<script") == 2  # the state, and the HTML widget's own text in its picture
    data = stored(html)
    assert BASE in "".join(data["texts"])
    assert data["models"]["w1"]["state"]["value"] == "</script><script>alert(1)</script><!--"


# ---- Warnings --------------------------------------------------------------------------------


def test_an_unsupported_control_is_named_and_the_rest_drawn(caplog):
    html = rewritten(w.VBox([w.ColorPicker(), Ring(x=1.5)]))
    [(kind, text)] = warnings_of(caplog)
    assert kind == "unsupported"
    assert "ColorPicker" in text
    assert "The control ColorPicker does not work in this page." in html
    assert "ring 1.5" in html


def test_a_figure_that_fails_is_named_and_the_rest_drawn(caplog):
    html = rewritten(Broken(), Ring(x=1.5))
    assert warnings_of(caplog) == [("error", "Broken could not be drawn: no ink")]
    assert "ring 1.5" in html


def test_an_unknown_readout_format_is_a_warning(caplog):
    rewritten(w.FloatSlider(readout_format=".3s"))
    assert warnings_of(caplog) == [
        ("error", 'FloatSlider could not be drawn: the readout format ".3s" is not supported')
    ]


def test_a_view_without_saved_state_is_a_warning(caplog):
    static_widgets.rewrite(body_of(["0123"]), {}, "page")
    assert ("state", "no saved state of widget 0123: run the notebook again") in warnings_of(caplog)


def test_a_link_to_a_layout_is_a_warning(caplog):
    text = w.Text("50%")
    w.jslink((text, "value"), (text.layout, "width"))
    rewritten(text)
    [(kind, message)] = warnings_of(caplog)
    assert kind == "unsupported"
    assert "1 link" in message


def test_without_node_the_page_is_written_and_the_build_warned(caplog, monkeypatch):
    monkeypatch.setattr(stills.shutil, "which", lambda *_, **__: None)
    html = rewritten(Ring())
    [(kind, text)] = warnings_of(caplog)
    assert kind == "stills"
    assert "no node on PATH" in text
    assert '<div class="static-widget" data-model="w0"></div>' in html
    assert stored(html)["models"]["w0"]["state"]["x"] == 2.0


def test_without_linkedom_the_error_says_what_to_run(tmp_path, monkeypatch):
    for path in static_widgets.HERE.glob("*.*js"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(stills, "PROGRAM", tmp_path / "stills.mjs")
    with pytest.raises(stills.StillsError, match=r"linkedom.*; run `npm ci` first"):
        stills.draw("")


def test_a_figure_that_never_finishes_does_not_hold_the_build_for_ever(monkeypatch):
    class Endless(anywidget.AnyWidget):
        _esm = "export default { render() { for (;;); } };"

    monkeypatch.setattr(stills, "TIMEOUT_S", 2)
    page = state.page_state(*saved(Endless()))
    with pytest.raises(stills.StillsError, match="took more than 2 s"):
        stills.draw(static_widgets.mount("w0") + static_widgets.as_script(page))


# ---- Files that a figure may ask for -----------------------------------------------------------


def asking(models):
    """The models, where each Asker is of the package static_widgets (a page has its class name)."""
    for model in models.values():
        if "package_file" in model["state"]:
            model["state"]["_anywidget_id"] = "static_widgets.figures.Asker"
    return models


def test_a_page_needs_the_files_of_what_it_shows_and_no_others():
    models, roots = saved(w.VBox([Asker(), Ring()]), Dot())
    file = {"static-widgets.css": "static_widgets"}
    assert static_widgets.asked_files(asking(models), roots) == file
    assert static_widgets.asked_files(models, roots[1:]) == {}


def test_a_file_is_a_script_with_its_bytes(tmp_path):
    static_widgets.write_file("stills.mjs", "static_widgets", tmp_path / "new")
    (path,) = (tmp_path / "new").iterdir()
    assert path.name == "stills.mjs.js"
    found = re.fullmatch(
        r'\(globalThis\.staticWidgetFiles \?\?= \{\}\)\["stills\.mjs"\] = "([^"]*)";\n',
        path.read_text("utf-8"),
    )
    assert base64.b64decode(found[1]) == (static_widgets.HERE / "stills.mjs").read_bytes()


# ---- A Sphinx build ---------------------------------------------------------------------------

CONF = """
extensions = ["static_widgets", "myst_nb"]
nb_execution_mode = "off"
"""


def notebook(models, roots):
    """A notebook with these views in its outputs and the widgets' state saved, as after a run."""
    cells = [nbformat.v4.new_markdown_cell("# Title")]
    for root in roots:
        data = {VIEW_TYPE: {"version_major": 2, "version_minor": 0, "model_id": root}}
        data["text/plain"] = "Widget()"
        output = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("figure", outputs=[output]))
    kept = {"version_major": 2, "version_minor": 0, "state": models}
    return nbformat.v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "widgets": {static_widgets.STATE_TYPE: kept},
        },
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site built with -W: figures, a widget not shown, one not supported, a page of text."""
    folder = tmp_path_factory.mktemp("site")
    slider, dot = w.IntSlider(3, 0, 9, description="m"), Dot()
    w.jslink((slider, "value"), (dot, "x"))
    models, roots = saved(slider, dot, Ring(), w.ColorPicker(), Asker())
    asking(models)
    contents = {
        "figures": roots[:3],
        "hidden": [],
        "unsupported": roots[3:4],
        "asking": roots[4:],
    }
    for name, views in contents.items():
        nbformat.write(notebook(models, views), folder / f"{name}.ipynb")
    (folder / "conf.py").write_text(CONF, "utf-8")
    (folder / "index.md").write_text(
        "# Index\n\n```{toctree}\nfigures\nhidden\nunsupported\nasking\n```\n", "utf-8"
    )
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", ".", "out"]
    run = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(EXTENSIONS), "NO_COLOR": "1"},
    )
    return folder / "out", run.returncode, run.stderr


def page_of(site, name):
    return (site[0] / f"{name}.html").read_text("utf-8")


def test_a_built_page_holds_its_pictures_and_each_text_once(site):
    page = page_of(site, "figures")
    assert 'cx="3"' in page
    assert page.count('class="static-widget"') == 3
    assert page.count("far more than two modules would share by chance") == 6  # six lines, once


def test_a_built_page_asks_nothing_of_a_network(site):
    page = page_of(site, "figures")
    for absent in ("html-manager", "require.min.js", "https://cdn", static_widgets.STATE_TYPE):
        assert absent not in page


def test_the_loader_comes_in_order_and_only_where_a_widget_is_shown(site):
    page = page_of(site, "figures")
    scripts = re.findall(r'<script defer="defer" src="_static/(widget-[a-z]+\.js)', page)
    assert scripts == list(static_widgets.SCRIPTS)
    assert f"_static/{static_widgets.STYLESHEET}" in page
    for name in ("index", "hidden"):
        assert "widget" not in page_of(site, name)
    for asset in (*static_widgets.SCRIPTS, static_widgets.STYLESHEET):
        published = (site[0] / "_static" / asset).read_text("utf-8")
        assert published == (static_widgets.HERE / asset).read_text("utf-8")


def test_a_file_lies_beside_the_loader_and_no_page_loads_it(site):
    (path,) = (site[0] / "_static").glob("*.css.js")
    assert path.name == "static-widgets.css.js"
    assert "static-widgets.css.js" not in page_of(site, "asking")
    assert "ring 2" in page_of(site, "asking")


def test_only_the_unsupported_control_fails_a_strict_build_and_its_page_is_named(site):
    _, status, errors = site
    assert status == 1
    assert re.search(r"unsupported\.ipynb: WARNING: The control ColorPicker does not work", errors)
    assert errors.count("WARNING") == 1


def test_a_change_of_the_extension_writes_every_page_anew(tmp_path, monkeypatch):
    before = static_widgets.own_hash()
    copy = tmp_path / "static_widgets"
    shutil.copytree(static_widgets.HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(static_widgets, "HERE", copy)
    assert static_widgets.own_hash() == before
    loader = copy / "widget-loader.js"
    loader.write_text(loader.read_text("utf-8") + "\n", "utf-8")
    assert static_widgets.own_hash() != before
