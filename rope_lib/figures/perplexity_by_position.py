"""What an experiment stored of a real model's loss, by position and past its trained length."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice, Positive, Stored


class PerplexityByPosition(Figure):
    """Steps of perplexity over position for one text, one curve a method; ``method`` stands out.

    ``results`` is what the experiment "length" stored, ``rope_lib.notebook.results("length")``:
    points with ``text``, ``method``, ``factor``, ``bins`` (start positions), ``loss`` (mean natural
    log loss of each bin) and ``windowed`` (mean loss of the same tokens in a window that stays
    within 8192). Shown are the curves of ``text`` with ``factor``, and "plain" with any.
    ``measure`` is "perplexity", or "ratio" for that over the perplexity in the window.

    ``readout`` names: ``shown`` (curves in the picture), and where the chosen one is among them
    ``within`` and ``past`` (its perplexity over bins below 8192 and over those from there on) and
    ``window`` (``past`` over the same tokens' perplexity in a window).

    Raises:
        ValueError: ``method`` or ``text`` occurs in none of the points of ``results``.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js",)

    results = Stored("text", "method", "factor", "bins", "loss", "windowed")
    method = Choice(None, "plain")
    text = Choice(None, "code")
    factor = Positive(2)
    measure = Choice(["perplexity", "ratio"], "perplexity")

    @traitlets.validate("method", "text")
    def _is_stored(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        known = list(dict.fromkeys(point[name] for point in self.results.get("points", [])))
        if known and value not in known:
            names = ", ".join(map(repr, known))
            raise ValueError(f"{name} must be one of {names}, got {value!r}")
        return value
