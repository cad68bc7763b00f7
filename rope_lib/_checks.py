"""Checks of what callers pass: each states the rule, the argument and what it got."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

import numpy as np

from rope_lib._arrays import EXACT_LIMIT, Array, holds, namespace


def check_finite(x: Array, name: str) -> None:
    """Refuse NaN and infinity."""
    if not holds(namespace(x).isfinite(x)):
        raise ValueError(f"{name} must be finite, got {_worst(x)}")


def check_exact(x: Array, name: str) -> None:
    """Refuse what is not finite or not below 2**53 in magnitude; x holds float64."""
    # Strictly below: the cast to float64 has already rounded 2**53 + 1 down to 2**53.
    if not holds(namespace(x).abs(x) < EXACT_LIMIT):
        raise ValueError(f"{name} must be finite and below 2**53 in magnitude, got {_worst(x)}")


def _worst(x: Array) -> float:
    """The first NaN, or the element of largest magnitude."""
    xp = namespace(x)
    flat = xp.reshape(x, (-1,))
    magnitude = xp.where(xp.isnan(flat), xp.full_like(flat, math.inf), xp.abs(flat))
    return float(flat[int(xp.argmax(magnitude))])


def check_broadcast(
    shape_a: tuple[int, ...], shape_b: tuple[int, ...], name_a: str, name_b: str
) -> None:
    """Refuse two shapes that do not broadcast."""
    for size_a, size_b in zip(reversed(shape_a), reversed(shape_b), strict=False):
        if size_a != size_b and 1 not in (size_a, size_b):
            raise ValueError(f"{name_a} and {name_b} must broadcast, got {shape_a} and {shape_b}")


def whole_number(value: Any, name: str, minimum: int) -> int:
    """Value as an int of at least minimum."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {number}")
    return number


def even_number(value: Any, name: str) -> int:
    """Value as an even int of at least 2."""
    number = whole_number(value, name, 2)
    if number % 2:
        raise ValueError(f"{name} must be even, got {number}")
    return number


def real_number(value: Any, name: str) -> float:
    """Value as a finite float."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not -math.inf < number < math.inf:  # math.isfinite refuses torch.compile's symbols
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def positive_number(value: Any, name: str) -> float:
    """Value as a finite float above 0."""
    number = real_number(value, name)
    if number <= 0.0:
        raise ValueError(f"{name} must be positive, got {number}")
    return number
