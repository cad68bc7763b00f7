"""What every scaling returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Frequencies:
    """The inverse frequencies of a scaled rotary embedding, and two factors beside them.

    Attributes:
        inv_freq: radians per token, NumPy float64, shape (dim/2,).
        attention_factor: multiplies cos and sin, so a score of two rotated vectors is multiplied
            by its square.
        softmax_multiplier: multiplies the softmax scale, once; the attention layer's to apply.
    """

    inv_freq: NDArray[np.float64]
    attention_factor: float = 1.0
    softmax_multiplier: float = 1.0
