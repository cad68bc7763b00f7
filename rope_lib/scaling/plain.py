"""Scalings that treat every pair by one rule: the position, the base, or nothing at all."""

from __future__ import annotations

from rope_lib._parameters import ParameterError, integer, number
from rope_lib.frequencies import inverse_frequencies
from rope_lib.scaling._frequencies import Frequencies


def default(dim: int, base: float) -> Frequencies:
    """No scaling: θ_j = base^(−2j/dim). Su et al., RoFormer, arXiv:2104.09864, section 3.2.2.

    Args:
        dim: channels that rotate, even.
        base: at least 1.

    Raises:
        ValueError, TypeError: as rope_lib.inverse_frequencies.
    """
    return Frequencies(inverse_frequencies(dim, base))


def linear(dim: int, base: float, *, factor: float) -> Frequencies:
    """Position interpolation: position m turns by the angle of m/factor, so θ'_j = θ_j/factor.

    Chen et al., Extending Context Window via Positional Interpolation, arXiv:2306.15595, eq. 4.

    Args:
        dim: channels that rotate, even.
        base: at least 1.
        factor: new length over trained length, at least 1.

    Raises:
        ValueError, TypeError: factor is out of range or not a number, or as inverse_frequencies.

    Example:
        >>> linear(4, 10_000.0, factor=2.0).inv_freq.tolist()
        [0.5, 0.005]
    """
    return Frequencies(inverse_frequencies(dim, base) / number("factor", factor, 1.0))


def ntk(dim: int, base: float, *, factor: float) -> Frequencies:
    """NTK-aware: the base grows to base·factor^(dim/(dim−2)).

    The first pair keeps its frequency and the last one is divided by factor exactly: high
    frequencies extrapolate, low ones interpolate. bloc97, reddit.com/r/LocalLLaMA, 14lz7j5 (2023);
    as stated in Peng et al., YaRN, arXiv:2309.00071, section 3.1.

    Args:
        dim: channels that rotate, even, at least 4 (of a single pair, first and last disagree).
        base: at least 1.
        factor: new length over trained length, at least 1.

    Raises:
        ValueError, TypeError: factor or dim is out of range, or as inverse_frequencies.

    Example:
        >>> ntk(4, 10_000.0, factor=4.0).inv_freq.tolist()  # base 160 000
        [1.0, 0.0025]
    """
    return Frequencies(inverse_frequencies(dim, _grown(dim, base, number("factor", factor, 1.0))))


def dynamic(
    dim: int,
    base: float,
    *,
    factor: float,
    original_max_position_embeddings: int,
    seq_len: int | None = None,
) -> Frequencies:
    """Dynamic NTK: ntk with the factor·L/L0 − (factor − 1) that the present length L asks for.

    At L = L0 and below, nothing changes; at L = 2·L0 the multiplier is factor + 1, not 2. Keys
    cached under an earlier L keep their old base: decode with a cache differs from one pass.
    emozilla, reddit.com/r/LocalLLaMA, 14mrgpr (2023), in the form that transformers computes;
    the idea in Peng et al., YaRN, arXiv:2309.00071, section 3.3.

    Args:
        dim: channels that rotate, even, at least 4.
        base: at least 1.
        factor: at least 1.
        original_max_position_embeddings: the trained length L0, in tokens.
        seq_len: the present length L, in tokens; None: at most L0.

    Raises:
        ValueError, TypeError: a parameter is out of range or not a number, or as
            inverse_frequencies.

    Example:
        >>> given = {"factor": 4.0, "original_max_position_embeddings": 2048}
        >>> dynamic(4, 10_000.0, **given, seq_len=2048).inv_freq.tolist()
        [1.0, 0.01]
        >>> dynamic(4, 10_000.0, **given, seq_len=4096).inv_freq.round(6).tolist()
        [1.0, 0.002]
    """
    factor = number("factor", factor, 1.0)
    trained = integer("original_max_position_embeddings", original_max_position_embeddings)
    length = trained if seq_len is None else max(integer("seq_len", seq_len), trained)
    multiplier = factor * length / trained - (factor - 1.0)
    # Rounding may leave the multiplier a hair below 1 at L = L0 when factor is large.
    return Frequencies(inverse_frequencies(dim, _grown(dim, base, max(multiplier, 1.0))))


def proportional(
    dim: int, base: float, *, partial_rotary_factor: float = 1.0, factor: float = 1.0
) -> Frequencies:
    """Proportional partial rotary (Gemma 4): the first pairs turn, the rest have frequency 0.

    The exponent divides by the full dim, unlike partial rotary, which divides by the part that
    rotates; in the half layout pair j is channels (j, j + dim/2) of the whole head. Named and
    defined in transformers, modeling_rope_utils (2026); the idea of dropping the lowest
    frequencies is p-RoPE, Barbero et al., Round and Round We Go!, arXiv:2410.06205, section 6.

    Args:
        dim: channels of the head, even.
        base: at least 1.
        partial_rotary_factor: the first int(partial_rotary_factor·dim/2) pairs turn; above 0, at
            most 1.
        factor: divides every frequency; at least 1.

    Raises:
        ValueError, TypeError: a parameter is out of range or not a number, or as
            inverse_frequencies.

    Example:
        >>> proportional(8, 10_000.0, partial_rotary_factor=0.5).inv_freq.tolist()
        [1.0, 0.1, 0.0, 0.0]
    """
    share = number("partial_rotary_factor", partial_rotary_factor, 0.0, 1.0, exclusive=True)
    inv_freq = inverse_frequencies(dim, base) / number("factor", factor, 1.0)
    inv_freq[int(share * dim / 2) :] = 0.0
    return Frequencies(inv_freq)


def _grown(dim: int, base: float, multiplier: float) -> float:
    """The base for which the last of the dim/2 frequencies is divided by multiplier."""
    if integer("dim", dim) < 4:
        raise ParameterError("dim", "must be at least 4 for NTK scaling", dim)
    return number("base", base, 1.0) * float(multiplier ** (dim / (dim - 2)))
