"""RoPE on a part: of the channels, of the layers, or beside absolute positions.

One model, one budget, bytes of source code; only the encoding differs. Each is measured at the
trained length and past it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from experiments import learned
from experiments.driver import Lab, Point
from experiments.tiny import made, train
from experiments.tiny_encodings import Encoding, Rotary, Settings
from rope_lib.nn import RotaryEmbedding

MODEL = False
TEXTS = ("code",)
SETTINGS = {
    "seeds": [0, 1, 2],
    "encodings": [
        "none",
        "quarter",
        "half",
        "all",
        "fastest quarter",
        "first layer",
        "second layer",
        "absolute, then RoPE",
        "absolute in blocks",
    ],
    "base": 10_000.0,
    "width": 64,
    "layers": 2,
    "heads": 2,
    "trained": 64,
    "block": 16,
    "times": [1, 2, 4],
    "tokens_a_step": 512,
    "training_steps": 200,
    "training_rate": 4e-3,
    "held_tokens": 8192,
}
QUICK = {**learned.QUICK, "block": 4}


def head_dim(settings: Settings) -> int:
    size: int = settings["width"] // settings["heads"]
    return size


def part(settings: Settings, share: float) -> Encoding:
    """The first channels of each head turn; the exponent of θ_j runs over these alone."""
    size, base = head_dim(settings), settings["base"]
    rope = RotaryEmbedding(size, base=base, rotary_dim=int(share * size))
    return Rotary(settings, rope=rope)


def fastest(settings: Settings, share: float) -> Encoding:
    """The exponent runs over all channels, and the slow pairs rest."""
    scaling = {"rope_type": "proportional", "partial_rotary_factor": share}
    rope = RotaryEmbedding(head_dim(settings), base=settings["base"], scaling=scaling)
    return Rotary(settings, rope=rope)


class Absolute(Rotary):
    """A learned vector for each position modulo a period, added; RoPE in some layers."""

    def __init__(self, settings: Settings, period: int, turned: Callable[[int], bool]) -> None:
        super().__init__(settings, turned)
        self.table = nn.Parameter(torch.randn(period, settings["width"]))
        with torch.no_grad():
            self.table *= settings["width"] ** -0.5  # as long as a token's vector, on average

    def embed(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return x + self.table[positions % len(self.table)]


ENCODINGS: dict[str, Callable[[Settings], Encoding]] = {
    "none": lambda settings: Encoding(),
    "quarter": lambda settings: part(settings, 0.25),
    "half": lambda settings: part(settings, 0.5),
    "all": Rotary,
    "fastest quarter": lambda settings: fastest(settings, 0.25),
    "first layer": lambda settings: Rotary(settings, lambda layer: layer == 0),
    "second layer": lambda settings: Rotary(settings, lambda layer: layer == 1),
    # A row for every position that is measured; those past the trained length stay as drawn.
    "absolute, then RoPE": lambda settings: Absolute(
        settings, max(settings["times"]) * settings["trained"], lambda layer: layer == 1
    ),
    "absolute in blocks": lambda settings: Absolute(
        settings, settings["block"], lambda layer: True
    ),
}


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [
        {"encoding": name, "seed": seed}
        for name in settings["encodings"]
        for seed in settings["seeds"]
    ]


def compute(lab: Lab, point: Point) -> Point:
    """Held-out loss at 1, 2, ... times the trained length."""
    settings, seed = lab.settings, point["seed"]
    model = made(settings, ENCODINGS[point["encoding"]], seed)
    train(model, learned.drawn(settings, "code", seed), settings, seed)
    return {"loss": [learned.measured(model, settings, "code", n) for n in settings["times"]]}
