"""The score of two rotated vectors, and why only the distance of their positions matters."""

from __future__ import annotations

from rope_lib.figures.base import Figure, Number, Vector


class ScoreExplorer(Figure):
    """A query q at position m and a key k at position n, each turned by θ a position.

    ``shift`` moves both: q stands at m + shift, k at n + shift. q and k can be dragged.

    ``readout`` names: ``score`` (the dot product of the rotated vectors), ``angle_q`` and
    ``angle_k`` (radians each has turned), ``distance`` (m - n), ``angle_between`` (radians from
    rotated k to rotated q, in (-π, π]), ``norm_q``, ``norm_k``.

    Source: Su et al., RoFormer (arXiv:2104.09864), equation 11 and section 3.2.1.
    """

    q = Vector(1, 2)
    k = Vector(3, -1)
    theta = Number(0.4)
    m = Number(5)
    n = Number(2)
    shift = Number(0)
