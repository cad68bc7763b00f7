"""Live figures: each is an anywidget whose traits are plain numbers and lists.

They need ``anywidget`` and ``ipywidgets``, which ``import rope_lib`` alone does not.
"""

from rope_lib.figures.angle_sum import AngleSum
from rope_lib.figures.axial_grid import AxialGrid
from rope_lib.figures.base import Figure
from rope_lib.figures.cache_timeline import CacheTimeline
from rope_lib.figures.complex_plane import ComplexPlane
from rope_lib.figures.config_reader import ConfigReader
from rope_lib.figures.context_scaling import ContextScaling
from rope_lib.figures.frequency_clocks import FrequencyClocks
from rope_lib.figures.layout_map import LayoutMap
from rope_lib.figures.mrope_sections import MropeSections
from rope_lib.figures.perplexity_by_position import PerplexityByPosition
from rope_lib.figures.precision_meter import PrecisionMeter
from rope_lib.figures.rotation_plane import RotationPlane
from rope_lib.figures.sandbox import Sandbox
from rope_lib.figures.score_by_distance import ScoreByDistance
from rope_lib.figures.score_explorer import ScoreExplorer
from rope_lib.figures.shard_map import ShardMap
from rope_lib.figures.sliders import with_sliders
from rope_lib.figures.stretched_model import StretchedModel
from rope_lib.figures.tiny_model import TinyModel
from rope_lib.figures.wavelength_spectrum import WavelengthSpectrum

__all__ = [
    "AngleSum",
    "AxialGrid",
    "CacheTimeline",
    "ComplexPlane",
    "ConfigReader",
    "ContextScaling",
    "Figure",
    "FrequencyClocks",
    "LayoutMap",
    "MropeSections",
    "PerplexityByPosition",
    "PrecisionMeter",
    "RotationPlane",
    "Sandbox",
    "ScoreByDistance",
    "ScoreExplorer",
    "ShardMap",
    "StretchedModel",
    "TinyModel",
    "WavelengthSpectrum",
    "with_sliders",
]
