"""What every live figure shares: one joined JavaScript module, words, a readout, a short repr."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from rope_lib.colours import css_variables
from rope_lib.figures.traits import Number, Stored, Vector
from rope_lib.figures.words import words_for_figure

__all__ = ["Figure", "Number", "Vector"]

_HERE = Path(__file__).parent


class Figure(anywidget.AnyWidget):
    """A live figure: a pure view of its synced traits, drawn by one JavaScript module.

    A subclass in ``name.py`` declares traits; ``name.js`` beside it draws them. That text, after
    ``base.js``, the parts that the class names and its words, becomes one module without imports,
    since a saved page and a kernel both hand the browser a single string.

    The trait ``readout`` holds the numbers that the figure shows, by name. The browser computes
    them, so it is empty until the figure has been drawn.
    """

    _css = css_variables() + (_HERE / "figures.css").read_text(encoding="utf-8")

    parts: ClassVar[tuple[str, ...]] = ("plane.js",)  # shared JavaScript that the figure draws with
    worker: ClassVar[tuple[str, ...]] = ()  # a script for a thread of its own: the text ENGINE

    readout = traitlets.Dict(key_trait=traitlets.Unicode()).tag(sync=True)
    # The texts of each drop-down that with_sliders makes: the name of a Choice -> list.
    options = traitlets.Dict(key_trait=traitlets.Unicode()).tag(sync=True)

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
        shown = ", ".join(f"{name}={self._shown(name)}" for name in self.input_names())
        return f"{type(self).__name__}({shown})"

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        if isinstance(self.traits()[name], Stored):
            return f"<{len(value.get('points', []))} points>"
        return repr(value)


def _joined_module(cls: type[Figure]) -> str:
    # The base comes first: a page with several figures stores the beginning they share once.
    shared = [(_HERE / name).read_text(encoding="utf-8") for name in ("base.js", *cls.parts)]
    if cls.worker:
        script = "".join((_HERE / name).read_text(encoding="utf-8") for name in cls.worker)
        shared.append(f"const ENGINE = {json.dumps(script, ensure_ascii=False)};")
    words = json.dumps(words_for_figure(cls.__name__), ensure_ascii=False)
    own = Path(str(sys.modules[cls.__module__].__file__)).with_suffix(".js")
    return "\n".join([*shared, f"const WORDS = {words};\n", own.read_text(encoding="utf-8")])
