"""A tiny vision transformer on scikit-learn's 8×8 digits, a token for 2×2 pixels: what places it.

Five encodings share one model, its budget and its batches: none, a learned vector for each place,
RoPE along the flattened line, axial RoPE and mixed RoPE. All learn on canvases of 12×12 pixels, 6×6
cells, with every digit in the top left corner. They are measured with the digit moved by whole
cells, and with the whole picture resized, where positions are the cells of the new grid ("raw") or
are scaled back to those of the old one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional

from experiments.driver import Lab, Point
from rope_lib import (
    apply_rope,
    axes_cos_sin,
    axial_frequencies,
    grid_positions,
    inverse_frequencies,
)
from rope_lib.nn import MixedRotaryEmbedding

MODEL = False
TEXTS = ()
PATCH, SIDE = 2, 6  # pixels along a cell, cells along the canvas that is learned from
TESTS = 450  # the last quarter, which nothing is learned from
Digits: TypeAlias = tuple[Tensor, Tensor]
SETTINGS = {
    "seeds": [0, 1, 2],
    "encodings": ["none", "learned", "flat", "axial", "mixed"],
    "width": 32,
    "heads": 8,
    "layers": 2,
    "base": 10.0,
    "tests": 450,
    "pictures_a_step": 64,
    "steps": 240,
    "rate": 5e-3,
    "losses_over": 20,
    "moves": [0, 1, 2],
    "resized": [[6, 9], [9, 6], [9, 9]],
}
QUICK = {
    "seeds": [0],
    "width": 8,
    "heads": 1,
    "layers": 1,
    "tests": 8,
    "pictures_a_step": 4,
    "steps": 2,
    "losses_over": 1,
    "moves": [0, 2],
    "resized": [[6, 9]],
}


@dataclass(frozen=True)
class Places:
    """Where the tokens of a grid stand: positions (n, 2), and a row's length on the flat line."""

    positions: Tensor
    stride: int


def cells(rows: int, columns: int) -> Places:
    return Places(torch.from_numpy(grid_positions(rows, columns)).double(), columns)


def scaled_back(rows: int, columns: int) -> Places:
    """The same cells measured in those that were learned, centre on centre."""
    sizes = torch.tensor([rows, columns])
    return Places((cells(rows, columns).positions + 0.5) * SIDE / sizes - 0.5, SIDE)


class Encoding(nn.Module):
    """None at all: what the others change. All of them read positions here and nowhere else."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.dim = settings["width"] // settings["heads"]

    def add(self, x: Tensor, places: Places) -> Tensor:
        """Tokens before the first layer, (b, n, width) -> the same."""
        return x

    def turn(self, q: Tensor, k: Tensor, places: Places, layer: int) -> tuple[Tensor, Tensor]:
        """Queries and keys of a layer, (b, h, n, d) -> the same."""
        return q, k


class Learned(Encoding):
    """A vector for each place; between them in proportion, past the edge the edge's."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.table = nn.Parameter(0.5 * torch.randn(settings["width"], SIDE, SIDE))

    def add(self, x: Tensor, places: Places) -> Tensor:
        row_column = (places.positions.to(self.table.dtype) + 0.5) * 2 / SIDE - 1
        xy = row_column.flip(-1)[None, None]  # grid_sample asks for (x, y)
        found = functional.grid_sample(
            self.table[None], xy, padding_mode="border", align_corners=False
        )
        return x + found[0, :, 0].T


class Turned(Encoding):
    """RoPE by one matrix of frequencies, the same for all heads and layers."""

    def __init__(self, settings: Mapping[str, Any], kind: str) -> None:
        super().__init__(settings)
        self.kind, self.base = kind, settings["base"]

    def frequencies(self, stride: int) -> NDArray[np.float64]:
        """Of the two axes, (2, d/2). The flat line is two axes, the one `stride` times as fast."""
        if self.kind == "flat":
            return np.outer([stride, 1], inverse_frequencies(self.dim, self.base))
        half = inverse_frequencies(self.dim // 2, self.base)
        return axial_frequencies(half, half)

    def turn(self, q: Tensor, k: Tensor, places: Places, layer: int) -> tuple[Tensor, Tensor]:
        cos, sin = axes_cos_sin(places.positions, self.frequencies(places.stride))
        return apply_rope(q, cos, sin), apply_rope(k, cos, sin)


class Mixed(Encoding):
    """RoPE with learned frequencies along both axes, of each head and layer its own."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        heads, base = settings["heads"], settings["base"]
        self.layers = nn.ModuleList(
            MixedRotaryEmbedding(self.dim, heads, base=base) for _ in range(settings["layers"])
        )

    def turn(self, q: Tensor, k: Tensor, places: Places, layer: int) -> tuple[Tensor, Tensor]:
        turned: tuple[Tensor, Tensor] = self.layers[layer](q, k, places.positions)
        return turned


def encoding(name: str, settings: Mapping[str, Any]) -> Encoding:
    if name in ("flat", "axial"):
        return Turned(settings, name)
    return {"none": Encoding, "learned": Learned, "mixed": Mixed}[name](settings)


class Vision(nn.Module):
    """Every cell sees every other; a weighted mean of the cells names the digit."""

    def __init__(self, settings: Mapping[str, Any], places: Encoding) -> None:
        super().__init__()
        width, self.heads = settings["width"], settings["heads"]
        self.encoding = places
        self.cell = nn.Linear(PATCH**2, width)
        self.mixers = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(settings["layers"]))
        self.joins = nn.ModuleList(nn.Linear(width, width) for _ in range(settings["layers"]))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(settings["layers"])
        )
        self.weight, self.names = nn.Linear(width, 1), nn.Linear(width, 10)

    def forward(self, pictures: Tensor, places: Places) -> Tensor:
        """Pictures (b, pixel rows, pixel columns) -> logits (b, 10)."""
        x = self.encoding.add(self.cell(patches(pictures)), places)
        parts = zip(self.mixers, self.joins, self.blocks, strict=True)
        for layer, (mixer, join, block) in enumerate(parts):
            q, k, v = mixer(norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            q, k = self.encoding.turn(q, k, places, layer)
            mixed = functional.scaled_dot_product_attention(q, k, v)  # (b, h, n, d)
            x = x + join(mixed.transpose(1, 2).flatten(-2))
            x = x + block(norm(x))
        x = norm(x)
        return self.names((self.weight(x).softmax(-2) * x).sum(-2))


def patches(pictures: Tensor) -> Tensor:
    """The pixels of each cell, cells row by row: (b, rows, columns) -> (b, n, 4)."""
    cut = pictures.unflatten(1, (-1, PATCH)).unflatten(3, (-1, PATCH))  # (b, row, y, column, x)
    return cut.transpose(2, 3).flatten(3).flatten(1, 2)


def norm(x: Tensor) -> Tensor:
    return functional.rms_norm(x, x.shape[-1:])


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [
        {"encoding": name, "seed": s} for name in settings["encodings"] for s in settings["seeds"]
    ]


def compute(lab: Lab, point: Point) -> Point:
    """Losses in training, and the share of test digits named right on every grid."""
    settings, (learn, test) = lab.settings, split(lab.settings)
    torch.manual_seed(point["seed"])
    model = Vision(settings, encoding(point["encoding"], settings))
    start = headings(model)
    losses = trained(model, learn, settings, point["seed"])
    groups = np.array_split(losses, settings["steps"] // settings["losses_over"])
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "losses": [float(group.mean()) for group in groups],
        "right": {name: share_right(model, *case) for name, case in cases(settings, *test).items()},
        **({"start": start, "end": headings(model)} if point["encoding"] == "mixed" else {}),
    }


def headings(model: Vision) -> list[Any]:
    """The learned frequencies of the first layer, (heads, 2, pairs), where there are such."""
    layers = getattr(model.encoding, "layers", [])
    return layers[0].inv_freq.detach().tolist() if layers else []


def split(settings: Mapping[str, Any]) -> tuple[Digits, Digits]:
    """Pictures (n, 8, 8) from 0 to 1 and their digits: to learn from, and the last to test."""
    digits = load_digits()
    pictures, names = torch.tensor(digits.images).float() / 16, torch.tensor(digits.target)
    cut = len(names) - TESTS
    return (pictures[:cut], names[:cut]), (
        pictures[cut:][: settings["tests"]],
        names[cut:][: settings["tests"]],
    )


def trained(
    model: Vision, learn: Digits, settings: Mapping[str, Any], seed: int
) -> NDArray[np.float64]:
    """The loss of every step; the rate rises, then falls to nothing."""
    steps, rate = settings["steps"], settings["rate"]
    optimiser = torch.optim.Adam(model.parameters(), rate, (0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps, pct_start=0.1)
    places, generator = cells(SIDE, SIDE), torch.Generator().manual_seed(seed)
    pictures, losses = on_canvas(learn[0]), np.empty(steps)
    for step in range(steps):
        chosen = torch.randint(len(learn[1]), (settings["pictures_a_step"],), generator=generator)
        loss = functional.cross_entropy(model(pictures[chosen], places), learn[1][chosen])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses[step] = loss.item()
    return losses


def on_canvas(pictures: Tensor, down: int = 0, right: int = 0) -> Tensor:
    """Digits on an empty canvas, moved from its top left corner by whole cells."""
    free = SIDE * PATCH - pictures.shape[-1]
    left, top = right * PATCH, down * PATCH
    return functional.pad(pictures, (left, free - left, top, free - top))


def cases(
    settings: Mapping[str, Any], pictures: Tensor, names: Tensor
) -> dict[str, tuple[Tensor, Tensor, Places]]:
    """What to measure on: name -> pictures, digits, places."""
    found = {}
    for down, right in itertools.product(settings["moves"], repeat=2):
        moved = on_canvas(pictures, down, right)
        found[f"moved {down} {right}"] = (moved, names, cells(SIDE, SIDE))
    for rows, columns in settings["resized"]:
        size = (rows * PATCH, columns * PATCH)
        large = functional.interpolate(on_canvas(pictures)[:, None], size, mode="bilinear")[:, 0]
        for how, places in (("raw", cells), ("scaled", scaled_back)):
            found[f"resized {rows} {columns} {how}"] = (large, names, places(rows, columns))
    return found


@torch.no_grad()
def share_right(model: Vision, pictures: Tensor, names: Tensor, places: Places) -> float:
    guesses = torch.cat([model(part, places).argmax(-1) for part in pictures.split(64)])
    return float((guesses == names).double().mean())
