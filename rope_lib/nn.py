"""Rotary embedding as torch modules, whose angles survive what is done to models.

A model is cast to bfloat16, built on the meta device, moved, pickled, compiled. A frequency kept
in an ordinary buffer is rounded or lost on the way: rounded to bfloat16, the angles of a
128-channel head are off by up to 5 rad at position 4095. Here the frequencies follow the module
to its device, and nothing else happens to them. No table is kept between calls, so no position
is too large, and integer positions are not read back, so the host does not wait for a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import torch

from rope_lib._arrays import from_python, like, widest
from rope_lib._checks import whole_number
from rope_lib._resolve import Angles, resolve
from rope_lib._turning import Turning, check_heads, placed_positions
from rope_lib.angles import _float64, cos_sin
from rope_lib.axes import axes_cos_sin, mixed_frequencies
from rope_lib.layout import Layout, check_layout
from rope_lib.rotary import apply_rope
from rope_lib.scaling import Frequencies

TensorPair: TypeAlias = tuple[torch.Tensor, torch.Tensor]


class RotaryEmbedding(Turning):
    """Rotate queries and keys by their positions: θ_j = base^(−2j/rotary_dim), angle mθ_j.

    Su et al., RoFormer, arXiv:2104.09864, equation 34.

    The state_dict is empty unless learnable, and then holds inv_freq alone. Casts (.half(),
    .bfloat16(), .double()) leave inv_freq as it is; after to_empty it has its values again, and a
    learnable one that comes from the meta device its initial values.

    Args:
        head_dim: channels of one head.
        base: at least 1; None: rope_theta of scaling, else 10 000.
        rotary_dim: channels of each head that rotate, the first ones; even. None: all, or the
            partial_rotary_factor of scaling.
        layout: "interleaved" or "half": a property of the checkpoint.
        scaling: a rope_parameters (or rope_scaling) dict of one layer type, read at
            seq_len=None, that is at most the trained length; or a Frequencies, which fixes the
            frequencies, so that base or rotary_dim beside it is an error. mrope_section is not
            looked at: with rope_lib.axes_cos_sin it places pictures, and text needs none.
        angles: "float64" makes angles in float64 and rounds the tables once. "float32" takes
            the float32 steps of transformers instead, and gives its tables bit for bit.
        learnable: inv_freq is a parameter, in the dtype that angles names.

    Attributes:
        inv_freq: θ_j, shape (pairs,). To change it, make another module.
        attention_factor: both tables are multiplied by it here.
        softmax_multiplier: the attention's softmax scale is to be multiplied by it, there.

    Raises:
        ValueError: a size, a base, a scaling parameter or a name breaks its rule, or two
            arguments contradict each other.
        TypeError: an argument is of the wrong kind.

    Example:
        >>> q, k = torch.randn(2, 8, 5, 64), torch.randn(2, 2, 5, 64)
        >>> rope = RotaryEmbedding(64, base=500_000.0, layout="half")
        >>> q_turned, k_turned = rope(q, k, positions=torch.arange(100, 105))
        >>> q_turned.shape, k_turned.shape
        (torch.Size([2, 8, 5, 64]), torch.Size([2, 2, 5, 64]))
    """

    def __init__(
        self,
        head_dim: int,
        *,
        base: float | None = None,
        rotary_dim: int | None = None,
        layout: Layout = "interleaved",
        scaling: Mapping[str, Any] | Frequencies | None = None,
        angles: Angles = "float64",
        learnable: bool = False,
    ) -> None:
        check_layout(layout)
        head_dim = whole_number(head_dim, "head_dim", 2)
        found = resolve(head_dim, base, rotary_dim, scaling, angles)
        super().__init__(found.inv_freq, getattr(torch, angles), learnable)
        self.head_dim, self.rotary_dim = head_dim, 2 * len(found.inv_freq)
        self.layout, self.angles = layout, angles
        self.attention_factor = found.attention_factor
        self.softmax_multiplier = found.softmax_multiplier

    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: Any = None) -> TensorPair:
        """Rotate q and k of the same tokens.

        Args:
            q: shape (batch, heads, seq, head_dim), floating.
            k: shape (batch, key heads, seq, head_dim), floating, on q's device. In a decode step
                these are the new keys; those in the cache have been rotated already.
            positions: shape (seq,) or (batch, seq), integers or at least float32: global ids,
                whatever the offset, padding, packing or sharding. None: 0, 1, ..., seq − 1.

        Returns:
            q and k rotated, each in its own shape and dtype. Gradients flow to both, to floating
            positions, and to inv_freq where it is learnable.

        Raises:
            ValueError: shapes that do not fit, or a position that is not finite.
            TypeError: not floating tensors, or positions of a 16-bit float, bool or complex dtype.
        """
        check_heads(q, k, self.head_dim)
        if positions is None:
            positions = torch.arange(q.shape[-2], device=q.device)
        else:
            positions = placed_positions(positions, q, axes=())
        cos, sin = self.tables(positions, widest(torch, q, k))
        return (
            apply_rope(q, cos, sin, layout=self.layout),
            apply_rope(k, cos, sin, layout=self.layout),
        )

    def tables(self, positions: Any, dtype: torch.dtype = torch.float32) -> TensorPair:
        """The cos and sin of this module, for layers that share them: apply_rope takes them.

        Args:
            positions: shape (..., seq), as in rope_lib.cos_sin, on any device; a list, number or
                NumPy array goes to the device of inv_freq.
            dtype: floating dtype of the tables.

        Returns:
            Two tensors of shape (..., seq, rotary_dim/2) on the device of positions.

        Raises:
            ValueError: as rope_lib.cos_sin.
            TypeError: as rope_lib.cos_sin.
        """
        if not isinstance(positions, torch.Tensor):
            positions = like(from_python(positions, "positions"), self.inv_freq, "positions")
        inv_freq, factor = self._at(positions.device), self.attention_factor
        if self.angles == "float64":
            cos, sin = cos_sin(positions, inv_freq, attention_factor=factor, dtype=dtype)
        else:
            turns = _float64(positions, "positions").float()[..., None] * inv_freq
            cos, sin = (turns.cos() * factor).to(dtype), (turns.sin() * factor).to(dtype)
        return cos, sin

    def extra_repr(self) -> str:
        """What print(module) shows."""
        return (
            f"{self.head_dim}, rotary_dim={self.rotary_dim}, layout={self.layout!r}, "
            f"angles={self.angles!r}, learnable={self.learnable}"
        )


class MixedRotaryEmbedding(Turning):
    """Two-axis rotary embedding with learned frequencies: angle m_row θ_row,j + m_col θ_col,j.

    Heo et al., RoPE-ViT, arXiv:2403.13298 (mixed learnable frequency). Each key head has a matrix
    of its own, which the query heads of its group share. It starts as mixed_frequencies, with a
    heading drawn at random for each head, and is the only entry of the state_dict.

    Args:
        head_dim: channels of one head, all of which rotate; divisible by 4.
        num_heads: heads of the keys.
        base: at least 1; 10 in the paper's code.
        layout: "interleaved" or "half".

    Attributes:
        inv_freq: float32 parameter, shape (num_heads, 2, head_dim/2), which no cast narrows.

    Raises:
        ValueError: a size or base breaks its rule, or an unknown layout.
        TypeError: a size is not an integer.

    Example:
        >>> from rope_lib import grid_positions
        >>> rope = MixedRotaryEmbedding(64, num_heads=3)
        >>> x = torch.randn(1, 3, 14 * 10, 64)
        >>> q, k = rope(x, x, grid_positions(14, 10))
        >>> q.shape
        torch.Size([1, 3, 140, 64])
    """

    def __init__(
        self,
        head_dim: int,
        num_heads: int,
        *,
        base: float = 10.0,
        layout: Layout = "interleaved",
    ) -> None:
        check_layout(layout)
        heads = whole_number(num_heads, "num_heads", 1)
        headings = 2.0 * np.pi * torch.rand(heads, device="cpu").numpy()
        super().__init__(mixed_frequencies(head_dim, headings, base=base), torch.float32, True)
        self.head_dim, self.num_heads, self.layout = head_dim, heads, layout

    def forward(self, q: torch.Tensor, k: torch.Tensor, positions: Any) -> TensorPair:
        """Rotate q and k of the same cells.

        Args:
            q: shape (batch, heads, seq, head_dim), floating; heads a multiple of num_heads.
            k: shape (batch, num_heads, seq, head_dim), floating.
            positions: shape (seq, 2) or (batch, seq, 2), integers or at least float32, such as
                rope_lib.grid_positions(rows, cols).

        Returns:
            q and k rotated, each in its own shape and dtype.

        Raises:
            ValueError: shapes that do not fit, or a position that is not finite.
            TypeError: not floating tensors, or positions of a 16-bit float, bool or complex dtype.
        """
        check_heads(q, k, self.head_dim)
        if k.shape[1] != self.num_heads or q.shape[1] % self.num_heads:
            raise ValueError(
                f"k must have {self.num_heads} heads and q a multiple of them, "
                f"got {k.shape[1]} and {q.shape[1]}"
            )
        cos, sin = axes_cos_sin(
            placed_positions(positions, q, axes=(2,)), self.inv_freq, dtype=widest(torch, q, k)
        )
        group = q.shape[1] // self.num_heads
        q_cos, q_sin = cos.repeat_interleave(group, -3), sin.repeat_interleave(group, -3)
        return (
            apply_rope(q, q_cos, q_sin, layout=self.layout),
            apply_rope(k, cos, sin, layout=self.layout),
        )

    def extra_repr(self) -> str:
        """What print(module) shows."""
        return f"{self.head_dim}, num_heads={self.num_heads}, layout={self.layout!r}"
