"""One clock for each pair of channels, from the fastest to the slowest."""

from __future__ import annotations

from typing import ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Base, HeadSize, Number


class FrequencyClocks(Figure):
    """head_dim / 2 dials; the hand of pair j stands at position · θ_j, θ_j = base^(-2j/head_dim).

    ``readout`` names: ``pairs`` (their count), ``completed`` (pairs past a full turn), ``fastest``
    and ``slowest`` (wavelengths in tokens).

    Source: Su et al., RoFormer (arXiv:2104.09864), section 3.2.2.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    head_dim = HeadSize(32)
    base = Base(10_000)
    position = Number(5)
