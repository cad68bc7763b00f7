"""The kinds of trait that live figures have; each refuses what its figure cannot show."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import traitlets


def finite_number(name: str, value: object) -> int | float:
    """Return ``value`` as a Python int or float; refuse anything that is not one finite number.

    Raises:
        TypeError: ``value`` is not a real number (a bool is not one here).
        ValueError: ``value`` is infinite or not a number.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return int(value) if isinstance(value, Integral) else float(value)


class Number(traitlets.TraitType[Any, Any]):
    """A synced trait that holds one finite number; an int stays an int."""

    def __init__(self, default: float) -> None:
        super().__init__(default)
        self.tag(sync=True, input=True)

    def validate(self, obj: Any, value: object) -> int | float:
        return finite_number(str(self.name), value)


class Positive(Number):
    """A number greater than 0."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if number <= 0:
            raise ValueError(f"{self.name} must be greater than 0, got {number}")
        return number


class Base(Number):
    """A number greater than 1, so that later pairs turn more slowly."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if number <= 1:
            raise ValueError(f"{self.name} must be greater than 1, got {number}")
        return number


class Whole(Number):
    """A whole number from ``least`` to ``most``; 3.0 becomes 3."""

    def __init__(self, default: int, least: int = 0, most: int = 1_000_000) -> None:
        super().__init__(default)
        self.range = (least, most)

    def validate(self, obj: Any, value: object) -> int:
        number = super().validate(obj, value)
        if number != int(number):
            raise ValueError(f"{self.name} must be a whole number, got {number}")
        least, most = self.range
        if not least <= number <= most:
            raise ValueError(f"{self.name} must be from {least} to {most}, got {int(number)}")
        return int(number)


class Even(Whole):
    """An even whole number from ``least`` to ``most``."""

    def validate(self, obj: Any, value: object) -> int:
        number = super().validate(obj, value)
        if number % 2:
            raise ValueError(f"{self.name} must be even, got {number}")
        return number


class Within(Number):
    """A number from ``least`` to ``most``."""

    def __init__(self, default: float, least: float, most: float) -> None:
        super().__init__(default)
        self.range = (least, most)

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        least, most = self.range
        if not least <= number <= most:
            raise ValueError(f"{self.name} must be from {least} to {most}, got {number}")
        return number


class HeadSize(Number):
    """An even whole number from 2 to 256."""

    def validate(self, obj: Any, value: object) -> int | float:
        number = super().validate(obj, value)
        if not 2 <= number <= 256:
            raise ValueError(f"{self.name} must be from 2 to 256, got {number}")
        if number % 2:
            raise ValueError(f"{self.name} must be even, got {number}")
        return int(number)


class Vector(traitlets.TraitType[Any, Any]):
    """A synced trait that holds two finite numbers, [x, y], as a list of floats."""

    def __init__(self, x: float, y: float) -> None:
        super().__init__()
        self._start = (x, y)
        self.tag(sync=True, input=True)

    def make_dynamic_default(self) -> list[float]:
        return [float(x) for x in self._start]  # a fresh list for each figure

    def validate(self, obj: Any, value: Any) -> list[float]:
        name = str(self.name)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TypeError(f"{name} must be two numbers [x, y], got {value!r}")
        numbers = value.tolist() if hasattr(value, "tolist") else list(value)
        if len(numbers) != 2:
            raise ValueError(f"{name} must have 2 numbers [x, y], got {len(numbers)}")
        return [float(finite_number(name, x)) for x in numbers]


class Choice(traitlets.TraitType[Any, Any]):
    """A synced text, one of a few (or any text, without a list).

    A drop-down's ``value`` cannot be linked in the browser, its ``index`` can. So a choice called
    ``name`` brings a trait ``name_index``, which ``with_sliders`` ties to the drop-down.
    """

    def __init__(self, texts: Iterable[str] | None, default: str) -> None:
        super().__init__(default)
        self.texts = None if texts is None else list(texts)
        self.tag(sync=True, input=True)

    def class_init(self, cls: Any, name: str | None) -> None:
        super().class_init(cls, name)
        index = traitlets.Int(0).tag(sync=True)
        setattr(cls, f"{name}_index", index)
        index.class_init(cls, f"{name}_index")

    def validate(self, obj: Any, value: object) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{self.name} must be a text, got {value!r}")
        if self.texts is not None and value not in self.texts:
            known = ", ".join(map(repr, self.texts))
            raise ValueError(f"{self.name} must be one of {known}, got {value!r}")
        return value


class Text(traitlets.TraitType[Any, Any]):
    """A synced text of any length."""

    def __init__(self, default: str) -> None:
        super().__init__(default)
        self.tag(sync=True, input=True)

    def validate(self, obj: Any, value: object) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{self.name} must be a text, got {value!r}")
        return value


class Stored(traitlets.TraitType[Any, Any]):
    """A synced dict that an experiment stored: {"points": [{key: value, ...}, ...], ...}, or {}.

    Of each point only the named keys are kept, and of the rest only the named settings, where the
    experiment had them (as ``value["how"]["settings"]``): a page stores what it shows.
    """

    def __init__(self, *keys: str, settings: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.keys = keys
        self.settings = settings
        self.tag(sync=True, input=True)

    def make_dynamic_default(self) -> dict[str, Any]:
        return {}

    def validate(self, obj: Any, value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError(f"{self.name} must be a dict, got {value!r}")
        if not value:
            return {}
        points = value.get("points")
        if not isinstance(points, list) or not points:
            raise ValueError(f'{self.name} must have a list "points", got {points!r}')
        for at, point in enumerate(points):
            missing = [key for key in self.keys if key not in point]
            if missing:
                raise ValueError(f"{self.name}: point {at} must have {missing}, got {list(point)}")
        how = value.get("how")
        known = {**(how.get("settings", {}) if isinstance(how, Mapping) else {}), **value}
        kept = {name: known[name] for name in self.settings if name in known}
        kept["points"] = [{key: point[key] for key in self.keys} for point in points]
        plain: dict[str, Any] = json.loads(json.dumps(kept, allow_nan=False))
        return plain
