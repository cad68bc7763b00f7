"""Which rank holds which tokens of a row, by which positions it turns them, and its work."""

from __future__ import annotations

from typing import ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice, Whole
from rope_lib.sharding import ORDERS


class ShardMap(Figure):
    """A row of tokens dealt out among ranks, in one of two orders.

    A row whose length is no multiple of two chunks a rank is padded at its end. ``ids`` is
    "global" (each token turns by its position in the row) or "from 0" (each rank counts the
    tokens that it holds, which is the mistake to see).

    ``readout`` names: ``padded`` (length of the row with its padding), ``held`` (tokens a rank),
    ``scores`` (one of a query and each key that it sees, in the whole row), ``least`` and ``most``
    (scores of the rank with the fewest and with the most), ``wrong`` (scores of a query and a key
    whose distance the ids change).

    Source: rope_lib.sharding.held_tokens.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    tokens = Whole(8, 1, 32)
    ranks = Whole(2, 1, 8)
    order = Choice(ORDERS, "contiguous")
    ids = Choice(["global", "from 0"], "global")
