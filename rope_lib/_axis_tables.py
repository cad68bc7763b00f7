"""The tables behind rope_lib.axes_cos_sin, for arguments that it has checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import Array, cast, is_jax, is_traced_jax, like, namespace
from rope_lib.angles import _float64, cos_sin


def one_axis_each(
    positions: Array, inv_freq: NDArray[np.float64], factor: float, dtype: Any
) -> tuple[Array, Array]:
    """Tables of pairs that read one axis each, equal bit for bit to cos_sin of that axis.

    Each axis makes the whole ladder's table, because cos_sin composes long runs of positions by
    a rule that depends on the number of pairs, and rounds accordingly.
    """
    axis_of_pair, ladder = (inv_freq != 0.0).argmax(axis=0), inv_freq.sum(axis=0)
    xp = namespace(positions)
    options = {"attention_factor": factor, "dtype": dtype}
    cos, sin = cos_sin(positions[..., 0], ladder, **options)
    for axis in range(1, len(inv_freq)):
        cos_here, sin_here = cos_sin(positions[..., axis], ladder, **options)
        reads = like(axis_of_pair == axis, positions, "inv_freq")
        cos, sin = xp.where(reads, cos_here, cos), xp.where(reads, sin_here, sin)
    return cos, sin


def all_axes(positions: Array, inv_freq: Array, factor: float, dtype: Any) -> tuple[Array, Array]:
    """Tables of pairs that read every axis."""
    if is_jax(positions) and not (is_traced_jax(positions) or is_traced_jax(inv_freq)):
        # JAX may lack float64: the tables are made in NumPy, as cos_sin does.
        host = np.asarray(positions), np.asarray(inv_freq)
        cos, sin = _all_tables(*host, factor, np.dtype(dtype))
        return like(cos, positions, "cos"), like(sin, positions, "sin")
    return _all_tables(positions, like(inv_freq, positions, "inv_freq"), factor, dtype)


def _all_tables(
    positions: Array, inv_freq: Array, factor: float, dtype: Any
) -> tuple[Array, Array]:
    xp = namespace(positions)
    positions, inv_freq = _float64(positions, "positions"), _float64(inv_freq, "inv_freq")
    # A sum, not a matrix product, which autocast and TF32 would round to 8 or 11 bits.
    angles = sum(
        positions[..., axis, None] * inv_freq[..., axis, None, :]
        for axis in range(positions.shape[-1])
    )
    return cast(xp.cos(angles) * factor, dtype), cast(xp.sin(angles) * factor, dtype)
