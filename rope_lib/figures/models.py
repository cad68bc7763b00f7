"""What real models' config files say about their rotary embedding, in the fields that matter.

Each stanza is what ``RopeConfig.from_hf`` needs of a published config.json. ``presets`` reads them
all and gives a live figure the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rope_lib.config import RopeConfig
from rope_lib.frequencies import inverse_frequencies

_LLAMA_3_1 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
_DEEPSEEK = {
    "type": "yarn",
    "factor": 40,
    "beta_fast": 32,
    "beta_slow": 1,
    "original_max_position_embeddings": 4096,
}


def _llama(hidden: int, heads: int, base: float | None, length: int, **more: Any) -> dict[str, Any]:
    fields = {"model_type": "llama", "hidden_size": hidden, "num_attention_heads": heads}
    theta = {} if base is None else {"rope_theta": base}
    return {**fields, **theta, "max_position_embeddings": length, **more}


MODELS: Mapping[str, Mapping[str, Any]] = {
    "SmolLM2-135M": _llama(576, 9, 100_000, 8192),
    "Llama-3-8B": _llama(4096, 32, 500_000.0, 8192),
    "Llama-3.1-8B": _llama(4096, 32, 500_000.0, 131_072, head_dim=128, rope_scaling=_LLAMA_3_1),
    "CodeLlama-7B": _llama(4096, 32, 1_000_000, 16_384),
    "Yarn-Llama-2-7B-64K": _llama(
        4096,
        32,
        None,
        65_536,
        rope_scaling={
            "type": "yarn",
            "factor": 16.0,
            "original_max_position_embeddings": 4096,
            "finetuned": True,
        },
    ),
    "GPT-J-6B": {
        "model_type": "gptj",
        "n_embd": 4096,
        "n_head": 16,
        "rotary_dim": 64,
        "n_positions": 2048,
    },
    "GPT-NeoX-20B": {
        "model_type": "gpt_neox",
        "hidden_size": 6144,
        "num_attention_heads": 64,
        "rotary_pct": 0.25,
        "rotary_emb_base": 10_000,
        "max_position_embeddings": 2048,
    },
    "Pythia-12B": {
        "model_type": "gpt_neox",
        "hidden_size": 5120,
        "num_attention_heads": 40,
        "rotary_pct": 0.25,
        "rotary_emb_base": 10_000,
        "max_position_embeddings": 2048,
    },
    "StableLM-2-1.6B": {
        "model_type": "stablelm",
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "partial_rotary_factor": 0.25,
        "rope_theta": 10_000,
        "max_position_embeddings": 4096,
    },
    "GLM-4-9B-Chat": {
        "model_type": "chatglm",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "kv_channels": 128,
        "rope_ratio": 500,
        "seq_length": 131_072,
    },
    "DeepSeek-V2-Lite": {
        "model_type": "deepseek_v2",
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "rope_theta": 10_000,
        "rope_scaling": {**_DEEPSEEK, "mscale": 0.707, "mscale_all_dim": 0.707},
        "max_position_embeddings": 163_840,
    },
    "DeepSeek-V3": {
        "model_type": "deepseek_v3",
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "rope_theta": 10_000,
        "rope_scaling": {**_DEEPSEEK, "mscale": 1.0, "mscale_all_dim": 1.0},
        "max_position_embeddings": 163_840,
    },
    "Qwen2-VL-7B": {
        "model_type": "qwen2_vl",
        "hidden_size": 3584,
        "num_attention_heads": 28,
        "rope_theta": 1_000_000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
        "max_position_embeddings": 32_768,
    },
    "Qwen2.5-VL-7B": {
        "model_type": "qwen2_5_vl",
        "hidden_size": 3584,
        "num_attention_heads": 28,
        "rope_theta": 1_000_000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
        "max_position_embeddings": 128_000,
    },
    "Qwen3-VL": {
        "model_type": "qwen3_vl",
        "text_config": {
            "model_type": "qwen3_vl_text",
            "head_dim": 128,
            "rope_theta": 5_000_000,
            "rope_scaling": {
                "rope_type": "default",
                "mrope_interleaved": True,
                "mrope_section": [24, 20, 20],
            },
            "max_position_embeddings": 262_144,
        },
    },
    "Gemma-7B": {
        "model_type": "gemma",
        "head_dim": 256,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 8192,
    },
    "Gemma-2-9B": {
        "model_type": "gemma2",
        "head_dim": 256,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 8192,
    },
    "Gemma-3-1B": {
        "model_type": "gemma3_text",
        "head_dim": 256,
        "rope_theta": 1_000_000,
        "rope_local_base_freq": 10_000,
        "max_position_embeddings": 32_768,
    },
}
"""Name -> what its config.json says. Of Gemma 3, WavelengthSpectrum shows the global layers."""

FORMS: Mapping[str, Mapping[str, Any]] = {
    "StableLM-2-1.6B, first upload": {
        "model_type": "stablelm_epoch",
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "rope_pct": 0.25,
        "rope_theta": 10_000,
        "max_position_embeddings": 4096,
    },
    "GLM-4-9B-Chat, as -hf": {
        "model_type": "glm",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "head_dim": 128,
        "partial_rotary_factor": 0.5,
        "rope_theta": 10_000.0,
        "max_position_embeddings": 131_072,
    },
    "Qwen2-VL-7B, converted": {
        **MODELS["Qwen2-VL-7B"],
        "rope_scaling": {
            "type": "default",
            "rope_type": "default",
            "mrope_section": [16, 24, 24],
        },
    },
    "Gemma-3-1B, new form": {
        "model_type": "gemma3_text",
        "head_dim": 256,
        "max_position_embeddings": 32_768,
        "rope_parameters": {
            "full_attention": {"rope_theta": 1_000_000.0, "rope_type": "default"},
            "sliding_attention": {"rope_theta": 10_000.0, "rope_type": "default"},
        },
    },
    "Alfred-40B-1023": {
        "model_type": "RefinedWeb",
        "hidden_size": 8192,
        "num_attention_heads": 128,
        "rope_scaling": {"type": "ntk_yarn"},
    },
}
"""Other forms of the same models' files, and one that RopeConfig refuses."""


def stanzas() -> dict[str, Mapping[str, Any]]:
    """Return every stanza by name: those of MODELS, then those of FORMS."""
    return {**MODELS, **FORMS}


LAYER_TYPES = {"Gemma-3-1B": "full_attention"}


def read(name: str) -> RopeConfig:
    """Return what RopeConfig makes of the stanza of that name."""
    return RopeConfig.from_hf(MODELS[name], layer_type=LAYER_TYPES.get(name))


def presets() -> dict[str, dict[str, Any]]:
    """Return name -> numbers for a live figure.

    ``head_dim``, ``rotary_dim``, ``base``, ``length`` (trained, in tokens), and for a scaled model
    ``original`` (its trained length before scaling) and ``divisors`` (what each pair's frequency is
    divided by, six digits).
    """
    return {name: _preset(read(name)) for name in MODELS}


def _preset(config: RopeConfig) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "head_dim": config.head_dim,
        "rotary_dim": config.rotary_dim,
        "base": config.base,
        "length": config.max_positions,
    }
    plain, scaled = (
        inverse_frequencies(config.rotary_dim, config.base),
        config.frequencies().inv_freq,
    )
    if np.array_equal(plain, scaled):
        return numbers
    divisors = [float(f"{divisor:.6g}") for divisor in plain / scaled]
    return {**numbers, "original": config.original_max_positions, "divisors": divisors}
