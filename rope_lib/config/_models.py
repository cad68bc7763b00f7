"""What transformers assumes for a model_type where a config.json is silent: one table.

Every row says what the model's config class (transformers 5.24) fills in, and which layout its
attention code rotates by; the tests compare each row with that code. A row gives only what differs
from base 10 000, the whole head rotated and no scaling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rope_lib.config._defaults import FULL, HALF, INTERLEAVED, SLIDING, ModelDefaults, Nope

_LLAMA3: Mapping[str, Any] = {
    "rope_type": "llama3",
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
_YARN: Mapping[str, Any] = {"rope_type": "yarn", "beta_fast": 32.0, "beta_slow": 1.0}
_GEMMA_LAYERS: Mapping[str, Mapping[str, Any]] = {
    FULL: {"rope_theta": 1_000_000.0},
    SLIDING: {"rope_theta": 10_000.0},
}
_GEMMA4_LAYERS: Mapping[str, Mapping[str, Any]] = {
    FULL: {
        "rope_theta": 1_000_000.0,
        "rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
        "head_dim": 512,
        "head_dim_field": "global_head_dim",
    },
    SLIDING: {"rope_theta": 10_000.0},
}
_MODERNBERT = ModelDefaults(
    HALF,
    8192,
    layers={FULL: {"rope_theta": 160_000.0}, SLIDING: {"rope_theta": 10_000.0}},
    shared_scaling=True,
)
_QWEN35 = ModelDefaults(
    HALF,
    32_768,
    head_dim=256,
    partial_rotary_factor=0.25,
    mrope_section=(11, 11, 10),
    mrope_interleaved=True,
)

MODELS: Mapping[str, ModelDefaults] = {
    "afmoe": ModelDefaults(
        HALF, 16_384, head_dim=128, nope=Nope("global_attn_every_n_layers", 4, 32, FULL)
    ),
    "apertus": ModelDefaults(
        HALF, 65_536, rope_theta=12_000_000.0, rope_parameters={**_LLAMA3, "factor": 8.0}
    ),
    "arcee": ModelDefaults(HALF, 4096),
    "bamba": ModelDefaults(HALF, 262_144, partial_rotary_factor=0.5),
    "bitnet": ModelDefaults(HALF, 2048, rope_theta=500_000.0),
    # Not in transformers: the code beside its checkpoint fixes the half head and the layout.
    "chatglm": ModelDefaults(INTERLEAVED, partial_rotary_factor=0.5),
    "codegen": ModelDefaults(INTERLEAVED, 2048, rotary_dim=64),
    "cohere": ModelDefaults(INTERLEAVED, 8192, rope_theta=500_000.0),
    "cohere2": ModelDefaults(INTERLEAVED, 8192, nope=Nope("sliding_window_pattern", 4, 40, FULL)),
    "cwm": ModelDefaults(
        HALF,
        131_072,
        rope_theta=1_000_000.0,
        head_dim=128,
        rope_parameters={**_LLAMA3, "factor": 16.0},
    ),
    "deepseek_v2": ModelDefaults(INTERLEAVED, 2048, qk_rope_head_dim=64),
    "deepseek_v3": ModelDefaults(INTERLEAVED, 4096, qk_rope_head_dim=64, interleave_field=True),
    "deepseek_v32": ModelDefaults(INTERLEAVED, 163_840, qk_rope_head_dim=64),
    "diffllama": ModelDefaults(HALF, 2048),
    "dots1": ModelDefaults(HALF, 2048),
    "ernie4_5": ModelDefaults(INTERLEAVED, 131_072, rope_theta=500_000.0, head_dim=128),
    "ernie4_5_moe": ModelDefaults(INTERLEAVED, 131_072, rope_theta=500_000.0),
    "eurobert": ModelDefaults(HALF, 8192),
    "exaone": ModelDefaults(HALF, 4096, rope_theta=500_000.0),
    "exaone4": ModelDefaults(HALF, 2048, nope=Nope(layer_type=FULL, only_with="sliding_window")),
    "falcon": ModelDefaults(HALF, 2048),
    "falcon_h1": ModelDefaults(HALF, 8192),
    "flex_olmo": ModelDefaults(HALF, 4096, rope_theta=500_000.0),
    "gemma": ModelDefaults(HALF, 8192, head_dim=256),
    "gemma2": ModelDefaults(HALF, 8192, head_dim=256),
    "gemma3_text": ModelDefaults(HALF, 131_072, head_dim=256, layers=_GEMMA_LAYERS),
    "gemma3n_text": ModelDefaults(HALF, 32_768, head_dim=256, layers=_GEMMA_LAYERS),
    "gemma4_text": ModelDefaults(HALF, 131_072, head_dim=256, layers=_GEMMA4_LAYERS),
    "gemma4_unified_text": ModelDefaults(HALF, 262_144, head_dim=256, layers=_GEMMA4_LAYERS),
    "glm": ModelDefaults(INTERLEAVED, 131_072, head_dim=128, partial_rotary_factor=0.5),
    "glm4": ModelDefaults(INTERLEAVED, 131_072, head_dim=128, partial_rotary_factor=0.5),
    "glm4_moe": ModelDefaults(HALF, 131_072, partial_rotary_factor=0.5),
    "glm4_moe_lite": ModelDefaults(
        INTERLEAVED, 202_752, qk_rope_head_dim=64, interleave_field=True
    ),
    "glm4v_moe_text": ModelDefaults(
        HALF, 65_536, partial_rotary_factor=0.5, mrope_section=(8, 12, 12)
    ),
    "glm4v_text": ModelDefaults(INTERLEAVED, 32_768, mrope_section=(8, 12, 12)),
    "glm_moe_dsa": ModelDefaults(INTERLEAVED, 202_752, qk_rope_head_dim=64),
    "gpt_neox": ModelDefaults(HALF, 2048, partial_rotary_factor=0.25),
    "gpt_neox_japanese": ModelDefaults(HALF, 2048),
    "gpt_oss": ModelDefaults(
        HALF,
        131_072,
        rope_theta=150_000.0,
        head_dim=64,
        rope_parameters={
            **_YARN,
            "factor": 32.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        },
    ),
    "gptj": ModelDefaults(INTERLEAVED, 2048, rotary_dim=64),
    "granite": ModelDefaults(HALF, 2048),
    "granitemoe": ModelDefaults(HALF, 2048),
    "granitemoeshared": ModelDefaults(HALF, 2048),
    "helium": ModelDefaults(INTERLEAVED, 4096, rope_theta=100_000.0, head_dim=128),
    "hunyuan_v1_dense": ModelDefaults(HALF, 2048),
    "hunyuan_v1_moe": ModelDefaults(HALF, 2048),
    "hy_v3": ModelDefaults(HALF, 131_072, rope_theta=11_158_840.0, head_dim=128),
    "internlm3": ModelDefaults(HALF, 32_768, head_dim=128),
    "jais2": ModelDefaults(HALF, 8192),
    "jetmoe": ModelDefaults(HALF, 4096, head_dim=128),
    "laguna": ModelDefaults(
        HALF,
        131_072,
        head_dim=128,
        layers={
            FULL: {"rope_theta": 500_000.0, "partial_rotary_factor": 0.5},
            SLIDING: {"rope_theta": 10_000.0},
        },
    ),
    "lfm2": ModelDefaults(HALF, 128_000, rope_theta=1_000_000.0),
    "lfm2_moe": ModelDefaults(HALF, 128_000, rope_theta=1_000_000.0),
    "llama": ModelDefaults(HALF, 2048),
    "llama4_text": ModelDefaults(
        INTERLEAVED,
        131_072,
        rope_theta=500_000.0,
        head_dim=128,
        nope=Nope("no_rope_layer_interval", 4, 48),
    ),
    "longcat_flash": ModelDefaults(
        INTERLEAVED, 131_072, rope_theta=10_000_000.0, qk_rope_head_dim=64
    ),
    "mimo_v2_flash": ModelDefaults(
        HALF,
        131_072,
        head_dim=192,
        partial_rotary_factor=0.334,
        layers={FULL: {"rope_theta": 5_000_000.0}, SLIDING: {"rope_theta": 10_000.0}},
    ),
    "minicpm3": ModelDefaults(HALF, 32_768, qk_rope_head_dim=32),
    "minimax": ModelDefaults(HALF, 131_072, rope_theta=1_000_000.0),
    "minimax_m2": ModelDefaults(HALF, 196_608, rope_theta=5_000_000.0, head_dim=128),
    "ministral": ModelDefaults(HALF, 131_072),
    "ministral3": ModelDefaults(
        HALF,
        262_144,
        rope_theta=1_000_000.0,
        head_dim=128,
        rope_parameters={
            **_YARN,
            "factor": 16.0,
            "original_max_position_embeddings": 16_384,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    ),
    "mistral": ModelDefaults(HALF, 131_072),
    "mistral4": ModelDefaults(
        INTERLEAVED,
        1_048_576,
        qk_rope_head_dim=64,
        interleave_field=True,
        rope_parameters={
            **_YARN,
            "factor": 128.0,
            "original_max_position_embeddings": 8192,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    ),
    "mixtral": ModelDefaults(HALF, 131_072, rope_theta=1_000_000.0),
    "mllama_text_model": ModelDefaults(HALF, 131_072, rope_theta=500_000.0),
    "modernbert": _MODERNBERT,
    "modernbert-decoder": _MODERNBERT,
    # It pairs channels in halves, but rotates by -theta, which neither layout is.
    "nanochat": ModelDefaults(None, 2048),
    "nemotron": ModelDefaults(HALF, 4096, partial_rotary_factor=0.5),
    "nomic_bert": ModelDefaults(HALF, 2048, rope_theta=1000.0),
    "olmo": ModelDefaults(HALF, 2048),
    "olmo2": ModelDefaults(HALF, 2048),
    # Both layer types share a base; only scaling, which full_attention alone gets, parts them.
    "olmo3": ModelDefaults(HALF, 2048, rope_theta=500_000.0, layers={FULL: {}, SLIDING: {}}),
    "olmo_hybrid": ModelDefaults(HALF, 65_536),
    "olmoe": ModelDefaults(HALF, 4096),
    "persimmon": ModelDefaults(HALF, 16_384, partial_rotary_factor=0.5),
    "phi": ModelDefaults(HALF, 2048, partial_rotary_factor=0.5),
    "phi3": ModelDefaults(HALF, 4096),
    "phi4_multimodal": ModelDefaults(HALF, 131_072),
    "phimoe": ModelDefaults(HALF, 131_072, rope_theta=1_000_000.0),
    "qwen2": ModelDefaults(HALF, 32_768),
    "qwen2_5_omni_text": ModelDefaults(
        HALF, 32_768, rope_theta=1_000_000.0, mrope_section=(16, 24, 24)
    ),
    "qwen2_5_vl_text": ModelDefaults(
        HALF, 32_768, rope_theta=1_000_000.0, mrope_section=(16, 24, 24)
    ),
    "qwen2_moe": ModelDefaults(HALF, 32_768),
    "qwen2_vl_text": ModelDefaults(
        HALF, 32_768, rope_theta=1_000_000.0, mrope_section=(16, 24, 24)
    ),
    "qwen3": ModelDefaults(HALF, 32_768, head_dim=128),
    "qwen3_5_moe_text": _QWEN35,
    "qwen3_5_text": _QWEN35,
    "qwen3_moe": ModelDefaults(HALF, 32_768),
    "qwen3_next": ModelDefaults(HALF, 32_768, head_dim=256, partial_rotary_factor=0.25),
    "qwen3_omni_moe_text": ModelDefaults(
        HALF,
        32_768,
        rope_theta=1_000_000.0,
        mrope_section=(24, 20, 20),
        mrope_interleaved=True,
    ),
    "qwen3_vl_moe_text": ModelDefaults(
        HALF, 128_000, rope_theta=500_000.0, mrope_section=(24, 20, 20), mrope_interleaved=True
    ),
    "qwen3_vl_text": ModelDefaults(
        HALF,
        128_000,
        rope_theta=500_000.0,
        head_dim=128,
        mrope_section=(24, 20, 20),
        mrope_interleaved=True,
    ),
    "recurrent_gemma": ModelDefaults(HALF, partial_rotary_factor=0.5),
    "seed_oss": ModelDefaults(HALF, 524_288, head_dim=128),
    "smollm3": ModelDefaults(
        HALF, 32_768, rope_theta=2_000_000.0, nope=Nope("no_rope_layer_interval", 4, 36)
    ),
    "solar_open": ModelDefaults(HALF, 131_072, rope_theta=1_000_000.0, head_dim=128),
    "stablelm": ModelDefaults(HALF, 4096, partial_rotary_factor=0.25),
    "starcoder2": ModelDefaults(HALF, 4096),
    "vaultgemma": ModelDefaults(HALF, 8192, head_dim=256),
}

TEXT_MODELS: Mapping[str, str] = {
    "aya_vision": "cohere2",
    "exaone4_5": "exaone4",
    "fuyu": "persimmon",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_unified_text",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "got_ocr2": "qwen2",
    "granite_speech": "granite",
    "idefics2": "mistral",
    "idefics3": "llama",
    "internvl": "qwen2",
    "kimi_k25": "deepseek_v3",
    "lfm2_vl": "lfm2",
    "llama4": "llama4_text",
    "llava": "llama",
    "llava_next": "llama",
    "llava_onevision": "qwen2",
    "mistral3": "mistral",
    "mllama": "mllama_text_model",
    "ovis2": "qwen2",
    "paligemma": "gemma",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen2_audio": "qwen2",
    "qwen2_vl": "qwen2_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "shieldgemma2": "gemma3_text",
    "smolvlm": "llama",
    "video_llava": "llama",
    "voxtral": "llama",
}
"""A multimodal model_type, and the model_type that its text_config has when it does not say."""


def defaults_of(model_type: str | None) -> ModelDefaults | None:
    """The row of a model_type, or of the text model inside it; None where there is none."""
    return MODELS.get(TEXT_MODELS.get(model_type or "", model_type or ""))
