"""What the modules of rope_lib.nn share: frequencies that survive, and checks of what comes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from rope_lib._arrays import from_python, like


class Turning(nn.Module):
    """A module with inv_freq: a parameter that learns, or a plain tensor that nobody casts."""

    inv_freq: torch.Tensor

    def __init__(self, values: NDArray[Any], dtype: torch.dtype, learnable: bool) -> None:
        if not isinstance(learnable, bool):
            raise TypeError(f"learnable must be True or False, got {learnable!r}")
        super().__init__()
        self._values, self._dtype, self.learnable = values.tolist(), dtype, learnable
        if learnable:
            self.inv_freq = nn.Parameter(self._initial(torch.get_default_device()))
        else:
            self.inv_freq = self._initial(_real(torch.get_default_device()))

    def reset_parameters(self) -> None:
        """Put inv_freq back to its initial values, in place."""
        with torch.no_grad():
            self.inv_freq.copy_(self._initial(self.inv_freq.device))

    def _initial(self, device: torch.device) -> torch.Tensor:
        return torch.tensor(self._values, dtype=self._dtype, device=device)

    def _at(self, device: torch.device) -> torch.Tensor:
        """inv_freq there, also where a tool moved the model without telling this module."""
        if self.learnable or self.inv_freq.device == device:
            return self.inv_freq
        return self._initial(device)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:
        """What .to, .half and .to_empty call: take the device, refuse the dtype."""
        before, was_meta = self.inv_freq, self.inv_freq.is_meta

        def move(tensor: torch.Tensor) -> torch.Tensor:
            moved = fn(tensor)
            return moved if moved.dtype == tensor.dtype else tensor.to(moved.device)

        # torch leaves _apply untyped.
        super()._apply(move, recurse)  # type: ignore[no-untyped-call]
        if not self.learnable:
            self.inv_freq = self._initial(_real(fn(before).device))
        elif was_meta and not self.inv_freq.is_meta:
            self.reset_parameters()
        return self


def _real(device: torch.device) -> torch.device:
    """The device, or the CPU in place of meta, which holds no values."""
    return torch.device("cpu") if device.type == "meta" else device


def check_heads(q: torch.Tensor, k: torch.Tensor, head_dim: int) -> None:
    """Refuse what are not the queries and keys of the same tokens."""
    for x, name in ((q, "q"), (k, "k")):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name} must be a torch tensor, got {type(x).__name__}")
        if x.ndim != 4 or x.shape[-1] != head_dim:
            raise ValueError(
                f"{name} must have shape (batch, heads, seq, {head_dim}), got {tuple(x.shape)}"
            )
    if q.shape[0] != k.shape[0] or q.shape[2] != k.shape[2]:
        raise ValueError(
            f"q and k must have one batch and one seq, got {tuple(q.shape)} and {tuple(k.shape)}; "
            f"rotate a key once, when it is new, and cache it rotated"
        )


def placed_positions(positions: Any, q: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """Positions on q's device, shape (seq, *axes) or (batch, 1, seq, *axes)."""
    if not isinstance(positions, torch.Tensor):
        positions = like(from_python(positions, "positions"), q, "positions")
    batch, seq = q.shape[0], q.shape[2]
    shape, one = tuple(positions.shape), len(axes) + 1
    if shape[-one:] != (seq, *axes) or shape[:-one] not in ((), (1,), (batch,)):
        raise ValueError(
            f"positions must have shape {(seq, *axes)} or {(batch, seq, *axes)}, got {shape}"
        )
    placed: torch.Tensor = positions.to(q.device)
    return placed if len(shape) == one else placed.unsqueeze(1)
