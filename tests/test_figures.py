"""Live figures, seen from Python: traits, errors, the joined module, words, controls, colours."""

import gzip
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import ipywidgets
import matplotlib as mpl
import numpy as np
import pytest
import traitlets

from rope_lib import figures, plots
from rope_lib.colours import COLOURS, css_variables
from rope_lib.figures import (
    AngleSum,
    CacheTimeline,
    ComplexPlane,
    ConfigReader,
    ContextScaling,
    Figure,
    FrequencyClocks,
    LayoutMap,
    PerplexityByPosition,
    PrecisionMeter,
    RotationPlane,
    ScoreByDistance,
    ScoreExplorer,
    ShardMap,
    StretchedModel,
    WavelengthSpectrum,
    with_sliders,
)
from rope_lib.figures.words import WORDS

FIGURES = [
    kind
    for name in figures.__all__
    if isinstance(kind := getattr(figures, name), type) and kind is not Figure
]
SOURCES = Path(sys.modules[Figure.__module__].__file__).parent
POINT = {"text": "code", "stretch": 1.0, "perplexity": 5.4, "line": "x", "tokens": 9}
CURVE = {"method": "plain", "factor": 1.0, "bins": [0], "loss": [2.0], "windowed": [2.0]}
LENGTHS = {"points": [{"text": "code", **CURVE}]}


def shared_js(cls):
    return "\n".join((SOURCES / name).read_text("utf-8") for name in ("base.js", *cls.parts))


def own_js(cls):
    return Path(sys.modules[cls.__module__].__file__).with_suffix(".js").read_text("utf-8")


# ---- traits


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (
            ScoreExplorer(k=(0, 1), shift=3),
            "ScoreExplorer(q=[1.0, 2.0], k=[0.0, 1.0], theta=0.4, m=5, n=2, shift=3)",
        ),
        (RotationPlane(), "RotationPlane(vector=[1.0, 2.0], theta=0.4, label='q')"),
        (AngleSum(b=1), "AngleSum(a=0.6, b=1, vector=[1.0, 0.0], label='q')"),
        (ComplexPlane(), "ComplexPlane(z=[1.0, 2.0], theta=0.4, label='q')"),
        (FrequencyClocks(), "FrequencyClocks(head_dim=32, base=10000, position=5)"),
        (LayoutMap(), "LayoutMap(head_dim=8, rotary_dim=8, pair=1)"),
        (
            PrecisionMeter(),
            "PrecisionMeter(position=257, pair=0, head_dim=64, base=10000, dtype='bfloat16', "
            "rounded='positions')",
        ),
        (CacheTimeline(step=2), "CacheTimeline(scenario='decode', step=2)"),
        (ShardMap(), "ShardMap(tokens=8, ranks=2, order='contiguous', ids='global')"),
        (
            StretchedModel(results={"points": [POINT, POINT]}),
            "StretchedModel(results=<2 points>, text='code', stretch=1.0)",
        ),
        (
            ScoreByDistance(kind="aimed", peak=7),
            "ScoreByDistance(head_dim=64, base=10000, kind='aimed', distance=16, peak=7, "
            "max_distance=4096)",
        ),
        (
            WavelengthSpectrum(model="Llama-3-8B"),
            "WavelengthSpectrum(model='Llama-3-8B', head_dim=64, base=100000, length=8192)",
        ),
        (
            ContextScaling(),
            "ContextScaling(head_dim=64, base=100000, original=8192, factor=2, method='yarn', "
            "pair=16)",
        ),
        (
            ConfigReader("{}"),
            "ConfigReader(text=<2 characters>, layer_type='', seq_len=0)",
        ),
        (
            PerplexityByPosition(),
            "PerplexityByPosition(results=<0 points>, method='plain', text='code', factor=2, "
            "measure='perplexity')",
        ),
    ],
)
def test_repr_is_short_and_the_same_each_time(figure, text):
    assert repr(figure) == text
    bundle, _ = figure._repr_mimebundle_()
    assert bundle["text/plain"] == text


def test_readout_is_empty_until_a_browser_draws():
    assert ScoreExplorer().readout == {}


def test_input_traits_and_readout_are_synced():
    assert set(ScoreExplorer().get_state()) >= {"q", "k", "theta", "m", "n", "shift", "readout"}


def test_numpy_values_become_plain_ones():
    figure = ScoreExplorer(q=np.array([3, 4]), theta=np.float32(0.5), m=np.int64(7))
    assert (figure.q, figure.theta, figure.m) == ([3.0, 4.0], 0.5, 7)
    assert [type(x) for x in (*figure.q, figure.theta, figure.m)] == [float, float, float, int]


def test_figures_do_not_share_a_default_list():
    ScoreExplorer().q.append(0.0)
    assert ScoreExplorer().q == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: FrequencyClocks(head_dim=63), ValueError, "head_dim must be even, got 63"),
        (lambda: FrequencyClocks(head_dim=0), ValueError, "head_dim must be from 2 to 256, got 0"),
        (lambda: FrequencyClocks(head_dim=300), ValueError, "from 2 to 256, got 300"),
        (lambda: FrequencyClocks(base=1), ValueError, "base must be greater than 1, got 1"),
        (lambda: RotationPlane(theta=np.inf), ValueError, "theta must be finite, got inf"),
        (lambda: RotationPlane(theta="1"), TypeError, "theta must be a real number, got '1'"),
        (lambda: ScoreExplorer(m=True), TypeError, "m must be a real number, got True"),
        (lambda: ScoreExplorer(q=[1, 2, 3]), ValueError, r"q must have 2 numbers \[x, y\], got 3"),
        (lambda: ScoreExplorer(k=2), TypeError, r"k must be two numbers \[x, y\], got 2"),
        (lambda: ComplexPlane(z=[1, np.nan]), ValueError, "z must be finite, got nan"),
        (lambda: ComplexPlane(z=[[1], [2]]), TypeError, r"z must be a real number, got \[1\]"),
        (lambda: AngleSum(label="v"), traitlets.TraitError, "label"),
        (lambda: LayoutMap(head_dim=9), ValueError, "head_dim must be even, got 9"),
        (lambda: LayoutMap(rotary_dim=66), ValueError, "rotary_dim must be from 2 to 64, got 66"),
        (lambda: LayoutMap(pair=-1), ValueError, "pair must be from 0 to 31, got -1"),
        (lambda: LayoutMap(pair=0.5), ValueError, "pair must be a whole number, got 0.5"),
        (lambda: PrecisionMeter(position=1_000_001), ValueError, "0 to 1000000, got 1000001"),
        (
            lambda: PrecisionMeter(dtype="float8"),
            ValueError,
            "dtype must be one of 'float32', 'float16', 'bfloat16', 'tf32', got 'float8'",
        ),
        (lambda: PrecisionMeter(rounded=1), TypeError, "rounded must be a text, got 1"),
        (lambda: CacheTimeline(scenario="full"), ValueError, "scenario must be one of 'prefill', "),
        (lambda: ShardMap(ranks=0), ValueError, "ranks must be from 1 to 8, got 0"),
        (lambda: ShardMap(order="ring"), ValueError, "one of 'contiguous', 'zig-zag', got 'ring'"),
        (lambda: CacheTimeline(step=10), ValueError, "step must be from 0 to 9, got 10"),
        (lambda: StretchedModel(stretch=0), ValueError, "stretch must be greater than 0, got 0"),
        (lambda: StretchedModel(results=[POINT]), TypeError, "results must be a dict, got "),
        (lambda: StretchedModel(results={"how": 1}), ValueError, 'a list "points", got None'),
        (
            lambda: StretchedModel(results={"points": [POINT, {"text": "code"}]}),
            ValueError,
            r"results: point 1 must have \['stretch', 'perplexity', 'line'\], got \['text'\]",
        ),
        (
            lambda: StretchedModel(results={"points": [POINT]}, text="verse"),
            ValueError,
            "text must be one of 'code', got 'verse'",
        ),
        (
            lambda: ScoreByDistance(kind="odd"),
            ValueError,
            "kind must be one of 'equal', 'random', ",
        ),
        (
            lambda: ScoreByDistance(distance=-1),
            ValueError,
            "distance must be from 0 to 8192, got -1",
        ),
        (lambda: ScoreByDistance(peak=0.5), ValueError, "peak must be a whole number, got 0.5"),
        (lambda: ScoreByDistance(max_distance=5), ValueError, "from 16 to 8192, got 5"),
        (
            lambda: WavelengthSpectrum(model="GPT-2"),
            ValueError,
            "model must be one of 'SmolLM2-135M'",
        ),
        (
            lambda: WavelengthSpectrum(length=0),
            ValueError,
            "length must be from 1 to 100000000, got 0",
        ),
        (lambda: ContextScaling(head_dim=2), ValueError, "head_dim must be from 4 to 256, got 2"),
        (lambda: ContextScaling(factor=0.5), ValueError, "factor must be from 1 to 1024, got 0.5"),
        (lambda: ContextScaling(method="longrope"), ValueError, "method must be one of 'linear', "),
        (lambda: ContextScaling(pair="4"), TypeError, "pair must be a real number, got '4'"),
        (lambda: PerplexityByPosition(method=2), TypeError, "method must be a text, got 2"),
        (
            lambda: PerplexityByPosition(factor=0),
            ValueError,
            "factor must be greater than 0, got 0",
        ),
        (
            lambda: PerplexityByPosition(results=LENGTHS, method="ntk"),
            ValueError,
            "method must be one of 'plain', got 'ntk'",
        ),
        (
            lambda: PerplexityByPosition(results=LENGTHS, text="verse"),
            ValueError,
            "text must be one of 'code', got 'verse'",
        ),
        (
            lambda: PerplexityByPosition(results={"points": [POINT]}),
            ValueError,
            r"point 0 must have \['method', 'factor', 'bins', 'loss', 'windowed'\], got ",
        ),
    ],
)
def test_bad_values_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_whole_number_stays_whole_and_a_choice_a_text():
    figure = PrecisionMeter(position=257.0, pair=np.int64(3), dtype=np.str_("tf32"))
    assert (figure.position, figure.pair, figure.dtype) == (257, 3, "tf32")
    assert [type(x) for x in (figure.position, figure.pair)] == [int, int]


def test_stored_results_keep_what_the_figure_shows_and_are_not_shared():
    given = {"how": {"seed": 0, "settings": {"prompt": "So", "tokens": 9}}, "points": [POINT]}
    figure = StretchedModel(results=given)
    kept = {k: v for k, v in POINT.items() if k != "tokens"}
    assert figure.results == {"prompt": "So", "points": [kept]}
    assert StretchedModel(results=figure.results).results == figure.results
    figure.results["points"][0]["text"] = "prose"
    assert given["points"][0]["text"] == "code"
    StretchedModel().results["points"] = []
    assert StretchedModel().results == {}


# ---- the joined module


@pytest.mark.parametrize("cls", FIGURES)
def test_module_is_one_text_that_begins_with_the_shared_base(cls):
    assert cls._esm.startswith(shared_js(cls))
    assert cls._esm.endswith(own_js(cls))
    assert cls._esm.count("export default ") == 1
    assert not re.search(r"^\s*import\b", cls._esm, re.MULTILINE)
    assert cls()._esm == cls._esm


def test_figures_store_one_stylesheet():
    assert len({cls()._css for cls in FIGURES}) == 1


@pytest.mark.parametrize("cls", FIGURES)
def test_the_javascript_of_a_figure_is_small(cls):
    limit = 40_000 if cls.worker else 25_000  # a worker's script counts, too
    assert len(gzip.compress(cls._esm.encode())) < limit


def test_a_part_is_joined_where_it_is_used_and_nowhere_else():
    uses = {"plane.js": "new Plane(", "chart.js": "chart(ui"}
    for cls in FIGURES:
        own = [(SOURCES / part).read_text("utf-8") for part in cls.parts if part not in uses]
        text = "".join([own_js(cls), *own])
        assert {part for part, sign in uses.items() if sign in text} == set(cls.parts) & set(uses)


@pytest.mark.parametrize("cls", FIGURES)
def test_every_word_used_is_in_the_dictionary_and_every_word_is_used(cls):
    used_by_base = set(re.findall(r"WORDS\.(\w+)", shared_js(cls)))
    used = set(re.findall(r"WORDS\.(\w+)", own_js(cls)))
    known = set(WORDS[cls.__name__])
    assert used <= known | set(WORDS["common"])
    assert known <= used | used_by_base, known - used
    assert used_by_base - set(WORDS["common"]) <= known


def test_library_alone_loads_neither_widgets_nor_plots():
    code = (
        "import sys, rope_lib, rope_lib.colours\n"
        "assert not {'anywidget', 'ipywidgets', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- controls


@pytest.fixture
def links(monkeypatch):
    made = []
    monkeypatch.setattr(ipywidgets, "jslink", lambda source, target: made.append((source, target)))
    return made


def test_ints_make_an_int_slider_and_floats_a_float_slider(links):
    figure = ScoreExplorer()
    shown, m, theta = with_sliders(figure, m=(0, 20, 1), theta=(0.0, 3.0, 0.05)).children
    assert shown is figure
    assert (type(m), m.min, m.max, m.step, m.value) == (ipywidgets.IntSlider, 0, 20, 1, 5)
    assert (type(theta), theta.step, theta.value) == (ipywidgets.FloatSlider, 0.05, 0.4)
    assert theta.readout_format == ".2f"
    assert m.continuous_update
    assert [m.description, theta.description] == ["position m of q", "turn per step θ"]
    assert links == [((m, "value"), (figure, "m")), ((theta, "value"), (figure, "theta"))]


def test_one_slider_drives_every_figure_that_has_the_trait(links):
    one, two, other = RotationPlane(), ComplexPlane(), AngleSum()
    *_, theta, a = with_sliders(one, two, other, theta=(-3.0, 3.0, 0.1), a=(-3, 3, 0.1)).children
    assert [target for _, target in links] == [(one, "theta"), (two, "theta"), (other, "a")]
    assert [source for source, _ in links] == [(theta, "value")] * 2 + [(a, "value")]
    assert theta.description == "angle θ"


@pytest.fixture
def knobs(tmp_path, monkeypatch):
    """A figure with a yes-or-no trait and a plain text, which none of the book's figures has."""
    (tmp_path / "knobs_figure.js").write_text("export default {}")
    (tmp_path / "knobs_figure.py").write_text(
        "import traitlets\n"
        "from rope_lib.figures import Figure\n"
        "class Knobs(Figure):\n"
        "    note = traitlets.Unicode('half').tag(sync=True, input=True)\n"
        "    wrapped = traitlets.Bool(False).tag(sync=True, input=True)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import knobs_figure

    return knobs_figure.Knobs()


def test_a_bool_makes_a_checkbox(links, knobs):
    _, checkbox = with_sliders(knobs, wrapped=True).children
    assert (type(checkbox), checkbox.value, knobs.wrapped) == (ipywidgets.Checkbox, True, True)
    assert links == [((checkbox, "value"), (knobs, "wrapped"))]


def test_a_text_that_is_no_choice_has_no_dropdown(links, knobs):
    with pytest.raises(TypeError, match="note must be a choice to have a drop-down, got Unicode"):
        with_sliders(knobs, note=["half", "interleaved"])


def test_texts_make_a_dropdown_whose_index_is_linked(links):
    one, two = CacheTimeline(), CacheTimeline(step=1)
    box = with_sliders(one, two, scenario=["packed", "decode"])
    dropdown = box.children[-1]
    assert (type(dropdown), dropdown.value) == (ipywidgets.Dropdown, "decode")
    assert dropdown.description == "case"
    ends = [((dropdown, "index"), (figure, "scenario_index")) for figure in (one, two)]
    assert links == ends
    for figure in (one, two):
        assert figure.options == {"scenario": ["packed", "decode"]}
        assert figure.scenario_index == 1


def test_a_dropdown_can_be_linked_in_the_browser():
    with_sliders(CacheTimeline(), scenario=["packed", "decode"])  # a bad link raises here


def test_a_choice_and_its_index_follow_each_other(links):
    figure = CacheTimeline()
    with_sliders(figure, scenario=["packed", "decode", "sliding"])
    figure.scenario = "sliding"
    assert figure.scenario_index == 2
    figure.scenario_index = 0
    assert figure.scenario == "packed"
    figure.scenario = "prefill"  # not offered
    assert figure.scenario_index == 0
    assert "scenario_index" not in figure.input_names()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: with_sliders(m=(0, 1, 1)), TypeError, "at least 1 figure, got 0"),
        (
            lambda: with_sliders(ScoreExplorer(), a=(0, 1, 1)),
            ValueError,
            "a must be a trait of a given figure, got ScoreExplorer",
        ),
        (
            lambda: with_sliders(ScoreExplorer(), m=(0, 3, 1)),
            ValueError,
            "m must start within 0 to 3, got 5",
        ),
        (
            lambda: with_sliders(RotationPlane(), ComplexPlane(theta=0.5), theta=(0.0, 1.0, 0.1)),
            ValueError,
            "theta must start equal in all figures, got 0.4 and 0.5",
        ),
        (
            lambda: with_sliders(ScoreExplorer(), m=(0, 20)),
            TypeError,
            r"m must be \(min, max, step\), a list of strings or a bool, got \(0, 20\)",
        ),
        (
            lambda: with_sliders(CacheTimeline(), scenario=["packed", "sliding"]),
            ValueError,
            r"scenario must start at one of \['packed', 'sliding'\], got 'decode'",
        ),
        (
            lambda: with_sliders(CacheTimeline(), scenario=["decode", "full"]),
            ValueError,
            "scenario must be one of 'prefill', .* got 'full'",
        ),
    ],
)
def test_bad_controls_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


# ---- colours


def rgb(shade):
    return np.array([int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def linear(shade):
    channels = rgb(shade)
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """WCAG 2 contrast ratio of two shades."""
    high, low = sorted((linear(x) @ [0.2126, 0.7152, 0.0722] for x in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["q", "k", "angle", "score", "ink", "muted"])
def test_text_in_every_colour_has_contrast(name):
    shades = COLOURS[name]
    assert contrast(shades["light"], COLOURS["ground"]["light"]) >= 4.5
    assert contrast(shades["dark"], COLOURS["ground"]["dark"]) >= 4.5
    # One shade cannot reach 4.5 on both grounds: the grounds themselves are 18.7 to 1.
    assert contrast(shades["both"], COLOURS["ground"]["light"]) >= 4
    assert contrast(shades["both"], COLOURS["ground"]["dark"]) >= 4


# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
BLIND = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(shade, sight):
    """CIE L*a*b* (D65) of a shade as that sight sees it."""
    seen = np.clip(np.array(BLIND[sight]) @ linear(shade), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.maximum(np.array(to_xyz) @ seen / [0.9505, 1, 1.089], 1e-4))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(("shade", "least"), [("light", 15), ("dark", 15), ("both", 12)])
@pytest.mark.parametrize("sight", list(BLIND))
def test_colour_blind_readers_can_tell_the_four_apart(sight, shade, least):
    for a, b in combinations(["q", "k", "angle", "score"], 2):
        difference = lab(COLOURS[a][shade], sight) - lab(COLOURS[b][shade], sight)
        assert np.linalg.norm(difference) > least, (a, b)


def test_css_carries_both_shades_of_every_colour():
    light, dark = css_variables().split("html[data-theme", 1)
    for name, shades in COLOURS.items():
        assert f"--rope-{name}: {shades['light']};" in light
        assert f"--rope-{name}: {shades['dark']};" in dark


def test_formulas_in_the_book_use_the_light_shades():
    light = {shades["light"] for shades in COLOURS.values()}
    book = Path(__file__).parents[1] / "book"
    for page in [*book.rglob("*.ipynb"), *book.rglob("*.md")]:
        used = re.findall(r"\\color\{(#\w+)\}", page.read_text("utf-8"))
        assert {shade.lower() for shade in used} <= light, page


def test_plots_take_their_colours_from_the_same_table():
    with mpl.rc_context():
        plots.use_style()
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"][0] == COLOURS["q"]["both"]
        assert mpl.rcParams["text.color"] == COLOURS["ink"]["both"]
        assert mpl.rcParams["savefig.facecolor"] == mpl.rcParams["axes.facecolor"] == "none"
        width, points = mpl.rcParams["figure.figsize"][0], mpl.rcParams["xtick.labelsize"]
        assert points / 72 / width * 358 >= 11  # pixels high in a picture 358 pixels wide
