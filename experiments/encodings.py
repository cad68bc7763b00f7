"""Seven encodings in one decoder: what they learn, and what is left of it on longer windows.

The same weights to start from, the same batches and the same number of steps for all; only the
encoding differs. Measured at the trained length, at twice and at four times it. Of the encodings
that add to the embedding, also how much of what the first layer reads still depends on the token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from experiments.driver import Lab, Point
from experiments.tiny import ENCODINGS, UNASKED, Decoder, made, missed, norm, train
from experiments.tiny_encodings import Sinusoidal, T5Bias
from experiments.tiny_tasks import TASKS

MODEL = False
TEXTS = ("code",)
SETTINGS = {
    "seeds": [0, 1, 2],
    "tasks": list(TASKS),
    "encodings": list(ENCODINGS),
    "others": {
        "sinusoidal, full size": ["code"],
        "T5 bias, unit 1": ["code", "copy", "retrieval", "motif"],
    },
    "width": 64,
    "layers": 2,
    "heads": 4,
    "trained": 64,
    "times": [1, 2, 4],
    "tokens_a_step": 512,
    "training_steps": 150,
    "training_rate": 4e-3,
    "curve": 10,
    "held_tokens": 4096,
    "bin": 32,
}
QUICK = {
    "seeds": [0],
    "width": 8,
    "layers": 1,
    "heads": 1,
    "trained": 32,
    "times": [1, 2],
    "tokens_a_step": 64,
    "training_steps": 2,
    "curve": 2,
    "held_tokens": 128,
    "bin": 16,
}
OTHERS = {
    "sinusoidal, full size": lambda settings: Sinusoidal(settings, scaled=False),
    "T5 bias, unit 1": lambda settings: T5Bias(settings, unit=1.0),
}
"""The same encodings where a number that seems not to matter is another."""


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [
        {"seed": seed, "task": task, "encoding": name}
        for seed in settings["seeds"]
        for task in settings["tasks"]
        for name in (
            *settings["encodings"],
            *(name for name, tasks in settings["others"].items() if task in tasks),
        )
    ]


def compute(lab: Lab, point: Point) -> Point:
    """The curve of the training, the loss and accuracy by length, and by position at the last."""
    seed, task = point["seed"], TASKS[point["task"]]
    settings = {**lab.settings, "vocabulary": task.vocabulary}
    model = made(settings, {**ENCODINGS, **OTHERS}[point["encoding"]], seed)
    before = token_share(model, settings)
    curve = torch.tensor(train(model, task.batches(settings, seed), settings, seed))
    return {
        "curve": [float(part.mean()) for part in curve.chunk(settings["curve"])],
        **measured(model, point["task"], settings, seed),
        "token_share": [before, token_share(model, settings)],
    }


@torch.no_grad()
def measured(model: Decoder, task: str, settings: Mapping[str, Any], seed: int) -> Point:
    """Loss and share of right answers at each length; loss by position at the longest."""
    found: Point = {"loss": [], "accuracy": []}
    for times in settings["times"]:
        length = times * settings["trained"]
        generator = torch.Generator().manual_seed(seed + 1000)
        ids, targets = TASKS[task].measured(settings["held_tokens"] // length, length, generator)
        asked, logits = targets != UNASKED, model(ids)
        loss = missed(logits, targets)
        found["loss"].append(float(loss[asked].mean()))
        right = logits.argmax(-1) == targets
        found["accuracy"].append(float(right[asked].float().mean()))
    parts = zip(loss.split(settings["bin"], 1), asked.split(settings["bin"], 1), strict=True)
    found["by_position"] = [float(each[ask].mean()) if ask.any() else None for each, ask in parts]
    return found


@torch.no_grad()
def token_share(model: Decoder, settings: Mapping[str, Any]) -> float:
    """The share of the variance of what the first layer reads that its tokens explain.

    Over all tokens at all trained positions, as it is left when each is averaged over positions.
    """
    positions = torch.arange(settings["trained"])
    tokens = model.embedding.weight[:, None].expand(-1, settings["trained"], -1)
    read = norm(model.encoding.embed(tokens, positions))  # (vocabulary, trained, width)
    whole = (read - read.mean((0, 1))).square().mean((0, 1)).sum()
    of_tokens = (read.mean(1) - read.mean((0, 1))).square().mean(0).sum()
    return float(of_tokens / whole)
