"""Which tokens of a row one of several ranks holds, when the sequence is dealt out among them.

A position belongs to a token, not to the place where the token lies. These numbers are what a rank
hands to ``cos_sin`` in place of a range that starts at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rope_lib._checks import whole_number

Order: TypeAlias = Literal["contiguous", "zig-zag"]
ORDERS: tuple[Order, ...] = ("contiguous", "zig-zag")


def held_tokens(
    rank: int, ranks: int, tokens: int | Sequence[int], *, order: Order = "contiguous"
) -> NDArray[np.int64]:
    """The numbers of the tokens that a rank holds, counted through the whole row from 0.

    "contiguous" cuts the row into one chunk a rank. "zig-zag" cuts it into two chunks a rank and
    gives rank r the chunks r and 2*ranks − 1 − r: an early one, whose queries see few keys, and a
    late one, whose queries see many, so that causal attention is the same work for all ranks.

    Args:
        rank: this rank, from 0 to ranks − 1.
        ranks: how many there are.
        tokens: length of the row, or the lengths of the documents packed into it. Each document
            is dealt out by itself, so that the work is shared within each.
        order: "contiguous" or "zig-zag".

    Returns:
        int64, shape (sum of tokens / ranks,), ascending. With one document these are the global
        positions; with several, count from the start of each document to get ids that restart.

    Raises:
        ValueError: an unknown order, a rank out of range, or a length that the chunks do not
            divide: pad the row first.
        TypeError: a number is not whole.
    """
    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(map(repr, ORDERS))}, got {order!r}")
    ranks, rank = whole_number(ranks, "ranks", 1), whole_number(rank, "rank", 0)
    if rank >= ranks:
        raise ValueError(f"rank must be below ranks, got {rank} of {ranks}")
    chunks = ranks if order == "contiguous" else 2 * ranks
    mine = [rank] if order == "contiguous" else [rank, chunks - 1 - rank]
    held, start = [], 0
    for length in _lengths(tokens):
        if length % chunks:
            raise ValueError(
                f"tokens must be a multiple of {chunks}, the chunks of {ranks} ranks in "
                f"{order} order, got {length}; pad it"
            )
        document = np.arange(start, start + length, dtype=np.int64).reshape(chunks, -1)
        held.append(document[mine].ravel())
        start += length
    return np.concatenate(held)


def _lengths(tokens: int | Sequence[int]) -> list[int]:
    documents = tokens if isinstance(tokens, Sequence) else [tokens]
    if not documents:
        raise ValueError("tokens must have at least 1 document, got 0")
    return [whole_number(length, "tokens", 1) for length in documents]
