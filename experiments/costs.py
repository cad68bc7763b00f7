"""What each encoding costs: parameters, time and memory of one attention layer, by length.

Times are of the processor, taken in turns, each as a ratio to the layer without positions in the
same turn. "Kept" has made its tables or its bias before. Memory is what the layer holds for the
backward pass.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import torch

from experiments.driver import Lab, Point
from experiments.tiny import ENCODINGS, Decoder, Encoding, made
from experiments.tiny_encodings import Rotary
from rope_lib import apply_rope
from rope_lib.notebook import seconds_by_turn

MODEL = False
TEXTS = ()
SETTINGS = {
    "lengths": [128, 256, 512, 1024, 2048],
    "encodings": ["none", "T5 bias", "ALiBi", "RoPE"],
    "kept": ["T5 bias", "ALiBi", "RoPE"],
    "width": 256,
    "layers": 1,
    "heads": 4,
    "trained": 512,
    "rounds": 9,
}
QUICK = {"lengths": [16, 24], "width": 8, "heads": 2, "trained": 16, "rounds": 1}


class Kept(Encoding):
    """What another encoding works out of positions alone, worked out once."""

    def __init__(self, encoding: Encoding, positions: torch.Tensor) -> None:
        super().__init__()
        with torch.no_grad():
            self.kept = encoding.bias(positions, 0)
        self.tables = encoding.rope.tables(positions) if isinstance(encoding, Rotary) else None

    def turn(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        positions: torch.Tensor,
        layer: int,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.tables is None:
            return q, k
        return apply_rope(q, *self.tables), apply_rope(k, *self.tables)

    def bias(self, positions: torch.Tensor, layer: int) -> torch.Tensor | None:
        return self.kept


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [{"length": length} for length in settings["lengths"]]


def compute(lab: Lab, point: Point) -> Point:
    """By encoding: ratio of times, MB held for the backward pass, parameters."""
    settings = lab.settings
    positions = torch.arange(point["length"])
    x = torch.randn(1, point["length"], settings["width"])
    models = {name: made(settings, ENCODINGS[name], 0) for name in settings["encodings"]}
    for name in settings["kept"]:
        encoding = Kept(models[name].encoding, positions)
        models[f"{name}, kept"] = made(settings, lambda _, encoding=encoding: encoding, 0)

    @torch.no_grad()
    def layer(model: Decoder) -> None:
        model.mixed(x, positions, 0)

    turns = seconds_by_turn(
        {name: lambda model=model: layer(model) for name, model in models.items()},
        rounds=settings["rounds"],
        clock=time.process_time,
    )
    ratios = {
        name: [time / plain for time, plain in zip(times, turns["none"], strict=True)]
        for name, times in turns.items()
    }
    return {
        "time": {name: statistics.median(each) for name, each in ratios.items()},
        "held": {name: held(model, x, positions) / 1e6 for name, model in models.items()},
        "parameters": {
            name: sum(each.numel() for each in model.encoding.parameters())
            for name, model in models.items()
        },
    }


def held(model: Decoder, x: torch.Tensor, positions: torch.Tensor) -> int:
    """Bytes of all that autograd keeps of one layer, each storage once."""
    storages = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        mixed = model.mixed(x, positions, 0)
    mixed.sum().backward()
    return sum(storages.values())
