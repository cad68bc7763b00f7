"""What rope_lib.model.Llama lets its caller change, and what each change means in the pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

from rope_lib._checks import whole_number
from rope_lib._resolve import Angles
from rope_lib.config import RopeConfig
from rope_lib.layout import Layout
from rope_lib.nn import RotaryEmbedding
from rope_lib.rotary import apply_rope
from rope_lib.scaling import Frequencies

TensorPair: TypeAlias = tuple[torch.Tensor, torch.Tensor]
Turn: TypeAlias = Callable[[torch.Tensor, torch.Tensor], TensorPair]


class KVCache:
    """The keys, rotated already, and the values of all tokens so far, one tensor a layer.

    Made empty, given to Llama.logits, which fills it. Its lists may be rewritten between calls,
    as long as all layers keep as many tokens: cut, or moved by rope_lib.rerotate.

    Attributes:
        keys: one tensor a layer, shape (1, key heads, tokens, head_dim).
        values: the same.
    """

    def __init__(self) -> None:
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []

    def __len__(self) -> int:
        """How many tokens it holds."""
        return self.keys[0].shape[-2] if self.keys else 0

    def extend(self, layer: int, k: torch.Tensor, v: torch.Tensor) -> TensorPair:
        """Add the keys and values of new tokens; all of the layer's come back."""
        if layer == len(self.keys):
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], -2)
            self.values[layer] = torch.cat([self.values[layer], v], -2)
        return self.keys[layer], self.values[layer]


@dataclass(frozen=True)
class Options:
    """The keywords of Llama.logits, where they are explained."""

    layout: Layout = "interleaved"
    base: float | None = None
    scaling: Mapping[str, Any] | Frequencies | None = None
    positions: Any = None
    angles: Angles = "float64"
    rotate_layers: Collection[int] | None = None
    rotate_pairs: Collection[int] | None = None
    rotary: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], TensorPair] | None = None
    mask: Any = None
    cache: KVCache | None = None
    watch: Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], object] | None = None

    def __post_init__(self) -> None:
        """Refuse what rotary would silently overrule."""
        free = (self.base, self.scaling, self.rotate_pairs)
        default = self.layout == "interleaved" and self.angles == "float64"
        if self.rotary is not None and not (default and all(given is None for given in free)):
            raise ValueError(
                "rotary replaces layout, base, scaling, angles and rotate_pairs: leave them out"
            )

    def rotating(self, layers: int) -> Collection[int]:
        """The layers that rotate, of this many."""
        if self.rotate_layers is None:
            return range(layers)
        return chosen(self.rotate_layers, layers, "rotate_layers")

    def placed(self, tokens: int, device: torch.device) -> torch.Tensor:
        """The positions of the new tokens, shape (tokens,)."""
        start = 0 if self.cache is None else len(self.cache)
        counted = torch.arange(start, start + tokens, device=device)
        if self.positions is None:
            return counted
        given = self.positions(counted) if callable(self.positions) else self.positions
        if not isinstance(given, torch.Tensor):
            given = np.asarray(given)  # floats stay float64
        placed = torch.as_tensor(given, device=device)
        if placed.shape != (tokens,):
            raise ValueError(
                f"positions must have shape {(tokens,)}, one a token, got {tuple(placed.shape)}"
            )
        return placed

    def turn(self, rope: RopeConfig, positions: torch.Tensor) -> Turn:
        """What is done to q and k of every layer that rotates."""
        if self.rotary is not None:
            rotary = self.rotary
            return lambda q, k: rotary(q, k, positions)
        module = self._module(rope)
        cos, sin = module.tables(positions)  # once, for all layers
        softmax = module.softmax_multiplier
        return lambda q, k: (
            apply_rope(q * softmax, cos, sin, layout=self.layout),
            apply_rope(k, cos, sin, layout=self.layout),
        )

    def seen(self, tokens: int, device: torch.device) -> torch.Tensor | None:
        """Which keys each new token sees, (tokens, all tokens); None: all up to itself."""
        start = 0 if self.cache is None else len(self.cache)
        shape = (tokens, start + tokens)
        if self.mask is None:
            if start == 0 or tokens == 1:
                return None
            return torch.ones(shape, dtype=torch.bool, device=device).tril(start)
        mask = torch.as_tensor(self.mask, device=device)
        if mask.dtype != torch.bool or mask.shape != shape:
            raise ValueError(
                f"mask must be bool of shape {shape}, got {mask.dtype} of {tuple(mask.shape)}"
            )
        if not mask.any(-1).all():
            raise ValueError(
                f"mask must let every token see one key at least, "
                f"got none for token {int(mask.any(-1).int().argmin())}"
            )
        return mask

    def _module(self, rope: RopeConfig) -> RotaryEmbedding:
        """The rotation of the file, as far as the caller did not choose another."""
        scaling: Mapping[str, Any] | Frequencies | None = self.scaling
        if scaling is None:
            scaling = {"rope_type": rope.rope_type, **rope.parameters}
        base, rotary_dim = self.base, None
        if isinstance(scaling, Mapping):
            base = scaling.get("rope_theta", rope.base) if base is None else base
            rotary_dim = None if "partial_rotary_factor" in scaling else rope.rotary_dim
        module = RotaryEmbedding(
            rope.head_dim,
            base=base,
            rotary_dim=rotary_dim,
            layout=self.layout,
            scaling=scaling,
            angles=self.angles,
        )
        return module if self.rotate_pairs is None else self._some_pairs(module, self.rotate_pairs)

    def _some_pairs(self, module: RotaryEmbedding, pairs: Collection[int]) -> RotaryEmbedding:
        """The same, with frequency 0, which turns nothing, for every pair but these."""
        inv_freq = module.inv_freq.double().cpu().numpy()
        turning = list(chosen(pairs, inv_freq.size, "rotate_pairs"))
        kept = np.zeros_like(inv_freq)
        kept[turning] = inv_freq[turning]
        some = Frequencies(kept, module.attention_factor, module.softmax_multiplier)
        return RotaryEmbedding(
            module.head_dim, layout=self.layout, scaling=some, angles=self.angles
        )


def chosen(given: Iterable[Any], count: int, name: str) -> set[int]:
    """Numbers below count; a mask of bools is refused, since True would pass for 1."""
    numbers = {whole_number(number, name, 0) for number in given}
    if numbers and max(numbers) >= count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {max(numbers)}")
    return numbers
