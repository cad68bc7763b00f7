"""A rotation as the product of two complex numbers."""

from __future__ import annotations

from rope_lib.figures.base import Figure, Number, Vector


class ComplexPlane(Figure):
    """z = [real, imaginary] and z times e^(iθ), θ in radians. z can be dragged.

    ``readout`` names: ``real``, ``imaginary`` (the product), ``modulus`` (of z), ``modulus_after``,
    ``phase`` and ``phase_after`` (radians in (-π, π]), ``cos``, ``sin``.
    """

    z = Vector(1, 2)
    theta = Number(0.4)
