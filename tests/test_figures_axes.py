"""AxialGrid and MropeSections: their JavaScript against rope_lib, drawing, and refusals."""

import re

import numpy as np
import pytest
import test_figures_js as node
from test_figures_js import drawing, grid, inputs, text_of

from rope_lib import (
    apply_rope,
    axes_cos_sin,
    axial_frequencies,
    cos_sin,
    grid_positions,
    inverse_frequencies,
    mixed_frequencies,
    mrope_frequencies,
)
from rope_lib.figures import AxialGrid, MropeSections, with_sliders

run = node.run  # the fixture
CLOSE = {"rtol": 0, "atol": 1e-9}


# ---- values


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (
            AxialGrid(kind="mixed", row=3),
            "AxialGrid(rows=4, columns=6, row=3, column=2, pair=0, head_dim=16, kind='mixed', "
            "heading=0.5, base=10)",
        ),
        (
            MropeSections(order="interleaved", sections=(24, 20, 20)),
            "MropeSections(sections=[24, 20, 20], order='interleaved', base=1000000, time=5, "
            "row=5, column=5, pair=20)",
        ),
    ],
)
def test_repr_is_short_and_the_same_each_time(figure, text):
    assert repr(figure) == text


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: AxialGrid(head_dim=10), ValueError, "head_dim must divide by 4, got 10"),
        (lambda: AxialGrid(head_dim=36), ValueError, "head_dim must be from 4 to 32, got 36"),
        (lambda: AxialGrid(rows=1), ValueError, "rows must be from 2 to 8, got 1"),
        (lambda: AxialGrid(kind="3-D"), ValueError, "kind must be one of 'axial', "),
        (lambda: MropeSections(sections=3), TypeError, "must be three whole numbers, got 3"),
        (lambda: MropeSections(sections=[1, 2]), ValueError, "must have 3 numbers, got 2"),
        (lambda: MropeSections(sections=[1, 2.5, 1]), ValueError, "must be whole numbers from 0"),
        (lambda: MropeSections(sections=[5, -1, 5]), ValueError, "must be whole numbers from 0"),
        (lambda: MropeSections(sections=[0, 1, 0]), ValueError, "add up to 2 to 128, got 1"),
        (lambda: MropeSections(sections=[99, 20, 20]), ValueError, "add up to 2 to 128, got 139"),
        (
            lambda: MropeSections(order="interleaved"),
            ValueError,
            r"sections\[1\] must be at most 21 to interleave 3 axes over 64 pairs, got 24",
        ),
    ],
)
def test_bad_values_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_sections_that_cannot_take_turns_are_refused_later_too():
    figure = MropeSections(sections=[24, 20, 20], order="interleaved")
    with pytest.raises(ValueError, match="got 24"):
        figure.sections = [16, 24, 24]
    assert figure.sections == [24, 20, 20]


def test_two_figures_do_not_share_their_sections():
    MropeSections().sections.append(1)
    assert MropeSections().sections == [16, 24, 24]


# ---- the grid of patches


def of_library(state):
    """Positions and frequencies of a state, from rope_lib."""
    rows, columns, dim, base = (state[name] for name in ("rows", "columns", "head_dim", "base"))
    half = inverse_frequencies(dim // 2, base)
    axial = axial_frequencies(half, half)
    cells = grid_positions(rows, columns)
    return {
        "axial": (cells, axial),
        "mixed": (cells, mixed_frequencies(dim, [state["heading"]], base=base)[0]),
        "flat": (np.arange(rows * columns)[:, None], inverse_frequencies(dim, base)[None]),
        "transposed": (grid_positions(columns, rows)[:, ::-1], axial),
    }[state["kind"]]


@pytest.mark.parametrize("kind", ["axial", "mixed", "flat", "transposed"])
def test_a_grid_scores_as_the_library_does(run, kind):
    states = grid(
        rows=[2, 4], columns=[2, 3, 8], row=[0, 1, 7], column=[1, 7], pair=[0, 5, 15],
        head_dim=[4, 16, 32], kind=[kind], heading=[-2.0, 0.5], base=[1.5, 10, 10_000],
    )  # fmt: skip
    for state, js in zip(states, run({"figure": "AxialGrid", "states": states}), strict=True):
        rows, columns, dim = (state[name] for name in ("rows", "columns", "head_dim"))
        positions, inv_freq = of_library(state)
        tables = axes_cos_sin(positions, inv_freq, dtype=np.float64)
        turned = apply_rope(np.ones((rows * columns, dim)), *tables)
        row, column = min(state["row"], rows - 1), min(state["column"], columns - 1)
        chosen = row * columns + column
        scores = turned @ turned[chosen] / dim
        pair = min(state["pair"], dim // 2 - 1)
        np.testing.assert_allclose(js["scores"], scores, **CLOSE)
        np.testing.assert_allclose(js["angles"], positions @ inv_freq[:, pair], **CLOSE)
        assert js["angle"] == js["angles"][chosen]
        assert js["lowest"] == pytest.approx(scores.min(), rel=0, abs=1e-9)
        assert js["pairs"] == dim // 2
        table = scores.reshape(rows, columns)
        beside = table[row, column + 1] if column + 1 < columns else None
        under = table[row + 1, column] if row + 1 < rows else None
        for found, expected in ((js["right"], beside), (js["below"], under)):
            assert (found is None) == (expected is None)
            assert expected is None or found == pytest.approx(expected, rel=0, abs=1e-9)
        if kind in ("axial", "mixed"):
            both = [js["row_frequency"], js["column_frequency"]]
            np.testing.assert_allclose(both, inv_freq[:, pair], **CLOSE)


def test_the_flat_line_is_two_axes_of_which_one_is_a_row_long_in_a_step(run):
    figure = AxialGrid(kind="flat", columns=7, pair=3)
    (js,) = run({"figure": "AxialGrid", "states": [inputs(figure)]})
    assert js["row_frequency"] == pytest.approx(7 * js["column_frequency"])
    assert js["column_frequency"] == pytest.approx(inverse_frequencies(16, 10)[3])


def test_patches_with_anothers_position_are_dashed_only_in_the_transposed_grid(run):
    changes = [("kind", "transposed"), ("columns", 4), ("kind", "flat")]
    axial, wide, square, flat = (
        step["html"].count("rope-moved") for step in drawing(run, AxialGrid(), *changes)["steps"]
    )
    # Row by row and column by column agree on the first and last patch of 4 × 6,
    # and on the diagonal of 4 × 4.
    assert (axial, wide, square, flat) == (0, 22, 12, 0)


def test_keys_and_taps_choose_a_patch_and_stay_on_the_grid(run):
    keys = ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp", "ArrowUp", "Home"]
    changes = [("patch", {"key": key}) for key in keys]
    # 64 units a cell, from 60 to the right and 24 down.
    changes += [("patch", {"tap": [60 + 64 * 4.5, 24 + 64 * 3.5]}), ("patch", {"tap": [999, 999]})]
    steps = drawing(run, AxialGrid(), *changes)["steps"]
    assert [(step["row"], step["column"]) for step in steps] == [
        (1, 2), (1, 3), (2, 3), (2, 2), (1, 2), (0, 2), (0, 2), (0, 2), (3, 4), (3, 5),
    ]  # fmt: skip
    assert 'aria-valuetext="row 3, column 5"' in steps[-1]["html"]
    assert "no such patch" in text_of(steps[-1]["html"])
    assert steps[-1]["readout"].keys() >= {"lowest", "angle"}
    assert not steps[-1]["readout"].keys() & {"right", "below"}


# ---- the three axes


@pytest.mark.parametrize("order", ["chunked", "interleaved"])
def test_pairs_read_the_axes_that_the_library_gives_them(run, order):
    states = grid(
        sections=[[24, 20, 20], [2, 1, 1], [4, 0, 1], [11, 11, 10]], order=[order],
        base=[100, 1_000_000], time=[0, 6], row=[6, 8], column=[11, 32_768], pair=[0, 2, 127],
    )  # fmt: skip
    results = run({"figure": "MropeSections", "states": states})
    for state, js in zip(states, results, strict=True):
        pairs = sum(state["sections"])
        theta = inverse_frequencies(2 * pairs, state["base"])
        matrix = mrope_frequencies(theta, state["sections"], interleaved=order == "interleaved")
        triple = np.array([state["time"], state["row"], state["column"]])
        axes = matrix.argmax(axis=0)
        assert js["axes"] == axes.tolist()
        np.testing.assert_allclose(js["angles"], triple @ matrix, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(js["plain"], state["time"] * theta, rtol=1e-12, atol=1e-9)
        pair = min(state["pair"], pairs - 1)
        assert (js["axis"], js["position"]) == (axes[pair], triple[axes[pair]])
        assert js["wavelength"] == pytest.approx(2 * np.pi / theta[pair])
        assert (js["angle"], js["plain_angle"]) == (js["angles"][pair], js["plain"][pair])
        counts = [js[f"{name}_pairs"] for name in ("time", "row", "column")]
        assert counts == state["sections"]
        assert js["other"] == (triple[axes] != state["time"]).sum()


def test_text_is_drawn_on_the_curve_of_plain_rope(run):
    figure = MropeSections(time=7, row=7, column=7)
    text, picture, back = drawing(run, figure, ("row", 9), ("row", 7))["steps"]
    assert "none: it is plain RoPE" in text_of(text["html"])
    assert "24 of 64" in text_of(picture["html"])
    paths = [re.search(r'<path[^>]*rope-gaps"[^>]*>', s["html"])[0] for s in (text, picture, back)]
    gaps = [re.search(r' d="([^"]*)"', path)[1] for path in paths]
    assert [gap.count("M") for gap in gaps] == [0, 24, 0]
    tables = axes_cos_sin(
        np.full((1, 3), 7), mrope_frequencies(inverse_frequencies(128), [16, 24, 24])
    )
    for found, plain in zip(tables, cos_sin([7], inverse_frequencies(128)), strict=True):
        np.testing.assert_array_equal(found, plain)


def test_keys_move_the_knob_of_the_pairs(run):
    changes = [("pair", {"key": key}) for key in ("ArrowRight", "End", "Home")]
    steps = drawing(run, MropeSections(), *changes)["steps"]
    assert [step["pair"] for step in steps] == [20, 21, 63, 0]
    assert 'aria-valuetext="pair 0 reads the time"' in steps[-1]["html"]


@pytest.mark.parametrize(
    "figure",
    [
        AxialGrid(rows=2, columns=2, head_dim=4, base=1e30),
        AxialGrid(rows=8, columns=8, head_dim=32, row=7, column=7, pair=15, kind="mixed"),
        AxialGrid(rows=8, columns=2, kind="transposed", heading=-100),
        MropeSections(sections=[2, 0, 0], pair=127, base=1e30),
        MropeSections(sections=[44, 42, 42], order="interleaved", time=32_768, row=0, column=0),
    ],
    ids=repr,
)
def test_extreme_states_still_draw(run, figure):
    html = drawing(run, figure)["steps"][0]["html"]
    assert not re.search(r"NaN|undefined|Infinity", html)


def test_both_have_controls_for_all_that_a_reader_moves():
    with_sliders(AxialGrid(), kind=["axial", "flat"], columns=(2, 8, 1), pair=(0, 7, 1))
    figure = MropeSections(sections=[24, 20, 20])
    with_sliders(figure, order=["chunked", "interleaved"], time=(0, 40, 1), pair=(0, 63, 1))
