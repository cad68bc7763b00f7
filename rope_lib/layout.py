"""Two ways to lay the pairs of a head into its channels, and the way between them.

"interleaved": pair j is channels (2j, 2j+1), as in the paper, Meta's code, GPT-J and GGUF llama
files. "half": pair j is channels (j, j + rotary_dim/2), as in GPT-NeoX and Hugging Face. The
layout belongs to a checkpoint. Permuting the rows of the query and key weights changes it, and
leaves every score as it was; values and the output projection stay untouched.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import Array, from_python, is_torch, like, namespace
from rope_lib._checks import even_number, whole_number

Layout: TypeAlias = Literal["interleaved", "half"]


def check_layout(layout: str, name: str = "layout") -> None:
    """Refuse any name but the two."""
    if layout not in get_args(Layout):
        raise ValueError(f'{name} must be "interleaved" or "half", got {layout!r}')


def layout_permutation(
    dim: int, source: Layout, target: Layout, rotary_dim: int | None = None
) -> NDArray[np.int64]:
    """The channel order p for which converted = x[..., p].

    Args:
        dim: channels of one head.
        source: layout that x has.
        target: layout that it gets.
        rotary_dim: channels that rotate, the first of each head; None: all. The rest keep their
            place.

    Returns:
        NumPy int64, shape (dim,). Swapping source and target gives the inverse permutation.

    Raises:
        ValueError: an unknown layout, or rotary_dim (dim where it is None) is odd, below 2 or
            above dim.
        TypeError: a size is not an integer.
    """
    check_layout(source, "source")
    check_layout(target, "target")
    dim = whole_number(dim, "dim", 1)
    rotary_dim = even_number(dim, "dim") if rotary_dim is None else _rotary_size(rotary_dim, dim)
    order = np.arange(dim, dtype=np.int64)
    if source != target:
        # Row-major pairs (rotary_dim/2, 2) are the interleaved layout, (2, rotary_dim/2) the half.
        pairs = (-1, 2) if source == "interleaved" else (2, -1)
        order[:rotary_dim] = order[:rotary_dim].reshape(pairs).T.reshape(-1)
    return order


def convert_layout(
    x: Array, source: Layout, target: Layout, rotary_dim: int | None = None
) -> Array:
    """Move the last axis, one head's channels, from one layout to the other.

    Args:
        x: shape (..., head_dim), any kind and dtype.
        source: layout that x has.
        target: layout that it gets.
        rotary_dim: channels that rotate; None: all.

    Returns:
        A new array of x's shape, kind, device and dtype.

    Raises:
        ValueError: x has no axis, or as layout_permutation.
        TypeError: as layout_permutation.
    """
    x = from_python(x, "x")
    if x.ndim == 0:
        raise ValueError("x must have shape (..., head_dim), got ()")
    return _take(x, layout_permutation(x.shape[-1], source, target, rotary_dim), axis=x.ndim - 1)


def convert_qk_weight(
    weight: Array,
    num_heads: int,
    *,
    source: Layout,
    target: Layout,
    rotary_dim: int | None = None,
) -> Array:
    """The weight, or bias, of a query or key projection, moved from one layout to the other.

    With grouped-query attention the key projection has its own, smaller number of heads: pass
    that. A query or key norm weight of shape (head_dim,) is a bias with num_heads=1.

    Args:
        weight: shape (num_heads*head_dim, in), or (num_heads*head_dim,) for a bias; any kind and
            dtype.
        num_heads: heads in this projection.
        source: layout that the weight has.
        target: layout that it gets.
        rotary_dim: channels of each head that rotate; None: all.

    Returns:
        A new array of the weight's shape, kind, device and dtype. Converting back gives the
        weight again, bit for bit.

    Raises:
        ValueError: the weight is not 1-D or 2-D, its rows do not divide by num_heads, or as
            layout_permutation.
        TypeError: as layout_permutation.
    """
    weight = from_python(weight, "weight")
    num_heads = whole_number(num_heads, "num_heads", 1)
    rows = weight.shape[0] if weight.ndim in (1, 2) else 0
    if rows == 0 or rows % num_heads:
        raise ValueError(
            f"weight must have shape (num_heads*head_dim, in) or (num_heads*head_dim,) with "
            f"num_heads {num_heads}, got {tuple(weight.shape)}; block-quantised rows and their "
            f"scales are the caller's to permute"
        )
    head_dim = rows // num_heads
    order = layout_permutation(head_dim, source, target, rotary_dim)
    heads = np.arange(num_heads)[:, None] * head_dim
    return _take(weight, (heads + order).reshape(-1), axis=0)


def _rotary_size(rotary_dim: int, dim: int) -> int:
    rotary_dim = even_number(rotary_dim, "rotary_dim")
    if rotary_dim > dim:
        raise ValueError(f"rotary_dim must be at most dim {dim}, got {rotary_dim}")
    return rotary_dim


def _take(x: Array, order: NDArray[np.int64], axis: int) -> Array:
    index = like(order, x, "order")
    if is_torch(x):
        return x.index_select(axis, index)
    return namespace(x).take(x, index, axis=axis)
