"""What a scaling does to the spectrum, pair by pair."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rope_lib._parameters import integer, number


def bands(
    plain: NDArray[np.float64], scaled: NDArray[np.float64], factor: float
) -> tuple[int, int, int]:
    """How many pairs a scaling kept, blended, and divided by factor, in this order.

    Args:
        plain: inverse frequencies before scaling, none of them 0.
        scaled: inverse frequencies after it, of the same shape.
        factor: the scaling's factor; at factor 1 every pair is kept.
    """
    ratio = plain / np.maximum(scaled, np.finfo(np.float64).tiny)
    kept = int(np.isclose(ratio, 1.0, rtol=1e-12, atol=0.0).sum())
    divided = 0 if factor == 1.0 else int(np.isclose(ratio, factor, rtol=1e-12, atol=0.0).sum())
    return kept, plain.size - kept - divided, divided


def critical_dimension(dim: int, base: float, length: int) -> int:
    """2⌈(dim/2)·log_base(length/2π)⌉: the channels whose pairs complete a turn within length.

    Liu et al., Scaling Laws of RoPE-based Extrapolation, arXiv:2310.05209, theorem 1. The other
    dim − critical_dimension channels see only part of their circle in training.

    Args:
        dim: channels that rotate, even.
        base: above 1.
        length: trained length, in tokens.

    Raises:
        ValueError, TypeError: an argument is out of range or not a number.

    Example:
        >>> critical_dimension(128, 10_000.0, 4096)
        92
    """
    dim, length = integer("dim", dim, 2), integer("length", length)
    base = number("base", base, 1.0, exclusive=True)
    pairs = math.ceil(dim / 2 * math.log(length / (2.0 * math.pi)) / math.log(base))
    return 2 * min(max(pairs, 0), dim // 2)
