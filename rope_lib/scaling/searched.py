"""LongRoPE: a factor for every pair, found by search."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rope_lib._parameters import ParameterError, integer, number, positive_numbers
from rope_lib.frequencies import inverse_frequencies
from rope_lib.scaling._frequencies import Frequencies


def longrope(
    dim: int,
    base: float,
    *,
    short_factor: Sequence[float],
    long_factor: Sequence[float],
    original_max_position_embeddings: int,
    factor: float | None = None,
    attention_factor: float | None = None,
    seq_len: int | None = None,
) -> Frequencies:
    """LongRoPE: θ'_j = θ_j/λ_j, with one list of λ_j up to the trained length, one beyond it.

    Ding et al., LongRoPE, arXiv:2402.13753, eq. 2, and √(1 + ln factor/ln L0) for the attention
    factor, as Phi-3 uses it. The long list holds above L0, not at L0. Keys cached under the short
    list do not fit the long one: fix seq_len at the start of a generation.

    Args:
        dim: channels that rotate, even.
        base: at least 1.
        short_factor: dim/2 positive divisors, for lengths up to L0.
        long_factor: dim/2 positive divisors, for lengths above L0.
        original_max_position_embeddings: the trained length L0, in tokens.
        factor: new length over L0; at most 1 makes the attention factor 1.
        attention_factor: used as it is when given, and then factor is not needed.
        seq_len: the present length, in tokens; None: at most L0.

    Raises:
        ValueError, TypeError: a parameter is out of range, of the wrong length or not a number,
            factor and attention_factor are both absent, or as inverse_frequencies.

    Example:
        >>> lists = {"short_factor": [1.0, 1.0], "long_factor": [2.0, 4.0]}
        >>> given = {**lists, "original_max_position_embeddings": 4096, "factor": 32.0}
        >>> longrope(4, 10_000.0, **given, seq_len=4096).inv_freq.tolist()
        [1.0, 0.01]
        >>> longrope(4, 10_000.0, **given, seq_len=4097).inv_freq.tolist()
        [0.5, 0.0025]
    """
    plain = inverse_frequencies(dim, base)
    trained = integer("original_max_position_embeddings", original_max_position_embeddings)
    short = positive_numbers("short_factor", short_factor, plain.size)
    long = positive_numbers("long_factor", long_factor, plain.size)
    beyond = seq_len is not None and integer("seq_len", seq_len) > trained
    attention = _attention_factor(factor, attention_factor, trained)
    return Frequencies(plain / (long if beyond else short), attention)


def _attention_factor(factor: float | None, given: float | None, trained: int) -> float:
    extension = None if factor is None else number("factor", factor)
    if given is not None:
        return number("attention_factor", given)
    if extension is None:
        raise ParameterError("factor", "must be given where attention_factor is not", None)
    if extension <= 1.0:
        return 1.0
    if trained < 2:
        raise ParameterError("original_max_position_embeddings", "must be at least 2", trained)
    return math.sqrt(1.0 + math.log(extension) / math.log(trained))
