"""RoPE with other head sizes and other bases, in the decoder of `encodings`.

Head sizes: heads times head_dim stays the same, and with it every weight matrix; the width of the
decoder is not theirs, so that one head of 256 channels fits. Bases: the decoder as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.driver import Lab, Point
from experiments.encodings import measured
from experiments.tiny import ENCODINGS, made, train
from experiments.tiny_tasks import TASKS

MODEL = False
TEXTS = ("code",)
SETTINGS = {
    "seeds": [0, 1, 2],
    "tasks": ["code", "retrieval"],
    "head_dims": [16, 32, 64, 128, 256],
    "bases": [1e2, 1e3, 1e4, 1e5, 1e6, 1e7],
    "channels": 256,
    "width": 64,
    "layers": 2,
    "heads": 4,
    "trained": 64,
    "times": [1, 2, 4],
    "tokens_a_step": 512,
    "training_steps": 120,
    "training_rate": 4e-3,
    "held_tokens": 4096,
    "bin": 32,
}
QUICK = {
    "seeds": [0],
    "tasks": ["code"],
    "head_dims": [2, 4],
    "bases": [1e2],
    "channels": 4,
    "width": 8,
    "layers": 1,
    "heads": 1,
    "trained": 32,
    "times": [1, 2],
    "tokens_a_step": 64,
    "training_steps": 2,
    "held_tokens": 128,
    "bin": 16,
}


def points(settings: Mapping[str, Any]) -> list[Point]:
    changes = [{"head_dim": dim} for dim in settings["head_dims"]]
    changes += [{"base": base} for base in settings["bases"]]
    return [
        {"seed": seed, "task": task, **change}
        for seed in settings["seeds"]
        for change in changes
        for task in settings["tasks"]
    ]


def compute(lab: Lab, point: Point) -> Point:
    """The last part of the training, and the loss and accuracy by length."""
    seed, task = point["seed"], TASKS[point["task"]]
    settings = {**lab.settings, "vocabulary": task.vocabulary, **point}
    if "head_dim" in point:
        channels = settings["channels"]
        settings |= {"inner": channels, "heads": channels // point["head_dim"]}
    model = made(settings, ENCODINGS["RoPE"], seed)
    curve = train(model, task.batches(settings, seed), settings, seed)
    last = len(curve) // 10 + 1
    return {"last": sum(curve[-last:]) / last, **measured(model, point["task"], settings, seed)}
