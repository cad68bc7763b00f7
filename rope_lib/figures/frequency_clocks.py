"""One clock for each pair of channels, from the fastest to the slowest."""

from __future__ import annotations

from typing import Any

from rope_lib.figures.base import Figure, Number


class HeadSize(Number):
    """An even whole number from 2 to 256."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if not 2 <= number <= 256:
            raise ValueError(f"{self.name} must be from 2 to 256, got {number}")
        if number % 2:
            raise ValueError(f"{self.name} must be even, got {number}")
        return int(number)


class Base(Number):
    """A number greater than 1, so that later pairs turn more slowly."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if number <= 1:
            raise ValueError(f"{self.name} must be greater than 1, got {number}")
        return number


class FrequencyClocks(Figure):
    """head_dim / 2 dials; the hand of pair j stands at position · θ_j, θ_j = base^(-2j/head_dim).

    ``readout`` names: ``pairs`` (their count), ``completed`` (pairs past a full turn), ``fastest``
    and ``slowest`` (wavelengths in tokens).

    Source: Su et al., RoFormer (arXiv:2104.09864), section 3.2.2.
    """

    head_dim = HeadSize(32)
    base = Base(10_000)
    position = Number(5)
