"""Positions with several axes: pictures, video, text and pictures together.

One formula holds all the schemes. On a line, pair j turns by mθ_j. With n axes the position is a
vector, and so is the frequency of a pair: it turns by Σ_a m_a θ_aj. The score of two tokens still
depends on nothing but the difference of their positions. A scheme is a matrix of frequencies,
shape (n_axes, pairs):

- axial: every axis has pairs of its own, so a column holds one number that is not 0;
- M-RoPE: the same, where the axes share the pairs of one ordinary ladder among them;
- mixed: full columns, learned, one matrix for each head (rope_lib.nn.MixedRotaryEmbedding).

axes_cos_sin makes the tables of any of them, and apply_rope takes those as ever.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import (
    Array,
    as_floating,
    compiling,
    from_python,
    is_array,
    is_numpy,
    is_torch,
    like,
)
from rope_lib._axis_tables import all_axes, one_axis_each
from rope_lib._checks import check_finite, even_number, positive_number, real_number, whole_number
from rope_lib._parameters import items
from rope_lib.angles import _float64, _table_dtype


def grid_positions(*sizes: int) -> NDArray[np.int64]:
    """The positions of a grid's cells, row by row, as a flattened picture has them.

    The last size varies fastest, and the axes of a position keep the order of the arguments:
    grid_positions(rows, cols) gives (row, col) pairs, never (x, y).

    Args:
        sizes: cells along each axis, slowest first: (rows, cols) or (frames, rows, cols).

    Returns:
        NumPy int64, shape (product of the sizes, n_axes).

    Raises:
        ValueError: no size, or a size below 1.
        TypeError: a size is not an integer.

    Example:
        >>> grid_positions(2, 3).tolist()
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    if not sizes:
        raise ValueError("grid_positions needs at least 1 size, got 0")
    shape = [whole_number(size, f"sizes[{axis}]", 1) for axis, size in enumerate(sizes)]
    return np.indices(shape, dtype=np.int64).reshape(len(shape), -1).T.copy()


def axial_frequencies(*ladders: Array) -> NDArray[np.float64]:
    """Each axis turns pairs of its own: the ladders side by side, one to a row.

    Heo et al., RoPE-ViT, arXiv:2403.13298 (axial frequency), for two axes; any number here, of
    any sizes, such as (16, 56, 56) channels for frame, row and column.

    Args:
        ladders: one 1-D array of frequencies an axis, in the order of the axes of a position,
            such as inverse_frequencies(dim/n_axes) for each.

    Returns:
        NumPy float64, shape (n_axes, total pairs), 0 where a pair does not belong to the axis.

    Raises:
        ValueError: no ladder, or one that is empty, not 1-D or not finite.
        TypeError: a ladder does not hold real numbers.

    Example:
        >>> axial_frequencies([1.0, 0.1], [1.0]).tolist()
        [[1.0, 0.1, 0.0], [0.0, 0.0, 1.0]]
    """
    if not ladders:
        raise ValueError("axial_frequencies needs at least 1 ladder, got 0")
    rows = [_ladder(ladder, f"ladders[{axis}]") for axis, ladder in enumerate(ladders)]
    matrix = np.zeros((len(rows), sum(row.size for row in rows)))
    start = 0
    for axis, row in enumerate(rows):
        matrix[axis, start : start + row.size] = row
        start += row.size
    return matrix


def mrope_frequencies(
    inv_freq: Array, sections: Sequence[int], *, interleaved: bool = False
) -> NDArray[np.float64]:
    """The axes share one ladder: each pair keeps its frequency and reads one axis.

    Chunked (Wang et al., Qwen2-VL, arXiv:2409.12191, section 2.1): the first sections[0] pairs
    read axis 0 (time), the next sections[1] read axis 1 (row), and so on. Interleaved (Huang et
    al., arXiv:2510.23095; Qwen3-VL): the axes take turns, pair j reads axis j mod n_axes until
    that axis has its share, and axis 0 takes whatever the others leave. This order is over
    frequencies; it has nothing to do with the "interleaved" layout of channels.

    A token whose axes all hold m gets the table of plain RoPE at m, exactly: text stays text.

    Args:
        inv_freq: the ladder, shape (pairs,).
        sections: pairs that read each axis; mrope_section in a config.json. Their sum is pairs.
        interleaved: mrope_interleaved in a config.json.

    Returns:
        NumPy float64, shape (n_axes, pairs).

    Raises:
        ValueError: the sections do not add up to pairs, a section is negative or too long to be
            interleaved, or inv_freq is empty, not 1-D or not finite.
        TypeError: sections are no list, or one is not an integer.

    Example:
        >>> mrope_frequencies([1.0, 0.1, 0.01], [1, 1, 1]).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.01]]
    """
    ladder = _ladder(inv_freq, "inv_freq")
    shares = [
        whole_number(share, f"sections[{a}]", 0)
        for a, share in enumerate(items("sections", sections))
    ]
    if sum(shares) != ladder.size:
        raise ValueError(
            f"sections must add up to the {ladder.size} pairs of inv_freq, "
            f"got {shares} with sum {sum(shares)}"
        )
    axis_of_pair = (
        _interleaved(shares) if interleaved else np.repeat(np.arange(len(shares)), shares)
    )
    matrix = np.zeros((len(shares), ladder.size))
    matrix[axis_of_pair, np.arange(ladder.size)] = ladder
    return matrix


def _interleaved(shares: list[int]) -> NDArray[np.intp]:
    """Which axis each pair reads when the axes take turns."""
    axes, pairs = len(shares), sum(shares)
    axis_of_pair = np.zeros(pairs, dtype=np.intp)
    for axis, share in enumerate(shares[1:], start=1):
        room = len(range(axis, pairs, axes))
        if share > room:
            raise ValueError(
                f"sections[{axis}] must be at most {room} to interleave {axes} axes over "
                f"{pairs} pairs, got {share}"
            )
        axis_of_pair[axis : axis + axes * share : axes] = axis
    return axis_of_pair


def mixed_frequencies(dim: int, headings: Array, *, base: float = 10.0) -> NDArray[np.float64]:
    """Where mixed two-axis frequencies start before they learn: a compass for each head.

    Half of a head's pairs point along its heading φ, half at right angles to it, both with
    lengths base^(−4j/dim) for j from 0. Heo et al., RoPE-ViT, arXiv:2403.13298 (mixed learnable
    frequency), and its released code, whose base here is 10.

    Args:
        dim: channels that rotate; divisible by 4.
        headings: φ in radians, shape (heads,).
        base: at least 1.

    Returns:
        NumPy float64, shape (heads, 2, dim/2).

    Raises:
        ValueError: dim does not divide by 4, base is below 1, or headings are empty, not 1-D or
            not finite.
        TypeError: dim is not an integer, or headings do not hold real numbers.

    Example:
        >>> mixed_frequencies(4, [0.0]).round(3).tolist()
        [[[1.0, 0.0], [0.0, 1.0]]]
    """
    if even_number(dim, "dim") % 4:
        raise ValueError(f"dim must divide by 4 for two directions of pairs, got {dim}")
    base = real_number(base, "base")
    if base < 1.0:
        raise ValueError(f"base must be at least 1, got {base}")
    lengths = base ** (-np.arange(0, dim, 4, dtype=np.float64) / dim)
    angles = _ladder(headings, "headings")[:, None] + np.array([0.0, math.pi / 2])
    compass = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (heads, axis, direction)
    return (compass[..., None] * lengths).reshape(angles.shape[0], 2, dim // 2)


def axes_cos_sin(
    positions: Array,
    inv_freq: Array,
    *,
    attention_factor: float = 1.0,
    dtype: Any = None,
) -> tuple[Array, Array]:
    """The tables cos(Σ_a m_a θ_aj) and sin(Σ_a m_a θ_aj), both times attention_factor.

    Kinds, devices, dtypes and precision are those of cos_sin: made in float64, rounded once.

    Args:
        positions: shape (..., seq, n_axes). transformers keeps its axes first, (3, batch, seq):
            move them last. Beside x (batch, heads, seq, dim), per-batch positions carry a heads
            axis: (batch, 1, seq, n_axes).
        inv_freq: θ_aj in radians per step, shape (n_axes, pairs), or (heads, n_axes, pairs)
            with a matrix for each head; NumPy, or the kind of positions.
        attention_factor: positive, as in cos_sin.
        dtype: floating dtype of the tables; None is float32.

    Returns:
        Two arrays of shape (..., seq, pairs), or (..., heads, seq, pairs) with a matrix for each
        head. For torch they are differentiable in inv_freq and in floating positions.

    Raises:
        ValueError: the axes of positions and inv_freq differ in number, or as cos_sin.
        TypeError: as cos_sin.

    Example:
        >>> from rope_lib import inverse_frequencies
        >>> ladder = inverse_frequencies(4)
        >>> cos, sin = axes_cos_sin(grid_positions(3, 5), axial_frequencies(ladder, ladder))
        >>> cos.shape
        (15, 4)
    """
    factor = positive_number(attention_factor, "attention_factor")
    positions, inv_freq = _checked(positions, inv_freq)
    dtype = _table_dtype(dtype, positions)
    if is_numpy(inv_freq) and not compiling():
        inv_freq = _float64(inv_freq, "inv_freq")
        if inv_freq.ndim == 2 and (np.count_nonzero(inv_freq, axis=0) <= 1).all():
            return one_axis_each(positions, inv_freq, factor, dtype)
    return all_axes(positions, inv_freq, factor, dtype)


def _checked(positions: Array, inv_freq: Array) -> tuple[Array, Array]:
    """Both as arrays whose axes match, or the rule that they break."""
    follows = not is_array(positions)
    positions, inv_freq = (
        from_python(positions, "positions"),
        from_python(inv_freq, "inv_freq"),
    )
    if follows:
        positions = like(positions, inv_freq, "positions")
    if inv_freq.ndim < 2 or 0 in inv_freq.shape:
        raise ValueError(
            f"inv_freq must have shape (n_axes, pairs) or (heads, n_axes, pairs), "
            f"got {tuple(inv_freq.shape)}"
        )
    axes = inv_freq.shape[-2]
    if positions.ndim < 1 or positions.shape[-1] != axes:
        raise ValueError(
            f"positions must have shape (..., seq, {axes}), the {axes} axes of inv_freq last, "
            f"got {tuple(positions.shape)}"
        )
    return positions, inv_freq


def _ladder(values: Array, name: str) -> NDArray[np.float64]:
    """Values as a 1-D NumPy array of float64."""
    values = as_floating(values, name)
    values = values.detach().cpu() if is_torch(values) else values
    if values.ndim != 1 or values.shape[0] == 0:
        raise ValueError(f"{name} must have shape (n,), n at least 1, got {tuple(values.shape)}")
    check_finite(values, name)
    return np.asarray(values, dtype=np.float64)
