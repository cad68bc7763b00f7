"""Positions times frequencies: the tables of cos mθ_j and sin mθ_j.

Angles are made in float64 and the tables are rounded once. In float32 the product mθ_j itself
would be off by 3e-2 rad at a million tokens, and in bfloat16 positions 256 and 257 are one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rope_lib._arrays import (
    Array,
    cast,
    compiling,
    dtype_kind,
    from_python,
    is_array,
    is_jax,
    is_numpy,
    is_torch,
    is_traced_jax,
    kind_name,
    like,
    namespace,
)
from rope_lib._checks import check_exact, positive_number
from rope_lib._runs import long_run, run_tables


def cos_sin(
    positions: Array,
    inv_freq: Array,
    *,
    attention_factor: float = 1.0,
    dtype: Any = None,
) -> tuple[Array, Array]:
    """The tables cos(m θ_j) and sin(m θ_j), both times attention_factor.

    Args:
        positions: token positions m, shape (..., seq): an int, a float, a list, a range or an
            array of any kind, which decides the kind and the device of the tables. Numbers and
            lists take the kind of inv_freq. Any ids will do: offset, packed, padded, gathered.
        inv_freq: θ_j in radians per token, shape (dim/2,); NumPy, or the kind of positions.
        attention_factor: positive; YaRN and LongRoPE scale both tables by it.
        dtype: floating dtype of the tables; None is float32.

    Returns:
        Two arrays of shape (..., seq, dim/2). For torch they are differentiable in inv_freq and
        in floating positions.

    Raises:
        ValueError: a position or frequency is not finite or beyond 2**53, inv_freq is not 1-D or
            is empty, attention_factor is not positive, or JAX traces positions or is to hold
            float64 tables while its jax_enable_x64 is off. Integers on an accelerator are not
            read back to be checked.
        TypeError: positions are bool, complex or a 16-bit float, dtype is not floating, or
            inv_freq is neither NumPy nor of the kind of positions.
    """
    factor = positive_number(attention_factor, "attention_factor")
    positions, inv_freq = _same_kind(positions, inv_freq)
    dtype = _table_dtype(dtype, positions)
    if is_jax(positions) and not (is_traced_jax(positions) or is_traced_jax(inv_freq)):
        dtype = np.dtype(dtype)
        if dtype == np.float64 and not _jax_has_float64():
            raise ValueError(
                "dtype must be at most float32 while jax_enable_x64 is off, got float64"
            )
        cos, sin = _tables(np.asarray(positions), np.asarray(inv_freq), factor, dtype)
        return like(cos, positions, "cos"), like(sin, positions, "sin")
    return _tables(positions, inv_freq, factor, dtype)


def _tables(positions: Array, inv_freq: Array, factor: float, dtype: Any) -> tuple[Array, Array]:
    for array, name in ((positions, "positions"), (inv_freq, "inv_freq")):
        _refuse_traced_without_x64(array, name)  # both, before either is cast
    positions, inv_freq = _float64(positions, "positions"), _float64(inv_freq, "inv_freq")
    if inv_freq.ndim != 1 or inv_freq.shape[0] == 0:
        raise ValueError(f"inv_freq must have shape (dim/2,), got {tuple(inv_freq.shape)}")
    xp = namespace(positions)
    run = long_run(positions, inv_freq) if dtype == xp.float32 else None
    if run is not None:
        cos, sin = run_tables(run[0], positions.shape[0], run[1], factor)
        return (xp.from_numpy(cos), xp.from_numpy(sin)) if is_torch(positions) else (cos, sin)
    angles = positions[..., None] * inv_freq
    return cast(xp.cos(angles) * factor, dtype), cast(xp.sin(angles) * factor, dtype)


def _same_kind(positions: Array, inv_freq: Array) -> tuple[Array, Array]:
    """Both in the kind and on the device of positions, which a number or a list leaves open."""
    decides = is_array(positions)
    positions, inv_freq = from_python(positions, "positions"), from_python(inv_freq, "inv_freq")
    if not decides:
        positions = _follow(positions, inv_freq)
    if is_jax(positions) and is_numpy(inv_freq):
        return positions, inv_freq  # as a JAX array it would be float32 before the angles are
    if is_numpy(inv_freq) and not compiling():
        inv_freq = _float64(inv_freq, "inv_freq")  # checked here, before it leaves the host
    inv_freq = like(inv_freq, positions, "inv_freq")
    return positions, inv_freq.to(positions.device) if is_torch(inv_freq) else inv_freq


def _follow(positions: Array, inv_freq: Array) -> Array:
    """Positions that were a number or a list: NumPy, or torch where torch compiles."""
    if is_torch(positions):
        return positions.to(inv_freq.device) if is_torch(inv_freq) else positions
    return like(positions, inv_freq, "positions")


def _float64(x: Array, name: str) -> Array:
    """X in float64, refused where its own dtype or its values cannot say which token is meant."""
    kind = dtype_kind(x)
    if kind not in ("integral", "real floating"):
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}")
    xp = namespace(x)
    if name != "inv_freq" and kind == "real floating" and xp.finfo(x.dtype).bits < 32:
        raise TypeError(
            f"{name} must be integers or at least float32, got {x.dtype}, "
            f"which cannot tell neighbouring positions apart"
        )
    _refuse_traced_without_x64(x, name)
    x = cast(x, xp.float64)
    on_host = not is_torch(x) or x.device.type == "cpu"
    # Reading values back makes the host wait, so frequencies that live there are the caller's.
    if on_host or (kind == "real floating" and name != "inv_freq"):
        check_exact(x, name)
    return x


def _refuse_traced_without_x64(x: Array, name: str) -> None:
    if is_traced_jax(x) and not _jax_has_float64():
        raise ValueError(
            f"{name} are traced by JAX with jax_enable_x64 off, so angles would be float32; "
            f"make the tables outside jit, pass NumPy positions, or enable x64"
        )


def _jax_has_float64() -> bool:
    return bool(sys.modules["jax"].config.jax_enable_x64)


def _table_dtype(dtype: Any, positions: Array) -> Any:
    """The dtype asked for, float32 where none was, or the rule that it breaks."""
    xp = namespace(positions)
    dtype = xp.float32 if dtype is None else dtype
    try:
        if is_torch(positions):
            floating = isinstance(dtype, xp.dtype) and dtype.is_floating_point
        else:
            dtype = np.dtype(dtype) if is_numpy(positions) else dtype
            floating = xp.isdtype(dtype, "real floating")
    except (TypeError, AttributeError, ValueError):  # no dtype at all
        floating = False
    if not floating:
        raise TypeError(f"dtype must be a {kind_name(positions)} floating dtype, got {dtype}")
    return dtype
