"""The time to make the tables of a million positions, and how exact they are."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from benchmarks.measure import take_times
from benchmarks.workloads import Result
from rope_lib import cos_sin, inverse_frequencies

PAIRS = 64
Pair = Callable[[], tuple[Any, Any]]


def run(device: torch.device, *, rounds: int, positions: int) -> Result:
    """Time each maker of the two tables, shape (positions, 64), beside filling them with ones."""
    makers = table_makers(device, positions)

    def ones() -> tuple[torch.Tensor, torch.Tensor]:
        table = torch.ones(positions, PAIRS, device=device)
        return table, torch.ones_like(table)

    result = Result(
        f"tables of {positions} positions, 64 pairs",
        "ones",
        take_times({"ones": ones, **makers}, rounds=rounds),
    )
    result.errors = {name: table_error(maker) for name, maker in makers.items()}
    return result


def table_makers(device: torch.device, positions: int) -> dict[str, Pair]:
    """Name -> a call that returns the cosines and the sines of the first 64 columns or more."""
    theta = inverse_frequencies(2 * PAIRS)
    ids = torch.arange(positions, device=device)
    narrow = torch.from_numpy(theta).float().to(device)

    def outer() -> tuple[torch.Tensor, torch.Tensor]:
        angles = torch.outer(ids.float(), narrow)
        return angles.cos(), angles.sin()

    def torchtune() -> tuple[torch.Tensor, torch.Tensor]:
        angles = torch.einsum("i,j->ij", ids.float(), narrow)
        table = torch.stack([angles.cos(), angles.sin()], -1)
        return table[..., 0], table[..., 1]

    found: dict[str, Pair] = {
        "rope_lib": lambda: cos_sin(ids, theta),
        "float32 outer product, cos, sin": outer,
        "torchtune's formula": torchtune,
    }
    if device.type == "cpu":
        found["NumPy, float32"] = _numpy_maker(positions, theta)
    if find_spec("transformers") is not None:
        found["transformers"] = _transformers_maker(ids)
    return found


def _numpy_maker(positions: int, theta: np.ndarray) -> Pair:
    def numpy() -> tuple[np.ndarray, np.ndarray]:
        angles = np.outer(np.arange(positions, dtype=np.float32), theta.astype(np.float32))
        return np.cos(angles), np.sin(angles)

    return numpy


def _transformers_maker(ids: torch.Tensor) -> Pair:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(hidden_size=2 * PAIRS, num_attention_heads=1)
    module = LlamaRotaryEmbedding(config).to(ids.device)
    x = torch.zeros(1, device=ids.device)

    def transformers() -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = module(x, ids[None])
        return cos[0], sin[0]  # 2 · 64 columns: each angle twice

    return transformers


def table_error(maker: Pair) -> float:
    """Largest absolute error over some ten thousand rows, the last ones among them."""
    cos, sin = (torch.as_tensor(table) for table in maker())
    rows = torch.arange(len(cos) - 1, -1, -max(1, len(cos) // 10_000))
    angles = rows.double()[:, None] * torch.from_numpy(inverse_frequencies(2 * PAIRS))
    rows = rows.to(cos.device)
    pieces = ((cos[rows], angles.cos()), (sin[rows], angles.sin()))
    return max(float((t[:, :PAIRS].double().cpu() - e).abs().max()) for t, e in pieces)
