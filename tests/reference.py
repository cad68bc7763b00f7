"""RoPE one number at a time: slow, obvious, and the judge of everything faster."""

from __future__ import annotations

import math

import numpy as np


def frequencies(dim: int, base: float) -> list[float]:
    return [base ** (-2.0 * j / dim) for j in range(dim // 2)]


def rotated(
    x: np.ndarray,
    positions: np.ndarray,
    inv_freq: list[float] | np.ndarray,
    layout: str,
    sign: float = 1.0,
) -> np.ndarray:
    """X (..., seq, dim) rotated at positions (seq,) by a loop over every pair, in float64."""
    pairs = len(inv_freq)
    out = np.array(x, dtype=np.float64)
    for index in np.ndindex(*x.shape[:-1]):
        for j in range(pairs):
            first, second = (2 * j, 2 * j + 1) if layout == "interleaved" else (j, j + pairs)
            angle = sign * float(positions[index[-1]]) * float(inv_freq[j])
            a, b = float(x[(*index, first)]), float(x[(*index, second)])
            out[(*index, first)] = a * math.cos(angle) - b * math.sin(angle)
            out[(*index, second)] = a * math.sin(angle) + b * math.cos(angle)
    return out
