"""Loss by position past the trained length, with each scaling at factor 2 and no training.

Different places of a text are not equally hard. "windowed" is the loss of the same tokens when
none stands past the trained length: the text is read again in windows of that length, which start
every quarter of it, counted from position 0 each, without scaling. A token past the trained length
is taken from the first window that holds it, where it has three quarters of a window or more of
text before it. Tokens within the trained length need no other window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from experiments.driver import Lab, Point
from rope_lib import scaling

MODEL = True
TEXTS = ("code", "prose", "mixed")
SETTINGS = {"tokens": 12_288, "trained": 8192, "bin": 512, "factor": 2.0}
QUICK = {"tokens": 96, "trained": 64, "bin": 16}
METHODS = ("plain", "yarn", "ntk", "dynamic", "linear")


def points(settings: Mapping[str, Any]) -> list[Point]:
    factors = dict.fromkeys(METHODS, settings["factor"]) | {"plain": 1.0}
    return [
        {"text": text, "method": method, "factor": factors[method]}
        for text in TEXTS
        for method in METHODS
    ]


def compute(lab: Lab, point: Point) -> Point:
    """The mean loss of the tokens in each bin of positions, named by its first."""
    tokens = lab.tokens(point["text"], lab.settings["tokens"])
    found = frequencies(lab, point["method"], len(tokens))
    ours = [other for other in lab.done if other["text"] == point["text"]]
    for other in ours:
        if equal(found, frequencies(lab, other["method"], len(tokens))):
            return {name: other[name] for name in ("bins", "loss", "windowed")}
    losses = lab.model.token_losses(tokens, scaling=found)
    return {
        "bins": list(range(0, len(tokens), lab.settings["bin"])),
        "loss": in_bins(lab, losses),
        "windowed": ours[0]["windowed"] if ours else in_bins(lab, windowed(lab, tokens, losses)),
    }


def frequencies(lab: Lab, method: str, length: int) -> scaling.Frequencies:
    """Those of a method; dynamic ones as they are once the whole text has been read."""
    rope, factor, trained = lab.model.rope, lab.settings["factor"], lab.settings["trained"]
    if method == "plain":
        return scaling.default(rope.rotary_dim, rope.base)
    parameters: dict[str, Any] = {"rope_type": method, "factor": factor}
    if method in ("yarn", "dynamic"):
        parameters["original_max_position_embeddings"] = trained
    return scaling.from_parameters(rope.rotary_dim, rope.base, parameters, seq_len=length)


def equal(a: scaling.Frequencies, b: scaling.Frequencies) -> bool:
    """Dynamic frequencies of factor 2 are those of ntk once the text is 1.5 trained lengths."""
    return np.array_equal(a.inv_freq, b.inv_freq) and a.attention_factor == b.attention_factor


def windowed(lab: Lab, tokens: list[int], losses: torch.Tensor) -> torch.Tensor:
    """Losses of the plain model, with those past the trained length from later windows."""
    trained = lab.settings["trained"]
    step = trained // 4
    parts = [losses[: trained - 1]]
    for start in range(step, len(tokens) - trained + 1, step):
        parts.append(lab.model.token_losses(tokens[start : start + trained])[-step:])
    return torch.cat(parts)


def in_bins(lab: Lab, losses: torch.Tensor) -> list[float]:
    """Means over the tokens of each bin; the first token of all has no loss."""
    size = lab.settings["bin"]
    first, *rest = torch.split(torch.cat([losses[:1], losses]), size)
    return [float(part.double().mean()) for part in (first[1:], *rest)]
