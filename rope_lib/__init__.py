"""Rotary position embedding, exact and small: the library behind *RoPE, Turn by Turn*.

Data walks one way: config, frequencies, cos and sin, rotation. Importing this package needs only
NumPy and array-api-compat; what needs torch or ipywidgets lives in modules of its own.
"""

from rope_lib.angles import cos_sin
from rope_lib.frequencies import inverse_frequencies, wavelengths
from rope_lib.layout import Layout, convert_layout, convert_qk_weight, layout_permutation
from rope_lib.plane import as_complex, as_real, conjugate_score, rotate, rotation_matrix
from rope_lib.rotary import apply_rope, rerotate

__all__ = [
    "Layout",
    "apply_rope",
    "as_complex",
    "as_real",
    "conjugate_score",
    "convert_layout",
    "convert_qk_weight",
    "cos_sin",
    "inverse_frequencies",
    "layout_permutation",
    "rerotate",
    "rotate",
    "rotation_matrix",
    "wavelengths",
]
