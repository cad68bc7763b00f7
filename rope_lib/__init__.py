"""Rotary position embedding, exact and small: the library behind *RoPE, Turn by Turn*.

Data walks one way: config, frequencies, cos and sin, rotation. Importing this package needs only
NumPy and array-api-compat; what needs torch or ipywidgets lives in modules of its own.
"""

from rope_lib.angles import cos_sin
from rope_lib.axes import (
    axes_cos_sin,
    axial_frequencies,
    grid_positions,
    mixed_frequencies,
    mrope_frequencies,
)
from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.frequencies import inverse_frequencies, wavelengths
from rope_lib.layout import Layout, convert_layout, convert_qk_weight, layout_permutation
from rope_lib.plane import as_complex, as_real, conjugate_score, rotate, rotation_matrix
from rope_lib.rotary import apply_rope, rerotate
from rope_lib.scaling import Frequencies
from rope_lib.xpos import xpos_cos_sin, xpos_decay

__all__ = [
    "Frequencies",
    "Layout",
    "RopeConfig",
    "RopeConfigError",
    "apply_rope",
    "as_complex",
    "as_real",
    "axes_cos_sin",
    "axial_frequencies",
    "conjugate_score",
    "convert_layout",
    "convert_qk_weight",
    "cos_sin",
    "grid_positions",
    "inverse_frequencies",
    "layout_permutation",
    "mixed_frequencies",
    "mrope_frequencies",
    "rerotate",
    "rotate",
    "rotation_matrix",
    "wavelengths",
    "xpos_cos_sin",
    "xpos_decay",
]
