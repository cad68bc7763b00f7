"""The metadata of a GGUF file, put under the names that a config.json has for the same things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from rope_lib._parameters import ParameterError, ParameterTypeError, items, number, show
from rope_lib.config._defaults import FULL, SLIDING, UNKNOWN
from rope_lib.config._fields import Fields, Notes
from rope_lib.config._gguf_architectures import INTERLEAVED_AXES, PLAIN_SLIDING, layout_of
from rope_lib.config._layer import read_layer
from rope_lib.config._rope_config import RopeConfig, the_same
from rope_lib.config._source import Source
from rope_lib.scaling import yarn_mscale

ARCHITECTURE = "general.architecture"
TEXT_KEYS = {
    "hidden_size": "embedding_length",
    "num_attention_heads": "attention.head_count",
    "head_dim": "attention.key_length",
    "rotary_dim": "rope.dimension_count",
    "rope_theta": "rope.freq_base",
    "max_position_embeddings": "context_length",
}
SLIDING_KEYS = {
    "head_dim": "attention.key_length_swa",
    "rotary_dim": "rope.dimension_count_swa",
    "rope_theta": "rope.freq_base_swa",
}
SCALING_KEYS = {
    "rope_type": "rope.scaling.type",
    "factor": "rope.scaling.factor",
    "original_max_position_embeddings": "rope.scaling.original_context_length",
    "attention_factor": "rope.scaling.attn_factor",
    "beta_fast": "rope.scaling.yarn_beta_fast",
    "beta_slow": "rope.scaling.yarn_beta_slow",
    "mscale_all_dim": "rope.scaling.yarn_log_multiplier",
    "mrope_section": "rope.dimension_sections",
}
OLD_FACTOR = "rope.scale_linear"
LATENT = "attention.kv_lora_rank"
DIVISORS = "rope_freqs.weight"
LISTS = {"short_factor": "rope_factors_short.weight", "long_factor": "rope_factors_long.weight"}


def read(metadata: Mapping[Any, object], layer_type: str | None) -> RopeConfig:
    """The rotary embedding of a GGUF file, for one layer type or for all alike."""
    architecture = metadata.get(ARCHITECTURE)
    if not isinstance(architecture, str):
        raise ParameterTypeError(ARCHITECTURE, "must be a string", architecture)
    names = [FULL, SLIDING]
    if layer_type is None:
        found = the_same([_read_one(metadata, architecture, name) for name in names], names)
        return replace(found, layer_type=None)
    if layer_type not in names:
        raise ParameterError("layer_type", f"must be one of {', '.join(names)}", layer_type)
    return _read_one(metadata, architecture, layer_type)


def _read_one(metadata: Mapping[Any, object], architecture: str, layer_type: str) -> RopeConfig:
    layout = layout_of(architecture)
    silent = None if layout else f"{ARCHITECTURE} {show(architecture)} unknown"
    used: dict[str, object] = {ARCHITECTURE: architecture}
    file = _File(metadata, architecture, layer_type == SLIDING, used)
    text = file.text()
    source = Source(
        text=text,
        scaling=file.scaling(),
        notes=Notes(silent),
        defaults=replace(UNKNOWN, mrope_interleaved=architecture in INTERLEAVED_AXES),
        max_positions=text.integer("max_position_embeddings"),
    )
    layer, _ = read_layer(source)
    return RopeConfig(
        **vars(layer),
        model_type=architecture,
        layer_type=layer_type,
        max_positions=source.max_positions,
        no_rope_layers=(),
        layout=layout,
        scales_softmax=True,
        used={key: metadata[key] for key in used if key in metadata},
        assumed=source.notes.assumed,
        ignored=tuple(
            key if isinstance(key, str) else show(key) for key in metadata if key not in used
        ),
        warnings=tuple(source.notes.warnings),
    )


@dataclass
class _File:
    metadata: Mapping[Any, object]
    architecture: str
    sliding: bool
    used: dict[str, object]

    def key(self, name: str) -> str:
        return f"{self.architecture}.{name}"

    def get(self, key: str) -> object | None:
        """The value of a whole key, arrays as lists."""
        value = self.metadata.get(key)
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    def has(self, name: str) -> bool:
        return self.get(self.key(name)) is not None

    def fields(self, keys: Mapping[str, str], values: Mapping[str, object]) -> Fields:
        """Values under the names of a config.json, with paths in the metadata."""
        present = {name: value for name, value in values.items() if value is not None}
        return Fields(present, lambda name: keys.get(name, name), self.used)

    def text(self) -> Fields:
        keys = dict(TEXT_KEYS)
        if self.sliding:
            own = {name: key for name, key in SLIDING_KEYS.items() if self.has(key)}
            keys.update(own)
            if self.architecture in PLAIN_SLIDING:
                keys["rope_theta"] = SLIDING_KEYS["rope_theta"]
        if self.has(LATENT):
            keys["qk_rope_head_dim"] = keys.pop("rotary_dim")
        paths = {name: self.key(key) for name, key in keys.items()}
        return self.fields(paths, {name: self.get(key) for name, key in paths.items()})

    def scaling(self) -> list[Fields]:
        if self.sliding and (
            self.architecture in PLAIN_SLIDING or self.has(SLIDING_KEYS["rope_theta"])
        ):
            return []
        paths = {name: self.key(key) for name, key in SCALING_KEYS.items()} | LISTS
        if self.get(paths["factor"]) is None and self.has(OLD_FACTOR):
            paths["factor"] = self.key(OLD_FACTOR)
        values = {name: self.get(key) for name, key in paths.items()}
        if isinstance(values["factor"], Real) and values["factor"] == 0:
            values["factor"] = None
        values["rope_type"] = _rope_type(values)
        values["mrope_section"] = _without_padding(paths["mrope_section"], values["mrope_section"])
        if values["rope_type"] == "yarn":
            values.update(_yarn_temperatures(paths, values))
        divisors = self.get(DIVISORS)
        if divisors is not None:
            paths.update(dict.fromkeys(LISTS, DIVISORS))
            values.update(_divided(values["rope_type"], divisors))
        return [self.fields(paths, values)]


def _rope_type(values: Mapping[str, object]) -> object:
    """llama.cpp reads an absent type as linear, and linear without a factor as no scaling."""
    given = values["rope_type"]
    if given is None and any(values[name] is not None for name in LISTS):
        return "longrope"
    if given in (None, "linear"):
        return "default" if values["factor"] is None else "linear"
    return "default" if given == "none" else given


def _without_padding(path: str, sections: object | None) -> list[object] | None:
    """Sections are written as four numbers, the unused ones 0; all 0 is none."""
    listed = [] if sections is None else list(items(path, sections))
    while listed and isinstance(listed[-1], Real) and listed[-1] == 0:
        listed.pop()
    return listed or None


def _yarn_temperatures(paths: Mapping[str, str], values: Mapping[str, object]) -> dict[str, object]:
    """Attn_factor multiplies YaRN's own; the log multiplier is 0.1·mscale_all_dim of DeepSeek."""
    found: dict[str, object] = {}
    if values["mscale_all_dim"] is not None:
        logarithm = number(paths["mscale_all_dim"], values["mscale_all_dim"], 0.0)
        found = {"mscale": 10.0 * logarithm, "mscale_all_dim": 10.0 * logarithm}
    if values["attention_factor"] is not None:
        each = number(paths["attention_factor"], values["attention_factor"])
        factor = number(paths["factor"], values["factor"])
        found["attention_factor"] = each * yarn_mscale(factor)
    return found


def _divided(rope_type: object, divisors: object) -> dict[str, object]:
    """One divisor a pair (the bands of Llama 3.1, worked out by the converter)."""
    if rope_type != "default":
        raise ParameterError(DIVISORS, "must not stand beside a scaling", rope_type)
    return {
        "rope_type": "longrope",
        "short_factor": divisors,
        "long_factor": divisors,
        "attention_factor": 1.0,
    }
