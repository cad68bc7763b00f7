"""Ours beside transformers': every rope type, every row of the table of defaults, every layout.

transformers computes in float32, so frequencies agree to a few of its roundings, not to ours.
"""

from __future__ import annotations

import importlib
import json
import logging
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import peers
import pytest
import torch
import transformers
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.config._models import MODELS, TEXT_MODELS

CONFIGS = Path(__file__).parent / "configs"
ROUNDING = 3e-6


@pytest.fixture(autouse=True)
def _quiet() -> None:
    transformers.logging.set_verbosity_error()


def small_llama(**parameters: Any) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=1024,
        num_attention_heads=16,
        head_dim=64,
        max_position_embeddings=16_384,
        rope_parameters={"rope_theta": 10_000.0} | parameters,
    )


LLAMA3, YARN, LONGROPE = peers.long_parameters(4096, 32)


class TestRopeTypes:
    @pytest.mark.parametrize(
        "parameters",
        [
            {"rope_type": "linear", "factor": 1.0},
            {"rope_type": "linear", "factor": 3.5},
            {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5, "partial_rotary_factor": 0.5},
            {"rope_type": "dynamic", "factor": 2.0},
            {"rope_type": "dynamic", "factor": 4.0, "partial_rotary_factor": 0.25},
            YARN,
            YARN | {"factor": 40, "rope_theta": 1e6},
            YARN | {"truncate": False},
            YARN | {"beta_fast": 16, "beta_slow": 2},
            YARN | {"mscale": 0.707, "mscale_all_dim": 0.707},
            YARN | {"mscale": 1.0, "mscale_all_dim": 0.5},
            YARN | {"mscale": 0.5},
            YARN | {"mscale_all_dim": 0.5},
            YARN | {"mscale": 0, "mscale_all_dim": 1.0},
            YARN | {"attention_factor": 0.75, "mscale": 1.0, "mscale_all_dim": 0.5},
            YARN | {"factor": None},
            YARN | {"partial_rotary_factor": 0.5},
            LLAMA3,
            LLAMA3 | {"rope_theta": 5e5, "factor": 32.0},
            LLAMA3 | {"low_freq_factor": 0.125, "high_freq_factor": 0.5},
            LLAMA3 | {"partial_rotary_factor": 0.5},
            LONGROPE,
            LONGROPE | {"factor": 8.0},
            LONGROPE | {"attention_factor": 1.25},
            {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
            {"rope_type": "proportional", "partial_rotary_factor": 0.3, "factor": 2.0},
            {"rope_type": "proportional"},
        ],
        ids=lambda given: "-".join(f"{key}" for key in given if key != "rope_theta")[:60],
    )
    @pytest.mark.parametrize("seq_len", [None, 1, 4096, 4097, 16_384, 16_385, 40_000])
    def test_same_frequencies(self, parameters: dict[str, Any], seq_len: int | None) -> None:
        config = small_llama(**parameters)
        compute = ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
        inv_freq, attention_factor = compute(config, None, seq_len=seq_len)
        ours = RopeConfig.from_hf(config.to_dict()).frequencies(seq_len)
        np.testing.assert_allclose(ours.inv_freq, inv_freq.numpy(), rtol=ROUNDING, atol=0)
        assert ours.attention_factor == pytest.approx(attention_factor, rel=1e-12)

    def test_every_rope_type_is_compared(self) -> None:
        assert set(ROPE_INIT_FUNCTIONS) == {
            "linear",
            "dynamic",
            "yarn",
            "longrope",
            "llama3",
            "proportional",
        }


def modelling(model_type: str) -> ModuleType:
    """The module whose attention a model_type runs; two of them run Llama's."""
    name = {"exaone": "llama", "internlm3": "llama"}.get(model_type, model_type)
    path = CONFIG_MAPPING[name].__module__.replace("configuration", "modeling")
    return importlib.import_module(path)


def rotary_class(module: ModuleType) -> Any:
    """The text model's rotary embedding class of a module."""
    others = ("Vision", "Audio", "Talker", "DiT")
    found = [
        value
        for name, value in vars(module).items()
        if name.endswith("RotaryEmbedding")
        and value.__module__ == module.__name__
        and not any(other in name for other in others)
    ]
    return found[0]


def layer_types(model_type: str) -> list[str | None]:
    return list(MODELS[model_type].layers) or [None]


# Models whose files do not divide hidden_size by heads, though the class defaults would not fit.
HEADS = {"glm4_moe": 32, "glm4v_moe_text": 32, "qwen3_omni_moe_text": 16}
# laguna and lfm3 list no sliding layer by default, chatglm is not in transformers at all.
ROWS = [
    (model_type, layer_type)
    for model_type in MODELS
    if model_type != "chatglm"
    for layer_type in layer_types(model_type)
]


def by_default(model_type: str) -> Any:
    """The config of a class, left to its defaults but for the shape that divides."""
    cls = CONFIG_MAPPING[model_type]
    if model_type in HEADS:
        return cls(num_attention_heads=HEADS[model_type])
    if model_type == "laguna":
        return cls(num_hidden_layers=2, layer_types=["full_attention", "sliding_attention"])
    return cls()


def silent_file(config: Any, model_type: str) -> dict[str, Any]:
    """A config.json that leaves everything to the class that can be left to it."""
    row = MODELS[model_type]
    file: dict[str, Any] = {"model_type": model_type}
    if row.head_dim is None and row.qk_rope_head_dim is None:
        file["hidden_size"] = config.hidden_size
        file["num_attention_heads"] = config.num_attention_heads
    return file


def rotary_of(config: Any, model_type: str, layer_type: str | None) -> tuple[torch.Tensor, float]:
    """inv_freq and attention factor as transformers' own module has them."""
    rotary = rotary_class(modelling(model_type))(config)
    prefix = f"{layer_type}_" if layer_type else ""
    return getattr(rotary, f"{prefix}inv_freq"), getattr(rotary, f"{prefix}attention_scaling")


class TestDefaults:
    """One file a row, silent on all it can be silent on."""

    @pytest.mark.parametrize(("model_type", "layer_type"), ROWS)
    def test_row(self, model_type: str, layer_type: str | None) -> None:
        config = by_default(model_type)
        ours = RopeConfig.from_hf(silent_file(config, model_type), layer_type=layer_type)
        assert ours.max_positions == getattr(config, "max_position_embeddings", None)
        if model_type in ("gptj", "codegen"):
            # These keep a table of sines and cosines instead, [sin | cos] by position.
            table = modelling(model_type).create_sinusoidal_positions(2, config.rotary_dim)
            angles = torch.atan2(table[1, : ours.rotary_dim // 2], table[1, ours.rotary_dim // 2 :])
            np.testing.assert_allclose(ours.frequencies().inv_freq, angles, rtol=ROUNDING)
            return
        inv_freq, attention_factor = rotary_of(config, model_type, layer_type)
        found = ours.frequencies()
        np.testing.assert_allclose(found.inv_freq, inv_freq.numpy(), rtol=ROUNDING, atol=0)
        assert found.attention_factor == pytest.approx(attention_factor, rel=1e-12)

    @pytest.mark.parametrize(("outer", "inner"), TEXT_MODELS.items())
    def test_text_model_inside(self, outer: str, inner: str) -> None:
        assert CONFIG_MAPPING[outer]().text_config.model_type == inner

    @pytest.mark.parametrize("model_type", [m for m, row in MODELS.items() if row.nope])
    def test_layers_without_rotation(self, model_type: str) -> None:
        config = by_default(model_type)
        if model_type in ("llama4_text", "smollm3"):
            expected = [i for i, rotates in enumerate(config.no_rope_layers) if not rotates]
        else:
            expected = [i for i, t in enumerate(config.layer_types) if t == "full_attention"]
        file = silent_file(config, model_type)
        if model_type == "exaone4":
            file |= {"layer_types": config.layer_types, "sliding_window": config.sliding_window}
        assert RopeConfig.from_hf(file).no_rope_layers == tuple(expected)

    @pytest.mark.parametrize("model_type", [m for m, row in MODELS.items() if row.mrope_section])
    def test_sections(self, model_type: str) -> None:
        rotary = rotary_class(modelling(model_type))(by_default(model_type))
        row = MODELS[model_type]
        assert row.mrope_section is not None
        assert tuple(rotary.mrope_section) == row.mrope_section
        pairs = sum(row.mrope_section)
        # Frequencies that are the number of their axis show which axis each pair gets.
        axes = torch.arange(3.0).reshape(3, 1, 1, 1).expand(3, 1, 1, pairs).clone()
        table = rotary.recomposition_frequencies(axes)[0, 0].int()
        found = (table[::2] if row.layout == "interleaved" else table[:pairs]).tolist()
        assert tuple(np.bincount(found)) == row.mrope_section
        assert (found[:3] == [0, 1, 2]) is row.mrope_interleaved
        assert (found == sorted(found)) is not row.mrope_interleaved


DIM = 8
POSITIONS = (5, 2)


def rotated(x: np.ndarray, position: int, layout: str) -> np.ndarray:
    """Pair by pair, the slow way, as complex numbers (pairs in the order of their frequency)."""
    pairs = x.reshape(-1, 2).T if layout == "interleaved" else x.reshape(2, -1)
    angles = position * 100.0 ** (-np.arange(0, DIM, 2) / DIM)
    return (pairs[0] + 1j * pairs[1]) * np.exp(1j * angles)


def their_score(model_type: str, q: torch.Tensor, k: torch.Tensor) -> float:
    """The score of q at position 5 and k at position 2, rotated by a model's own code."""
    module = modelling(model_type)
    angles = torch.tensor(
        [[p * 100.0 ** (-j / DIM) for j in range(0, DIM, 2)] for p in POSITIONS],
        dtype=torch.float64,
    )
    x = torch.stack([q, k])[None, None]  # (batch, heads, seq, dim)
    if model_type in ("llama4_text", "deepseek_v2"):
        turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)[None]
        x = x.float().transpose(1, 2) if model_type == "llama4_text" else x.float()
        out = module.apply_rotary_emb(x, x, turns)[0]
        out = out.transpose(1, 2) if model_type == "llama4_text" else out
    elif model_type in ("gptj", "codegen"):
        out = module.apply_rotary_pos_emb(x.transpose(1, 2), angles.sin()[None], angles.cos()[None])
        out = out.transpose(1, 2)
    else:
        out = their_rotation(model_type, module, x, angles)
    rows = out[0, 0].double()
    return float(rows[0] @ rows[1])


def their_rotation(
    model_type: str, module: ModuleType, x: torch.Tensor, angles: torch.Tensor
) -> torch.Tensor:
    """The rotations that take a table as wide as the head, laid out as each expects it."""
    if model_type in ("cohere", "cohere2", "glm4v_text"):
        wide = angles.repeat_interleave(2, dim=-1)
    elif model_type == "gpt_oss":
        wide = angles
    else:
        wide = torch.cat([angles, angles], dim=-1)
    cos, sin = wide.cos()[None], wide.sin()[None]
    plain = vars(module).get("apply_rotary_pos_emb")
    rotate = vars(module).get("apply_rotary_pos_emb_interleave", plain)
    if model_type in ("gemma3n_text", "gemma4_text", "gemma4_unified_text"):
        return rotate(x, cos, sin)
    return rotate(x, x, cos, sin)[0]


class TestLayouts:
    """Which pairs each model's own code turns, found by scores that no permutation changes."""

    q = np.array([0.3, -1.2, 0.7, 2.0, -0.4, 1.1, 0.9, -0.8])
    k = np.array([1.5, 0.2, -0.6, 0.4, 1.3, -0.9, 0.1, 0.7])

    def score(self, layout: str, sign: int = 1) -> float:
        q, k = (
            rotated(x, sign * p, layout) for x, p in zip((self.q, self.k), POSITIONS, strict=True)
        )
        return float((q * k.conj()).real.sum())

    @pytest.mark.parametrize("model_type", [m for m in MODELS if m not in ("chatglm", "nanochat")])
    def test_layout(self, model_type: str) -> None:
        theirs = their_score(model_type, torch.tensor(self.q), torch.tensor(self.k))
        matching = [
            layout
            for layout in ("half", "interleaved")
            if theirs == pytest.approx(self.score(layout), abs=1e-5)
        ]
        assert matching == [MODELS[model_type].layout]

    def test_nanochat_turns_the_other_way(self) -> None:
        """Its pairs are halves, turned by minus theta: no layout, so the table fixes none."""
        theirs = their_score("nanochat", torch.tensor(self.q), torch.tensor(self.k))
        assert theirs == pytest.approx(self.score("half", sign=-1), abs=1e-5)
        assert theirs != pytest.approx(self.score("half"), abs=1e-2)

    def test_interleave_field(self) -> None:
        """DeepSeek-V3's attention chooses by rope_interleave, true by default."""
        assert CONFIG_MAPPING["deepseek_v3"]().rope_interleave is True
        for model_type, row in MODELS.items():
            if model_type != "chatglm":
                given = getattr(by_default(model_type), "rope_interleave", None)
                assert (given is True) is row.interleave_field, model_type


STANZAS = [
    path.stem
    for path in sorted(CONFIGS.glob("*.json"))
    # Their classes are not in transformers.
    if path.stem not in ("alfred-40b-1023", "glm-4-9b-chat", "stablelm-2-1.6b-first", "gpt-j-6b")
]


class TestRealFiles:
    @pytest.mark.parametrize("name", STANZAS)
    def test_stanza(self, name: str) -> None:
        file = json.loads((CONFIGS / f"{name}.json").read_text())
        config = CONFIG_MAPPING[file["model_type"]](**file)
        text = config.get_text_config()
        for layer_type in layer_types(text.model_type):
            ours = RopeConfig.from_hf(CONFIGS / f"{name}.json", layer_type=layer_type)
            inv_freq, attention_factor = rotary_of(text, text.model_type, layer_type)
            found = ours.frequencies()
            np.testing.assert_allclose(found.inv_freq, inv_freq.numpy(), rtol=ROUNDING)
            assert found.attention_factor == pytest.approx(attention_factor, rel=1e-12)
            assert ours.max_positions == text.max_position_embeddings

    @pytest.mark.parametrize("name", ["deepseek-v2-lite", "deepseek-v3"])
    def test_softmax_multiplier(self, name: str) -> None:
        file = json.loads((CONFIGS / f"{name}.json").read_text())
        config = CONFIG_MAPPING[file["model_type"]](**file)
        theirs = modelling(file["model_type"]).yarn_apply_mscale(config.rope_parameters, 1.0)
        ours = RopeConfig.from_hf(file).frequencies().softmax_multiplier
        assert ours == pytest.approx(theirs, rel=1e-12)

    @pytest.mark.parametrize("name", STANZAS)
    def test_as_transformers_saves_it(self, name: str) -> None:
        """The new style, with every default written out, is read to the same frequencies."""
        file = json.loads((CONFIGS / f"{name}.json").read_text())
        saved = CONFIG_MAPPING[file["model_type"]](**file).to_dict()
        for layer_type in layer_types(TEXT_MODELS.get(file["model_type"], file["model_type"])):
            old = RopeConfig.from_hf(file, layer_type=layer_type)
            new = RopeConfig.from_hf(saved, layer_type=layer_type)
            np.testing.assert_array_equal(new.frequencies().inv_freq, old.frequencies().inv_freq)
            assert (new.head_dim, new.rotary_dim) == (old.head_dim, old.rotary_dim)
            assert new.mrope_section == old.mrope_section

    def test_gemma4_as_transformers_saves_it(self) -> None:
        """global_head_dim is saved as per_layer_config, by number of layer."""
        config = CONFIG_MAPPING["gemma4_text"](num_hidden_layers=6, global_head_dim=128)
        saved = config.to_dict()
        assert "global_head_dim" not in saved
        for layer_type in ("full_attention", "sliding_attention"):
            ours = RopeConfig.from_hf(saved, layer_type=layer_type)
            inv_freq, _ = rotary_of(config, "gemma4_text", layer_type)
            np.testing.assert_allclose(ours.frequencies().inv_freq, inv_freq, rtol=ROUNDING)


class TestWhereOursDiffers:
    """What transformers lets pass, and what ours does instead."""

    def test_unknown_rope_type(self, caplog: pytest.LogCaptureFixture) -> None:
        """There, a line in the log; the class then fails, or runs unscaled."""
        transformers.logging.set_verbosity_warning()
        transformers.logging.enable_propagation()
        with caplog.at_level(logging.WARNING):
            config = small_llama(rope_type="ntk_yarn", factor=2.0)
        transformers.logging.disable_propagation()
        assert "'rope_type'='ntk_yarn'" in caplog.text
        with pytest.raises(RopeConfigError, match="must be one of"):
            RopeConfig.from_hf(config.to_dict())

    def test_odd_part_of_a_head(self) -> None:
        """There, 25 channels get 13 frequencies, divided by 25; ours pairs channels or refuses."""
        parameters = {"rope_type": "linear", "factor": 1.0, "partial_rotary_factor": 0.4}
        inv_freq, _ = ROPE_INIT_FUNCTIONS["linear"](small_llama(**parameters))
        assert inv_freq.shape == (13,)
        with pytest.raises(RopeConfigError, match="must leave an even number"):
            RopeConfig.from_hf(small_llama(**parameters).to_dict())

    def test_truncate_of_one_layer_type(self) -> None:
        """There, truncate is looked up beside the layer types, where it never stands."""
        yarn = {**YARN, "rope_theta": 150_000.0}
        nested = {"full_attention": yarn, "sliding_attention": {**yarn, "truncate": False}}
        config = CONFIG_MAPPING["olmo3"](
            hidden_size=512,
            num_attention_heads=8,
            max_position_embeddings=16_384,
            rope_parameters=nested,
        )
        config.head_dim = 64
        theirs, _ = ROPE_INIT_FUNCTIONS["yarn"](config, layer_type="sliding_attention")
        file = config.to_dict()
        cut, uncut = (
            RopeConfig.from_hf(file, layer_type=layer_type).frequencies()
            for layer_type in ("full_attention", "sliding_attention")
        )
        np.testing.assert_allclose(theirs.numpy(), cut.inv_freq, rtol=ROUNDING)
        assert not np.allclose(uncut.inv_freq, cut.inv_freq, rtol=1e-3)

    def test_heads_that_do_not_divide(self) -> None:
        """There, the quotient is cut down and the model does not fit its weights."""
        config = LlamaConfig(hidden_size=96, num_attention_heads=32, head_dim=None)
        assert config.head_dim == 3
        file = {"model_type": "glm4_moe", "hidden_size": 4096, "num_attention_heads": 96}
        assert CONFIG_MAPPING["glm4_moe"](**file).hidden_size // 96 == 42
        with pytest.raises(RopeConfigError, match="must divide by num_attention_heads 96"):
            RopeConfig.from_hf(file)

    def test_dynamic_original_length(self) -> None:
        """There, original_max_position_embeddings is not read; ours starts there and says so."""
        config = small_llama(rope_type="dynamic", factor=2.0, original_max_position_embeddings=4096)
        plain, _ = ROPE_INIT_FUNCTIONS["dynamic"](config, seq_len=1)
        theirs, _ = ROPE_INIT_FUNCTIONS["dynamic"](config, seq_len=8192)
        np.testing.assert_array_equal(plain.numpy(), theirs.numpy())
        ours = RopeConfig.from_hf(config.to_dict())
        assert ours.frequencies(8192).inv_freq[-1] < ours.frequencies(4096).inv_freq[-1]
        assert "transformers starts at max_position_embeddings 16384" in ours.warnings[0]
