"""The wavelength of each pair of a real model, beside the length that it was trained to."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from rope_lib.figures.base import Figure
from rope_lib.figures.models import MODELS, presets
from rope_lib.figures.traits import Base, Choice, HeadSize, Whole


class WavelengthSpectrum(Figure):
    """One mark a pair at its wavelength 2π/θ_j; a pair longer than the trained length is hollow.

    ``model`` is one of ``model_names()``: a preset that RopeConfig read, or "custom", which uses
    ``head_dim``, ``base`` and ``length``. Setting one of the three in the browser chooses "custom".

    ``readout`` names: ``pairs`` (their count), ``complete`` (those that turn once within the
    trained length), ``never`` (the others), ``shortest`` and ``longest`` (wavelengths in tokens).

    Source: Liu et al., Scaling Laws of RoPE-based Extrapolation (arXiv:2310.05209), theorem 1.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js",)

    model = Choice([*MODELS, "custom"], "SmolLM2-135M")
    head_dim = HeadSize(64)
    base = Base(100_000)
    length = Whole(8192, 1, 100_000_000)
    presets = traitlets.Dict().tag(sync=True)  # by name; see rope_lib.figures.models.presets

    @traitlets.default("presets")
    def _read_presets(self) -> dict[str, Any]:
        return presets()

    @classmethod
    def model_names(cls) -> list[str]:
        """Return the names that ``model`` may have, "custom" last."""
        return [*MODELS, "custom"]
