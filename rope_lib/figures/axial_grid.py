"""A grid of patches: the score of one with every other, and how far a pair turns in each."""

from __future__ import annotations

from typing import Any, ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Base, Choice, Number, Whole


class FourChannels(Whole):
    """A whole number from 4 to 32 that divides by 4."""

    def __init__(self, default: int) -> None:
        super().__init__(default, 4, 32)

    def validate(self, obj: Any, value: object) -> int:
        number = super().validate(obj, value)
        if number % 4:
            raise ValueError(f"{self.name} must divide by 4, got {number}")
        return number


class AxialGrid(Figure):
    """Scores of equal queries and keys on a grid of patches, read row by row.

    ``kind`` says how a patch is placed: "axial" (half of the pairs turn with the row, half with the
    column), "mixed" (every pair with both: half along ``heading``, in radians from the row axis,
    half at right angles to it), "flat" (one number a patch, counted along the rows), or
    "transposed" (axial, with a list of positions that runs down the columns: a bug). ``base`` sets
    the ladder of frequencies. A ``row``, ``column`` or ``pair`` past the last counts as the last.

    ``readout`` names: ``right`` and ``below`` (score with those neighbours, where they exist),
    ``lowest`` (score), ``pairs``, ``row_frequency`` and ``column_frequency`` (of the chosen pair,
    in radians a step), ``angle`` (of that pair in the chosen patch).

    Source: axial and mixed, Heo et al., RoPE-ViT, arXiv:2403.13298.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    rows = Whole(4, 2, 8)
    columns = Whole(6, 2, 8)
    row = Whole(1, 0, 7)
    column = Whole(2, 0, 7)
    pair = Whole(0, 0, 15)
    head_dim = FourChannels(16)
    kind = Choice(["axial", "mixed", "flat", "transposed"], "axial")
    heading = Number(0.5)
    base = Base(10)
