"""Inverse frequencies in transformers' float32 arithmetic, rounding for rounding.

A checkpoint that was trained with them has them for its truth. The formulas are those of
rope_lib.scaling; here every step is a float32 torch operation on the CPU, in the order in which
transformers (modeling_rope_utils) takes it, because each order rounds differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from rope_lib.scaling import canonical, keywords, yarn_ramp_ends


def inverse_frequencies(dim: int, base: float, parameters: Mapping[str, Any]) -> torch.Tensor:
    """The float32 frequencies, shape (dim/2,), of parameters that rope_lib.scaling accepts."""
    name = canonical(
        "rope_type", parameters.get("rope_type") or parameters.get("type") or "default"
    )
    taken = {key: parameters[key] for key in keywords(name) if parameters.get(key) is not None}
    return _FORMULAS[name](dim, float(base), **taken)


def _powers(dim: int, base: float) -> torch.Tensor:
    """base^(2j/dim): wavelengths over 2π."""
    powers: torch.Tensor = base ** (_indices(0, dim, 2) / dim)
    return powers


def _indices(start: int, end: int, step: int = 1) -> torch.Tensor:
    # The device is named because torch.device("meta") may surround the caller.
    return torch.arange(start, end, step, dtype=torch.float32, device="cpu")


def _default(dim: int, base: float) -> torch.Tensor:
    return 1.0 / _powers(dim, base)


def _linear(dim: int, base: float, factor: float) -> torch.Tensor:
    return _default(dim, base) / factor


def _ntk(dim: int, base: float, factor: float) -> torch.Tensor:
    return _default(dim, base * factor ** (dim / (dim - 2)))


def _dynamic(
    dim: int, base: float, factor: float, original_max_position_embeddings: int
) -> torch.Tensor:
    trained = original_max_position_embeddings
    return _ntk(dim, base, factor * trained / trained - (factor - 1))


def _yarn(
    dim: int,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    **unused: object,
) -> torch.Tensor:
    low, high = yarn_ramp_ends(
        dim,
        base,
        original_max_position_embeddings=original_max_position_embeddings,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
    )
    powers = _powers(dim, base)
    ramp = (_indices(0, dim // 2) - low) / max(high - low, 0.001)
    kept = 1 - ramp.clamp(0, 1)
    return 1.0 / (factor * powers) * (1 - kept) + 1.0 / powers * kept


def _llama3(
    dim: int,
    base: float,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
) -> torch.Tensor:
    plain, trained = _default(dim, base), original_max_position_embeddings
    wavelength = 2 * math.pi / plain
    long, short = wavelength > trained / low_freq_factor, wavelength < trained / high_freq_factor
    kept = (trained / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor)
    blended = (1 - kept) * plain / factor + kept * plain
    return torch.where(long, plain / factor, torch.where(short, plain, blended))


def _longrope(
    dim: int, base: float, short_factor: Sequence[float], **unused: object
) -> torch.Tensor:
    divisors = torch.tensor(short_factor, dtype=torch.float32, device="cpu")
    return 1.0 / (divisors * _powers(dim, base))


def _proportional(
    dim: int, base: float, partial_rotary_factor: float = 1.0, factor: float = 1.0
) -> torch.Tensor:
    inv_freq = _default(dim, base) / factor
    inv_freq[int(partial_rotary_factor * dim / 2) :] = 0.0
    return inv_freq


_FORMULAS: Mapping[str, Callable[..., torch.Tensor]] = {
    "default": _default,
    "linear": _linear,
    "ntk": _ntk,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _longrope,
    "proportional": _proportional,
}
