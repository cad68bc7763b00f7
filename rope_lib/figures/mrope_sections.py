"""Which of three axes each pair reads, and where that differs from plain RoPE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import traitlets

from rope_lib.axes import mrope_frequencies
from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Base, Choice, Whole, finite_number

MOST_PAIRS = 128
LONGEST = 32_768


class Shares(traitlets.TraitType[Any, Any]):
    """A synced list of three whole numbers, the pairs of each axis: from 2 to 128 together."""

    def __init__(self, *shares: int) -> None:
        super().__init__()
        self._start = shares
        self.tag(sync=True, input=True)

    def make_dynamic_default(self) -> list[int]:
        return list(self._start)

    def validate(self, obj: Any, value: Any) -> list[int]:
        name = str(self.name)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TypeError(f"{name} must be three whole numbers, got {value!r}")
        numbers = [finite_number(name, share) for share in value]
        if len(numbers) != 3:
            raise ValueError(f"{name} must have 3 numbers, got {len(numbers)}")
        if any(share != int(share) or share < 0 for share in numbers):
            raise ValueError(f"{name} must be whole numbers from 0, got {numbers}")
        if not 2 <= sum(numbers) <= MOST_PAIRS:
            raise ValueError(f"{name} must add up to 2 to {MOST_PAIRS}, got {int(sum(numbers))}")
        return [int(share) for share in numbers]


class MropeSections(Figure):
    """The pairs of one head, each in the lane of the axis it reads: time, row or column.

    ``sections`` counts the pairs of each axis. In ``order`` "chunked" the axes have their pairs one
    after the other, in "interleaved" they take turns. ``time``, ``row`` and ``column`` are the
    position of one token; below the lanes stands the cosine of each pair beside that of plain RoPE
    at position ``time``. A ``pair`` past the last one counts as the last.

    ``readout`` names: ``pairs``, ``time_pairs``, ``row_pairs``, ``column_pairs``, ``axis`` (of the
    chosen pair, 0 to 2), ``position`` (on that axis), ``wavelength``, ``angle``, ``plain_angle``
    (its angle in plain RoPE at ``time``), ``other`` (pairs that read another number than ``time``).

    Sources: Wang et al., Qwen2-VL, arXiv:2409.12191 (chunked); Huang et al., arXiv:2510.23095
    (interleaved). The defaults are those of Qwen2-VL-7B.

    Raises:
        ValueError: the sections are too uneven to be interleaved.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js",)

    sections = Shares(16, 24, 24)
    order = Choice(["chunked", "interleaved"], "chunked")
    base = Base(1_000_000)
    time = Whole(5, 0, LONGEST)
    row = Whole(5, 0, LONGEST)
    column = Whole(5, 0, LONGEST)
    pair = Whole(20, 0, MOST_PAIRS - 1)

    @traitlets.validate("sections", "order")
    def _sections_can_take_turns(self, proposal: Any) -> Any:
        new = {"sections": self.sections, "order": self.order}
        new[proposal["trait"].name] = proposal["value"]
        if new["order"] == "interleaved":
            mrope_frequencies(np.ones(sum(new["sections"])), new["sections"], interleaved=True)
        return proposal["value"]
