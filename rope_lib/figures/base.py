"""What every live figure shares: validated traits, one joined JavaScript module, a short repr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from rope_lib.colours import css_variables
from rope_lib.figures.words import words_for_figure

_HERE = Path(__file__).parent
_BASE_JS = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("base.js", "plane.js"))


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


class Figure(anywidget.AnyWidget):
    """A live figure: a pure view of its synced traits, drawn by one JavaScript module.

    A subclass in ``name.py`` declares traits; ``name.js`` beside it draws them. That text, after
    ``base.js``, ``plane.js`` and the figure's words, becomes one module without imports, since a
    saved page and a kernel both hand the browser a single string.

    The trait ``readout`` holds the numbers that the figure shows, by name. The browser computes
    them, so it is empty until the figure has been drawn.
    """

    _css = css_variables() + (_HERE / "figures.css").read_text(encoding="utf-8")

    readout = traitlets.Dict(key_trait=traitlets.Unicode()).tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # anywidget makes a subclass for each instance, with _esm a trait of it: leave that alone.
        if "_esm" not in vars(cls):
            cls._esm = _joined_module(cls)
        super().__init_subclass__(**kwargs)

    @classmethod
    def input_names(cls) -> list[str]:
        """Return the names of the traits a reader may set, in the order of their declaration."""
        named = [name for owner in reversed(cls.__mro__) for name in vars(owner)]
        return [name for name in dict.fromkeys(named) if name in cls.class_traits(input=True)]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.input_names())
        return f"{type(self).__name__}({shown})"


def _joined_module(cls: type) -> str:
    own = Path(str(sys.modules[cls.__module__].__file__)).with_suffix(".js")
    words = json.dumps(words_for_figure(cls.__name__), ensure_ascii=False)
    # The base comes first: a page with several figures stores the beginning they share once.
    return f"{_BASE_JS}\nconst WORDS = {words};\n\n{own.read_text(encoding='utf-8')}"
