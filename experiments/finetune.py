"""A tiny byte-level model, trained here at length 128, stretched to 512 with a short fine-tune.

It reads the first four fifths of the three texts and is measured on the rest: windows of 512 bytes,
each from position 0. All three ways to stretch it start from the same weights and see the same
batches; "nothing" keeps the frequencies as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from experiments.driver import Lab, Point, read
from experiments.tiny import Decoder, learn, losses, shifted, train
from experiments.tiny_encodings import Rotary
from rope_lib import scaling
from rope_lib.nn import RotaryEmbedding

MODEL = False
TEXTS = ("code", "prose", "mixed")
SETTINGS = {
    "seeds": [0, 1, 2],
    "methods": ["nothing", "linear", "yarn"],
    "base": 10_000.0,
    "width": 64,
    "layers": 3,
    "heads": 2,
    "trained": 128,
    "stretched": 512,
    "bytes_a_step": 2048,
    "training_steps": 400,
    "training_rate": 4e-3,
    "tuning_rate": 1e-3,
    "measured_after": [0, 5, 10, 20, 40, 80],
    "windows": 24,
    "bin": 64,
}
QUICK = {
    "seeds": [0],
    "width": 8,
    "layers": 1,
    "heads": 1,
    "trained": 16,
    "stretched": 32,
    "bytes_a_step": 64,
    "training_steps": 2,
    "measured_after": [0, 1],
    "windows": 2,
    "bin": 8,
}


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [{"seed": s, "method": name} for s in settings["seeds"] for name in settings["methods"]]


def compute(lab: Lab, point: Point) -> Point:
    """The loss at the stretched length: by step of the fine-tune, and by position around it."""
    settings, seed = lab.settings, point["seed"]
    model = Decoder(settings, Rotary(settings, rope=rotary(settings, point["method"])))
    model.load_state_dict(lab.once(seed, lambda: trained(settings, seed)))
    batches = sampled(settings, settings["stretched"], seed + 1000)
    optimiser = torch.optim.Adam(model.parameters(), settings["tuning_rate"], (0.9, 0.98))
    by_position, done = [], 0
    for step in settings["measured_after"]:
        for _ in range(step - done):
            learn(model, optimiser, shifted(next(batches)))
        done = step
        by_position.append(measured(model, settings))
    return {
        "steps": settings["measured_after"],
        "loss": [float(losses.mean()) for losses in by_position],
        "bins": list(range(0, settings["stretched"], settings["bin"])),
        "before": in_bins(by_position[0], settings),
        "after": in_bins(by_position[-1], settings),
    }


def rotary(settings: Mapping[str, Any], method: str) -> RotaryEmbedding:
    dim, base = settings["width"] // settings["heads"], settings["base"]
    factor = settings["stretched"] / settings["trained"]
    found = {
        "nothing": lambda: scaling.default(dim, base),
        "linear": lambda: scaling.linear(dim, base, factor=factor),
        "yarn": lambda: scaling.yarn(
            dim, base, factor=factor, original_max_position_embeddings=settings["trained"]
        ),
    }[method]()
    return RotaryEmbedding(dim, scaling=found)


def trained(settings: Mapping[str, Any], seed: int) -> dict[str, torch.Tensor]:
    """Weights after training at the short length."""
    torch.manual_seed(seed)
    model = Decoder(settings, Rotary(settings, rope=rotary(settings, "nothing")))
    train(model, map(shifted, sampled(settings, settings["trained"], seed)), settings, seed)
    return model.state_dict()


def parts(text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The bytes to learn from, and those to measure on."""
    data = torch.tensor(list(read(text).encode()))
    cut = len(data) * 4 // 5
    return data[:cut], data[cut:]


def sampled(settings: Mapping[str, Any], length: int, seed: int) -> Iterator[torch.Tensor]:
    """Batches of windows, anywhere in what there is to learn from: (b, length + 1)."""
    data = torch.cat([parts(text)[0] for text in TEXTS])
    generator = torch.Generator().manual_seed(seed)
    while True:
        count = settings["bytes_a_step"] // length
        starts = torch.randint(len(data) - length, (count, 1), generator=generator)
        yield data[starts + torch.arange(length + 1)]


@torch.no_grad()
def measured(model: Decoder, settings: Mapping[str, Any]) -> torch.Tensor:
    """Mean loss at each position over windows spread evenly: (stretched,)."""
    length, count = settings["stretched"], settings["windows"] // len(TEXTS) + 1
    held = (parts(text)[1] for text in TEXTS)
    windows = [
        part[start : start + length + 1]
        for part in held
        for start in torch.linspace(0, len(part) - length - 1, count).long().tolist()
    ]
    return losses(model, shifted(torch.stack(windows))).mean(0)


def in_bins(by_position: torch.Tensor, settings: Mapping[str, Any]) -> list[float]:
    return [float(part.mean()) for part in by_position.split(settings["bin"])]
