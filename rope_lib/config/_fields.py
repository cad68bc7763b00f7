"""Reading a config file field by field, and keeping account of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from rope_lib._parameters import LARGEST, ParameterTypeError, flag, integer, items, number, show

T = TypeVar("T")


class Fields:
    """One level of a file: its values, the paths that they have in it, and which were read.

    A value of null counts as absent everywhere: files write it for "not set".
    """

    def __init__(
        self,
        values: Mapping[Any, object],
        path: Callable[[str], str] = str,
        used: dict[str, object] | None = None,
    ) -> None:
        self.values = values
        self.path = path
        self.used: dict[str, object] = {} if used is None else used
        self.children: dict[str, Fields] = {}

    def take(self, key: str) -> object | None:
        """The raw value, marked as read."""
        if key not in self.values:
            return None
        value = self.values[key]
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        self.used[self.path(key)] = value
        return value

    def number(self, key: str, above: float, maximum: float = LARGEST) -> float | None:
        value = self.take(key)
        if value is None:
            return None
        return number(self.path(key), value, above, maximum, exclusive=True)

    def integer(self, key: str, minimum: int = 1, maximum: int = 2**53) -> int | None:
        value = self.take(key)
        return None if value is None else integer(self.path(key), value, minimum, maximum)

    def flag(self, key: str) -> bool | None:
        value = self.take(key)
        return None if value is None else flag(self.path(key), value)

    def text(self, key: str) -> str | None:
        value = self.take(key)
        if value is not None and not isinstance(value, str):
            raise ParameterTypeError(self.path(key), "must be a string", value)
        return value

    def integers(self, key: str, minimum: int, maximum: int) -> tuple[int, ...] | None:
        value = self.take(key)
        if value is None:
            return None
        listed = enumerate(items(self.path(key), value))
        return tuple(integer(f"{self.path(key)}[{i}]", x, minimum, maximum) for i, x in listed)

    def texts(self, key: str) -> tuple[str, ...] | None:
        value = self.take(key)
        if value is None:
            return None
        listed = items(self.path(key), value)
        for i, entry in enumerate(listed):
            if not isinstance(entry, str):
                raise ParameterTypeError(f"{self.path(key)}[{i}]", "must be a string", entry)
        return tuple(str(entry) for entry in listed)

    def child(self, key: str) -> Fields | None:
        """The level below key; read field by field, like this one."""
        value = self.values.get(key)
        if value is None:
            self.take(key)
            return None
        if not isinstance(value, Mapping):
            raise ParameterTypeError(self.path(key), "must be a dictionary", value)
        below = self.path(key)
        found = Fields(value, lambda name: f"{below}.{name}", self.used)
        return self.children.setdefault(key, found)

    def unread(self) -> list[str]:
        """The paths of everything that nobody asked for."""
        paths: list[str] = []
        for key in self.values:
            if key in self.children:
                paths += self.children[key].unread()
                continue
            path = self.path(key if isinstance(key, str) else show(key))
            if path not in self.used:
                paths.append(path)
        return paths


@dataclass
class Notes:
    """What a reader has to tell besides the values.

    Attributes:
        silent: why nothing is known of the model, or None where its row is known.
        assumed: names of absent fields, and the values that they are taken to have.
        warnings: sentences.
    """

    silent: str | None = None
    assumed: dict[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def derive(self, name: str, value: T) -> T:
        """Take for an absent field a value that other fields of the file give."""
        self.assumed[name] = value
        return value

    def assume(self, name: str, value: T) -> T:
        """Take for an absent field the model_type's default; where none is known, say so loudly."""
        self.derive(name, value)
        if self.silent is not None:
            self.warnings.append(f"{name} is absent and {self.silent}: {show(value)} is assumed")
        return value

    def settle(self, readings: Iterable[tuple[str, T | None]]) -> T | None:
        """The first value that is there; one that contradicts it becomes a warning."""
        found = [(path, value) for path, value in readings if value is not None]
        if not found:
            return None
        first_path, first = found[0]
        for path, value in found[1:]:
            if not _same(value, first):
                self.warnings.append(
                    f"{first_path} {show(first)} and {path} {show(value)} disagree: "
                    f"{first_path} is used"
                )
        return first


def _same(a: object, b: object) -> bool:
    if isinstance(a, Real | str) and isinstance(b, Real | str):
        return a == b
    return show(a) == show(b)
