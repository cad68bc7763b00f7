"""xPos: a rotary embedding whose scores also shrink with distance.

Sun et al., A Length-Extrapolatable Transformer, arXiv:2212.10554, algorithm 1. Pair j of a query
at m is multiplied by ζ_j^((m−c)/B), and of a key at n by ζ_j^(−(n−c)/B), where 0 < ζ_j < 1. In a
score the centre c cancels and ζ_j^((m−n)/B) is left: the further back a key, the less it counts.
It cancels only if query and key have the same c. A centre that follows the present length, as in
several libraries, moves while a cache grows and spoils the keys that lie in it. Here it is fixed.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import Array, cast, holds, is_jax, is_traced_jax, like, namespace
from rope_lib._checks import positive_number, real_number, whole_number
from rope_lib.angles import _float64, _same_kind, _table_dtype, cos_sin

Tables: TypeAlias = tuple[Array, Array]


def xpos_decay(pairs: int, *, gamma: float = 0.4) -> NDArray[np.float64]:
    """ζ_j = (j/pairs + γ)/(1 + γ): what remains of pair j's score after scale_base tokens.

    Fast pairs fade first, as they have the smaller ζ_j.

    Args:
        pairs: dim/2, at least 1.
        gamma: above 0; 0.4 in the paper.

    Returns:
        NumPy float64, shape (pairs,), rising and below 1.

    Raises:
        ValueError: pairs or gamma is out of range.
        TypeError: pairs is not an integer, or gamma not a real number.

    Example:
        >>> xpos_decay(4).round(3).tolist()
        [0.286, 0.464, 0.643, 0.821]
    """
    pairs, gamma = whole_number(pairs, "pairs", 1), positive_number(gamma, "gamma")
    return (np.arange(pairs, dtype=np.float64) / pairs + gamma) / (1.0 + gamma)


def xpos_cos_sin(
    positions: Array,
    inv_freq: Array,
    *,
    gamma: float = 0.4,
    scale_base: float = 512.0,
    centre: float = 0.0,
    dtype: Any = None,
) -> tuple[Tables, Tables]:
    """The tables of xPos, one pair of them for queries and one for keys.

    A key that is rotated already moves by delta positions, scale included, when apply_rope
    turns it by the key tables of delta (with centre 0).

    Args:
        positions: as in cos_sin, shape (..., seq).
        inv_freq: as in cos_sin, shape (pairs,).
        gamma: above 0.
        scale_base: B, in tokens; above 0. 512 in the paper.
        centre: c, in tokens, the same for every table of a model. It moves the safe range: scales
            leave the range of a dtype at some distance from it, with the paper's γ and B at 3966
            for float16, 35 694 for float32 and bfloat16, 289 519 for float64.
        dtype: floating dtype of the tables; None is float32. Where x is narrower than the tables,
            its own range counts: pass x's dtype to have it checked.

    Returns:
        (cos, sin) for queries and (cos, sin) for keys, each of shape (..., seq, pairs). They go
        to apply_rope as ever; inverse=True does not undo them, as they are no pure rotations.

    Raises:
        ValueError: a position outside the range of dtype, a parameter out of range, or as
            cos_sin. To say so, positions on an accelerator are read back.
        TypeError: as cos_sin.

    Example:
        >>> from rope_lib import inverse_frequencies
        >>> (q_cos, q_sin), (k_cos, k_sin) = xpos_cos_sin(range(3), inverse_frequencies(8))
        >>> bool(abs(q_cos * k_cos + q_sin * k_sin - 1.0).max() < 1e-6)  # equal positions
        True
    """
    gamma, scale_base = positive_number(gamma, "gamma"), positive_number(scale_base, "scale_base")
    centre = real_number(centre, "centre")
    positions, inv_freq = _same_kind(positions, inv_freq)
    if inv_freq.ndim != 1 or inv_freq.shape[0] == 0:
        raise ValueError(f"inv_freq must have shape (pairs,), got {tuple(inv_freq.shape)}")
    dtype = _table_dtype(dtype, positions)
    # The fastest pair shrinks by a factor e in so many tokens, and dtype holds so many factors.
    tokens_per_e = scale_base / math.log1p(1.0 / gamma)
    limit = -math.log(namespace(positions).finfo(dtype).smallest_normal) * tokens_per_e
    log_decay = np.log(xpos_decay(inv_freq.shape[0], gamma=gamma)) / scale_base
    if is_jax(positions) and not (is_traced_jax(positions) or is_traced_jax(inv_freq)):
        # JAX may lack float64: the tables are made in NumPy, as cos_sin does.
        host = np.asarray(positions), np.asarray(inv_freq), log_decay, centre, limit
        tables = [like(table, positions, "tables") for table in _tables(*host, np.dtype(dtype))]
    else:
        tables = _tables(positions, inv_freq, log_decay, centre, limit, dtype)
    return (tables[0], tables[1]), (tables[2], tables[3])


def _tables(
    positions: Array,
    inv_freq: Array,
    log_decay: NDArray[np.float64],
    centre: float,
    limit: float,
    dtype: Any,
) -> list[Array]:
    """The cos and sin of queries, then those of keys."""
    xp = namespace(positions)
    cos, sin = cos_sin(positions, inv_freq, dtype=xp.float64)
    offsets = _float64(positions, "positions") - centre
    if not holds(xp.abs(offsets) <= limit):
        furthest = float(xp.max(xp.abs(offsets)))
        raise ValueError(
            f"positions must stay within {math.floor(limit)} of centre {centre:g}, where xPos "
            f"scales leave the range of {dtype}, got one {furthest:.0f} away"
        )
    growth = xp.exp(offsets[..., None] * like(log_decay, positions, "log_decay"))
    return [cast(t, dtype) for t in (cos * growth, sin * growth, cos / growth, sin / growth)]
