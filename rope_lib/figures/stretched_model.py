"""A real model whose positions are multiplied by a number that it never met in training."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice, Positive, Stored


class StretchedModel(Figure):
    """Stored perplexities of a text over the stretch s: every position m becomes s · m.

    ``results`` holds points of ``text``, ``stretch``, ``perplexity`` and ``line`` (what the model
    writes after the setting ``prompt``), as ``rope_lib.notebook.results("stretch")`` returns
    them; empty, the figure says how to make them. ``stretch`` picks the nearest stored s, by ratio.

    ``readout`` names: ``stretch`` (the stored one), ``perplexity``, ``ratio`` (of the perplexity
    to the one at s = 1), ``stored`` (the number of points). Without results only the last.

    Raises:
        ValueError: ``text`` is none of the texts in ``results``.
    """

    parts: ClassVar[tuple[str, ...]] = ("chart.js",)

    results = Stored("text", "stretch", "perplexity", "line", settings=("prompt",))
    text = Choice(None, "code")
    stretch = Positive(1.0)

    @traitlets.validate("text")
    def _text_is_stored(self, proposal: Any) -> Any:
        known = list(dict.fromkeys(point["text"] for point in self.results.get("points", [])))
        if known and proposal["value"] not in known:
            names = ", ".join(map(repr, known))
            raise ValueError(f"text must be one of {names}, got {proposal['value']!r}")
        return proposal["value"]
