"""The inverse frequencies θ_j of the pairs, and the distances over which they turn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import Array, as_floating, namespace
from rope_lib._checks import check_finite, even_number, real_number


def inverse_frequencies(dim: int, base: float = 10_000.0) -> NDArray[np.float64]:
    """θ_j = base^(−2j/dim), the angle in radians by which pair j turns from one token to the next.

    Su et al., RoFormer, arXiv:2104.09864, section 3.2.2 (there j counts from 1, here from 0).

    Args:
        dim: channels that rotate; even, at least 2. For partial rotary this is the rotary size,
            not the head size.
        base: at least 1; 10 000 in the paper.

    Returns:
        NumPy float64, shape (dim/2,), from 1 downwards.

    Raises:
        ValueError: dim is odd or below 2, or base is below 1 or not finite.
        TypeError: dim is not an integer, or base is not a real number.
    """
    dim = even_number(dim, "dim")
    base = real_number(base, "base")
    if base < 1.0:
        raise ValueError(f"base must be at least 1, got {base}")
    exponents: NDArray[np.float64] = -np.arange(0, dim, 2, dtype=np.float64) / dim
    return np.power(np.float64(base), exponents)


def wavelengths(inv_freq: Array) -> Array:
    """Tokens until pair j has made one full turn: 2π over the size of θ_j.

    Args:
        inv_freq: radians per token, any shape and kind.

    Returns:
        Tokens per turn, shape and kind of inv_freq; infinite where the frequency is 0.

    Raises:
        ValueError: inv_freq is not finite.
        TypeError: inv_freq is bool or complex.
    """
    inv_freq = as_floating(inv_freq, "inv_freq")
    check_finite(inv_freq, "inv_freq")
    # A pair of frequency 0 never turns, and its wavelength is infinite: no cause for a warning.
    with np.errstate(divide="ignore", over="ignore"):
        return 2.0 * math.pi / namespace(inv_freq).abs(inv_freq)
