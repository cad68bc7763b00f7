"""Live figures: each is an anywidget whose traits are plain numbers and lists.

They need ``anywidget`` and ``ipywidgets``, which ``import rope_lib`` alone does not.
"""

from rope_lib.figures.angle_sum import AngleSum
from rope_lib.figures.base import Figure
from rope_lib.figures.complex_plane import ComplexPlane
from rope_lib.figures.frequency_clocks import FrequencyClocks
from rope_lib.figures.rotation_plane import RotationPlane
from rope_lib.figures.score_explorer import ScoreExplorer
from rope_lib.figures.sliders import with_sliders

__all__ = [
    "AngleSum",
    "ComplexPlane",
    "Figure",
    "FrequencyClocks",
    "RotationPlane",
    "ScoreExplorer",
    "with_sliders",
]
