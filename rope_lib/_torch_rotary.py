"""The same rotation for torch tensors, as fast as eager torch gets on a CPU.

Three ways, all equal to rounding:

- plain: the formula of rope_lib.rotary in ordinary operations, for whatever traces or transforms
  (torch.compile, torch.export, vmap, jvp, learned tables). A compiler fuses it better than us.
- direct: whole-tensor operations that write into the output. A view as complex numbers makes the
  interleaved layout one multiplication; the half layout is one product and two fused updates.
- blocks: where x is narrower than float32, cannot be viewed as complex, or is its own output:
  a block at a time goes through a float32 scratch that stays in the processor's cache.

The backward pass is the rotation by −angle, so it keeps the tables and never x.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd import forward_ad

from rope_lib._arrays import widest
from rope_lib.layout import Layout
from rope_lib.rotary import check_out, rotate_pairs

BLOCK = 2**18
"""Elements in a block: 1 MiB of float32, which fits the usual second-level cache."""
FEWEST_ROWS = 16
"""Rows in a block: with fewer, calls cost more than the rows themselves."""


def apply_rope(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: Layout,
    inverse: bool,
    out: torch.Tensor | None,
) -> torch.Tensor:
    """What rope_lib.apply_rope does, for checked torch arguments."""
    if not x.device == cos.device == sin.device:
        raise ValueError(
            f"x, cos and sin must be on one device, got {x.device}, {cos.device}, {sin.device}"
        )
    if inverse:
        sin = -sin
    plain = _needs_plain(x, cos, sin)
    if out is not None:
        _check_out(out, x, cos, sin)
        if plain:
            return out.copy_(_plain(x, cos, sin, layout))
        return _rotate_into(out, x, cos, sin, layout)
    if plain:
        return _plain(x, cos, sin, layout)
    if x.requires_grad and torch.is_grad_enabled():
        # torch leaves apply untyped.
        rotated: torch.Tensor = _Rotation.apply(x, cos, sin, layout)  # type: ignore[no-untyped-call]
        return rotated
    return _rotate_into(torch.empty_like(x), x, cos, sin, layout)


class _Rotation(torch.autograd.Function):
    """Multiplication by an orthogonal matrix: the gradient turns back."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, layout: Layout
    ) -> torch.Tensor:
        return _rotate_into(torch.empty_like(x), x, cos, sin, layout)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        _, cos, sin, ctx.layout = inputs
        ctx.save_for_backward(cos, sin)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        return apply_rope(grads[0], cos, sin, ctx.layout, True, None), None, None, None


def _needs_plain(*tensors: torch.Tensor) -> bool:
    """Whether something watches the operations, or the device is one that wants them fused."""
    x, cos, sin = tensors
    tables_learn = torch.is_grad_enabled() and (cos.requires_grad or sin.requires_grad)
    if torch.compiler.is_compiling() or x.device.type != "cpu" or tables_learn:
        return True
    return any(_is_watched(tensor) for tensor in tensors)


def _is_watched(t: torch.Tensor) -> bool:
    """Whether t is a subclass, carries a forward derivative, or wraps another tensor."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        return True
    # torch leaves unpack_dual untyped.
    if forward_ad.unpack_dual(t).tangent is not None:  # type: ignore[no-untyped-call]
        return True
    try:
        t.data_ptr()
    except RuntimeError:  # vmap and the other transforms hand out tensors without memory
        return True
    return False


def _plain(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, layout: Layout) -> torch.Tensor:
    rotated: torch.Tensor = rotate_pairs(x, cos, sin, layout)
    return rotated


def _rotate_into(
    out: torch.Tensor, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, layout: Layout
) -> torch.Tensor:
    rotary, dtype = 2 * cos.shape[-1], widest(torch, x, cos, sin)
    source, target = x, out
    if rotary < x.shape[-1]:
        source, target = x[..., :rotary], out[..., :rotary]
        if out is not x:
            out[..., rotary:].copy_(x[..., rotary:])
    if not cos.dtype == sin.dtype == dtype:
        cos, sin = cos.to(dtype), sin.to(dtype)
    if layout == "interleaved":
        _interleaved(target, source, torch.complex(cos, sin))
    elif x.dtype != dtype or x.data_ptr() == out.data_ptr():
        _in_blocks(target, source, torch.cat([cos, cos], -1), sin)
    else:
        _half(target, source, torch.cat([cos, cos], -1), sin)
    return out


def _interleaved(out: torch.Tensor, x: torch.Tensor, turn: torch.Tensor) -> None:
    if x.dtype == turn.dtype.to_real() and _pairs_adjoin(x) and _pairs_adjoin(out):
        torch.mul(x.view(turn.dtype), turn, out=out.view(turn.dtype))
    else:
        _in_blocks(out, x, turn, None)


def _half(out: torch.Tensor, x: torch.Tensor, cos_twice: torch.Tensor, sin: torch.Tensor) -> None:
    """(a, b) times (cos, cos), then −b sin and a sin added to the halves in place."""
    pairs = sin.shape[-1]
    torch.mul(x, cos_twice, out=out)
    out[..., :pairs].addcmul_(x[..., pairs:], sin, value=-1)
    out[..., pairs:].addcmul_(x[..., :pairs], sin)


def _in_blocks(
    out: torch.Tensor, x: torch.Tensor, first: torch.Tensor, sin: torch.Tensor | None
) -> None:
    """Rotate through a scratch: complex numbers where sin is None, else the half layout."""
    # The half layout needs two: smaller ones, unless beside x they hardly count.
    limit = BLOCK if sin is None else max(BLOCK // 2, min(BLOCK, x.numel() // 64))
    first = first.expand(*x.shape[:-1], first.shape[-1])
    sin = None if sin is None else sin.expand(*x.shape[:-1], sin.shape[-1])
    scratch = other = x.new_empty(0)
    for block in _blocks(x.shape, limit) if x.numel() else ():
        piece = x[block]
        if scratch.numel() < piece.numel():
            scratch = torch.empty(piece.shape, dtype=first.dtype.to_real())
            other = scratch if sin is None else torch.empty_like(scratch)
        rows = piece.shape[-2]
        source, turned = scratch[..., :rows, :], other[..., :rows, :]
        source.copy_(piece)
        if sin is None:
            source.view(first.dtype).mul_(first[block])
        else:
            _half(turned, source, first[block], sin[block])
        out[block].copy_(turned)


def _blocks(shape: torch.Size, limit: int) -> Iterator[tuple[int | slice, ...]]:
    """Index tuples that cut shape into blocks of about limit elements: few rows of many heads.

    Heads share the rows of a table, so that those few rows stay in the cache.
    """
    rows = min(shape[-2], FEWEST_ROWS)
    axis = next(
        (a for a in range(len(shape) - 2) if math.prod(shape[a:-2]) * rows * shape[-1] <= limit),
        len(shape) - 2,
    )
    step = max(rows, limit // (math.prod(shape[axis:-2]) * shape[-1]))
    whole = [slice(None)] * (len(shape) - 2 - axis)
    for lead in itertools.product(*(range(size) for size in shape[:axis])):
        for start in range(0, shape[-2], step):
            yield (*lead, *whole, slice(start, start + step))


def _pairs_adjoin(x: torch.Tensor) -> bool:
    """Whether torch can view x's adjacent pairs as complex numbers."""
    whole = all(stride % 2 == 0 for stride in x.stride()[:-1])
    return whole and x.stride(-1) == 1 and x.storage_offset() % 2 == 0


def _check_out(out: torch.Tensor, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> None:
    check_out(out, x)
    if out.device != x.device:
        raise ValueError(f"out must be on the device of x {x.device}, got {out.device}")
    if torch.is_grad_enabled() and any(t.requires_grad for t in (out, x, cos, sin)):
        raise ValueError("out= records no gradient: leave it out, or use torch.no_grad()")
    if torch.compiler.is_compiling():
        return
    if any(_is_watched(t) for t in (out, x, cos, sin)):
        raise ValueError("out= cannot be written under vmap, jvp or with tensor subclasses")
    if any(size > 1 and stride == 0 for size, stride in zip(out.shape, out.stride(), strict=True)):
        raise ValueError(f"out must not be an expanded view, got strides {out.stride()}")
    same = out.data_ptr() == x.data_ptr() and out.stride() == x.stride()
    if any(_overlap(out, t) for t in (cos, sin, *(() if same else (x,)))):
        raise ValueError("out must be x itself or share no memory with x, cos and sin")


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether the spans of memory that a and b live in intersect."""
    if not (a.numel() and b.numel()):
        return False
    (start_a, end_a), (start_b, end_b) = _span(a), _span(b)
    return start_a < end_b and start_b < end_a


def _span(t: torch.Tensor) -> tuple[int, int]:
    last = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride(), strict=True))
    return t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size()
