"""By what each method of context extension divides the frequency of each pair."""

from __future__ import annotations

from typing import Any, ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Base, Choice, HeadSize, Number, Whole


class SeveralPairs(HeadSize):
    """An even whole number from 4 to 256: with one pair, NTK's first and last pair would differ."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if number < 4:
            raise ValueError(f"{self.name} must be from 4 to 256, got {number}")
        return number


class Stretch(Number):
    """A number from 1 to 1024: new length over trained length."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if not 1 <= number <= 1024:
            raise ValueError(f"{self.name} must be from 1 to 1024, got {number}")
        return number


class ContextScaling(Figure):
    """For each pair, what five scalings divide its frequency by; ``method`` stands out.

    ``method`` is "linear" (PI), "ntk", "dynamic" (at factor · original tokens), "yarn" (ramp from
    32 turns to 1) or "llama3" (blend from 4 turns to 1). LongRoPE is not among them: its divisors
    are lists that a search found for one model, not a formula. A ``pair`` past the last one shows
    the last one.

    ``readout`` names: ``divisor`` (of the chosen pair, by the chosen method), ``kept``, ``blended``
    and ``divided`` (counts of pairs, as rope_lib.scaling.bands), ``attention_factor``, ``turns``
    (of the chosen pair, before scaling, within the original length).

    Source: the docstrings of rope_lib.scaling name the paper of each.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js", "scaled_frequencies.js")

    head_dim = SeveralPairs(64)
    base = Base(100_000)
    original = Whole(8192, 1, 100_000_000)
    factor = Stretch(2)
    method = Choice(["linear", "ntk", "dynamic", "yarn", "llama3"], "yarn")
    pair = Whole(16, 0, 127)
