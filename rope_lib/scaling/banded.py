"""Scalings that sort the pairs into bands: those that turn often are kept, slow ones divided."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rope_lib._parameters import ParameterError, flag, integer, number
from rope_lib.frequencies import inverse_frequencies
from rope_lib.scaling._frequencies import Frequencies


def yarn(
    dim: int,
    base: float,
    *,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
    attention_factor: float | None = None,
) -> Frequencies:
    """YaRN: a ramp over the pairs from kept to divided by factor, and a warmer softmax.

    Peng et al., YaRN, arXiv:2309.00071: eq. 17–20 for the ramp (there over rotations, in released
    code over the pair index), eq. 22 for the temperature. DeepSeek-V2, arXiv:2405.04434, moves
    the temperature from cos and sin to the softmax scale by mscale and mscale_all_dim.

    Args:
        dim: channels that rotate, even.
        base: above 1.
        factor: new length over trained length, at least 1.
        original_max_position_embeddings: the trained length, in tokens.
        beta_fast: pairs that turn more often than this in the trained length are kept.
        beta_slow: pairs that turn less often than this are divided; below beta_fast.
        truncate: round the ends of the ramp outwards to whole pairs.
        mscale: with mscale_all_dim, makes the attention factor the ratio of the two yarn_mscale.
            0 counts as absent, here and below, as in the released code.
        mscale_all_dim: makes the softmax multiplier yarn_mscale(factor, mscale_all_dim)².
        attention_factor: used as it is when given; else the ratio, else yarn_mscale(factor).

    Raises:
        ValueError, TypeError: a parameter is out of range or not of its kind, or as
            inverse_frequencies.

    Example:
        >>> found = yarn(64, 10_000.0, factor=40.0, original_max_position_embeddings=4096)
        >>> round(found.attention_factor, 5), found.softmax_multiplier
        (1.36889, 1.0)
    """
    factor = number("factor", factor, 1.0)
    low, high = yarn_ramp_ends(
        dim,
        base,
        original_max_position_embeddings=original_max_position_embeddings,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
    )
    kept = inverse_frequencies(dim, base)
    # A ramp of no width would divide 0 by 0.
    share = np.clip((np.arange(kept.size) - low) / max(high - low, 0.001), 0.0, 1.0)
    blended = _blend(kept, factor, share)
    return Frequencies(blended, *_temperatures(factor, mscale, mscale_all_dim, attention_factor))


def yarn_ramp_ends(
    dim: int,
    base: float,
    *,
    original_max_position_embeddings: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> tuple[float, float]:
    """The pair indices where YaRN's ramp starts and ends.

    Pair j turns L·θ_j/2π times in the trained length L; it turns beta times at
    j = dim·ln(L/(2π·beta)) / (2·ln base).

    Args and errors are those of yarn; the start is at least 0, the end at most dim − 1.

    Example:
        >>> yarn_ramp_ends(128, 10_000.0, original_max_position_embeddings=4096)
        (20.0, 46.0)
    """
    dim, base = integer("dim", dim), number("base", base, 1.0, exclusive=True)
    length = integer("original_max_position_embeddings", original_max_position_embeddings)
    fast, slow = number("beta_fast", beta_fast), number("beta_slow", beta_slow)
    if slow >= fast:
        raise ParameterError("beta_fast", f"must be above beta_slow {slow:g}", beta_fast)

    def pair(turns: float) -> float:
        return dim * math.log(length / (turns * 2.0 * math.pi)) / (2.0 * math.log(base))

    low, high = pair(fast), pair(slow)
    if flag("truncate", truncate):
        low, high = float(math.floor(low)), float(math.ceil(high))
    return max(low, 0.0), min(high, dim - 1.0)


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """0.1·mscale·ln(factor) + 1: YaRN's √(1/t), arXiv:2309.00071, eq. 22; 1 at factor 1."""
    return 0.1 * mscale * math.log(factor) + 1.0


def llama3(
    dim: int,
    base: float,
    *,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
) -> Frequencies:
    """Llama 3.1: wavelengths below L/high kept, above L/low divided, blended in between.

    The blend is linear in the number of turns L/λ_j = L·θ_j/2π that a pair makes in the trained
    length L, and mixes frequencies, not wavelengths. Meta's release code of Llama 3.1 (2024);
    Grattafiori et al., arXiv:2407.21783, gives the base only.

    Args:
        dim: channels that rotate, even.
        base: at least 1.
        factor: divides the low frequencies, at least 1.
        low_freq_factor: turns below which a pair is divided.
        high_freq_factor: turns above which a pair is kept; above low_freq_factor.
        original_max_position_embeddings: the trained length L, in tokens.

    Raises:
        ValueError, TypeError: a parameter is out of range or not a number, or as
            inverse_frequencies.

    Example:
        >>> bands = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        >>> found = llama3(128, 500_000.0, **bands, original_max_position_embeddings=8192)
        >>> plain = inverse_frequencies(128, 500_000.0)
        >>> int((found.inv_freq == plain).sum()), int((found.inv_freq == plain / 8).sum())
        (29, 29)
    """
    factor = number("factor", factor, 1.0)
    low = number("low_freq_factor", low_freq_factor)
    high = number("high_freq_factor", high_freq_factor)
    if low >= high:
        raise ParameterError(
            "high_freq_factor", f"must be above low_freq_factor {low:g}", high_freq_factor
        )
    length = integer("original_max_position_embeddings", original_max_position_embeddings)
    kept = inverse_frequencies(dim, base)
    turns = length * kept / (2.0 * math.pi)
    return Frequencies(_blend(kept, factor, np.clip((high - turns) / (high - low), 0.0, 1.0)))


def _blend(
    kept: NDArray[np.float64], factor: float, share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share 0 keeps a frequency, share 1 divides it by factor, both exactly."""
    blended: NDArray[np.float64] = share * kept / factor + (1.0 - share) * kept
    return blended


def _temperatures(
    factor: float,
    mscale: float | None,
    mscale_all_dim: float | None,
    attention_factor: float | None,
) -> tuple[float, float]:
    """What multiplies cos and sin, and what multiplies the softmax scale."""
    each = 0.0 if mscale is None else number("mscale", mscale, 0.0)
    overall = 0.0 if mscale_all_dim is None else number("mscale_all_dim", mscale_all_dim, 0.0)
    if attention_factor is not None:
        cos_sin = number("attention_factor", attention_factor)
    elif each and overall:
        cos_sin = yarn_mscale(factor, each) / yarn_mscale(factor, overall)
    else:
        cos_sin = yarn_mscale(factor)
    return cos_sin, yarn_mscale(factor, overall) ** 2
