"""The digits experiment: cells in their places, positions read once, and what is stored."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments import digits, driver
from rope_lib import grid_positions, inverse_frequencies

ROOT = Path(__file__).parents[1]
SETTINGS = {**digits.SETTINGS, **digits.QUICK, "width": 16, "heads": 2}


def model(name, seed=0):
    torch.manual_seed(seed)
    return digits.Vision(SETTINGS, digits.encoding(name, SETTINGS)).double()


def moved(places, *by):
    return dataclasses.replace(places, positions=places.positions + torch.tensor(by))


@pytest.fixture(scope="module")
def pictures():
    return digits.split(SETTINGS)[1][0].double()


def test_patches_run_along_the_rows_and_keep_their_pixels_together():
    picture = torch.arange(24.0).reshape(1, 4, 6)
    first, second, *_, last = digits.patches(picture)[0].tolist()
    assert (first, second, last) == ([0, 1, 6, 7], [2, 3, 8, 9], [16, 17, 22, 23])


def test_a_digit_moves_by_whole_cells(pictures):
    start, far = (
        digits.patches(digits.on_canvas(pictures, *by)).unflatten(1, (6, 6))
        for by in ((0, 0), (2, 1))
    )
    torch.testing.assert_close(far[:, 2:, 1:5], start[:, :4, :4], rtol=0, atol=0)
    assert far[:, :2].abs().sum() == far[:, :, 0].abs().sum() == far[:, :, 5].abs().sum() == 0


def test_positions_that_are_scaled_back_stand_centre_on_centre():
    torch.testing.assert_close(digits.scaled_back(6, 6).positions, digits.cells(6, 6).positions)
    wide = digits.scaled_back(6, 12).positions.reshape(6, 12, 2)
    # Two cells for each old one, a quarter of it to the left and to the right of its centre.
    assert wide[3, :4].tolist() == [[3, -0.25], [3, 0.25], [3, 0.75], [3, 1.25]]
    assert digits.cells(6, 12).stride == 12
    assert digits.scaled_back(6, 12).stride == 6


def test_a_learned_place_is_its_own_vector_and_the_edge_is_the_last():
    learned = digits.Learned(SETTINGS)
    added = learned.add(torch.zeros(1, 36, 16), digits.cells(6, 6))[0]
    torch.testing.assert_close(added, learned.table.flatten(1).T)
    outside = digits.Places(torch.tensor([[2.0, 5.0], [2.0, 8.0], [2.5, 1.0]]), 6)
    same, edge, between = learned.add(torch.zeros(1, 3, 16), outside)[0]
    torch.testing.assert_close(edge, same)
    torch.testing.assert_close(between, learned.table[:, 2:4, 1].mean(1))


def test_the_flat_line_counts_along_the_rows():
    flat = digits.Turned(SETTINGS, "flat").frequencies(9)
    line = np.outer(np.arange(5 * 9), inverse_frequencies(8, 10.0))
    np.testing.assert_allclose(grid_positions(5, 9) @ flat, line, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "is_relative"), [("none", True), ("axial", True), ("mixed", True), ("learned", False)]
)
def test_moving_all_positions_changes_what_is_absolute_and_nothing_else(
    pictures, name, is_relative
):
    canvas, places = digits.on_canvas(pictures), digits.cells(6, 6)
    with torch.no_grad():
        here, there = (model(name)(canvas, each) for each in (places, moved(places, 50, -3)))
    same = torch.allclose(here, there, rtol=0, atol=1e-6)
    assert same is is_relative


@pytest.mark.parametrize("name", ["flat", "axial", "mixed", "learned"])
def test_every_encoding_tells_places_apart_and_none_does_not(pictures, name):
    places = digits.cells(6, 6)
    canvas, far = digits.on_canvas(pictures), digits.on_canvas(pictures).flip(-1)
    with torch.no_grad():
        assert not torch.allclose(model(name)(canvas, places), model(name)(far, places), atol=1e-3)
        none = model("none")
        shuffled = torch.randperm(36)
        one = none(canvas, places)
        cells = digits.patches(canvas)[:, shuffled].reshape(-1, 6, 6, 2, 2)
        again = none(cells.transpose(2, 3).reshape(-1, 12, 12), places)
    torch.testing.assert_close(again, one)


def test_the_learned_speeds_are_stored_as_they_start_and_as_they_end():
    lab = driver.Lab({**digits.SETTINGS, **digits.QUICK})
    mixed = digits.compute(lab, {"encoding": "mixed", "seed": 0})
    assert np.shape(mixed["start"]) == np.shape(mixed["end"]) == (1, 2, 4)
    assert mixed["start"] != mixed["end"]
    assert "start" not in digits.compute(lab, {"encoding": "axial", "seed": 0})


def test_without_positions_nothing_stored_depends_on_a_place():
    stored = json.loads((ROOT / "experiments/results/digits.json").read_text("utf-8"))
    blind = [p["right"] for p in stored["points"] if p["encoding"] == "none"]
    assert blind
    for right in blind:
        places = [f"moved {down} {aside}" for down in range(3) for aside in range(3)]
        assert np.ptp([right[place] for place in places]) < 0.01
        for grid in ("6 9", "9 6", "9 9"):
            assert right[f"resized {grid} raw"] == right[f"resized {grid} scaled"]
