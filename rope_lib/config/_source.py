"""Where the rotary fields of one layer type are, whichever kind of file they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rope_lib.config._defaults import UNKNOWN, ModelDefaults
from rope_lib.config._fields import Fields, Notes


@dataclass
class Source:
    """Where the values of one layer type come from.

    Attributes:
        text: the level of the file that describes the text model.
        scaling: rope_scaling and rope_parameters as they hold for this layer type, those that are
            there; the first wins.
        defaults: what the model_type assumes for this layer type.
        own_theta: the defaults give this layer type a base of its own.
        layer_type: its name, or None where layer types do not differ.
        notes: account of what was assumed and what disagrees.
        max_positions: trained length, after any scaling.
    """

    text: Fields
    scaling: Sequence[Fields]
    notes: Notes
    defaults: ModelDefaults = UNKNOWN
    own_theta: bool = False
    layer_type: str | None = None
    max_positions: int | None = None

    def parameter(self, name: str) -> Iterator[tuple[str, object | None]]:
        """The raw readings of one scaling parameter, with their paths."""
        for level in self.scaling:
            yield level.path(name), level.take(name)
