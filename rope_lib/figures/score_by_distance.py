"""The score of one query and one key against their distance, and who decides where it peaks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rope_lib.angles import cos_sin
from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Base, Choice, HeadSize, Whole
from rope_lib.frequencies import inverse_frequencies
from rope_lib.rotary import apply_rope

FARTHEST = 8192
_MULTIPLIER, _MODULUS = 16_807, 2**31 - 1  # Park and Miller's generator: exact in a float64


class ScoreByDistance(Figure):
    """(R_r q) · k / head_dim for r = m - n from 0 to ``max_distance``, for three choices of q, k.

    ``kind`` is "equal" (q and k all ones), "random" (two fixed vectors) or "aimed" (q all ones,
    k = R_peak q, which scores highest at distance ``peak``). All have length √head_dim, so the
    score is the cosine of the angle between them. ``vectors`` gives them to Python.

    ``readout`` names: ``score`` (at ``distance``), ``at_zero``, ``largest`` and ``largest_at`` (the
    highest score from 0 to the end of the axis, and its distance), ``bound`` (RoFormer's bound on
    the size of the score at ``distance``, by Abel summation).

    Source: Su et al., RoFormer (arXiv:2104.09864), section 3.4.3; Barbero et al., Round and Round
    We Go! (arXiv:2410.06205), for random and aimed vectors.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js", "score_curve.js")

    head_dim = HeadSize(64)
    base = Base(10_000)
    kind = Choice(["equal", "random", "aimed"], "equal")
    distance = Whole(16, 0, FARTHEST)
    peak = Whole(0, 0, FARTHEST)
    max_distance = Whole(4096, 16, FARTHEST)

    def vectors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return q and k before rotation, NumPy float64, shape (head_dim,), interleaved layout."""
        if self.kind == "random":
            numbers = _listed_numbers(2 * self.head_dim)
            q, k = numbers[: self.head_dim], numbers[self.head_dim :]
            size = np.sqrt(self.head_dim)
            return q * size / np.linalg.norm(q), k * size / np.linalg.norm(k)
        ones = np.ones(self.head_dim)
        if self.kind == "equal":
            return ones, ones.copy()
        inv_freq = inverse_frequencies(self.head_dim, self.base)
        tables = cos_sin([float(self.peak)], inv_freq, dtype=np.float64)
        return ones, apply_rope(ones[None], *tables)[0]


def _listed_numbers(count: int) -> NDArray[np.float64]:
    """The same numbers between -1 and 1 on every machine, and in the figure's JavaScript."""
    state, found = 1, []
    for _ in range(count):
        state = _MULTIPLIER * state % _MODULUS
        found.append(2.0 * state / _MODULUS - 1.0)
    return np.array(found)
