"""The reference pages say what is so: the cheat sheet's code runs, the glossary is whole."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rope_lib import apply_rope, cos_sin, inverse_frequencies

REFERENCE = Path(__file__).parents[1] / "book" / "reference"
# How the sheet spells the two channels of every pair; the code stands there as comments.
SPLITS = {
    "interleaved": "v[..., 0::2], v[..., 1::2]",
    "half": "v[..., :d//2], v[..., d//2:]",
}


@pytest.mark.parametrize("layout", SPLITS)
def test_the_cheat_sheet_s_code_is_apply_rope(layout):
    sheet = (REFERENCE / "cheat-sheet.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", sheet, re.DOTALL)
    assert f"x, y = {SPLITS[layout]}" in code
    v = np.random.default_rng(0).normal(size=(3, 7, 8))
    names = {"np": np, "base": 10_000.0, "d": 8, "positions": np.arange(100, 107), "v": v}
    exec(f"x, y = {SPLITS[layout]}\n{code}", names)
    whole = np.concatenate if layout == "half" else interleave
    cos, sin = cos_sin(names["positions"], inverse_frequencies(8), dtype=np.float64)
    expected = apply_rope(v, cos, sin, layout=layout)
    np.testing.assert_allclose(whole([names["x"], names["y"]], -1), expected, rtol=0, atol=1e-12)


def interleave(parts, axis):
    return np.stack(parts, axis).reshape(*parts[0].shape[:-1], -1)


def test_every_glossary_row_has_both_languages():
    lines = (REFERENCE / "glossary.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    terms = [[cell.strip() for cell in r.strip("|").split("|")] for r in rows]
    terms = [t for t in terms if t[0] != "English"]
    assert len(terms) > 50
    assert all(len(t) == 3 and all(t) for t in terms)
    assert len({t[0] for t in terms}) == len(terms)
