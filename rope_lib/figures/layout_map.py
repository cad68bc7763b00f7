"""Where each channel of a head goes when the layout changes, and which two make a pair."""

from __future__ import annotations

from typing import Any, ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Whole


class Channels(Whole):
    """An even whole number from 2 to 64."""

    def validate(self, obj: Any, value: object) -> int:
        number = super().validate(obj, value)
        if number % 2:
            raise ValueError(f"{self.name} must be even, got {number}")
        return number


class LayoutMap(Figure):
    """One head's channels in the interleaved and the half layout, joined where a value moves.

    The first ``rotary_dim`` channels rotate, the rest pass through. So that sliders move freely,
    a ``rotary_dim`` above ``head_dim`` counts as ``head_dim``, and a ``pair`` past the last as
    the last.

    ``readout`` names: ``interleaved_first``, ``interleaved_second``, ``half_first``,
    ``half_second`` (the channels of the chosen pair), ``pairs``, ``passed`` (channels that pass
    through), ``moved`` (channels whose number changes).
    """

    parts: ClassVar[tuple[str, ...]] = ()

    head_dim = Channels(8, 2, 64)
    rotary_dim = Channels(8, 2, 64)
    pair = Whole(1, 0, 31)
