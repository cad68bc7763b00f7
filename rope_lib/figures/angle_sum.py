"""Two rotations in a row are one rotation by the sum of their angles."""

from __future__ import annotations

import traitlets

from rope_lib.figures.base import Figure, Number, Vector


class AngleSum(Figure):
    """R(b)R(a) and R(a + b) applied to one vector; a and b are radians. It can be dragged.

    ``label`` is the vector's letter, "q" or "k"; it also picks the colour.

    ``readout`` names: ``x``, ``y`` (the vector after both turns), ``sum`` (a + b), ``gap`` (the
    greatest difference between an entry of R(b)R(a) and the same entry of R(a + b)).
    """

    a = Number(0.6)
    b = Number(0.9)
    vector = Vector(1, 0)
    label = traitlets.Enum(["q", "k"], default_value="q").tag(sync=True, input=True)
