"""Standard ipywidgets controls for live figures, linked in the browser."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import ipywidgets as widgets

from rope_lib.figures.base import Figure
from rope_lib.figures.traits import Choice
from rope_lib.figures.words import word_for_trait


def with_sliders(*figures: Figure, **controls: Any) -> widgets.VBox:
    """Return the figures with one control below them for each keyword.

    Each keyword names a trait. Its value says which control: ``(min, max, step)`` is a slider (of
    whole numbers when all three are ints), a list of strings a drop-down for a ``Choice``, a bool a
    checkbox whose trait starts with that value. The control is linked with ``jslink``, so no kernel
    is needed, to every figure that has the trait, and starts at the figures' value.

    Raises:
        TypeError: no figure is given, a control is none of these, or a list of strings is given
            for a trait that is not a choice.
        ValueError: no figure has the trait, the figures disagree about its value, that value
            lies outside the slider or the list, or the list has a text that the choice refuses.
    """
    if not figures:
        raise TypeError("with_sliders needs at least 1 figure, got 0")
    rows = [_linked_control(figures, name, spec) for name, spec in controls.items()]
    return widgets.VBox([*figures, *rows], layout=widgets.Layout(width="100%"))


def _linked_control(figures: tuple[Figure, ...], name: str, spec: Any) -> Any:
    owners = [figure for figure in figures if figure.has_trait(name)]
    if not owners:
        kinds = ", ".join(type(figure).__name__ for figure in figures)
        raise ValueError(f"{name} must be a trait of a given figure, got {kinds}")
    if isinstance(spec, bool):
        for figure in owners:
            figure.set_trait(name, spec)
    description = word_for_trait(type(owners[0]).__name__, name)
    control = _control(name, description, spec, _common_value(name, owners))
    chosen = isinstance(control, widgets.Dropdown)
    for figure in owners:
        if chosen:
            _offer(figure, name, spec)
            widgets.jslink((control, "index"), (figure, f"{name}_index"))
        else:
            widgets.jslink((control, "value"), (figure, name))
    return control


def _offer(figure: Figure, name: str, texts: list[str]) -> None:
    """Keep the choice ``name`` and its index in ``texts`` equal, here as the browser does there."""
    trait = figure.traits()[name]
    if not isinstance(trait, Choice):
        raise TypeError(f"{name} must be a choice to have a drop-down, got {type(trait).__name__}")
    for text in texts:
        trait.validate(figure, text)
    figure.options = {**figure.options, name: list(texts)}
    figure.set_trait(f"{name}_index", texts.index(getattr(figure, name)))

    def tell(change: Any) -> None:
        if change["new"] in texts:
            figure.set_trait(f"{name}_index", texts.index(change["new"]))

    def adopt(change: Any) -> None:
        if 0 <= change["new"] < len(texts):
            figure.set_trait(name, texts[change["new"]])

    figure.observe(tell, name)
    figure.observe(adopt, f"{name}_index")


def _common_value(name: str, owners: list[Figure]) -> Any:
    values = [getattr(figure, name) for figure in owners]
    for value in values[1:]:
        if value != values[0]:
            raise ValueError(f"{name} must start equal in all figures, got {values[0]} and {value}")
    return values[0]


def _control(name: str, description: str, spec: Any, value: Any) -> Any:
    look = {
        "description": description,
        "style": {"description_width": "9em"},
        "layout": widgets.Layout(width="100%", max_width="46rem"),
    }
    if isinstance(spec, bool):
        return widgets.Checkbox(value=value, indent=False, **look)
    if isinstance(spec, list) and spec and all(isinstance(option, str) for option in spec):
        if value not in spec:
            raise ValueError(f"{name} must start at one of {spec}, got {value!r}")
        return widgets.Dropdown(options=spec, value=value, **look)
    if isinstance(spec, tuple) and len(spec) == 3:
        return _slider(name, spec, value, look)
    raise TypeError(f"{name} must be (min, max, step), a list of strings or a bool, got {spec!r}")


def _slider(name: str, spec: tuple[Any, Any, Any], value: Any, look: dict[str, Any]) -> Any:
    low, high, step = spec
    if not low <= value <= high:
        raise ValueError(f"{name} must start within {low} to {high}, got {value}")
    if all(isinstance(bound, int) for bound in spec):
        return widgets.IntSlider(value=value, min=low, max=high, step=step, **look)
    digits = max(0, -int(Decimal(str(step)).normalize().as_tuple().exponent))
    return widgets.FloatSlider(
        value=value, min=low, max=high, step=step, readout_format=f".{digits}f", **look
    )
