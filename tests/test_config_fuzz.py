"""Hostile config files: the outcome is a RopeConfig with finite frequencies, or RopeConfigError.

10 000 cases in all. Most take a file that is whole and replace a few of its fields, by values that
other files have there or by values that belong nowhere; the rest are junk from the start.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
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

# What belongs nowhere, or only by accident.
ODD: list[Any] = [
    *(None, True, False, "", "8", "nan", "\ud800", b"8", [], [1], [None], {}, {"a": 1}, {3: 4}),
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400), 10**5000, 2**53, 2**53 + 1, 2**63),
    *(1e300, 5e-324, -0.0, 0, -1, -2.5, 1, 3, 1.5, 1e30, 1e31, 1e-30, 65_536, 65_537, 1j),
    *(np.float32(2.0), np.int64(64), np.float64("nan"), np.bool_(True), np.ones(3)),
    *(np.ones((2, 2)), np.array("8"), object(), [[1.0] * 4] * 4, [True] * 4, ["1"] * 4),
]
LENGTHS = [1, 2, 7, 128, 4096, 8192, 131_072, 4096.0]
SIZES = [2, 4, 5, 8, 64, 80, 96, 128, 256]
BASES = [1.0, 1.0000000000000002, 2.0, 10_000, 1e4, 5e5, 1e6, 1e30]
SHARES = [1e-9, 0.1, 0.25, 0.334, 0.4, 0.5, 0.9, 1, 1.0]
FACTORS = [0.5, 1, 1.0, 2.0, 4, 8.0, 40, 1e9]
DIVISORS = [[1.0] * 32, [1.0 + i / 8 for i in range(64)], [2] * 48, [1.0] * 4]
NAMES = [*SCALINGS, *ROPE_TYPE_ALIASES, "ntk_yarn", "axial", "DEFAULT"]

SCALING_FIELDS: dict[str, list[Any]] = {
    "rope_type": NAMES,
    "type": NAMES,
    "rope_theta": BASES,
    "factor": FACTORS,
    "original_max_position_embeddings": LENGTHS,
    "low_freq_factor": FACTORS,
    "high_freq_factor": FACTORS,
    "beta_fast": FACTORS,
    "beta_slow": FACTORS,
    "truncate": [],
    "mscale": FACTORS,
    "mscale_all_dim": FACTORS,
    "attention_factor": FACTORS,
    "short_factor": DIVISORS,
    "long_factor": DIVISORS,
    "partial_rotary_factor": SHARES,
    "mrope_section": [[16, 24, 24], [24, 20, 20], [8, 12, 12], [64], [32, 32, 0]],
    "mrope_interleaved": [],
}
TEXT_FIELDS: dict[str, list[Any]] = {
    "model_type": [*MODELS, *TEXT_MODELS, "unheard_of"],
    "hidden_size": [64, 512, 4096, 65_536, 10**9],
    "num_attention_heads": [1, 3, 8, 32],
    "n_embd": [64, 4096],
    "n_head": [8, 16],
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
    "rope_freq_base": BASES,
    "rope_ratio": FACTORS,
    "rope_local_base_freq": BASES,
    "global_rope_theta": BASES,
    "local_rope_theta": BASES,
    "partial_rotary_factor": SHARES,
    "rotary_pct": SHARES,
    "rope_pct": SHARES,
    "rotary_dim": SIZES,
    "rope_scaling": [],
    "rope_parameters": [],
    "layer_types": [["full_attention", "sliding_attention"], ["conv"]],
    "no_rope_layers": [[1, 1, 1, 0], [0, 2]],
    "no_rope_layer_interval": [1, 4],
    "sliding_window_pattern": [4, "LLLG"],
    "num_hidden_layers": [1, 4, 65_536],
    "per_layer_config": [{"0": {"head_dim": 64}}, {"full_attention": {"head_dim": 7}}, {"0": 1}],
    "rope_interleave": [],
    "position_embedding_type": ["rope", "absolute"],
    "alibi": [],
    "sliding_window": [512],
    "text_config": [],
}

Edit = tuple[tuple[str, ...], Any]


def edits(where: tuple[str, ...], fields: dict[str, list[Any]]) -> Iterable[Edit]:
    for name, values in fields.items():
        for value in [*values, *ODD]:
            yield (*where, name), value


TEXT_EDITS = list(edits((), TEXT_FIELDS))
SCALING_EDITS = list(edits(("rope_scaling",), SCALING_FIELDS))
PARAMETER_EDITS = list(edits(("rope_parameters",), SCALING_FIELDS))
LAYER_EDITS = [
    *edits(("rope_parameters", "full_attention"), SCALING_FIELDS),
    *edits(("rope_parameters", "sliding_attention"), SCALING_FIELDS),
    *((("rope_parameters", name), value) for name in ("main", "full_attention") for value in ODD),
]


def set_at(file: dict[Any, Any], edit: Edit) -> None:
    """Put a value at a path, making the dictionaries on the way."""
    *above, name = edit[0]
    for key in above:
        below = file.get(key)
        file[key] = below = below if isinstance(below, dict) else {}
        file = below
    file[name] = copy.deepcopy(edit[1])


def whole_files() -> list[dict[str, Any]]:
    """The stanzas of real models, every scaling, and every model_type by its defaults."""
    folder = Path(__file__).parent / "configs"
    real = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    small = {"model_type": "llama", "head_dim": 64, "max_position_embeddings": 8192}
    good = {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    good |= {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
    scaled = [
        small | {"rope_scaling": {"type": name} | {key: good.get(key, 4096) for key in needed}}
        for name in SCALINGS
        for needed in [[key for key, required in keywords(name).items() if required]]
    ]
    bare = [{"model_type": name, "hidden_size": 512, "num_attention_heads": 8} for name in MODELS]
    return [*real, *scaled, *bare]


FILES = st.sampled_from(whole_files())
FEW = {"min_size": 1, "max_size": 4}
TEXT_CHANGES = st.lists(st.sampled_from(TEXT_EDITS), **FEW)
SCALING_CHANGES = st.lists(st.sampled_from(SCALING_EDITS), **FEW)
PARAMETER_CHANGES = st.lists(st.sampled_from(PARAMETER_EDITS), **FEW)
LAYER_CHANGES = st.lists(st.sampled_from(LAYER_EDITS), **FEW)
MIXED_CHANGES = st.lists(
    st.sampled_from([*TEXT_EDITS, *SCALING_EDITS, *PARAMETER_EDITS, *LAYER_EDITS]), max_size=8
)
LAYER_TYPES = st.sampled_from([None, "full_attention", "sliding_attention", "main", "", 3])
SEQ_LENS = st.none() | st.integers(1, 2**53)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)
FIELD_NAMES = st.sampled_from([*TEXT_FIELDS, *SCALING_FIELDS]) | st.text(max_size=2)

case = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


def check(read: Callable[[], RopeConfig], seq_len: int | None = None) -> bool:
    """Whether the file was read; the only other outcome is a RopeConfigError that says why."""
    try:
        config = read()
    except RopeConfigError as error:
        return bool(str(error)) and False
    found = config.frequencies(seq_len)
    assert found.inv_freq.shape == (config.rotary_dim // 2,)
    assert np.isfinite(found.inv_freq).all()
    assert (found.inv_freq >= 0.0).all()
    assert math.isfinite(found.attention_factor)
    assert math.isfinite(found.softmax_multiplier)
    assert config.rotary_dim <= config.head_dim
    assert all(isinstance(text, str) for text in (*config.used, *config.ignored, *config.warnings))
    return True


def check_edited(
    file: dict[str, Any], changes: list[Edit], layer_type: Any, seq_len: int | None
) -> None:
    edited = copy.deepcopy(file)
    for change in changes:
        set_at(edited, change)
    check(lambda: RopeConfig.from_hf(edited, layer_type=layer_type), seq_len)


Batch = list[tuple[dict[str, Any], list[Edit], Any]]


def cases(count: int) -> settings:
    """Settings that try so many files, five an example: drawing one is slower than reading it."""
    return settings(case, max_examples=count // 5)


def batch(*drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(*drawn), min_size=5, max_size=5)


@cases(2000)
@given(batch(FILES, TEXT_CHANGES, LAYER_TYPES), SEQ_LENS)
def test_fields(files: Batch, seq_len: int | None) -> None:
    for file, changes, layer in files:
        check_edited(file, changes, layer, seq_len)


@cases(1500)
@given(batch(FILES, SCALING_CHANGES, st.none()), SEQ_LENS)
def test_rope_scaling(files: Batch, seq_len: int | None) -> None:
    for file, changes, layer in files:
        check_edited(file, changes, layer, seq_len)


@cases(1000)
@given(batch(FILES, PARAMETER_CHANGES, st.none()), SEQ_LENS)
def test_rope_parameters(files: Batch, seq_len: int | None) -> None:
    for file, changes, layer in files:
        check_edited(file, changes, layer, seq_len)


@cases(1000)
@given(batch(FILES, LAYER_CHANGES, LAYER_TYPES), SEQ_LENS)
def test_layers(files: Batch, seq_len: int | None) -> None:
    for file, changes, layer in files:
        check_edited(file, changes, layer, seq_len)


@cases(1000)
@given(batch(FILES, MIXED_CHANGES, LAYER_TYPES), SEQ_LENS)
def test_mixed(files: Batch, seq_len: int | None) -> None:
    for file, changes, layer in files:
        check_edited(file, changes, layer, seq_len)


@cases(500)
@given(FILES, batch(FILES, MIXED_CHANGES, LAYER_TYPES))
def test_text_config(outer: dict[str, Any], files: Batch) -> None:
    for inner, changes, layer in files:
        nested = [(("text_config", *path), value) for path, value in changes]
        check_edited({**outer, "text_config": inner}, nested, layer, None)


@cases(700)
@given(batch(st.dictionaries(FIELD_NAMES, JUNK, min_size=1, max_size=3)))
def test_junk(files: list[tuple[dict[str, Any]]]) -> None:
    for (file,) in files:
        check(lambda file=file: RopeConfig.from_hf(file))


GGUF_FIELDS = {
    **{key: TEXT_FIELDS[name] for name, key in TEXT_KEYS.items()},
    **{key: TEXT_FIELDS[name] for name, key in SLIDING_KEYS.items()},
    **{key: SCALING_FIELDS[name] for name, key in SCALING_KEYS.items()},
    "attention.kv_lora_rank": SIZES,
}
GGUF_EDITS = list(edits(("llama",), GGUF_FIELDS))
TENSORS = ["rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"]
TENSOR_EDITS = [((name,), value) for name in TENSORS for value in [*DIVISORS, *ODD]]
ARCHITECTURES = st.sampled_from(["llama", "gemma3", "qwen3vl", "deepseek2", "new", None, 3])


@cases(1500)
@given(
    batch(
        ARCHITECTURES,
        st.lists(st.sampled_from(GGUF_EDITS), max_size=6),
        st.lists(st.sampled_from(TENSOR_EDITS), max_size=1),
        LAYER_TYPES,
    ),
    SEQ_LENS,
)
def test_gguf(files: list[tuple[Any, list[Edit], list[Edit], Any]], seq_len: int | None) -> None:
    for architecture, changes, tensors, layer in files:
        metadata = {
            "general.architecture": architecture,
            f"{architecture}.attention.key_length": 64,
            f"{architecture}.context_length": 8192,
        }
        metadata |= {f"{architecture}.{path[1]}": value for path, value in changes}
        metadata |= {path[0]: value for path, value in tensors}
        check(
            lambda given=metadata, name=layer: RopeConfig.from_gguf(given, layer_type=name), seq_len
        )


# Nobody is kept from asking for more memory than there is, so no dimension is huge here.
DIMENSIONS = [*SIZES, *(value for value in ODD if not (isinstance(value, int) and value > 65_537))]


@settings(case, max_examples=300)
@given(
    st.sampled_from(DIMENSIONS),
    st.sampled_from([*BASES, *ODD]),
    SCALING_CHANGES,
    st.sampled_from([*LENGTHS, *ODD]),
)
def test_from_parameters(dim: Any, base: Any, changes: list[Edit], seq_len: Any) -> None:
    parameters = {path[1]: value for path, value in changes}
    try:
        found = from_parameters(dim, base, parameters, seq_len=seq_len)
    except (ValueError, TypeError):
        return
    assert np.isfinite(found.inv_freq).all()
    assert math.isfinite(found.attention_factor)
    assert math.isfinite(found.softmax_multiplier)


@settings(case, max_examples=300)
@given(st.binary(max_size=20) | JUNK.map(lambda junk: json.dumps(junk).encode()))
def test_content_of_a_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "config.json"
    path.write_bytes(content)
    check(lambda: RopeConfig.from_hf(path))


@settings(case, max_examples=200)
@given(FILES, MIXED_CHANGES)
def test_report(file: dict[str, Any], changes: list[Edit]) -> None:
    """What can be read can be told."""
    edited = copy.deepcopy(file)
    for change in changes:
        set_at(edited, change)
    try:
        config = RopeConfig.from_hf(edited)
    except RopeConfigError:
        return
    assert render(describe(config)).startswith("model type")


def test_cases_reach_both_outcomes() -> None:
    """A fuzz test whose every case is refused, or read, would prove little."""
    read = []

    @settings(case, max_examples=200, derandomize=True)
    @given(FILES, SCALING_CHANGES)
    def count(file: dict[str, Any], changes: list[Edit]) -> None:
        edited = copy.deepcopy(file)
        for change in changes:
            set_at(edited, change)
        read.append(check(lambda: RopeConfig.from_hf(edited)))

    count()
    assert 20 < sum(read) < 180
