"""The implementations that are compared, each called the way its own library calls it.

Tables are made beforehand. Where a library hands angles around and takes their cosine at every
call (rotary-embedding-torch, x-transformers), that is part of its time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch

from rope_lib import apply_rope
from rope_lib.layout import Layout

Tensor = torch.Tensor


@dataclass(frozen=True)
class Peer:
    """One implementation of one layout.

    Attributes:
        name: what the report calls it.
        tables: (angles, dtype of x) -> tables, each of shape (seq, ...); angles are float64.
        rotate: (x, *tables) -> x rotated; tables of (seq, ...) or (batch, seq, ...).
        seq_first: x is (batch, seq, heads, dim), not (batch, heads, seq, dim).
        partial: it leaves the channels beyond the tables as they are.
        compiles: torch.compile makes one kernel of it; it has none for complex numbers.
    """

    name: str
    tables: Callable[[Tensor, torch.dtype], tuple[Tensor, ...]]
    rotate: Callable[..., Tensor]
    seq_first: bool = False
    partial: bool = True
    compiles: bool = False


def peers(layout: Layout) -> list[Peer]:
    """rope_lib first, then the others of this layout that are installed."""
    others = _half_peers() if layout == "half" else _interleaved_peers()
    return [Peer("rope_lib", _cos_sin, rope_lib_step(layout), compiles=True), *others]


def rope_lib_step(layout: Layout) -> Callable[..., Tensor]:
    def rotate(x: Tensor, cos: Tensor, sin: Tensor, out: Tensor | None = None) -> Tensor:
        return apply_rope(x, cos.unsqueeze(-3), sin.unsqueeze(-3), layout=layout, out=out)

    return rotate


def _cos_sin(angles: Tensor, _: torch.dtype) -> tuple[Tensor, Tensor]:
    return angles.cos().float(), angles.sin().float()


# --- half ---------------------------------------------------------------------------------------


def _half_peers() -> list[Peer]:
    if find_spec("transformers") is None:
        return []
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    def tables(angles: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        twice = torch.cat([angles, angles], -1)  # in the dtype of the model, as its module does
        return twice.cos().to(dtype), twice.sin().to(dtype)

    def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if cos.ndim == 2:
            cos, sin = cos[None], sin[None]
        # It turns queries and keys; keys of no heads leave x alone to be timed.
        turned: Tensor = apply_rotary_pos_emb(x, x[:, :0], cos, sin)[0]
        return turned

    return [Peer("transformers", tables, rotate, partial=False, compiles=True)]


# --- interleaved --------------------------------------------------------------------------------


def _interleaved_peers() -> list[Peer]:
    found = [
        Peer("Meta's complex form", _cis, meta, seq_first=True, partial=False),
        Peer(
            "torchtune's formula",
            _stacked,
            torchtune,
            seq_first=True,
            partial=False,
            compiles=True,
        ),
    ]
    if find_spec("rotary_embedding_torch") is not None:
        from rotary_embedding_torch import apply_rotary_emb

        def rotary_embedding_torch(x: Tensor, angles: Tensor) -> Tensor:
            turned: Tensor = apply_rotary_emb(
                angles if angles.ndim == 2 else angles.unsqueeze(-3), x
            )
            return turned

        found.append(Peer("rotary-embedding-torch", _twice, rotary_embedding_torch))
    if find_spec("x_transformers") is not None:
        from x_transformers.x_transformers import apply_rotary_pos_emb

        def x_transformers(x: Tensor, angles: Tensor) -> Tensor:
            turned: Tensor = apply_rotary_pos_emb(x, angles if angles.ndim == 3 else angles[None])
            return turned

        found.append(Peer("x-transformers", _twice, x_transformers))
    return found


def meta(x: Tensor, turns: Tensor) -> Tensor:
    """Adjacent channels as one complex float32 number, times e^{imθ}."""
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(z * turns.unsqueeze(-2)).flatten(-2).to(x.dtype)


def torchtune(x: Tensor, table: Tensor) -> Tensor:
    """The two coordinates in real float32 arithmetic, stacked again."""
    pair, table = x.float().unflatten(-1, (-1, 2)), table.unsqueeze(-3)
    a, b, c, s = pair[..., 0], pair[..., 1], table[..., 0], table[..., 1]
    return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).to(x.dtype)


def _cis(angles: Tensor, _: torch.dtype) -> tuple[Tensor]:
    return (torch.polar(torch.ones_like(angles), angles).to(torch.complex64),)


def _stacked(angles: Tensor, _: torch.dtype) -> tuple[Tensor]:
    return (torch.stack([angles.cos(), angles.sin()], -1).float(),)


def _twice(angles: Tensor, _: torch.dtype) -> tuple[Tensor]:
    return (angles.float().repeat_interleave(2, -1),)
