"""One vector, one angle: what a rotation of the plane does."""

from __future__ import annotations

import traitlets

from rope_lib.figures.base import Figure, Number, Vector


class RotationPlane(Figure):
    """A vector before (dashed) and after (solid) a turn by θ radians. It can be dragged.

    ``label`` is the vector's letter, "q" or "k"; it also picks the colour.

    ``readout`` names: ``x``, ``y`` (the rotated vector), ``norm_before``, ``norm_after``, ``cos``,
    ``sin``.
    """

    vector = Vector(1, 2)
    theta = Number(0.4)
    label = traitlets.Enum(["q", "k"], default_value="q").tag(sync=True, input=True)
