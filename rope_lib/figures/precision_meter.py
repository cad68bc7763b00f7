"""What a number format does to the angle of a pair, and to the cosines of all pairs."""

from __future__ import annotations

from typing import ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Base, Choice, HeadSize, Whole


class PrecisionMeter(Figure):
    """The angle position · θ_j when one factor, or the product, is rounded to a number format.

    ``dtype`` is "float32", "float16", "bfloat16" or "tf32" (10 bits after the point, as matrix
    units round); ``rounded`` is "positions", "inv_freq" or "angles". Everything else is computed
    in float64, and rounding is to nearest, ties to even. A ``pair`` past the last counts as the
    last.

    ``readout`` names: ``stored`` (the position as stored), ``gap`` (between the numbers of the
    format where the rounded quantity lies), ``angle_error`` (radians, chosen pair: rounded minus
    true), ``angle`` (radians, true), ``worst`` (the largest error of a cosine over the pairs, as
    an absolute value), ``worst_pair``, ``off`` (pairs whose cosine is off by more than 0.1),
    ``pairs``. A number that does not exist is left out: float16 has no finite number from 65520.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js", "formats.js")

    position = Whole(257)
    pair = Whole(0, 0, 127)
    head_dim = HeadSize(64)
    base = Base(10_000)
    dtype = Choice(["float32", "float16", "bfloat16", "tf32"], "bfloat16")
    rounded = Choice(["positions", "inv_freq", "angles"], "positions")
