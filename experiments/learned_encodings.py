"""Rotations that learn, each an Encoding that starts as plain RoPE."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from experiments.tiny_encodings import Encoding, Rotary, Settings
from rope_lib import apply_rope, inverse_frequencies
from rope_lib.nn import RotaryEmbedding


class Turned(Encoding):
    """RoPE whose angles (..., n, pairs) a subclass makes anew for each layer."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.heads, self.layers = settings["heads"], settings["layers"]
        theta = inverse_frequencies(settings["width"] // self.heads, settings["base"])
        self.register_buffer("theta", torch.tensor(theta, dtype=torch.float32))

    def angles(self, positions: torch.Tensor, layer: int, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError  # no angles are common to all: each subclass has its own

    def turn(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        positions: torch.Tensor,
        layer: int,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        angles = self.angles(positions, layer, x)
        cos, sin = angles.cos(), angles.sin()
        return apply_rope(q, cos, sin), apply_rope(k, cos, sin)


class Theta(Encoding):
    """The speeds of each layer are parameters as they are."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        size, base = settings["width"] // settings["heads"], settings["base"]
        self.ropes = nn.ModuleList(
            RotaryEmbedding(size, base=base, learnable=True) for _ in range(settings["layers"])
        )

    def turn(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        positions: torch.Tensor,
        layer: int,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.ropes[layer](q, k, positions)

    def speeds(self) -> torch.Tensor:
        """(layers, pairs)."""
        return torch.stack([rope.inv_freq for rope in self.ropes])


class LogTheta(Turned):
    """The logarithms of the speeds of each layer are parameters: a step is a share of a speed."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.change = nn.Parameter(torch.zeros(self.layers, len(self.theta)))

    def angles(self, positions: torch.Tensor, layer: int, x: torch.Tensor) -> torch.Tensor:
        return positions[:, None] * self.speeds()[layer]

    def speeds(self) -> torch.Tensor:
        """(layers, pairs)."""
        return self.theta * self.change.exp()


class ByPosition(Turned):
    """θ_j = f(j, m): from each position to the next, another speed. The last one goes on."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.change = nn.Parameter(torch.zeros(self.layers, settings["trained"], len(self.theta)))

    def angles(self, positions: torch.Tensor, layer: int, x: torch.Tensor) -> torch.Tensor:
        steps = self.theta * self.change[layer].exp()  # (trained, pairs)
        sums = steps.cumsum(0) - steps[0]
        known = positions.clamp(max=len(steps) - 1)
        return sums[known] + (positions - known)[:, None] * steps[-1]


class ByToken(Turned):
    """Each token of each head says by how much it moves time on, from 0 to 2 ticks."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        width = settings["width"]
        self.gates = nn.ModuleList(nn.Linear(width, self.heads) for _ in range(self.layers))
        for gate in self.gates:
            nn.init.zeros_(gate.weight)
            nn.init.zeros_(gate.bias)

    def ticks(self, layer: int, x: torch.Tensor) -> torch.Tensor:
        """(b, n, width) -> (b, heads, n)."""
        return in_ticks(self.gates[layer](x))

    def angles(self, positions: torch.Tensor, layer: int, x: torch.Tensor) -> torch.Tensor:
        return self.ticks(layer, x).cumsum(-1)[..., None] * self.theta


def in_ticks(gate: torch.Tensor) -> torch.Tensor:
    """(b, n, heads) of any numbers -> (b, heads, n), from 0 to 2, and 1 where the number is 0."""
    return 2.0 * gate.sigmoid().transpose(1, 2)


ENCODINGS: dict[str, Callable[[Settings], Encoding]] = {
    "fixed": Rotary,
    "theta": Theta,
    "log theta": LogTheta,
    "by position": ByPosition,
    "by token": ByToken,
}
