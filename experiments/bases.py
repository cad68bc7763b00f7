"""The model with other bases than it was trained with, and with a third of its pairs unturned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.driver import Lab, Point

MODEL = True
TEXTS = ("code", "prose")
SETTINGS = {
    "tokens": [1024, 4096],
    "bases": [1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 1e7],
    "thirds": {"high": [0, 10], "middle": [11, 20], "low": [21, 31]},
}
QUICK = {
    "tokens": [16, 32],
    "bases": [1e3, 1e4],
    "thirds": {"high": [0, 2], "middle": [3, 4], "low": [5, 7]},
}


def points(settings: Mapping[str, Any]) -> list[Point]:
    """Short before long. "dropped" names the frequencies that do not turn."""
    return [
        {"text": text, "tokens": tokens, **change}
        for tokens in settings["tokens"]
        for text in TEXTS
        for change in (
            *({"base": base} for base in settings["bases"]),
            *({"dropped": third} for third in settings["thirds"]),
        )
    ]


def compute(lab: Lab, point: Point) -> Point:
    tokens = lab.tokens(point["text"], point["tokens"])
    how: dict[str, Any] = {"base": point.get("base")}
    if "dropped" in point:
        first, last = lab.settings["thirds"][point["dropped"]]
        pairs = range(lab.model.rope.rotary_dim // 2)
        how["rotate_pairs"] = [pair for pair in pairs if not first <= pair <= last]
    return {"perplexity": lab.model.perplexity(tokens, window=len(tokens), **how)}
