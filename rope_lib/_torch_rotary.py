"""apply_rope for torch tensors."""

from __future__ import annotations

import torch

from rope_lib.layout import Layout


def apply_rope(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: Layout,
    inverse: bool,
    out: torch.Tensor | None,
) -> torch.Tensor:
    from rope_lib.rotary import rotate_pairs

    result: torch.Tensor = rotate_pairs(torch, x, cos, -sin if inverse else sin, layout)
    return result if out is None else out.copy_(result)
