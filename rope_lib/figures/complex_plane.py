"""A rotation as the product of two complex numbers."""

from __future__ import annotations

import traitlets

from rope_lib.figures.base import Figure, Number, Vector


class ComplexPlane(Figure):
    """z = [real, imaginary] and z times e^(iθ), θ in radians. z can be dragged.

    ``label`` says what z stands for, "q", "k" or their "product"; it picks the colour.

    ``readout`` names: ``real``, ``imaginary`` (the product), ``modulus`` (of z), ``modulus_after``,
    ``phase`` and ``phase_after`` (radians in (-π, π]), ``cos``, ``sin``.
    """

    z = Vector(1, 2)
    theta = Number(0.4)
    label = traitlets.Enum(["q", "k", "product"], default_value="q").tag(sync=True, input=True)
