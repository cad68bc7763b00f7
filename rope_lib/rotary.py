"""The rotation itself: every pair of channels turned by its position's angle.

Su et al., RoFormer, arXiv:2104.09864, equation 34, without the matrix.
"""

from __future__ import annotations

import numpy as np

from rope_lib._arrays import (
    Array,
    cast,
    dtype_kind,
    from_python,
    is_array,
    is_jax,
    is_torch,
    join,
    like,
    namespace,
    widest,
)
from rope_lib.angles import _float64, cos_sin
from rope_lib.layout import Layout, check_layout


def apply_rope(
    x: Array,
    cos: Array,
    sin: Array,
    *,
    layout: Layout = "interleaved",
    inverse: bool = False,
    out: Array | None = None,
) -> Array:
    """Turn each pair (a, b) of x's channels into (a cos − b sin, b cos + a sin).

    Args:
        x: queries or keys, shape (..., seq, dim), floating.
        cos: table from cos_sin, shape (..., seq, pairs). Its axes match those of x from the
            right; each equals x's or is 1. Channels of x past 2*pairs pass through.
        sin: table of the same shape. Tables may be NumPy beside x of another kind.
        layout: "interleaved" pairs channels (2j, 2j+1), "half" pairs (j, j + pairs).
        inverse: turn by −angle. Undoes a rotation whose tables have attention factor 1.
        out: array to write into: x's shape, dtype, kind and device; x itself, or memory of its
            own.

    Returns:
        Shape, dtype, kind and device of x; out where it was given. The arithmetic is done in the
        widest dtype of x and the tables, at least float32. For torch, gradients flow to x and to
        the tables.

    Raises:
        ValueError: wrong rank, tables that do not fit x or each other, an unknown layout, or an
            out of another shape or of overlapping memory.
        TypeError: x or a table is not floating, the kinds differ, or out has another dtype or
            cannot be written.
    """
    check_layout(layout)
    x, cos, sin = _checked(x, cos, sin)
    if is_torch(x):
        from rope_lib import _torch_rotary

        return _torch_rotary.apply_rope(x, cos, sin, layout, inverse, out)
    rotated = rotate_pairs(x, cos, -sin if inverse else sin, layout)
    return rotated if out is None else _write(out, rotated, x, cos, sin)


def rerotate(k: Array, delta: Array, inv_freq: Array, *, layout: Layout = "interleaved") -> Array:
    """Move keys that are rotated already by delta positions, for a cache that shifts.

    R(m)R(δ) = R(m + δ): the key turns by the difference only, never by the new position.

    Args:
        k: rotated keys, shape (..., seq, dim), floating.
        delta: positions to add, negative to move back: a number, or shape (..., seq) as in
            cos_sin, one a token.
        inv_freq: shape (pairs,), as in cos_sin; the rest of dim passes through.
        layout: as in apply_rope.

    Returns:
        Shape, dtype, kind and device of k. The attention factor that k carries stays.

    Raises:
        ValueError: as cos_sin and apply_rope.
        TypeError: as cos_sin and apply_rope.
    """
    k = _floating(k, "k")
    if not is_jax(k):  # where there may be no float64, the tables are better made by NumPy
        delta = like(_float64(from_python(delta, "delta"), "delta"), k, "delta")
        delta = delta.to(k.device) if is_torch(k) else delta
    cos, sin = cos_sin(delta, inv_freq, dtype=widest(namespace(k), k))
    return apply_rope(k, cos, sin, layout=layout)


def rotate_pairs(x: Array, cos: Array, sin: Array, layout: Layout) -> Array:
    """The formula in plain array code: slice the pairs, turn them, join them again."""
    xp, pairs = namespace(x), cos.shape[-1]
    dtype = widest(xp, x, cos, sin)
    if layout == "interleaved":
        first, second = x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2]
    else:
        first, second = x[..., :pairs], x[..., pairs : 2 * pairs]
    # Cast after slicing: a compiler then reads x once, in its own narrow dtype.
    a, b, c, s = (cast(part, dtype) for part in (first, second, cos, sin))
    turned = [cast(a * c - b * s, x.dtype), cast(b * c + a * s, x.dtype)]
    if layout == "interleaved":
        turned = [xp.reshape(xp.stack(turned, axis=-1), (*x.shape[:-1], 2 * pairs))]
    if 2 * pairs < x.shape[-1]:
        turned.append(x[..., 2 * pairs :])
    return turned[0] if len(turned) == 1 else join(turned)


def _checked(x: Array, cos: Array, sin: Array) -> tuple[Array, Array, Array]:
    """The three in one kind, or the rule that they break."""
    x = _floating(x, "x")
    cos, sin = (like(_floating(a, name), x, name) for a, name in ((cos, "cos"), (sin, "sin")))
    if cos.shape != sin.shape:
        raise ValueError(
            f"cos and sin must have one shape, got {tuple(cos.shape)} and {tuple(sin.shape)}"
        )
    _check_fit(x.shape, cos.shape)
    return x, cos, sin


def _floating(a: Array, name: str) -> Array:
    a = from_python(a, name)
    if dtype_kind(a) != "real floating":
        raise TypeError(f"{name} must be floating, got dtype {a.dtype}")
    return a


def _check_fit(shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise ValueError(f"x must have shape (..., seq, dim), got {tuple(shape)}")
    if not 1 <= len(table) <= len(shape):
        raise ValueError(
            f"tables must have 1 to {len(shape)} axes, as x has, got shape {tuple(table)}"
        )
    if not 2 <= 2 * table[-1] <= shape[-1]:
        raise ValueError(
            f"tables of {table[-1]} pairs need 2 to {shape[-1]} channels, the dim of x, "
            f"got {2 * table[-1]}"
        )
    for axis in range(2, len(table) + 1):
        if table[-axis] not in (1, shape[-axis]):
            hint = "" if axis == 2 else "; per-batch positions need a heads axis: (batch, 1, seq)"
            raise ValueError(
                f"axis {-axis} of the tables must be 1 or {shape[-axis]} as in x {tuple(shape)}, "
                f"got {table[-axis]}{hint}"
            )


def check_out(out: Array, x: Array) -> None:
    """Refuse an out that is not of x's kind, shape and dtype."""
    if not is_array(out) or namespace(out) is not namespace(x):
        raise TypeError("out must be an array of the kind of x")
    if tuple(out.shape) != tuple(x.shape):
        raise ValueError(f"out must have the shape of x {tuple(x.shape)}, got {tuple(out.shape)}")
    if out.dtype != x.dtype:
        raise TypeError(f"out must have the dtype of x {x.dtype}, got {out.dtype}")


def _write(out: Array, rotated: Array, x: Array, cos: Array, sin: Array) -> Array:
    check_out(out, x)
    if isinstance(out, np.ndarray):
        same = out is x or (out.ctypes.data == x.ctypes.data and out.strides == x.strides)
        if any(np.may_share_memory(out, a) for a in (cos, sin, *(() if same else (x,)))):
            raise ValueError("out must be x itself or share no memory with x, cos and sin")
    try:
        out[...] = rotated
    except (TypeError, ValueError) as error:
        raise TypeError(f"out must be writable: {error}") from error
    return out
