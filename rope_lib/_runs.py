"""The tables of a long run of consecutive positions, composed instead of computed one by one.

e^{i(m + n)θ} = e^{imθ} e^{inθ}: with one table for every 512th position, say, and one for the
512 steps between, each further entry costs one complex product, not a cosine and a sine. The
factors are complex128, so that the product is off by a few 2^−53 before it is rounded to float32.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import Array, compiling, is_torch

Tables: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]

SHORTEST = 2**15
"""Shorter runs are made position by position, bit for bit as when each is asked for alone."""

BLOCK = 2**15
"""Entries in one block, 512 KiB of complex128: what a core's cache holds easily."""


def long_run(positions: Array, inv_freq: Array) -> tuple[float, NDArray[np.float64]] | None:
    """The first position and the frequencies, where a long run can be composed; else None."""
    if positions.ndim != 1 or positions.shape[0] < SHORTEST:
        return None
    ids, theta = _in_memory(positions), _in_memory(inv_freq)
    if ids is None or theta is None or not bool((np.diff(ids) == 1.0).all()):
        return None
    return float(ids[0]), theta


def run_tables(start: float, length: int, inv_freq: NDArray[np.float64], factor: float) -> Tables:
    """Cosine and sine of (start + m)θ_j, times factor: shape (length, pairs), float32."""
    rows = max(1, BLOCK // len(inv_freq))
    fine = _turns(np.arange(rows), inv_freq)
    coarse = factor * _turns(start + np.arange(0, length, rows), inv_freq)
    cos = np.empty((length, len(inv_freq)), np.float32)
    sin = np.empty_like(cos)
    product = np.empty_like(fine)
    for block, first in enumerate(range(0, length, rows)):
        np.multiply(fine, coarse[block], out=product)
        rest = length - first
        cos[first : first + rows] = product.real[:rest]
        sin[first : first + rows] = product.imag[:rest]
    return cos, sin


def _turns(positions: NDArray[Any], inv_freq: NDArray[np.float64]) -> NDArray[np.complex128]:
    """e^{imθ_j}, shape (seq, pairs)."""
    turns: NDArray[np.complex128] = np.exp(1j * (positions[:, None] * inv_freq))
    return turns


def _in_memory(x: Array) -> NDArray[np.float64] | None:
    """The memory of x as NumPy sees it, or None where it lies elsewhere or something watches x."""
    if isinstance(x, np.ndarray):
        return x
    if not is_torch(x) or compiling() or x.requires_grad or x.device.type != "cpu":
        return None
    try:
        memory: NDArray[np.float64] = x.numpy()
    except (RuntimeError, TypeError):  # batched by vmap, or a tensor without memory of its own
        return None
    return memory
