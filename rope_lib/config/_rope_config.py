"""What a config file says about its rotary embedding."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rope_lib._parameters import ParameterError, integer, show
from rope_lib.config._layer import Layer
from rope_lib.layout import Layout
from rope_lib.scaling import Frequencies, compute


class RopeConfigError(ValueError):
    """A config file is refused; the message names the field and its value."""


@dataclass(frozen=True)
class RopeConfig:
    """The rotary embedding that a model file describes, with an account of how it was read.

    Made by from_hf or from_gguf. A field that is null counts as absent.

    Attributes:
        model_type: as the file has it, or None.
        layer_type: the layer type that was asked for, or None.
        rope_type: a key of rope_lib.scaling.SCALINGS.
        head_dim: channels of a head; with latent attention (MLA), of its rotated part.
        rotary_dim: channels that the frequencies cover, from the start of the head.
        base: rope_theta, before any scaling.
        max_positions: trained length in tokens, scaling included; None: the file does not say.
        original_max_positions: trained length before scaling.
        mrope_section: how many pairs each axis of a multimodal position gets, or None.
        mrope_interleaved: the axes alternate pair by pair, instead of taking blocks.
        no_rope_layers: numbers of the layers that do not rotate. (The field of this name in a
            file holds 1 for every layer that does.)
        layout: what the reference code of the model_type rotates by; None: nothing fixes it. It
            holds for a checkpoint in the format of that code; no file states it.
        parameters: the keywords of the scaling.
        scales_softmax: the model's attention applies the softmax multiplier.
        used: fields that were read, by their path in the file, with their values.
        assumed: names of absent fields, with the values that they are taken to have.
        ignored: paths of all other fields.
        warnings: what contradicts itself, or was guessed.
    """

    model_type: str | None
    layer_type: str | None
    rope_type: str
    head_dim: int
    rotary_dim: int
    base: float
    max_positions: int | None
    original_max_positions: int | None
    mrope_section: tuple[int, ...] | None
    mrope_interleaved: bool
    no_rope_layers: tuple[int, ...]
    layout: Layout | None
    parameters: Mapping[str, Any]
    scales_softmax: bool
    used: Mapping[str, object]
    assumed: Mapping[str, object]
    ignored: tuple[str, ...]
    warnings: tuple[str, ...]

    @classmethod
    def from_hf(
        cls,
        config: Mapping[str, Any] | str | os.PathLike[str],
        *,
        layer_type: str | None = None,
    ) -> RopeConfig:
        """Read a Hugging Face config.json, of any age.

        Old files have rope_theta and rope_scaling, new ones rope_parameters, flat or one dict a
        layer type; a text_config is descended into. Absent fields take the defaults that the
        model_type has in transformers 5.24.

        Args:
            config: the file's content, or its path.
            layer_type: "full_attention" or "sliding_attention" (or the file's own name), where
                the parameters differ by layer type.

        Raises:
            RopeConfigError: the file cannot be read, names an unknown rope_type, holds a value
                that is not a number, out of range or of the wrong length, lacks the head size or
                what its rope_type requires, or its layers differ and layer_type does not say
                which.

        Example:
            >>> file = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}
            >>> config = RopeConfig.from_hf(file | {"rope_theta": 500_000.0})
            >>> config.head_dim, config.base, config.layout
            (128, 500000.0, 'half')
            >>> config.assumed
            {'max_position_embeddings': 2048}
        """
        # The readers build a RopeConfig, so they import this module; not the other way at load.
        from rope_lib.config import _huggingface

        try:
            return _huggingface.read(_content(config), layer_type)
        except ParameterError as error:
            raise RopeConfigError(str(error)) from error

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any], *, layer_type: str | None = None) -> RopeConfig:
        """Read the key-value metadata of a GGUF file.

        Two scalings live in tensors, beside the metadata: the bands of Llama 3.1 in
        "rope_freqs.weight", the lists of LongRoPE in "rope_factors_short.weight" and
        "rope_factors_long.weight". Add them to the mapping under these names, as lists or arrays.

        Args:
            metadata: values by key, "general.architecture" among them.
            layer_type: as in from_hf; "sliding_attention" reads the keys that end in _swa.

        Raises:
            RopeConfigError: as from_hf.

        Example:
            >>> file = {"general.architecture": "llama", "llama.attention.key_length": 64}
            >>> config = RopeConfig.from_gguf(file | {"llama.rope.freq_base": 100_000.0})
            >>> config.head_dim, config.base, config.layout
            (64, 100000.0, 'interleaved')
        """
        from rope_lib.config import _gguf

        try:
            return _gguf.read(_content(metadata), layer_type)
        except ParameterError as error:
            raise RopeConfigError(str(error)) from error

    def frequencies(self, seq_len: int | None = None) -> Frequencies:
        """The inverse frequencies, NumPy float64 (rotary_dim/2,), and the two factors.

        Args:
            seq_len: present length in tokens, which dynamic and longrope depend on; None: at or
                below the original length.

        Raises:
            ValueError, TypeError: seq_len is not a positive integer.
        """
        length = None if seq_len is None else integer("seq_len", seq_len)
        found = compute(self.rotary_dim, self.base, self.rope_type, self.parameters, length)
        return found if self.scales_softmax else replace(found, softmax_multiplier=1.0)


def the_same(candidates: Sequence[RopeConfig], layer_types: Sequence[str]) -> RopeConfig:
    """The first candidate, if all layer types rotate alike; else the caller has to choose."""
    first = candidates[0]
    rotation = [item.name for item in fields(Layer)]
    if any(getattr(c, name) != getattr(first, name) for c in candidates for name in rotation):
        raise ParameterError("layer_type", f"must be one of {', '.join(layer_types)}", None)
    return first


def _content(config: object) -> Mapping[Any, object]:
    """The mapping itself, or what the file at a path holds."""
    if isinstance(config, str | os.PathLike):
        config = _parsed(Path(config))
    if not isinstance(config, Mapping):
        raise RopeConfigError(f"config must be a dictionary of fields, got {show(config)}")
    return config


def _parsed(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RopeConfigError(f"config {str(path)!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RopeConfigError(f"config {str(path)!r} is not JSON: {error}") from error
