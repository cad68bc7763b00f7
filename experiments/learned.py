"""Rotations that learn: their speeds, a speed for each position, or one for each token.

All start as plain RoPE. Two tasks, each measured past the trained length too: bytes of source code,
and letters among blanks, where each letter asks for the one that stood three letters before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from experiments.driver import Lab, Point
from experiments.finetune import parts
from experiments.learned_encodings import ENCODINGS, ByToken, LogTheta, Theta, in_ticks
from experiments.tiny import UNASKED, Batch, Decoder, losses, made, shifted, train
from experiments.tiny_encodings import Settings

MODEL = False
TEXTS = ("code",)
SETTINGS = {
    "seeds": [0, 1, 2],
    "tasks": ["blanks", "code"],
    "encodings": ["fixed", "theta", "log theta", "by position", "by token"],
    "base": 10_000.0,
    "width": 64,
    "layers": 2,
    "heads": 2,
    "trained": 64,
    "times": [1, 2, 4],
    "tokens_a_step": 512,
    "training_steps": 200,
    "training_rate": 4e-3,
    "letters": 8,
    "blank_share": 0.5,
    "letters_back": 3,
    "held_tokens": 8192,
}
QUICK = {
    "seeds": [0],
    "width": 16,
    "heads": 1,
    "trained": 16,
    "times": [1, 2],
    "tokens_a_step": 64,
    "training_steps": 2,
    "held_tokens": 64,
}
KINDS = {"letters": str.isalnum, "spaces": " ".__eq__, "line ends": "\n".__eq__}


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [
        {"task": task, "encoding": name, "seed": seed}
        for task in settings["tasks"]
        for name in settings["encodings"]
        for seed in settings["seeds"]
    ]


def compute(lab: Lab, point: Point) -> Point:
    """Held-out loss at 1, 2, ... times the trained length, and what was learned."""
    settings, seed = lab.settings, point["seed"]
    if point["task"] == "blanks":
        settings = {**settings, "vocabulary": settings["letters"] + 1}
    model = made(settings, ENCODINGS[point["encoding"]], seed)
    train(model, drawn(settings, point["task"], seed), settings, seed)
    return {
        "loss": [measured(model, settings, point["task"], times) for times in settings["times"]],
        **learned(model, settings, point["task"]),
    }


def drawn(settings: Settings, task: str, seed: int) -> Iterator[Batch]:
    """Batches of the trained length."""
    generator, length = torch.Generator().manual_seed(seed), settings["trained"]
    count, data = settings["tokens_a_step"] // length, parts("code")[0]
    while True:
        if task == "blanks":
            yield blanks(settings, count, length, generator)
        else:
            starts = torch.randint(len(data) - length, (count, 1), generator=generator)
            yield shifted(data[starts + torch.arange(length + 1)])


def blanks(settings: Settings, count: int, length: int, generator: torch.Generator) -> Batch:
    """Letters among blanks: each letter asks for the one letters_back letters before it."""
    shape, blank, back = (count, length), settings["letters"], settings["letters_back"]
    ids = torch.randint(blank, shape, generator=generator)
    ids[torch.rand(shape, generator=generator) < settings["blank_share"]] = blank
    targets = torch.full(shape, UNASKED)
    for row, asked in zip(ids, targets, strict=True):
        at = (row != blank).nonzero().flatten()
        asked[at[back:]] = row[at[:-back]]
    return ids, targets


def held(settings: Settings, task: str, times: int) -> Batch:
    """The same windows for every model: (held_tokens / length, length)."""
    length = settings["trained"] * times
    count = settings["held_tokens"] // length
    if task == "blanks":
        return blanks(settings, count, length, torch.Generator().manual_seed(1_000_000))
    data = parts("code")[1]
    starts = torch.linspace(0, len(data) - length - 1, count).long()[:, None]
    return shifted(data[starts + torch.arange(length + 1)])


@torch.no_grad()
def measured(model: Decoder, settings: Settings, task: str, times: int) -> float:
    """Mean loss of the tokens in the last quarter of a window, which see the most."""
    ids, targets = held(settings, task, times)
    last = ids.shape[1] * 3 // 4
    asked = targets[:, last:] != UNASKED
    return float(losses(model, (ids, targets))[:, last:][asked].mean())


@torch.no_grad()
def learned(model: Decoder, settings: Settings, task: str) -> Point:
    """The speeds of each layer, or the ticks of each layer and head by the kind of token."""
    encoding = model.encoding
    if isinstance(encoding, Theta | LogTheta):
        return {"speeds": encoding.speeds().tolist()}
    return {"ticks": ticks(model, settings, task)} if isinstance(encoding, ByToken) else {}


def ticks(model: Decoder, settings: Settings, task: str) -> dict[str, list[list[float]]]:
    """By kind of token: (layers, heads), the mean over the held windows."""
    ids, _ = held(settings, task, 1)
    found: list[torch.Tensor] = []
    for gate in model.encoding.gates:
        gate.register_forward_hook(lambda _, __, out: found.append(in_ticks(out)))
    model(ids)
    return {
        kind: [[float(head[chosen].mean()) for head in layer.unbind(1)] for layer in found]
        for kind, chosen in kinds(settings, task, ids).items()
        if chosen.any()
    }


def kinds(settings: Settings, task: str, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """Which tokens are of which kind, each (b, n)."""
    if task == "blanks":
        blank = ids == settings["letters"]
        return {"blanks": blank, "letters": ~blank}
    found = {
        kind: torch.tensor([is_one(chr(byte)) for byte in range(128)])[ids.clamp(max=127)]
        for kind, is_one in KINDS.items()
    }
    return {**found, "signs": ~torch.stack([*found.values()]).any(0)}
