"""A tiny byte-level model, trained here at length 128, stretched to 512 with a short fine-tune.

It reads the first four fifths of the three texts and is measured on the rest: windows of 512 bytes,
each from position 0. All three ways to stretch it start from the same weights and see the same
batches; "nothing" keeps the frequencies as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from experiments.driver import Lab, Point, read
from rope_lib import apply_rope, scaling
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


class Tiny(nn.Module):
    """A decoder over bytes: queries and keys turned by rope_lib, values not."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width, self.heads = settings["width"], settings["heads"]
        self.embedding = nn.Embedding(256, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.mixers = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(settings["layers"]))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(settings["layers"])
        )

    def forward(self, x: torch.Tensor, rope: RotaryEmbedding) -> torch.Tensor:
        """Bytes (b, n) -> logits (b, n, 256)."""
        cos, sin = rope.tables(torch.arange(x.shape[-1]))
        x = self.embedding(x)
        for mixer, block in zip(self.mixers, self.blocks, strict=True):
            q, k, v, gate = mixer(norm(x)).unflatten(-1, (4, self.heads, -1)).permute(2, 0, 3, 1, 4)
            q, k = (apply_rope(each, cos, sin) for each in (q, k))  # (b, h, n, d)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + (mixed * gate.sigmoid()).transpose(1, 2).flatten(-2)
            x = x + block(norm(x))
        return norm(x) @ self.embedding.weight.T


def norm(x: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, x.shape[-1:])


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [{"seed": s, "method": name} for s in settings["seeds"] for name in settings["methods"]]


def compute(lab: Lab, point: Point) -> Point:
    """The loss at the stretched length: by step of the fine-tune, and by position around it."""
    settings, seed = lab.settings, point["seed"]
    model = Tiny(settings)
    model.load_state_dict(lab.once(seed, lambda: trained(settings, seed)))
    rope = rotary(settings, point["method"])
    batches = sampled(settings, settings["stretched"], seed + 1000)
    optimiser = torch.optim.Adam(model.parameters(), settings["tuning_rate"], (0.9, 0.98))
    by_position, done = [], 0
    for step in settings["measured_after"]:
        for _ in range(step - done):
            learn(model, rope, optimiser, next(batches))
        done = step
        by_position.append(measured(model, rope, settings))
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
    """Weights after training at the short length; the rate rises, then falls to nothing."""
    torch.manual_seed(seed)
    model, steps, rate = Tiny(settings), settings["training_steps"], settings["training_rate"]
    optimiser = torch.optim.Adam(model.parameters(), rate, (0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps, pct_start=0.1)
    batches = sampled(settings, settings["trained"], seed)
    for _ in range(steps):
        learn(model, rotary(settings, "nothing"), optimiser, next(batches))
        schedule.step()
    return model.state_dict()


def learn(
    model: Tiny, rope: RotaryEmbedding, optimiser: torch.optim.Optimizer, batch: torch.Tensor
) -> None:
    optimiser.zero_grad()
    losses(model, rope, batch).mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()


def losses(model: Tiny, rope: RotaryEmbedding, batch: torch.Tensor) -> torch.Tensor:
    """Of every byte from the one before it and all earlier: (b, n + 1) -> (b, n), in nats."""
    logits = model(batch[:, :-1], rope)
    return functional.cross_entropy(logits.mT, batch[:, 1:], reduction="none")


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
def measured(model: Tiny, rope: RotaryEmbedding, settings: Mapping[str, Any]) -> torch.Tensor:
    """Mean loss at each position over windows spread evenly: (stretched,)."""
    length, count = settings["stretched"], settings["windows"] // len(TEXTS) + 1
    held = (parts(text)[1] for text in TEXTS)
    windows = [
        part[start : start + length + 1]
        for part in held
        for start in torch.linspace(0, len(part) - length - 1, count).long().tolist()
    ]
    return losses(model, rope, torch.stack(windows)).mean(0)


def in_bins(by_position: torch.Tensor, settings: Mapping[str, Any]) -> list[float]:
    return [float(part.mean()) for part in by_position.split(settings["bin"])]
