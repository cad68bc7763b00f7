"""Checks of rope parameters, whose errors know the parameter, the rule and the value.

A config reader renames the parameter to the path that its file uses, so the three are kept apart.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rope_lib._arrays import EXACT_LIMIT

LARGEST = 1e30
"""Bases and factors beyond this are refused: their powers would leave float64."""
SMALLEST = 1e-30
"""Positive parameters below this are refused, for the same reason."""


class ParameterError(ValueError):
    """A parameter breaks its rule."""

    def __init__(self, name: str, rule: str, value: object) -> None:
        super().__init__(f"{name} {rule}, got {show(value)}")
        self.name, self.rule, self.value = name, rule, value


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is not even of the right kind."""


def show(value: object) -> str:
    """A short form of any value, for messages."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # ints of thousands of digits, very deep lists
        text = f"a {type(value).__name__} too large to print"
    return text if len(text) <= 80 else text[:77] + "..."


def number(
    name: str,
    value: Any,
    minimum: float = SMALLEST,
    maximum: float = LARGEST,
    *,
    exclusive: bool = False,
) -> float:
    """Value as a float from minimum (or above it, if exclusive) to maximum."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterTypeError(name, "must be a number", value)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    low = f"above {minimum:g}" if exclusive else f"at least {minimum:g}"
    if not (minimum < result if exclusive else minimum <= result) or not result <= maximum:
        raise ParameterError(name, f"must be {low} and at most {maximum:g}", value)
    return result


def integer(name: str, value: Any, minimum: int = 1, maximum: int = EXACT_LIMIT) -> int:
    """Value as an int from minimum to maximum; a float that is whole will do."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterTypeError(name, "must be an integer", value)
    real: Any = value
    # The range comes first: NaN and infinity are in none, and have no integer part.
    if not minimum <= real <= maximum or real != int(real):
        raise ParameterError(name, f"must be an integer from {minimum} to {maximum}", value)
    return int(real)


def flag(name: str, value: object) -> bool:
    """Value as a bool, which it has to be already."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterTypeError(name, "must be true or false", value)
    return bool(value)


def items(name: str, value: object) -> Sequence[object]:
    """Value as a sequence: a list, a tuple or a 1-D array."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value)
    if not isinstance(value, list | tuple):
        raise ParameterTypeError(name, "must be a list", value)
    return value


def positive_numbers(name: str, value: object, length: int) -> NDArray[np.float64]:
    """Value as float64 of shape (length,), all of them positive."""
    listed = items(name, value)
    if len(listed) != length:
        raise ParameterError(name, f"must have {length} entries, one a pair", len(listed))
    return np.array([number(f"{name}[{i}]", entry) for i, entry in enumerate(listed)])
