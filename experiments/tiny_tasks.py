"""Four things for a tiny decoder to learn, each at any length.

Every task gives windows of tokens and says which of them ask for the next one:

    code: the bytes of a module of gguf; all are asked
    copy: random letters; each asks for the one eight places before it
    retrieval: eight cards among blanks, then their keys; each key asks for the value on its card
    motif: two short words that lie 17 letters apart in random ones, as in a promoter of E. coli;
        all letters are asked to learn from, those of the second word to measure
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import torch

from experiments.driver import read
from experiments.tiny import UNASKED, Batch, shifted

Draw: TypeAlias = Callable[[int, int, torch.Generator], Batch]
"""Count, length and generator -> that many windows of that length."""

LETTERS, BACK = 16, 8
CARDS = 8
BLANK = CARDS * (CARDS + 2)
FIRST, SECOND = "TTGACA", "TATAAT"
APART = 17


@dataclass(frozen=True)
class Task:
    """What to learn from, what to measure on, and how many different tokens there are."""

    vocabulary: int
    learnt: Draw
    measured: Draw

    def batches(self, settings: Any, seed: int) -> Iterator[Batch]:
        """Batches of windows of the trained length, without end."""
        generator = torch.Generator().manual_seed(seed)
        length = settings["trained"]
        while True:
            yield self.learnt(settings["tokens_a_step"] // length, length, generator)


@cache
def code() -> tuple[torch.Tensor, torch.Tensor]:
    """The bytes to learn from, and those held out."""
    data = torch.tensor(list(read("code").encode()))
    cut = len(data) * 4 // 5
    return data[:cut], data[cut:]


def windows_of(held: bool) -> Draw:
    """Windows anywhere in the first four fifths of the code, or in the last."""

    def draw(count: int, length: int, generator: torch.Generator) -> Batch:
        part = code()[held]
        starts = torch.randint(len(part) - length, (count, 1), generator=generator)
        return shifted(part[starts + torch.arange(length + 1)])

    return draw


def copy(count: int, length: int, generator: torch.Generator) -> Batch:
    """Each token is to name the one BACK places before it."""
    ids = torch.randint(LETTERS, (count, length), generator=generator)
    targets = ids.roll(BACK, 1)
    targets[:, :BACK] = UNASKED
    return ids, targets


def retrieval(count: int, length: int, generator: torch.Generator) -> Batch:
    """CARDS cards lie among blanks, each a key and a value in one token; then each key twice.

    Tokens are the keys, the values, the cards, and the blank. A longer window has more blanks.
    """
    keys = torch.rand(count, CARDS, generator=generator).argsort(1)
    values = torch.randint(CARDS, (count, CARDS), generator=generator)
    places = torch.rand(count, length - 2 * CARDS, generator=generator).argsort(1)[:, :CARDS]
    ids = torch.full((count, length), BLANK).scatter(1, places, CARDS * (keys + 2) + values)
    again = torch.rand(count, 2 * CARDS, generator=generator).argsort(1) % CARDS
    ids[:, -2 * CARDS :] = keys.gather(1, again)
    targets = torch.full_like(ids, UNASKED)
    targets[:, -2 * CARDS :] = CARDS + values.gather(1, again)
    return ids, targets


def motif(whole: bool) -> Draw:
    """Random letters with the two words planted in them, one pair after another."""
    letters = {letter: number for number, letter in enumerate("ACGT")}
    first, second = (torch.tensor([letters[each] for each in word]) for word in (FIRST, SECOND))
    unit = len(FIRST) + APART + len(SECOND)

    def draw(count: int, length: int, generator: torch.Generator) -> Batch:
        windows = torch.randint(4, (count, length + 1), generator=generator)
        asked = torch.full((count, length + 1), whole)
        for row in range(count):
            start = 0
            while True:
                start += int(torch.randint(8, (), generator=generator))
                if start + unit > length + 1:
                    break
                windows[row, start : start + len(FIRST)] = first
                start += unit
                windows[row, start - len(SECOND) : start] = second
                asked[row, start - len(SECOND) : start] = True
        ids, targets = shifted(windows)
        return ids, torch.where(asked[:, 1:], targets, UNASKED)

    return draw


TASKS = {
    "code": Task(256, windows_of(held=False), windows_of(held=True)),
    "copy": Task(LETTERS, copy, copy),
    "retrieval": Task(BLANK + 1, retrieval, retrieval),
    "motif": Task(4, motif(whole=True), motif(whole=False)),
}
