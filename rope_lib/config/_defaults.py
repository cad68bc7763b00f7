"""The shape of a row of _models.py: what a model_type assumes where its file is silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rope_lib.layout import Layout

HALF: Layout = "half"
INTERLEAVED: Layout = "interleaved"
FULL = "full_attention"
SLIDING = "sliding_attention"


@dataclass(frozen=True)
class Nope:
    """Which layers go without rotation.

    Attributes:
        field: the config field that says every how many layers; None: there is none.
        every: its default.
        layers: default number of layers.
        layer_type: where the file has layer_types, the type that does not rotate.
        only_with: a field that switches the whole rule off when it is null.
    """

    field: str | None = None
    every: int | None = None
    layers: int | None = None
    layer_type: str | None = None
    only_with: str | None = None


@dataclass(frozen=True)
class ModelDefaults:
    """The silent assumptions of one model_type, or of one layer type of it.

    Attributes:
        layout: what the reference code rotates by; None: nothing fixes it.
        max_positions: trained length, in tokens.
        rope_theta: the base.
        head_dim: head size that the class assumes; None: hidden size over heads.
        head_dim_field: the field that holds it.
        qk_rope_head_dim: size of the rotated part of a head with latent attention (MLA).
        partial_rotary_factor: share of the head that rotates.
        rotary_dim: that share in channels, for classes that count it so.
        rope_parameters: the scaling assumed when the file has none.
        layers: by layer type, the fields of this class that differ there.
        shared_scaling: a flat rope_scaling goes to all layer types, not to full_attention alone.
        interleave_field: rope_interleave false in the file makes the layout "half".
        mrope_section: sections of the frequencies by axis.
        mrope_interleaved: the axes alternate pair by pair.
        nope: the layers that do not rotate.
    """

    layout: Layout | None
    max_positions: int | None = None
    rope_theta: float = 10_000.0
    head_dim: int | None = None
    head_dim_field: str = "head_dim"
    qk_rope_head_dim: int | None = None
    partial_rotary_factor: float = 1.0
    rotary_dim: int | None = None
    rope_parameters: Mapping[str, Any] = field(default_factory=dict)
    layers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shared_scaling: bool = False
    interleave_field: bool = False
    mrope_section: tuple[int, ...] | None = None
    mrope_interleaved: bool = False
    nope: Nope | None = None

    def of_layer(self, layer_type: str | None) -> ModelDefaults:
        """These defaults as they are in the layers of one type."""
        return replace(self, **self.layers.get(layer_type or "", {}))


UNKNOWN = ModelDefaults(None)
"""A model_type without a row: base 10 000, the whole head, and no layout."""
