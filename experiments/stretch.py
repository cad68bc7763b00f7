"""All positions multiplied by s: the same order of tokens, other distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.driver import Lab, Point

MODEL = True
TEXTS = ("code", "prose", "mixed")
SETTINGS = {
    "tokens": 1024,
    "prompt": "The three primary colors are",
    "new_tokens": 16,
    "stretches": [
        *(0.25, 0.35, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05),
        *(1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0),
    ],
}
QUICK = {"tokens": 32, "new_tokens": 2, "stretches": [0.5, 1.0]}


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [{"text": text, "stretch": s} for text in TEXTS for s in settings["stretches"]]


def compute(lab: Lab, point: Point) -> Point:
    """Perplexity of the text, and the greedy line after the prompt, which no text changes."""
    stretch = point["stretch"]
    tokens = lab.tokens(point["text"], lab.settings["tokens"])

    def line() -> str:
        prompt, new = lab.settings["prompt"], lab.settings["new_tokens"]
        return lab.model.generate(prompt, new, positions=lambda m: m * stretch)

    return {
        "perplexity": lab.model.perplexity(
            tokens, window=len(tokens), positions=lambda m: m * stretch
        ),
        "line": lab.once(stretch, line),
    }
