"""What a cache of keys holds, slot by slot, and which distances the newest query sees."""

from __future__ import annotations

from typing import Any, ClassVar

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice, Whole

# The same lists stand in cache_timeline.js; a test compares the two.
PROMPT = ["the", "cat", "sat", "on", "the", "mat"]
ANSWER = ["so", "it", "naps", "too"]
OTHER = ["dogs", "bark", "all", "day", "long", "too"]
PADS = 4
WINDOW = 4
TOKENS = {
    "prefill": PROMPT,
    "decode": PROMPT + ANSWER,
    "left padding": ["pad"] * PADS + OTHER,
    "packed": PROMPT + OTHER[:4],
    "sliding": PROMPT + ANSWER,
}
# The token that is the query at step 0. Each step takes the next one.
FIRST_QUERY = {"prefill": 0, "decode": 6, "left padding": 5, "packed": 0, "sliding": WINDOW - 1}


class CacheTimeline(Figure):
    """A cache's slots: token, position id, seen or not, distance from the query.

    ``scenario`` is one of

    - "prefill": the whole prompt at once, each token seeing itself and what is before it;
    - "decode": one new token a step, its position the number of tokens in the cache;
    - "left padding": pads in front, without a position, hidden by the mask;
    - "packed": two documents in one row, ids starting again, each hidden from the other;
    - "sliding": room for four tokens, the oldest dropped when one more comes.

    ``step`` moves the query; past the last step it counts as the last.

    ``readout`` names: ``query_position``, ``seen`` (slots that the query sees, its own among
    them), ``held`` (slots in use), ``nearest``, ``farthest`` (distances), ``wrong`` (1 if ids
    counted from the slot where a token arrives would change a distance, else 0), ``last`` (the
    last step).
    """

    parts: ClassVar[tuple[str, ...]] = ()

    scenario = Choice(list(TOKENS), "decode")
    step = Whole(0, 0, 9)

    def table(self) -> list[dict[str, Any]]:
        """What the cache holds at this step, one dict a slot.

        Returns:
            Dicts of ``slot``, ``token``, ``position`` (None for a pad), ``seen``, ``distance``
            (query's position minus this one; None where not seen), ``naive`` (the slot where the
            token arrived, taken as its id), ``naive_distance`` (by those ids; None where not
            seen) and ``moved`` (the id after ``rope_lib.rerotate`` has closed the gap that dropped
            tokens left; the position itself where none was dropped).
        """
        tokens = TOKENS[self.scenario]
        query = min(FIRST_QUERY[self.scenario] + self.step, len(tokens) - 1)
        sliding = self.scenario == "sliding"
        dropped = query + 1 - WINDOW if sliding else 0
        at_once = self.scenario in ("prefill", "packed")
        held = range(dropped, len(tokens) if at_once else query + 1)
        position = [self._position(index) for index in range(len(tokens))]
        naive = [min(index, WINDOW - 1) if sliding else index for index in range(len(tokens))]
        here = position[query]
        assert here is not None  # a query is never a pad
        rows = []
        for index in held:
            seen = index <= query and self._document(index) == self._document(query)
            mine = position[index]
            rows.append(
                {
                    "slot": index - dropped,
                    "token": tokens[index],
                    "position": mine,
                    "seen": seen,
                    "distance": here - mine if seen and mine is not None else None,
                    "naive": naive[index],
                    "naive_distance": naive[query] - naive[index] if seen else None,
                    "moved": None if mine is None else mine - dropped,
                }
            )
        return rows

    def _document(self, index: int) -> int:
        """Number of the document that a token belongs to; -1 for a pad."""
        if self.scenario == "left padding":
            return -1 if index < PADS else 0
        return int(self.scenario == "packed" and index >= len(PROMPT))

    def _position(self, index: int) -> int | None:
        document = self._document(index)
        if document < 0:
            return None
        if self.scenario == "left padding":
            return index - PADS
        return index - len(PROMPT) * document
