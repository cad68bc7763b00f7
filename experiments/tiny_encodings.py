"""Seven ways to tell a decoder of positions, each an Encoding with the same three doors.

Token vectors, queries and keys, scores: an encoding changes what passes through one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
from torch import nn

from rope_lib import apply_rope
from rope_lib.nn import RotaryEmbedding

Settings: TypeAlias = Mapping[str, Any]
BUCKETS = 32


class Encoding(nn.Module):
    """Where position may enter a decoder. This one lets it in nowhere: NoPE."""

    def embed(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Token embeddings (b, n, width) at positions (n,) -> what the first layer reads."""
        return x

    def turn(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        positions: torch.Tensor,
        layer: int,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Change q and k (b, h, n, d); x (b, n, width) is the layer's normed input."""
        return q, k

    def bias(self, positions: torch.Tensor, layer: int) -> torch.Tensor | None:
        """What is added to the scores of a layer, (h, n, n), or None."""
        return None


class Learned(Encoding):
    """A vector for each position, trained with the rest (BERT, GPT-2).

    Rows past the trained length exist, up to four times it, and stay as they were drawn.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(4 * settings["trained"], settings["width"]))
        with torch.no_grad():
            self.table *= settings["width"] ** -0.5  # as long as a token's vector, on average

    def embed(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return x + self.table[positions]


class Sinusoidal(Encoding):
    """Sines and cosines of mθ_j, added (Vaswani et al., arXiv:1706.03762, section 3.5).

    There the embedding is multiplied by √width. Here the sinusoid is divided by it, which gives
    the same proportions; scaled=False adds it at its full size.
    """

    def __init__(self, settings: Settings, scaled: bool = True) -> None:
        super().__init__()
        self.rope = RotaryEmbedding(settings["width"])
        self.size = settings["width"] ** -0.5 if scaled else 1.0

    def embed(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return x + self.size * torch.cat(self.rope.tables(positions), -1)


class T5Bias(Encoding):
    """A learned number for each head and bucket of distances (Raffel et al., arXiv:1910.10683).

    The first half of the buckets holds one distance each, the others ever wider ranges; the last
    holds all from half the trained length on. All layers share them, as in T5. Adam moves a
    number by about its rate a step, and in few steps a bias would stay next to zero. So the table
    holds it in units of 16.
    """

    def __init__(self, settings: Settings, unit: float = 16.0) -> None:
        super().__init__()
        self.unit = unit
        self.table = nn.Parameter(torch.zeros(settings["heads"], BUCKETS))
        self.farthest = settings["trained"] // 2

    def bucket(self, distance: torch.Tensor) -> torch.Tensor:
        near = BUCKETS // 2
        width = math.log(max(self.farthest, near + 1) / near) / (BUCKETS - near)
        far = near + (distance.clamp(min=near) / near).log().div(width).long()
        return torch.where(distance < near, distance, far.clamp(max=BUCKETS - 1))

    def bias(self, positions: torch.Tensor, layer: int) -> torch.Tensor:
        return self.unit * self.table[:, self.bucket(distances(positions))]


class ALiBi(Encoding):
    """Minus a slope times the distance, a fixed slope a head (Press et al., arXiv:2108.12409)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        heads = settings["heads"]
        self.slopes = [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]

    def bias(self, positions: torch.Tensor, layer: int) -> torch.Tensor:
        slopes = torch.tensor(self.slopes, device=positions.device)
        return -slopes[:, None, None] * distances(positions)


class Rotary(Encoding):
    """RoPE in the layers for which turned is true; in the others, nothing."""

    def __init__(
        self,
        settings: Settings,
        turned: Callable[[int], bool] = lambda layer: True,
        rope: RotaryEmbedding | None = None,
    ) -> None:
        super().__init__()
        head_dim = settings.get("inner", settings["width"]) // settings["heads"]
        self.rope = rope or RotaryEmbedding(head_dim, base=settings.get("base"))
        self.turned = turned

    def turn(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        positions: torch.Tensor,
        layer: int,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.turned(layer):
            return q, k
        cos, sin = self.rope.tables(positions)
        return apply_rope(q, cos, sin), apply_rope(k, cos, sin)


def distances(positions: torch.Tensor) -> torch.Tensor:
    """How far back each position sees each other one, 0 for those that it does not see: (n, n)."""
    return (positions[:, None] - positions).clamp(min=0)


ENCODINGS: dict[str, Callable[[Settings], Encoding]] = {
    "none": lambda settings: Encoding(),
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "T5 bias": T5Bias,
    "ALiBi": ALiBi,
    "RoPE": Rotary,
    "RoPE, NoPE": lambda settings: Rotary(settings, lambda layer: layer % 2 == 0),
}
