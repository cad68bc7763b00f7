"""Hostile config files: the outcome is a RopeConfig with finite frequencies, or RopeConfigError.

10 000 cases in all, from strategies that know the field names and break their values.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.config._gguf import SCALING_KEYS, SLIDING_KEYS, TEXT_KEYS
from rope_lib.config._models import MODELS, TEXT_MODELS
from rope_lib.report import describe, render
from rope_lib.scaling import ROPE_TYPE_ALIASES, SCALINGS, from_parameters, keywords

FULL = st.just("full_attention")
SLIDING = st.just("sliding_attention")
LAYER_TYPES = st.none() | FULL | SLIDING

# Values that have no business in a config file, or only by accident.
ODD_NUMBERS = st.sampled_from(
    [math.nan, math.inf, -math.inf, 10**400, -(10**400), 2**53, 2**53 + 1, 1e300, 5e-324, -0.0]
)
ANY_NUMBERS = st.integers(-5, 300) | st.floats(allow_nan=True, allow_infinity=True) | ODD_NUMBERS
NUMPY_VALUES = st.sampled_from(
    [np.float32(2.0), np.int64(64), np.float64("nan"), np.bool_(True), np.ones(3), np.ones((2, 2))]
)
SCALARS = st.none() | st.booleans() | ANY_NUMBERS | st.text(max_size=5) | NUMPY_VALUES
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)

# Values that a file could have.
LENGTHS = st.sampled_from([128, 2048, 4096, 8192, 131072]) | st.integers(1, 10**6)
SIZES = st.sampled_from([2, 4, 8, 16, 32, 64, 80, 96, 128]) | st.integers(1, 200)
WIDTHS = SIZES.map(lambda size: 8 * size)
BASES = st.sampled_from([1e4, 5e5, 1000000, 1e6]) | st.floats(1.0, 1e9)
SHARES = st.sampled_from([0.25, 0.4, 0.5, 1.0]) | st.floats(0.0, 1.0)
FACTORS = st.sampled_from([1, 2, 4.0, 8.0, 40]) | st.floats(0.5, 64.0)
SECTIONS = st.lists(st.integers(0, 64), max_size=4) | st.just([16, 24, 24]) | st.just([2, 1, 1])
DIVISORS = st.integers(1, 70).flatmap(lambda n: st.just([1.0 + i / 8 for i in range(n)]))
ROPE_TYPES = st.sampled_from([*SCALINGS, *ROPE_TYPE_ALIASES, "ntk_yarn", "axial", ""])
MODEL_TYPES = st.sampled_from([*MODELS, *TEXT_MODELS, "unheard_of", ""])

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "rope_type": ROPE_TYPES,
    "type": ROPE_TYPES,
    "rope_theta": BASES,
    "factor": FACTORS,
    "original_max_position_embeddings": LENGTHS,
    "low_freq_factor": st.just(1.0) | FACTORS,
    "high_freq_factor": st.just(4.0) | FACTORS,
    "beta_fast": st.just(32) | FACTORS,
    "beta_slow": st.just(1) | FACTORS,
    "truncate": st.booleans(),
    "mscale": FACTORS,
    "mscale_all_dim": FACTORS,
    "attention_factor": FACTORS,
    "short_factor": DIVISORS,
    "long_factor": DIVISORS,
    "partial_rotary_factor": SHARES,
    "mrope_section": SECTIONS,
    "mrope_interleaved": st.booleans(),
}


def spoilt(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what a file would have, sometimes anything at all."""
    return st.one_of(good, good, good, JUNK)


def fields(**named: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any subset of the named fields."""
    return st.fixed_dictionaries(
        {}, optional={name: spoilt(value) for name, value in named.items()}
    )


PARAMETERS = fields(**FIELDS)
TYPICAL = st.sampled_from(list(SCALINGS)).flatmap(
    lambda name: st.fixed_dictionaries(
        {
            "rope_type": st.just(name),
            **{key: FIELDS[key] for key, need in keywords(name).items() if need},
        }
    )
)
NESTED = st.dictionaries(
    FULL | SLIDING | st.sampled_from(["main", "factor"]), PARAMETERS | JUNK, max_size=3
)
SCALING = st.one_of(TYPICAL, PARAMETERS, NESTED, JUNK)

TEXT = {
    "model_type": MODEL_TYPES,
    "hidden_size": WIDTHS,
    "num_attention_heads": st.sampled_from([1, 2, 4, 8]),
    "n_embd": WIDTHS,
    "n_head": st.sampled_from([1, 2, 4, 8]),
    "head_dim": SIZES,
    "global_head_dim": SIZES,
    "kv_channels": SIZES,
    "qk_rope_head_dim": SIZES,
    "max_position_embeddings": LENGTHS,
    "n_positions": LENGTHS,
    "seq_length": LENGTHS,
    "n_ctx": LENGTHS,
    "original_max_position_embeddings": LENGTHS,
    "rope_theta": BASES,
    "rotary_emb_base": BASES,
    "rope_ratio": FACTORS,
    "rope_local_base_freq": BASES,
    "global_rope_theta": BASES,
    "local_rope_theta": BASES,
    "partial_rotary_factor": SHARES,
    "rotary_pct": SHARES,
    "rope_pct": SHARES,
    "rotary_dim": SIZES,
    "rope_scaling": SCALING,
    "rope_parameters": SCALING,
    "layer_types": st.lists(FULL | SLIDING, max_size=4),
    "no_rope_layers": st.lists(st.integers(0, 1), max_size=4),
    "no_rope_layer_interval": st.integers(1, 5),
    "num_hidden_layers": st.integers(1, 100),
    "per_layer_config": st.dictionaries(FULL | st.just("0"), fields(head_dim=SIZES), max_size=2),
    "rope_interleave": st.booleans(),
    "position_embedding_type": st.sampled_from(["rope", "absolute"]),
    "alibi": st.booleans(),
    "sliding_window": st.integers(1, 4096),
}
FILES = fields(**TEXT)
LIKELY = st.fixed_dictionaries(
    {
        "model_type": MODEL_TYPES,
        "head_dim": st.sampled_from([8, 64, 128]),
        "max_position_embeddings": LENGTHS,
        "rope_theta": BASES,
        "rope_scaling": st.none() | TYPICAL,
    }
)
MULTIMODAL = st.fixed_dictionaries(
    {"text_config": FILES | LIKELY | JUNK}, optional={"model_type": MODEL_TYPES, "rope_theta": JUNK}
)

case = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)


def assert_read_or_refused(read: Any, seq_len: int | None) -> None:
    """The only two outcomes there are."""
    try:
        config = read()
    except RopeConfigError as error:
        assert str(error)
        return
    found = config.frequencies(seq_len)
    assert found.inv_freq.shape == (config.rotary_dim // 2,)
    assert np.isfinite(found.inv_freq).all()
    assert (found.inv_freq >= 0.0).all()
    assert math.isfinite(found.attention_factor)
    assert math.isfinite(found.softmax_multiplier)
    assert config.rotary_dim <= config.head_dim
    assert all(isinstance(text, str) for text in (*config.used, *config.ignored, *config.warnings))
    assert render(describe(config, seq_len)).startswith("model type")


SEQ_LENS = st.none() | st.integers(1, 2**53)


@settings(case, max_examples=2500)
@given(FILES, LAYER_TYPES, SEQ_LENS)
def test_any_fields(file: dict[str, Any], layer_type: str | None, seq_len: int | None) -> None:
    assert_read_or_refused(lambda: RopeConfig.from_hf(file, layer_type=layer_type), seq_len)


@settings(case, max_examples=2500)
@given(LIKELY, FILES, LAYER_TYPES, SEQ_LENS)
def test_a_good_file_spoilt(
    file: dict[str, Any], spoiling: dict[str, Any], layer_type: str | None, seq_len: int | None
) -> None:
    assert_read_or_refused(
        lambda: RopeConfig.from_hf({**spoiling, **file}, layer_type=layer_type), seq_len
    )


@settings(case, max_examples=1500)
@given(MULTIMODAL, LAYER_TYPES, SEQ_LENS)
def test_text_config(file: dict[str, Any], layer_type: str | None, seq_len: int | None) -> None:
    assert_read_or_refused(lambda: RopeConfig.from_hf(file, layer_type=layer_type), seq_len)


@settings(case, max_examples=1000)
@given(st.dictionaries(st.sampled_from([*TEXT, *FIELDS]) | st.text(max_size=3), JUNK), SEQ_LENS)
def test_junk(file: dict[str, Any], seq_len: int | None) -> None:
    assert_read_or_refused(lambda: RopeConfig.from_hf(file), seq_len)


ARCHITECTURES = st.sampled_from(["llama", "gemma3", "qwen3vl", "deepseek2", "new"])
GGUF = {
    **{key: spoilt(TEXT[name]) for name, key in TEXT_KEYS.items()},
    **{key: spoilt(TEXT[name]) for name, key in SLIDING_KEYS.items()},
    **{key: spoilt(FIELDS[name]) for name, key in SCALING_KEYS.items()},
    "attention.kv_lora_rank": spoilt(SIZES),
}


@settings(case, max_examples=1500)
@given(
    spoilt(ARCHITECTURES),
    st.fixed_dictionaries({}, optional=GGUF),
    st.dictionaries(
        st.sampled_from(
            ["rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"]
        ),
        spoilt(DIVISORS),
    ),
    LAYER_TYPES,
    SEQ_LENS,
)
def test_gguf(
    architecture: Any,
    values: dict[str, Any],
    tensors: dict[str, Any],
    layer_type: str | None,
    seq_len: int | None,
) -> None:
    metadata = {"general.architecture": architecture, **tensors}
    metadata |= {f"{architecture}.{key}": value for key, value in values.items()}
    assert_read_or_refused(lambda: RopeConfig.from_gguf(metadata, layer_type=layer_type), seq_len)


@settings(case, max_examples=500)
@given(SIZES, BASES | JUNK, PARAMETERS | TYPICAL, st.none() | JUNK)
def test_from_parameters(dim: int, base: Any, parameters: dict[str, Any], seq_len: Any) -> None:
    try:
        found = from_parameters(dim, base, parameters, seq_len=seq_len)
    except (ValueError, TypeError) as error:
        assert str(error)
        return
    assert np.isfinite(found.inv_freq).all()
    assert math.isfinite(found.attention_factor)
    assert math.isfinite(found.softmax_multiplier)


@settings(case, max_examples=500)
@given(st.binary(max_size=30) | JUNK.map(lambda junk: json.dumps(junk, default=str).encode()))
def test_file_content(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "config.json"
    path.write_bytes(content)
    assert_read_or_refused(lambda: RopeConfig.from_hf(path), None)


def test_the_cases_reach_both_outcomes() -> None:
    """A fuzz test whose every case is refused would prove nothing."""
    outcomes = {"read": 0, "refused": 0}

    @settings(case, max_examples=300, derandomize=True)
    @given(LIKELY)
    def count(file: dict[str, Any]) -> None:
        try:
            RopeConfig.from_hf(file)
            outcomes["read"] += 1
        except RopeConfigError:
            outcomes["refused"] += 1

    count()
    assert min(outcomes.values()) > 30
