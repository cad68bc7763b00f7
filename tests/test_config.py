"""Reading config files: every stanza of real models, every alias, every refusal.

Expected numbers come from the files' own facts and from mpmath (50 digits), not from the library.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.config._gguf_architectures import HALF, INTERLEAVED, INTERLEAVED_AXES
from rope_lib.config._models import MODELS, TEXT_MODELS

CONFIGS = Path(__file__).parent / "configs"


def llama(**fields: object) -> dict[str, Any]:
    """A small whole file, head size 8, with some fields replaced."""
    return {
        "model_type": "llama",
        "hidden_size": 64,
        "num_attention_heads": 8,
        "max_position_embeddings": 4096,
        "rope_theta": 10_000.0,
    } | fields


def nameless(**fields: object) -> dict[str, Any]:
    return {"head_dim": 8, **fields}


class Stanza(NamedTuple):
    """What a file must be read as; last is the frequency of the last pair."""

    head_dim: int
    rotary_dim: int
    base: float
    max_positions: int
    last: float
    layout: str | None = "half"
    original: int | None = None
    rope_type: str = "default"
    attention_factor: float = 1.0
    softmax_multiplier: float = 1.0
    layer_type: str | None = None
    mrope_section: tuple[int, ...] | None = None
    mrope_interleaved: bool = False
    assumed: tuple[str, ...] = ()


STANZAS = [
    ("llama-3.1-8b", Stanza(128, 128, 5e5, 131072, 3.0689259889145111e-7, "half", 8192, "llama3")),
    ("llama-3-8b", Stanza(128, 128, 5e5, 8192, 2.4551407911316089e-6)),
    ("codellama-7b", Stanza(128, 128, 1e6, 16384, 1.2409377607517196e-6)),
    ("gpt-neox-20b", Stanza(96, 24, 1e4, 2048, 2.1544346900318837e-4)),
    ("pythia-12b", Stanza(128, 32, 1e4, 2048, 1.7782794100389228e-4)),
    (
        "gpt-j-6b",
        Stanza(256, 64, 1e4, 2048, 1.333521432163324e-4, "interleaved", assumed=("rope_theta",)),
    ),
    ("stablelm-2-1.6b", Stanza(64, 16, 1e4, 4096, 3.1622776601683793e-4)),
    ("stablelm-2-1.6b-first", Stanza(64, 16, 1e4, 4096, 3.1622776601683793e-4, None)),
    (
        "glm-4-9b-chat",
        Stanza(
            128,
            64,
            5e6,
            131072,
            3.2387155637387736e-7,
            "interleaved",
            assumed=("partial_rotary_factor",),
        ),
    ),
    ("glm-4-9b-chat-hf", Stanza(128, 64, 1e4, 131072, 1.333521432163324e-4, "interleaved")),
    (
        "deepseek-v2-lite",
        Stanza(
            64,
            64,
            1e4,
            163840,
            3.3338035804083101e-6,
            "interleaved",
            4096,
            "yarn",
            softmax_multiplier=1.5896261651208735,
        ),
    ),
    (
        "deepseek-v3",
        Stanza(
            64,
            64,
            1e4,
            163840,
            3.3338035804083101e-6,
            "interleaved",
            4096,
            "yarn",
            softmax_multiplier=1.8738542070926266,
        ),
    ),
    (
        "qwen2-vl-7b",
        Stanza(128, 128, 1e6, 32768, 1.2409377607517196e-6, mrope_section=(16, 24, 24)),
    ),
    (
        "qwen2-vl-7b-converted",
        Stanza(128, 128, 1e6, 32768, 1.2409377607517196e-6, mrope_section=(16, 24, 24)),
    ),
    (
        "qwen2.5-vl-7b",
        Stanza(128, 128, 1e6, 128000, 1.2409377607517196e-6, mrope_section=(16, 24, 24)),
    ),
    (
        "qwen3-vl",
        Stanza(
            128,
            128,
            5e6,
            262144,
            2.5450797880376063e-7,
            mrope_section=(24, 20, 20),
            mrope_interleaved=True,
        ),
    ),
    (
        "gemma-3-1b",
        Stanza(256, 256, 1e6, 32768, 1.1139738599948024e-6, layer_type="full_attention"),
    ),
    (
        "gemma-3-1b",
        Stanza(256, 256, 1e4, 32768, 1.0746078283213175e-4, layer_type="sliding_attention"),
    ),
    (
        "gemma-3-1b-v5",
        Stanza(256, 256, 1e6, 32768, 1.1139738599948024e-6, layer_type="full_attention"),
    ),
    (
        "gemma-3-1b-v5",
        Stanza(256, 256, 1e4, 32768, 1.0746078283213175e-4, layer_type="sliding_attention"),
    ),
    ("gemma-2-9b", Stanza(256, 256, 1e4, 8192, 1.0746078283213175e-4)),
    ("gemma-7b", Stanza(256, 256, 1e4, 8192, 1.0746078283213175e-4)),
    (
        "yarn-llama-2-7b-64k",
        Stanza(
            128,
            128,
            1e4,
            65536,
            7.2173874043091136e-6,
            "half",
            4096,
            "yarn",
            attention_factor=1.2772588722239781,
            assumed=("rope_theta",),
        ),
    ),
]


class TestStanzas:
    @pytest.mark.parametrize(
        ("name", "expected"), STANZAS, ids=[f"{n}-{s.layer_type}" for n, s in STANZAS]
    )
    def test_real_file(self, name: str, expected: Stanza) -> None:
        path = CONFIGS / f"{name}.json"
        config = RopeConfig.from_hf(path, layer_type=expected.layer_type)
        found = config.frequencies()
        assert config.head_dim == expected.head_dim
        assert config.rotary_dim == expected.rotary_dim
        assert config.base == expected.base
        assert config.max_positions == expected.max_positions
        assert config.original_max_positions == (expected.original or expected.max_positions)
        assert config.layout == expected.layout
        assert config.rope_type == expected.rope_type
        assert config.layer_type == expected.layer_type
        assert config.mrope_section == expected.mrope_section
        assert config.mrope_interleaved is expected.mrope_interleaved
        assert tuple(config.assumed) == expected.assumed
        assert config.warnings == ()
        assert config.no_rope_layers == ()
        assert found.inv_freq.dtype == np.float64
        assert found.inv_freq.shape == (expected.rotary_dim // 2,)
        assert found.inv_freq[0] == 1.0
        assert found.inv_freq[-1] == pytest.approx(expected.last, rel=1e-13)
        assert found.attention_factor == pytest.approx(expected.attention_factor, rel=1e-14)
        assert found.softmax_multiplier == pytest.approx(expected.softmax_multiplier, rel=1e-14)

    @pytest.mark.parametrize("name", ["gemma-3-1b", "gemma-3-1b-v5"])
    def test_layers_that_differ_have_to_be_named(self, name: str) -> None:
        with pytest.raises(
            RopeConfigError, match=r"layer_type must be one of full_attention, sliding_attention"
        ):
            RopeConfig.from_hf(CONFIGS / f"{name}.json")

    def test_ntk_yarn_is_refused(self) -> None:
        """alfred-40b-1023: transformers knows no such type, and nobody may guess it."""
        with pytest.raises(
            RopeConfigError, match=r"rope_scaling\.type must be one of .*'ntk_yarn'"
        ):
            RopeConfig.from_hf(CONFIGS / "alfred-40b-1023.json")

    def test_every_stanza_is_tested(self) -> None:
        names = {name for name, _ in STANZAS} | {"alfred-40b-1023"}
        assert {path.stem for path in CONFIGS.glob("*.json")} == names

    def test_account_of_a_file(self) -> None:
        config = RopeConfig.from_hf(CONFIGS / "yarn-llama-2-7b-64k.json")
        assert config.used == {
            "model_type": "llama",
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "max_position_embeddings": 65536,
            "rope_scaling.type": "yarn",
            "rope_scaling.factor": 16.0,
            "rope_scaling.original_max_position_embeddings": 4096,
        }
        assert config.assumed == {"rope_theta": 10_000.0}
        assert config.ignored == ("rope_scaling.finetuned",)
        assert config.parameters == {"factor": 16.0, "original_max_position_embeddings": 4096}

    def test_account_of_a_multimodal_file(self) -> None:
        config = RopeConfig.from_hf(CONFIGS / "qwen3-vl.json")
        assert config.used["text_config.rope_scaling.mrope_section"] == [24, 20, 20]
        assert config.used["text_config.rope_theta"] == 5_000_000
        assert config.model_type == "qwen3_vl_text"
        assert config.ignored == (
            "model_type",
            "text_config.hidden_size",
            "text_config.num_attention_heads",
        )

    def test_glm_flag_is_ignored(self) -> None:
        assert RopeConfig.from_hf(CONFIGS / "glm-4-9b-chat.json").ignored == (
            "hidden_size",
            "num_attention_heads",
            "original_rope",
        )


class TestPhi3:
    """Rows whose published lists are too long to quote: their shape, with made-up divisors."""

    def file(self, **fields: object) -> dict[str, Any]:
        lists = {"short_factor": [1.0] * 24 + [2.0] * 24, "long_factor": [4.0] * 48}
        return {
            "model_type": "phi3",
            "hidden_size": 3072,
            "num_attention_heads": 32,
            "max_position_embeddings": 131072,
            "original_max_position_embeddings": 4096,
            "rope_theta": 10_000.0,
            "rope_scaling": {**lists, "type": "longrope"},
        } | fields

    def test_shape(self) -> None:
        config = RopeConfig.from_hf(self.file())
        assert (config.head_dim, config.rotary_dim, config.rope_type) == (96, 96, "longrope")
        assert (config.max_positions, config.original_max_positions) == (131072, 4096)
        assert config.assumed == {"factor": 32.0}
        assert config.warnings == ()

    def test_switch_is_above_the_original_length(self) -> None:
        config = RopeConfig.from_hf(self.file())
        for seq_len in (None, 1, 4096):
            assert config.frequencies(seq_len).inv_freq[24] == pytest.approx(0.005, rel=1e-14)
        for seq_len in (4097, 131072):
            assert config.frequencies(seq_len).inv_freq[24] == pytest.approx(0.0025, rel=1e-14)
            assert config.frequencies(seq_len).inv_freq[0] == 0.25
        assert config.frequencies().attention_factor == pytest.approx(1.1902380714238083, rel=1e-14)

    @pytest.mark.parametrize("name", ["su", "longrope"])
    @pytest.mark.parametrize("key", ["type", "rope_type"])
    def test_names(self, key: str, name: str) -> None:
        scaling = self.file()["rope_scaling"]
        del scaling["type"]
        config = RopeConfig.from_hf(self.file(rope_scaling={**scaling, key: name}))
        assert config.rope_type == "longrope"

    def test_original_length_inside(self) -> None:
        file = self.file()
        file["rope_scaling"]["original_max_position_embeddings"] = file.pop(
            "original_max_position_embeddings"
        )
        assert RopeConfig.from_hf(file).original_max_positions == 4096

    def test_top_level_original_length_wins_and_warns(self) -> None:
        file = self.file()
        file["rope_scaling"]["original_max_position_embeddings"] = 2048
        config = RopeConfig.from_hf(file)
        assert config.original_max_positions == 4096
        assert config.warnings == (
            "original_max_position_embeddings 4096 and "
            "rope_scaling.original_max_position_embeddings 2048 disagree: "
            "original_max_position_embeddings is used",
        )

    def test_factor_and_attention_factor_given(self) -> None:
        file = self.file()
        file["rope_scaling"] |= {"factor": 4.0}
        config = RopeConfig.from_hf(file)
        assert config.frequencies().attention_factor == pytest.approx(
            math.sqrt(1 + math.log(4) / math.log(4096))
        )
        file["rope_scaling"] |= {"attention_factor": 1.25}
        assert RopeConfig.from_hf(file).frequencies().attention_factor == 1.25

    def test_shortened_file(self) -> None:
        """Served at a length below the original one: no extension, factor below 1."""
        config = RopeConfig.from_hf(self.file(max_position_embeddings=2048))
        assert config.frequencies().attention_factor == 1.0
        assert config.warnings == (
            "original_max_position_embeddings 4096 is above max_position_embeddings 2048",
        )

    def test_wrong_length_of_a_list(self) -> None:
        file = self.file()
        file["rope_scaling"]["long_factor"] = [1.0] * 47
        with pytest.raises(
            RopeConfigError,
            match=r"rope_scaling\.long_factor must have 48 entries, one a pair, got 47",
        ):
            RopeConfig.from_hf(file)

    def test_bad_entry_of_a_list(self) -> None:
        file = self.file()
        file["rope_scaling"]["short_factor"][3] = "1"
        with pytest.raises(
            RopeConfigError, match=r"rope_scaling\.short_factor\[3\] must be a number, got '1'"
        ):
            RopeConfig.from_hf(file)


class TestThetas:
    @pytest.mark.parametrize(
        ("fields", "base"),
        [
            ({"rope_theta": 5e5}, 5e5),
            ({"rope_theta": 500_000}, 5e5),
            ({"global_rope_theta": 5e5}, 5e5),
            ({"rotary_emb_base": 25_000}, 25_000.0),
            ({"rope_freq_base": 25_000}, 25_000.0),
            ({"rope_ratio": 500}, 5e6),
            ({"rope_ratio": 1}, 1e4),
            ({"rope_parameters": {"rope_theta": 5e5}}, 5e5),
            ({"rope_scaling": {"rope_theta": 5e5, "rope_type": "default"}}, 5e5),
            ({"rope_parameters": {"rope_theta": 5e5}, "rope_scaling": {}}, 5e5),
        ],
    )
    def test_alias(self, fields: dict[str, object], base: float) -> None:
        config = RopeConfig.from_hf(llama(rope_theta=None) | fields)
        assert config.base == base
        assert config.assumed == {}
        assert config.warnings == ()

    def test_default_of_the_model_type(self) -> None:
        config = RopeConfig.from_hf(llama(model_type="mixtral", rope_theta=None))
        assert config.base == 1e6
        assert config.assumed == {"rope_theta": 1e6}
        assert config.warnings == ()

    def test_two_thetas(self) -> None:
        config = RopeConfig.from_hf(llama(rope_parameters={"rope_theta": 5e5}))
        assert config.base == 5e5
        assert config.warnings == (
            "rope_parameters.rope_theta 500000.0 and rope_theta 10000.0 disagree: "
            "rope_parameters.rope_theta is used",
        )

    def test_theta_and_ratio(self) -> None:
        config = RopeConfig.from_hf(llama(rope_ratio=500))
        assert config.base == 1e4
        assert config.warnings == (
            "rope_theta 10000.0 and rope_ratio x 10000 = 5000000.0 disagree: rope_theta is used",
        )

    def test_theta_beside_text_config(self) -> None:
        file = {"model_type": "llava", "text_config": llama(), "rope_theta": 5e5}
        config = RopeConfig.from_hf(file)
        assert config.base == 1e4
        assert config.warnings == (
            "rope_theta 500000.0 beside text_config disagrees with the 10000 of the text model, "
            "which is used",
        )
        assert RopeConfig.from_hf(file | {"rope_theta": 10_000}).warnings == ()

    @pytest.mark.parametrize("value", [1, 1.0, 0, -1e4, math.nan, math.inf, 1e31, 10**400])
    def test_out_of_range(self, value: float) -> None:
        with pytest.raises(
            RopeConfigError, match=r"^rope_theta must be above 1 and at most 1e\+30"
        ):
            RopeConfig.from_hf(llama(rope_theta=value))

    @pytest.mark.parametrize("value", ["10000", True, False, [1e4], {}])
    def test_not_a_number(self, value: object) -> None:
        with pytest.raises(RopeConfigError, match=r"^rope_theta must be a number, got"):
            RopeConfig.from_hf(llama(rope_theta=value))

    @pytest.mark.parametrize("value", [0, 1e-4, 2e26])
    def test_bad_ratio(self, value: float) -> None:
        with pytest.raises(
            RopeConfigError, match=r"^rope_ratio must be above 0\.0001 and at most 1e\+26, got"
        ):
            RopeConfig.from_hf(llama(rope_ratio=value))


class TestHeads:
    @pytest.mark.parametrize(
        "fields",
        [
            {"head_dim": 32},
            {"kv_channels": 32},
            {"hidden_size": 256, "num_attention_heads": 8},
            {"n_embd": 256, "n_head": 8},
            {"n_embd": 256, "num_attention_heads": 8, "head_dim": None},
            {"hidden_size": 32, "num_attention_heads": 1},
            {"head_dim": 32.0},
            {"head_dim": np.int32(32)},
        ],
    )
    def test_alias(self, fields: dict[str, object]) -> None:
        config = RopeConfig.from_hf({"model_type": "llama", "rope_theta": 1e4} | fields)
        assert (config.head_dim, config.rotary_dim) == (32, 32)
        assert set(config.assumed) == {"max_position_embeddings"}

    @pytest.mark.parametrize("head_dim", [2, 65_536])
    def test_quotient_at_its_limits(self, head_dim: int) -> None:
        assert RopeConfig.from_hf(llama(hidden_size=8 * head_dim)).head_dim == head_dim

    def test_head_dim_wins_over_the_quotient(self) -> None:
        config = RopeConfig.from_hf(llama(head_dim=16))
        assert config.head_dim == 16
        assert config.warnings == ()

    def test_two_head_sizes(self) -> None:
        config = RopeConfig.from_hf(llama(head_dim=16, kv_channels=32))
        assert config.head_dim == 16
        assert config.warnings == ("head_dim 16 and kv_channels 32 disagree: head_dim is used",)

    def test_default_of_the_model_type(self) -> None:
        """Gemma 3 4B's text_config leaves head_dim to the class; 2560/8 would be wrong."""
        text = {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        }
        file = {"model_type": "gemma3", "text_config": text}
        config = RopeConfig.from_hf(file, layer_type="full_attention")
        assert config.head_dim == 256
        assert config.assumed == {
            "max_position_embeddings": 131072,
            "head_dim": 256,
            "rope_theta": 1e6,
        }
        assert config.frequencies().inv_freq[0] == 0.125
        part = RopeConfig.from_hf({"model_type": "gpt_oss", "partial_rotary_factor": 0.5})
        assert (part.head_dim, part.rotary_dim) == (64, 32)

    def test_latent_attention(self) -> None:
        config = RopeConfig.from_hf(
            {
                "model_type": "deepseek_v3",
                "qk_rope_head_dim": 32,
                "head_dim": 192,
                "partial_rotary_factor": 0.5,
            }
        )
        assert (config.head_dim, config.rotary_dim) == (32, 32)
        assert config.ignored == ("head_dim", "partial_rotary_factor")

    def test_latent_attention_by_default(self) -> None:
        config = RopeConfig.from_hf({"model_type": "deepseek_v3"})
        assert config.rotary_dim == 64
        assert config.assumed["qk_rope_head_dim"] == 64

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"hidden_size": None},
                "head_dim or hidden_size and num_attention_heads must be given",
            ),
            ({"num_attention_heads": None}, "head_dim or hidden_size and num_attention_heads"),
            ({"hidden_size": 65}, "hidden_size must divide by num_attention_heads 8, got 65"),
            (
                {"hidden_size": 8},
                "hidden_size over num_attention_heads 8 must be from 2 to 65536, got 8$",
            ),
            ({"hidden_size": 2**53}, "hidden_size over num_attention_heads 8 must be from 2"),
            (
                {"hidden_size": 2**53 + 8},
                "hidden_size must be an integer from 1 to 9007199254740992",
            ),
            ({"num_attention_heads": 0}, "num_attention_heads must be an integer from 1"),
            ({"head_dim": 1}, "head_dim must be an integer from 2 to 65536, got 1"),
            ({"head_dim": 65_537}, "head_dim must be an integer from 2 to 65536, got 65537"),
            (
                {"head_dim": 9},
                "head_dim must leave an even number, at least 2, of 9 channels to rotate, got 9$",
            ),
            ({"head_dim": 8.5}, "head_dim must be an integer"),
            ({"head_dim": True}, "head_dim must be an integer, got True"),
            ({"head_dim": "8"}, "head_dim must be an integer, got '8'"),
            ({"head_dim": math.nan}, "head_dim must be an integer"),
            ({"qk_rope_head_dim": 33}, "qk_rope_head_dim must leave .* of 33 channels .*, got 33$"),
            ({"qk_rope_head_dim": 0}, "qk_rope_head_dim must be an integer from 2 to 65536, got 0"),
            ({"qk_rope_head_dim": 65_538}, "qk_rope_head_dim must be an integer from 2 to 65536"),
        ],
    )
    def test_refused(self, fields: dict[str, object], message: str) -> None:
        with pytest.raises(RopeConfigError, match=f"^{message}"):
            RopeConfig.from_hf(llama(**fields))


class TestPartial:
    @pytest.mark.parametrize(
        "fields",
        [
            {"partial_rotary_factor": 0.25},
            {"rotary_pct": 0.25},
            {"rope_pct": 0.25},
            {"rotary_dim": 16},
            {"rope_parameters": {"partial_rotary_factor": 0.25}},
            {"rope_scaling": {"partial_rotary_factor": 0.25, "type": "default"}},
            {"partial_rotary_factor": 0.25, "rotary_dim": 16},
        ],
    )
    def test_alias(self, fields: dict[str, object]) -> None:
        config = RopeConfig.from_hf(llama(head_dim=64) | fields)
        assert (config.head_dim, config.rotary_dim) == (64, 16)
        assert config.warnings == ()
        # The exponent divides by rotary_dim, not by head_dim.
        assert config.frequencies().inv_freq[1] == pytest.approx(10_000 ** (-2 / 16))

    def test_cut_down_like_the_reference(self) -> None:
        """phi-2: int(0.4·80) = 32; Moonshine: int(0.9·36) = 32."""
        assert RopeConfig.from_hf(llama(head_dim=80, partial_rotary_factor=0.4)).rotary_dim == 32
        assert RopeConfig.from_hf(llama(head_dim=36, partial_rotary_factor=0.9)).rotary_dim == 32

    @pytest.mark.parametrize(
        "fields", [{"head_dim": 2}, {"head_dim": 8, "rotary_dim": 2}, {"qk_rope_head_dim": 2}]
    )
    def test_one_pair_will_do(self, fields: dict[str, object]) -> None:
        assert RopeConfig.from_hf(llama(**fields)).rotary_dim == 2

    def test_odd_head_with_an_even_part(self) -> None:
        assert RopeConfig.from_hf(llama(head_dim=9, partial_rotary_factor=0.5)).rotary_dim == 4

    @pytest.mark.parametrize(
        ("model_type", "name", "rotary_dim"),
        [
            ("phi", "partial_rotary_factor", 32),
            ("gptj", "rotary_dim", 64),
            ("codegen", "rotary_dim", 64),
        ],
    )
    def test_default_of_the_model_type(self, model_type: str, name: str, rotary_dim: int) -> None:
        head_dim = 64 if model_type == "phi" else 256
        config = RopeConfig.from_hf(llama(model_type=model_type, head_dim=head_dim))
        assert config.rotary_dim == rotary_dim
        assert name in config.assumed

    def test_default_rotary_dim_of_a_small_head(self) -> None:
        assert RopeConfig.from_hf(llama(model_type="gptj", head_dim=31)).rotary_dim == 30

    def test_two_shares(self) -> None:
        config = RopeConfig.from_hf(llama(head_dim=64, partial_rotary_factor=0.5, rotary_dim=16))
        assert config.rotary_dim == 32
        assert config.warnings == (
            "channels by partial_rotary_factor 32 and channels by rotary_dim 16 disagree: "
            "channels by partial_rotary_factor is used",
        )

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"partial_rotary_factor": 0.4},
                "partial_rotary_factor must leave an even number, at least 2, of 8 channels to "
                r"rotate, got 0\.4",
            ),
            ({"partial_rotary_factor": 0.1}, "partial_rotary_factor must leave an even number"),
            (
                {"partial_rotary_factor": 0},
                "partial_rotary_factor must be above 0 and at most 1, got 0",
            ),
            (
                {"partial_rotary_factor": 1.01},
                "partial_rotary_factor must be above 0 and at most 1",
            ),
            ({"rotary_pct": "0.5"}, "rotary_pct must be a number"),
            ({"rotary_dim": 3}, "rotary_dim must leave an even number, .*, got 3"),
            ({"rotary_dim": 10}, "rotary_dim must be an integer from 2 to 8, got 10"),
            ({"rotary_dim": 0}, "rotary_dim must be an integer from 2 to 8, got 0"),
        ],
    )
    def test_refused(self, fields: dict[str, object], message: str) -> None:
        with pytest.raises(RopeConfigError, match=f"^{message}"):
            RopeConfig.from_hf(llama(**fields))

    def test_assumed_share_that_leaves_an_odd_part(self) -> None:
        with pytest.raises(
            RopeConfigError,
            match=r"^partial_rotary_factor must leave .* of 6 channels to rotate, got 0\.5$",
        ):
            RopeConfig.from_hf(llama(model_type="phi", head_dim=6))


class TestLengths:
    @pytest.mark.parametrize(
        "name", ["max_position_embeddings", "n_positions", "seq_length", "n_ctx"]
    )
    def test_alias(self, name: str) -> None:
        config = RopeConfig.from_hf(llama(max_position_embeddings=None) | {name: 1234})
        assert config.max_positions == config.original_max_positions == 1234
        assert config.assumed == {}

    def test_two_lengths(self) -> None:
        config = RopeConfig.from_hf(llama(n_positions=2048))
        assert config.max_positions == 4096
        assert config.warnings == (
            "max_position_embeddings 4096 and n_positions 2048 disagree: "
            "max_position_embeddings is used",
        )
        assert RopeConfig.from_hf(llama(max_position_embeddings=1)).max_positions == 1

    def test_default_of_the_model_type(self) -> None:
        config = RopeConfig.from_hf(llama(max_position_embeddings=None))
        assert config.max_positions == 2048
        assert config.assumed == {"max_position_embeddings": 2048}

    def test_unknown(self) -> None:
        config = RopeConfig.from_hf(nameless(rope_theta=1e4, rotary_dim=8))
        assert config.max_positions is None
        assert config.original_max_positions is None
        assert config.warnings == ()

    @pytest.mark.parametrize("value", [0, -1, 1.5, math.inf, "4096", True, 2**54])
    def test_refused(self, value: object) -> None:
        with pytest.raises(RopeConfigError, match=r"^max_position_embeddings must be an integer"):
            RopeConfig.from_hf(llama(max_position_embeddings=value))

    def test_original_below_without_scaling(self) -> None:
        """The bad fix seen in the wild: rope_scaling set to null."""
        config = RopeConfig.from_hf(llama(original_max_position_embeddings=1024, rope_scaling=None))
        assert config.warnings == (
            "original_max_position_embeddings 1024 is below max_position_embeddings 4096, but "
            "nothing is scaled: the rope_type is 'default'",
        )
        assert config.original_max_positions == 1024

    def test_original_equal_is_fine(self) -> None:
        assert RopeConfig.from_hf(llama(original_max_position_embeddings=4096)).warnings == ()

    def test_original_without_a_longest(self) -> None:
        file = nameless(rope_theta=1e4, rotary_dim=8, original_max_position_embeddings=512)
        config = RopeConfig.from_hf(file)
        assert config.original_max_positions == 512
        assert config.warnings == ()


def scaled(**parameters: object) -> dict[str, Any]:
    return llama(rope_scaling=parameters)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


class TestScalings:
    @pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
    @pytest.mark.parametrize("name", ["type", "rope_type"])
    def test_where_and_how_named(self, key: str, name: str) -> None:
        config = RopeConfig.from_hf(llama() | {key: {name: "linear", "factor": 4.0}})
        assert config.rope_type == "linear"
        assert config.frequencies().inv_freq[0] == 0.25
        assert f"{key}.{name}" in config.used

    @pytest.mark.parametrize("empty", [None, {}])
    def test_nothing(self, empty: object) -> None:
        config = RopeConfig.from_hf(llama(rope_scaling=empty, rope_parameters=empty))
        assert config.rope_type == "default"
        assert config.warnings == config.ignored == ()

    def test_both_dicts_agreeing(self) -> None:
        parameters = {"rope_type": "linear", "factor": 4}
        config = RopeConfig.from_hf(llama(rope_scaling=parameters, rope_parameters=parameters))
        assert config.warnings == ()
        assert config.rope_type == "linear"

    def test_both_dicts_disagreeing(self) -> None:
        config = RopeConfig.from_hf(
            llama(
                rope_scaling={"rope_type": "linear", "factor": 4.0},
                rope_parameters={"rope_type": "ntk", "factor": 2.0},
            )
        )
        assert (config.rope_type, config.parameters) == ("linear", {"factor": 4.0})
        assert config.warnings == (
            "rope_scaling.rope_type 'linear' and rope_parameters.rope_type 'ntk' disagree: "
            "rope_scaling.rope_type is used",
            "rope_scaling.factor 4.0 and rope_parameters.factor 2.0 disagree: "
            "rope_scaling.factor is used",
        )

    def test_lists_that_disagree(self) -> None:
        lists = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "type": "longrope"}
        config = RopeConfig.from_hf(
            llama(
                rope_scaling=lists | {"attention_factor": 1.0},
                rope_parameters=lists | {"long_factor": [3.0] * 4},
            )
        )
        assert config.parameters["long_factor"] == [2.0] * 4
        assert config.warnings == (
            "rope_scaling.long_factor [2.0, 2.0, 2.0, 2.0] and "
            "rope_parameters.long_factor [3.0, 3.0, 3.0, 3.0] disagree: "
            "rope_scaling.long_factor is used",
        )

    def test_both_names(self) -> None:
        config = RopeConfig.from_hf(scaled(rope_type="linear", type="linear", factor=2))
        assert config.warnings == ()
        config = RopeConfig.from_hf(scaled(rope_type="linear", type="dynamic", factor=2))
        assert config.rope_type == "linear"
        assert config.warnings == (
            "rope_scaling.rope_type 'linear' and rope_scaling.type 'dynamic' disagree: "
            "rope_scaling.rope_type is used",
        )

    def test_null_name(self) -> None:
        config = RopeConfig.from_hf(scaled(rope_type=None, type="linear", factor=2))
        assert config.rope_type == "linear"

    def test_factor_without_a_name(self) -> None:
        config = RopeConfig.from_hf(scaled(factor=8.0))
        assert config.rope_type == "default"
        assert config.warnings == ("rope_scaling.factor 8.0 scales nothing without a rope_type",)
        assert config.ignored == ("rope_scaling.factor",)
        assert RopeConfig.from_hf(scaled(factor=None)).warnings == ()

    def test_dynamic(self) -> None:
        config = RopeConfig.from_hf(scaled(type="dynamic", factor=4.0))
        assert config.assumed == {"original_max_position_embeddings": 4096}
        plain = config.frequencies().inv_freq
        np.testing.assert_array_equal(config.frequencies(4096).inv_freq, plain)
        # Multiplier 5 at twice the length (G17): the last pair is divided by it exactly.
        assert plain[-1] / config.frequencies(8192).inv_freq[-1] == pytest.approx(5.0)

    def test_dynamic_with_another_original_length(self) -> None:
        config = RopeConfig.from_hf(
            scaled(type="dynamic", factor=4.0, original_max_position_embeddings=2048)
        )
        assert config.frequencies(4096).inv_freq[-1] < config.frequencies(2048).inv_freq[-1]
        assert config.warnings == (
            "original_max_position_embeddings 2048 is where dynamic scaling starts here; "
            "transformers starts at max_position_embeddings 4096",
        )

    def test_llama3_without_original_length(self) -> None:
        config = RopeConfig.from_hf(scaled(**LLAMA3))
        assert config.original_max_positions == 4096
        assert config.assumed == {"original_max_position_embeddings": 4096}

    def test_original_above(self) -> None:
        config = RopeConfig.from_hf(scaled(**LLAMA3, original_max_position_embeddings=8192))
        assert config.warnings == (
            "original_max_position_embeddings 8192 is above max_position_embeddings 4096",
        )

    def test_proportional(self) -> None:
        config = RopeConfig.from_hf(
            llama(
                head_dim=512,
                rope_parameters={
                    "rope_type": "proportional",
                    "rope_theta": 1e6,
                    "partial_rotary_factor": 0.25,
                },
                rope_theta=None,
            )
        )
        found = config.frequencies().inv_freq
        assert (config.rotary_dim, np.count_nonzero(found)) == (512, 64)
        assert found[1] == pytest.approx(1e6 ** (-2 / 512))
        assert config.parameters == {"partial_rotary_factor": 0.25}

    def test_proportional_of_an_odd_head(self) -> None:
        with pytest.raises(
            RopeConfigError, match=r"^head_dim must leave .* of 9 channels to rotate, got 9$"
        ):
            RopeConfig.from_hf(scaled(type="proportional") | {"head_dim": 9})

    def test_proportional_share_beside_the_dict(self) -> None:
        file = scaled(type="proportional", factor=2.0) | {"partial_rotary_factor": 0.5}
        config = RopeConfig.from_hf(file)
        assert config.parameters == {"partial_rotary_factor": 0.5, "factor": 2.0}

    def test_null_yarn_factor(self) -> None:
        """DeepSeek-V3's rule: the ratio of the lengths."""
        config = RopeConfig.from_hf(
            scaled(type="yarn", factor=None, original_max_position_embeddings=1024)
        )
        assert config.parameters["factor"] == 4.0
        assert config.assumed == {"factor": 4.0}

    def test_yarn_factor_that_is_not_the_ratio(self) -> None:
        config = RopeConfig.from_hf(
            scaled(type="yarn", factor=8.0, original_max_position_embeddings=1024)
        )
        assert config.warnings == (
            "factor 8.0 is not the 4 of max_position_embeddings 4096 over "
            "original_max_position_embeddings 1024",
        )
        equal = scaled(type="yarn", factor=8.0, original_max_position_embeddings=4096)
        assert RopeConfig.from_hf(equal).warnings == ()

    def test_yarn_without_a_longest_length(self) -> None:
        scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
        config = RopeConfig.from_hf(nameless(rope_theta=1e4, rotary_dim=8, rope_scaling=scaling))
        assert (config.max_positions, config.original_max_positions) == (None, 64)
        assert config.warnings == ()

    def test_yarn_options(self) -> None:
        config = RopeConfig.from_hf(
            scaled(
                type="yarn",
                factor=4.0,
                original_max_position_embeddings=1024,
                attention_factor=1.5,
                truncate=False,
                beta_fast=16,
                beta_slow=2,
            )
        )
        assert config.frequencies().attention_factor == 1.5
        assert config.parameters["truncate"] is False

    def test_softmax_multiplier_is_for_latent_attention(self) -> None:
        """Ministral 3 has mscale_all_dim in transformers too, and scales no softmax by it."""
        yarn = {
            "type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 1024,
            "mscale": 1,
            "mscale_all_dim": 1,
        }
        expected = (0.1 * math.log(4) + 1) ** 2
        known = RopeConfig.from_hf(scaled(**yarn))
        assert known.frequencies().softmax_multiplier == 1.0
        unknown = RopeConfig.from_hf(scaled(**yarn) | {"model_type": "kimi_k2"})
        assert unknown.frequencies().softmax_multiplier == pytest.approx(expected)
        latent = RopeConfig.from_hf(scaled(**yarn) | {"qk_rope_head_dim": 8})
        assert latent.frequencies().softmax_multiplier == pytest.approx(expected)

    def test_scaling_by_default(self) -> None:
        """gpt-oss is scaled by YaRN even where its file does not say so."""
        config = RopeConfig.from_hf({"model_type": "gpt_oss"})
        assert (config.rope_type, config.base, config.head_dim) == ("yarn", 150_000.0, 64)
        assert config.original_max_positions == 4096
        assert config.parameters["truncate"] is False
        assert config.assumed["rope_parameters"]["factor"] == 32.0
        found = config.frequencies()
        assert found.inv_freq[17] == pytest.approx(0.00012931870124506272, rel=1e-13)
        assert found.attention_factor == pytest.approx(1.3465735902799727, rel=1e-14)
        assert not any(name.startswith("rope_parameters") for name in config.used)
        other = {"model_type": "gpt_oss", "original_max_position_embeddings": 2048}
        assert (
            "original_max_position_embeddings 2048 and "
            "rope_parameters.original_max_position_embeddings 4096 disagree: "
            "original_max_position_embeddings is used"
        ) in RopeConfig.from_hf(other).warnings

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"type": "ntk_yarn"}, r"rope_scaling\.type must be one of .*, got 'ntk_yarn'"),
            ({"rope_type": "LINEAR"}, r"rope_scaling\.rope_type must be one of"),
            ({"type": 3}, r"rope_scaling\.type must be a string, got 3"),
            ({"type": "axial"}, r"rope_scaling\.type must be one of"),
            (
                {"type": "linear"},
                r"rope_scaling\.factor is required by rope_type 'linear', got None",
            ),
            ({"type": "linear", "factor": None}, r"rope_scaling\.factor is required"),
            ({"type": "linear", "factor": "2"}, r"rope_scaling\.factor must be a number, got '2'"),
            (
                {"type": "linear", "factor": True},
                r"rope_scaling\.factor must be a number, got True",
            ),
            (
                {"type": "linear", "factor": 0.5},
                r"rope_scaling\.factor must be at least 1 .*, got 0\.5",
            ),
            ({"type": "linear", "factor": math.nan}, r"rope_scaling\.factor must be .*, got nan"),
            ({"type": "ntk"}, r"rope_scaling\.factor is required"),
            ({"type": "dynamic"}, r"rope_scaling\.factor is required"),
            ({"type": "yarn"}, r"rope_scaling\.factor is required by rope_type 'yarn'"),
            ({**LLAMA3, "low_freq_factor": None}, r"rope_scaling\.low_freq_factor is required"),
            ({**LLAMA3, "high_freq_factor": 1.0}, r"rope_scaling\.high_freq_factor must be above"),
            (
                {"type": "longrope", "long_factor": [1] * 4},
                r"rope_scaling\.short_factor is required",
            ),
            (
                {"type": "longrope", "short_factor": [1] * 4},
                r"rope_scaling\.long_factor is required",
            ),
            (
                {"type": "yarn", "factor": 2, "truncate": 1},
                r"rope_scaling\.truncate must be true or",
            ),
            (
                {"type": "yarn", "factor": 2, "mscale": "1"},
                r"rope_scaling\.mscale must be a number",
            ),
            (
                {"type": "yarn", "factor": 2, "beta_fast": 0.5},
                r"rope_scaling\.beta_fast must be above",
            ),
            (
                {"original_max_position_embeddings": 0},
                r"rope_scaling\.original_max_position_embeddings must be an integer",
            ),
            ({"mrope_interleaved": 1}, r"rope_scaling\.mrope_interleaved must be true or false"),
            ({"partial_rotary_factor": 2}, r"rope_scaling\.partial_rotary_factor must be above 0"),
            ({"rope_theta": "1e4"}, r"rope_scaling\.rope_theta must be a number"),
        ],
    )
    def test_refused(self, parameters: dict[str, object], message: str) -> None:
        with pytest.raises(RopeConfigError, match=f"^{message}"):
            RopeConfig.from_hf(scaled(**parameters))

    def test_yarn_factor_too_large_to_print(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^rope_scaling\.factor must be"):
            RopeConfig.from_hf(
                scaled(type="yarn", factor=10**5000, original_max_position_embeddings=64)
            )

    def test_one_pair_is_too_few_for_ntk(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^rotary_dim must be at least 4 .*, got 2"):
            RopeConfig.from_hf(scaled(type="ntk", factor=2.0) | {"head_dim": 2})

    def test_what_the_file_itself_gives_is_no_guess(self) -> None:
        scaling = {"type": "yarn", "factor": None}
        file = nameless(rope_theta=1e4, rotary_dim=8, n_ctx=64, rope_scaling=scaling)
        config = RopeConfig.from_hf(file)
        assert config.assumed == {"original_max_position_embeddings": 64, "factor": 1.0}
        assert config.warnings == ()

    def test_missing_original_length(self) -> None:
        file = nameless(rope_scaling={**LLAMA3})
        with pytest.raises(
            RopeConfigError,
            match=r"^rope_scaling\.original_max_position_embeddings is required by rope_type 'l",
        ):
            RopeConfig.from_hf(file)

    def test_yarn_without_lengths_to_divide(self) -> None:
        file = nameless(
            rope_scaling={"type": "yarn", "factor": None, "original_max_position_embeddings": 64}
        )
        with pytest.raises(RopeConfigError, match=r"^rope_scaling\.factor is required"):
            RopeConfig.from_hf(file)

    def test_longrope_without_a_factor(self) -> None:
        lists = {"short_factor": [1.0] * 4, "long_factor": [1.0] * 4}
        file = nameless(
            rope_scaling={"type": "longrope", "original_max_position_embeddings": 64, **lists}
        )
        with pytest.raises(RopeConfigError, match=r"^factor must be given where attention_factor"):
            RopeConfig.from_hf(file)

    def test_error_below_the_top_level(self) -> None:
        """A bad value of Phi-3's top-level field is not blamed on the dict."""
        lists = {"short_factor": [1.0] * 4, "long_factor": [1.0] * 4}
        file = llama(original_max_position_embeddings=1, rope_scaling={"type": "longrope", **lists})
        with pytest.raises(RopeConfigError, match=r"^original_max_position_embeddings must be at"):
            RopeConfig.from_hf(file)

    @pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters", "text_config"])
    @pytest.mark.parametrize("value", ["linear", 2.0, True, ["linear", 2.0]])
    def test_not_a_dictionary(self, key: str, value: object) -> None:
        with pytest.raises(RopeConfigError) as refused:
            RopeConfig.from_hf(llama() | {key: value})
        assert str(refused.value) == f"{key} must be a dictionary, got {value!r}"

    @pytest.mark.parametrize("seq_len", [0, -1, 1.5, True, "8", math.nan])
    def test_bad_seq_len(self, seq_len: object) -> None:
        config = RopeConfig.from_hf(llama())
        with pytest.raises(ValueError, match=r"^seq_len must be an integer"):
            config.frequencies(seq_len)


class TestMultimodal:
    def sections(self, section: object, **fields: object) -> RopeConfig:
        return RopeConfig.from_hf(
            llama(head_dim=128, rope_scaling={"type": "mrope", "mrope_section": section, **fields})
        )

    def test_sections(self) -> None:
        config = self.sections([16, 24, 24])
        assert config.rope_type == "default"
        assert config.mrope_section == (16, 24, 24)
        assert config.mrope_interleaved is False

    def test_interleaved_in_the_file(self) -> None:
        assert self.sections([24, 20, 20], mrope_interleaved=True).mrope_interleaved is True

    def test_interleaved_in_one_place_and_not_in_another(self) -> None:
        config = RopeConfig.from_hf(
            llama(
                rope_scaling={"mrope_interleaved": True},
                rope_parameters={"mrope_interleaved": False},
            )
        )
        assert config.mrope_interleaved is True
        assert config.warnings == (
            "rope_scaling.mrope_interleaved True and rope_parameters.mrope_interleaved False "
            "disagree: rope_scaling.mrope_interleaved is used",
        )

    def test_interleaved_by_the_code(self) -> None:
        config = RopeConfig.from_hf(
            llama(
                model_type="qwen3_vl_text",
                head_dim=128,
                rope_scaling={"mrope_section": [24, 20, 20]},
            )
        )
        assert config.mrope_interleaved is True
        assert config.assumed == {"mrope_interleaved": True}

    def test_sections_by_default(self) -> None:
        config = RopeConfig.from_hf(llama(model_type="qwen2_vl", head_dim=128))
        assert config.mrope_section == (16, 24, 24)
        assert config.assumed == {"mrope_section": (16, 24, 24)}

    def test_default_sections_that_do_not_fit(self) -> None:
        config = RopeConfig.from_hf(llama(model_type="qwen3_vl_text", head_dim=64))
        assert config.mrope_section is None
        assert config.mrope_interleaved is False

    def test_mrope_and_default_agree(self) -> None:
        config = RopeConfig.from_hf(
            llama(
                head_dim=128,
                rope_scaling={
                    "type": "mrope",
                    "rope_type": "default",
                    "mrope_section": [16, 24, 24],
                },
            )
        )
        assert config.warnings == ()

    @pytest.mark.parametrize(
        ("section", "message"),
        [
            (None, "is required by rope_type 'mrope', got None"),
            ([16, 24, 23], r"must sum to the 64 pairs that rotate, got \(16, 24, 23\)"),
            ([16, 24], "must sum to the 64 pairs"),
            ([], "must sum to the 64 pairs"),
            ([16.5, 24, 24], r"\[0\] must be an integer"),
            ([True, 24, 24], r"\[0\] must be an integer, got True"),
            ([0, 32, 32], r"\[0\] must be an integer from 1"),
            ("64", "must be a list, got '64'"),
        ],
    )
    def test_refused(self, section: object, message: str) -> None:
        with pytest.raises(RopeConfigError, match=rf"^rope_scaling\.mrope_section ?{message}"):
            self.sections(section)


GEMMA3 = {"model_type": "gemma3_text", "head_dim": 256, "max_position_embeddings": 32768}


class TestLayerTypes:
    def test_scaling_is_for_full_attention(self) -> None:
        file = GEMMA3 | {
            "rope_theta": 1e6,
            "rope_local_base_freq": 1e4,
            "rope_scaling": {"type": "linear", "factor": 8.0},
        }
        full = RopeConfig.from_hf(file, layer_type="full_attention")
        local = RopeConfig.from_hf(file, layer_type="sliding_attention")
        assert (full.rope_type, full.base) == ("linear", 1e6)
        assert (local.rope_type, local.base) == ("default", 1e4)
        assert full.ignored == ("rope_local_base_freq",)
        assert local.ignored == ("rope_theta", "rope_scaling.type", "rope_scaling.factor")
        assert full.warnings == local.warnings == ()

    def test_modernbert(self) -> None:
        file = llama(model_type="modernbert", rope_theta=None) | {
            "global_rope_theta": 80_000.0,
            "local_rope_theta": 5_000.0,
        }
        assert RopeConfig.from_hf(file, layer_type="full_attention").base == 80_000.0
        assert RopeConfig.from_hf(file, layer_type="sliding_attention").base == 5_000.0
        bare = llama(
            model_type="modernbert", rope_theta=None, rope_scaling={"type": "linear", "factor": 2.0}
        )
        for layer_type, base in (("full_attention", 160_000.0), ("sliding_attention", 10_000.0)):
            config = RopeConfig.from_hf(bare, layer_type=layer_type)
            assert (config.rope_type, config.base) == ("linear", base)
            assert config.assumed == {"rope_theta": base}

    def test_a_lone_theta_is_that_of_full_attention(self) -> None:
        """Where sliding layers have a base of their own; elsewhere it is everybody's."""
        gemma = GEMMA3 | {"rope_theta": 2e6}
        assert RopeConfig.from_hf(gemma, layer_type="full_attention").base == 2e6
        assert RopeConfig.from_hf(gemma, layer_type="sliding_attention").base == 1e4
        olmo = llama(model_type="olmo3", rope_theta=7e5)
        assert RopeConfig.from_hf(olmo, layer_type="sliding_attention").base == 7e5

    @pytest.mark.parametrize("name", ["rope_local_base_freq", "local_rope_theta"])
    def test_local_theta_of_an_unknown_model(self, name: str) -> None:
        file = nameless(rope_theta=1e6, rotary_dim=8) | {name: 1e4}
        assert RopeConfig.from_hf(file, layer_type="full_attention").base == 1e6
        assert RopeConfig.from_hf(file, layer_type="sliding_attention").base == 1e4
        with pytest.raises(
            RopeConfigError, match=r"layer_type must be one of full_attention, sliding"
        ):
            RopeConfig.from_hf(file)

    def test_local_theta_null(self) -> None:
        assert RopeConfig.from_hf(llama(rope_local_base_freq=None)).base == 1e4

    def test_equal_layers_need_no_name(self) -> None:
        """OLMo 3: both types share a base, until rope_scaling parts them."""
        file = llama(model_type="olmo3", rope_theta=5e5)
        assert RopeConfig.from_hf(file).base == 5e5
        assert RopeConfig.from_hf(file).layer_type is None
        yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
        with pytest.raises(RopeConfigError, match=r"layer_type must be one of"):
            RopeConfig.from_hf(file | {"rope_scaling": yarn})
        local = RopeConfig.from_hf(file | {"rope_scaling": yarn}, layer_type="sliding_attention")
        assert (local.rope_type, local.base) == ("default", 5e5)

    def test_nested_and_equal(self) -> None:
        same = {"rope_type": "default", "rope_theta": 5e5}
        file = llama(
            rope_theta=None,
            rope_parameters={"full_attention": same, "sliding_attention": dict(same)},
        )
        assert RopeConfig.from_hf(file).base == 5e5

    def test_nested_with_its_own_names(self) -> None:
        file = llama(
            rope_parameters={"main": {"rope_theta": 1e4}, "compress": {"rope_theta": 16e4}},
            rope_theta=None,
        )
        assert RopeConfig.from_hf(file, layer_type="compress").base == 160_000.0
        with pytest.raises(
            RopeConfigError, match=r"^layer_type must be one of main, compress, got None"
        ):
            RopeConfig.from_hf(file)
        with pytest.raises(
            RopeConfigError, match=r"^layer_type must be one of main, compress, got 'x'"
        ):
            RopeConfig.from_hf(file, layer_type="x")

    def test_nested_entry_without_theta(self) -> None:
        file = llama(
            rope_parameters={
                "full_attention": {"rope_type": "default"},
                "sliding_attention": {"rope_theta": 5e3},
            }
        )
        assert RopeConfig.from_hf(file, layer_type="full_attention").base == 1e4
        assert RopeConfig.from_hf(file, layer_type="sliding_attention").base == 5e3

    def test_nested_fields_beside_the_layers_are_ignored(self) -> None:
        file = GEMMA3 | {"rope_parameters": {"full_attention": {"rope_theta": 2e6}, "factor": 2.0}}
        config = RopeConfig.from_hf(file, layer_type="full_attention")
        assert config.base == 2e6
        assert config.ignored == ("rope_parameters.factor",)
        assert RopeConfig.from_hf(file, layer_type="sliding_attention").base == 1e4

    def test_layers_without_rotation(self) -> None:
        file = llama(
            rope_parameters={"full_attention": None, "sliding_attention": {"rope_theta": 1e4}}
        )
        assert RopeConfig.from_hf(file, layer_type="sliding_attention").base == 1e4
        for layer_type in ("full_attention", None):
            with pytest.raises(
                RopeConfigError,
                match=r"^rope_parameters\.full_attention is null: layers of this type",
            ):
                RopeConfig.from_hf(file, layer_type=layer_type)

    def test_layer_entry_that_is_no_dictionary(self) -> None:
        file = llama(rope_parameters={"full_attention": 1e4, "sliding_attention": {}})
        with pytest.raises(
            RopeConfigError, match=r"^rope_parameters\.full_attention must be a dict"
        ):
            RopeConfig.from_hf(file, layer_type="full_attention")

    def test_gemma4(self) -> None:
        """Global layers have wider heads, of which a quarter of the pairs turns."""
        file = {"model_type": "gemma4_text"}
        full = RopeConfig.from_hf(file, layer_type="full_attention")
        local = RopeConfig.from_hf(file, layer_type="sliding_attention")
        assert (full.head_dim, full.rotary_dim, full.rope_type, full.base) == (
            512,
            512,
            "proportional",
            1e6,
        )
        assert np.count_nonzero(full.frequencies().inv_freq) == 64
        assert set(full.assumed) == {
            "max_position_embeddings",
            "rope_parameters",
            "global_head_dim",
            "rope_theta",
        }
        assert (local.head_dim, local.rotary_dim, local.rope_type, local.base) == (
            256,
            256,
            "default",
            1e4,
        )
        wide = RopeConfig.from_hf(
            file | {"global_head_dim": 128, "head_dim": 64}, layer_type="full_attention"
        )
        assert wide.head_dim == 128

    @pytest.mark.parametrize(
        "overrides", [{"1": {"head_dim": 128}}, {"full_attention": {"head_dim": 128}}]
    )
    def test_gemma4_as_transformers_saves_it(self, overrides: dict[str, object]) -> None:
        file = {
            "model_type": "gemma4_text",
            "head_dim": 64,
            "layer_types": ["sliding_attention", "full_attention"],
            "per_layer_config": overrides | {"0": {"other": 1}},
        }
        assert RopeConfig.from_hf(file, layer_type="full_attention").head_dim == 128
        assert RopeConfig.from_hf(file, layer_type="sliding_attention").head_dim == 64

    @pytest.mark.parametrize("head_dim", [1, 65_538])
    def test_per_layer_config_out_of_range(self, head_dim: int) -> None:
        file = {"model_type": "gemma4_text", "per_layer_config": {"full_attention": {}}}
        entry = file["per_layer_config"]["full_attention"]
        entry["head_dim"] = 2
        assert RopeConfig.from_hf(file, layer_type="full_attention").head_dim == 2
        entry["head_dim"] = head_dim
        with pytest.raises(
            RopeConfigError,
            match=r"^per_layer_config\.full_attention\.head_dim must be an integer from 2 to 65536",
        ):
            RopeConfig.from_hf(file, layer_type="full_attention")

    def test_per_layer_config_without_layer_types(self) -> None:
        file = llama(per_layer_config={"0": {"head_dim": 4}})
        config = RopeConfig.from_hf(file)
        assert config.head_dim == 8
        assert config.ignored == ("per_layer_config.0",)

    def test_per_layer_config_that_disagrees(self) -> None:
        file = {
            "model_type": "gemma4_text",
            "layer_types": ["full_attention", "full_attention"],
            "per_layer_config": {"0": {"head_dim": 128}, "1": {"head_dim": 64}},
        }
        config = RopeConfig.from_hf(file, layer_type="full_attention")
        assert config.warnings[0].startswith(
            "per_layer_config.0.head_dim 128 and per_layer_config.1"
        )

    def test_layer_type_where_layers_are_alike(self) -> None:
        config = RopeConfig.from_hf(llama(), layer_type="sliding_attention")
        assert (config.layer_type, config.base) == ("sliding_attention", 1e4)
        file = llama(layer_types=["full_attention", "conv"])
        assert RopeConfig.from_hf(file).layer_type is None
        assert RopeConfig.from_hf(file, layer_type="conv").layer_type == "conv"
        with pytest.raises(
            RopeConfigError,
            match=r"^layer_type must be one of full_attention, conv, sliding_attention, got 'x'",
        ):
            RopeConfig.from_hf(file, layer_type="x")
        with pytest.raises(RopeConfigError, match=r"^layer_type must be a string, got 3"):
            RopeConfig.from_hf(file, layer_type=3)

    def test_scaling_where_layers_are_alike(self) -> None:
        """A flat scaling holds for whichever layer type is asked for."""
        config = RopeConfig.from_hf(
            llama(rope_scaling={"type": "linear", "factor": 4.0}), layer_type="sliding_attention"
        )
        assert (config.layer_type, config.rope_type) == ("sliding_attention", "linear")

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("full_attention", "layer_types must be a list, got 'full_attention'"),
            (["full_attention", 1], r"layer_types\[1\] must be a string, got 1"),
            ([None], r"layer_types\[0\] must be a string, got None"),
        ],
    )
    def test_bad_layer_types(self, value: object, message: str) -> None:
        with pytest.raises(RopeConfigError, match=f"^{message}$"):
            RopeConfig.from_hf(llama(layer_types=value), layer_type="full_attention")


class TestLayersWithoutRotation:
    def test_the_field_holds_one_where_a_layer_rotates(self) -> None:
        config = RopeConfig.from_hf(llama(no_rope_layers=[1, 1, 1, 0, 1, 0], num_hidden_layers=6))
        assert config.no_rope_layers == (3, 5)
        alone = llama(no_rope_layers=[0], num_hidden_layers=1)
        assert RopeConfig.from_hf(alone).no_rope_layers == (0,)

    def test_interval(self) -> None:
        file = llama(no_rope_layer_interval=4, num_hidden_layers=9)
        assert RopeConfig.from_hf(file).no_rope_layers == (3, 7)
        types = {"layer_types": ["full_attention"] * 9}
        assert RopeConfig.from_hf(file | types).no_rope_layers == (3, 7)

    @pytest.mark.parametrize("empty", [None, []])
    def test_defaults_of_llama4(self, empty: object) -> None:
        text = llama(model_type="llama4_text", no_rope_layers=empty)
        config = RopeConfig.from_hf({"model_type": "llama4", "text_config": text})
        assert config.no_rope_layers == tuple(range(3, 48, 4))
        assert config.assumed == {
            "head_dim": 128,
            "no_rope_layer_interval": 4,
            "num_hidden_layers": 48,
        }

    def test_cohere2(self) -> None:
        """Full attention there goes without positions."""
        types = ["sliding_attention", "full_attention", "sliding_attention"]
        file = llama(model_type="cohere2", num_hidden_layers=8)
        assert RopeConfig.from_hf(file | {"layer_types": types}).no_rope_layers == (1,)
        assert RopeConfig.from_hf(file).no_rope_layers == (3, 7)
        assert RopeConfig.from_hf(file | {"sliding_window_pattern": 3}).no_rope_layers == (2, 5)

    def test_exaone4(self) -> None:
        """There, too, but only in the models that slide."""
        file = llama(model_type="exaone4", layer_types=["sliding_attention", "full_attention"])
        assert RopeConfig.from_hf(file).no_rope_layers == ()
        assert RopeConfig.from_hf(file | {"sliding_window": 512}).no_rope_layers == (1,)
        bare = llama(model_type="exaone4", sliding_window=512)
        assert RopeConfig.from_hf(bare).no_rope_layers == ()

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"no_rope_layers": [1, 0], "num_hidden_layers": 3},
                "no_rope_layers must have 3 entries, one a layer, got 2",
            ),
            (
                {"no_rope_layers": [1, 2]},
                r"no_rope_layers\[1\] must be an integer from 0 to 1, got 2",
            ),
            ({"no_rope_layers": [True]}, r"no_rope_layers\[0\] must be an integer, got True"),
            ({"no_rope_layers": 4}, "no_rope_layers must be a list, got 4"),
            ({"no_rope_layer_interval": 0}, "no_rope_layer_interval must be an integer from 1"),
            (
                {"no_rope_layer_interval": 65_537, "num_hidden_layers": 2},
                "no_rope_layer_interval must be an integer from 1 to 65536",
            ),
            ({"no_rope_layer_interval": 4}, "num_hidden_layers must be given with an interval"),
            (
                {"no_rope_layers": [1], "num_hidden_layers": 65_537},
                "num_hidden_layers must be an integer from 1 to 65536",
            ),
            (
                {"no_rope_layer_interval": 4, "num_hidden_layers": 10**9},
                "num_hidden_layers must be an integer from 1 to 65536",
            ),
        ],
    )
    def test_refused(self, fields: dict[str, object], message: str) -> None:
        with pytest.raises(RopeConfigError, match=f"^{message}"):
            RopeConfig.from_hf(llama(**fields))


class TestModelTypes:
    def test_missing(self) -> None:
        config = RopeConfig.from_hf(nameless())
        assert (config.base, config.rotary_dim, config.layout) == (1e4, 8, None)
        assert config.assumed == {"rope_theta": 10_000.0, "partial_rotary_factor": 1.0}
        assert config.warnings == (
            "rope_theta is absent and model_type is absent: 10000.0 is assumed",
            "partial_rotary_factor is absent and model_type is absent: 1.0 is assumed",
        )

    def test_unknown(self) -> None:
        config = RopeConfig.from_hf(nameless(model_type="new_one"))
        assert config.assumed == {"rope_theta": 10_000.0, "partial_rotary_factor": 1.0}
        assert config.warnings == (
            "rope_theta is absent and model_type 'new_one' unknown: 10000.0 is assumed",
            "partial_rotary_factor is absent and model_type 'new_one' unknown: 1.0 is assumed",
        )
        assert config.layout is None

    def test_unknown_with_an_odd_head(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^partial_rotary_factor must leave an even"):
            RopeConfig.from_hf({"head_dim": 9})

    @pytest.mark.parametrize("value", [3, True, ["llama"], {}])
    def test_not_a_string(self, value: object) -> None:
        with pytest.raises(RopeConfigError, match=r"^model_type must be a string, got"):
            RopeConfig.from_hf(llama(model_type=value))

    def test_inside_and_outside_of_text_config(self) -> None:
        text = llama(model_type=None, rope_theta=None)
        config = RopeConfig.from_hf({"model_type": "llama4", "text_config": text})
        assert (config.model_type, config.base) == ("llama4", 5e5)
        assert config.used["model_type"] == "llama4"

    def test_text_config_null(self) -> None:
        assert RopeConfig.from_hf(llama(text_config=None)).base == 1e4

    def test_text_config_alone_counts(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^text_config\.head_dim or hidden_size"):
            RopeConfig.from_hf(llama(text_config={}))

    @pytest.mark.parametrize(
        ("fields", "layout"),
        [
            ({"model_type": "llama"}, "half"),
            ({"model_type": "gptj"}, "interleaved"),
            ({"model_type": "cohere"}, "interleaved"),
            ({"model_type": "deepseek_v3"}, "interleaved"),
            ({"model_type": "deepseek_v3", "rope_interleave": True}, "interleaved"),
            ({"model_type": "deepseek_v3", "rope_interleave": False}, "half"),
            ({"model_type": "nanochat"}, None),
            ({"model_type": "gpt_neox"}, "half"),
            ({"model_type": None}, None),
        ],
    )
    def test_layout(self, fields: dict[str, object], layout: str | None) -> None:
        assert RopeConfig.from_hf(llama(**fields)).layout == layout

    def test_bad_interleave(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^rope_interleave must be true or false, got 1"):
            RopeConfig.from_hf(llama(model_type="deepseek_v3", rope_interleave=1))

    def test_table_is_closed(self) -> None:
        assert set(TEXT_MODELS.values()) <= set(MODELS)
        assert not set(TEXT_MODELS) & set(MODELS)

    @pytest.mark.parametrize("kind", ["rope", "rotary", None])
    def test_rotary_encodings(self, kind: object) -> None:
        assert RopeConfig.from_hf(llama(position_embedding_type=kind, alibi=False)).warnings == ()

    def test_other_encodings(self) -> None:
        config = RopeConfig.from_hf(llama(position_embedding_type="absolute", alibi=True))
        assert config.warnings == (
            "position_embedding_type is 'absolute', not rotary",
            "alibi is true: positions are a bias on the scores, not rotary",
        )


class TestFiles:
    def test_paths(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text("\ufeff" + json.dumps(llama(rope_theta=5e5)), encoding="utf-8")
        assert RopeConfig.from_hf(path).base == 5e5
        assert RopeConfig.from_hf(str(path)).base == 5e5

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", r"config '.*config\.json' is not JSON: Expecting value"),
            (b"{", r"config '.*config\.json' is not JSON: Expecting property name"),
            (b"\xff\xfe", "is not JSON"),
            (b"[" * 100_000, "is not JSON"),
            (b"1" * 5000, "is not JSON"),
            (b"[]", r"config must be a dictionary of fields, got \[\]"),
            (b"null", "config must be a dictionary of fields, got None"),
            (b'{"head_dim": 8, "rope_theta": NaN}', "rope_theta must be above 1 .*, got nan"),
            (b'{"head_dim": 8, "rope_theta": 1e999}', "rope_theta must be above 1 .*, got inf"),
        ],
        # pytest does not find a test by a given id with a backslash, and mutmut asks it to.
        ids=["empty", "cut", "no UTF-8", "deep", "long", "list", "null", "nan", "inf"],
    )
    def test_bad_content(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "config.json"
        path.write_bytes(content)
        with pytest.raises(RopeConfigError, match=message):
            RopeConfig.from_hf(path)

    def test_unreadable(self, tmp_path: Path) -> None:
        with pytest.raises(
            RopeConfigError, match=r"config '.*missing\.json' cannot be read: No such file"
        ):
            RopeConfig.from_hf(tmp_path / "missing.json")
        with pytest.raises(RopeConfigError, match=r"cannot be read: Is a directory"):
            RopeConfig.from_hf(tmp_path)
        with pytest.raises(RopeConfigError, match=r"config"):
            RopeConfig.from_hf("a\0b")

    @pytest.mark.parametrize("config", [None, 3, [llama()], b"config.json"])
    def test_not_a_config(self, config: object) -> None:
        with pytest.raises(RopeConfigError, match=r"^config must be a dictionary of fields, got"):
            RopeConfig.from_hf(config)

    def test_strange_keys_are_listed(self) -> None:
        file: dict[Any, Any] = llama() | {3: 4, "vision_config": {"rope_theta": 5.0}}
        assert RopeConfig.from_hf(file).ignored == ("3", "vision_config")
        huge: dict[Any, Any] = llama() | {10**5000: 4}
        assert RopeConfig.from_hf(huge).ignored == ("a int too large to print",)
        assert RopeConfig.from_hf(llama(rope_scaling={("a",): {}})).ignored == (
            "rope_scaling.('a',)",
        )

    def test_the_file_is_left_alone(self) -> None:
        file = scaled(**LLAMA3)
        before = json.dumps(file)
        RopeConfig.from_hf(file)
        assert json.dumps(file) == before

    def test_error_is_a_value_error(self) -> None:
        assert issubclass(RopeConfigError, ValueError)


def gguf(architecture: str = "llama", **fields: object) -> dict[str, Any]:
    """Metadata of a small GGUF file; a dot in a key is written as two underscores."""
    keys = {
        "context_length": 4096,
        "embedding_length": 64,
        "attention__head_count": 8,
        "rope__freq_base": np.float32(500_000.0),
    } | fields
    return {"general.architecture": architecture} | {
        f"{architecture}.{key.replace('__', '.')}": value
        for key, value in keys.items()
        if value is not None
    }


class TestGguf:
    def test_llama(self) -> None:
        """SmolLM2's metadata, with the tokenizer's keys left out."""
        metadata = {
            "general.architecture": "llama",
            "general.name": "Smollm2 135M 8k",
            "llama.context_length": np.uint32(8192),
            "llama.embedding_length": np.uint32(576),
            "llama.attention.head_count": np.uint32(9),
            "llama.rope.freq_base": np.float32(100_000.0),
            "llama.rope.dimension_count": np.uint32(64),
        }
        config = RopeConfig.from_gguf(metadata)
        assert (config.head_dim, config.rotary_dim, config.base) == (64, 64, 100_000.0)
        assert (config.max_positions, config.original_max_positions) == (8192, 8192)
        assert (config.layout, config.rope_type, config.model_type) == (
            "interleaved",
            "default",
            "llama",
        )
        assert (config.layer_type, config.no_rope_layers) == (None, ())
        assert config.ignored == ("general.name",)
        assert set(config.used) == set(metadata) - {"general.name"}
        assert config.assumed == {}
        assert config.warnings == ()

    def test_base_by_default(self) -> None:
        config = RopeConfig.from_gguf(gguf(rope__freq_base=None))
        assert config.assumed == {"rope_theta": 10_000.0}
        assert config.warnings == ()

    def test_head_and_part(self) -> None:
        config = RopeConfig.from_gguf(
            gguf("phi2", attention__key_length=80, rope__dimension_count=32)
        )
        assert (config.head_dim, config.rotary_dim, config.layout) == (80, 32, "half")

    def test_latent_attention(self) -> None:
        config = RopeConfig.from_gguf(
            gguf(
                "deepseek2",
                attention__kv_lora_rank=512,
                attention__key_length=192,
                rope__dimension_count=64,
                rope__freq_base=10_000.0,
                context_length=163840,
                rope__scaling__type="yarn",
                rope__scaling__factor=40.0,
                rope__scaling__original_context_length=4096,
                rope__scaling__yarn_log_multiplier=0.0707,
            )
        )
        assert (config.head_dim, config.rotary_dim, config.rope_type) == (64, 64, "yarn")
        found = config.frequencies()
        assert found.attention_factor == 1.0
        assert found.softmax_multiplier == pytest.approx(1.5896261651208735, rel=1e-12)
        assert found.inv_freq[-1] == pytest.approx(3.3338035804083101e-6, rel=1e-13)
        assert config.used["deepseek2.rope.scaling.yarn_log_multiplier"] == 0.0707

    def test_yarn_attention_factor_multiplies(self) -> None:
        config = RopeConfig.from_gguf(
            gguf(
                rope__scaling__type="yarn",
                rope__scaling__factor=4.0,
                rope__scaling__original_context_length=1024,
                rope__scaling__attn_factor=0.5,
                rope__scaling__yarn_beta_fast=16.0,
                rope__scaling__yarn_beta_slow=2.0,
            )
        )
        assert config.frequencies().attention_factor == pytest.approx(0.5 * 1.1386294361119891)
        assert (config.parameters["beta_fast"], config.parameters["beta_slow"]) == (16.0, 2.0)

    def test_yarn_log_multiplier_of_zero(self) -> None:
        """DeepSeek's way to say none: YaRN's own factor stays on cos and sin."""
        config = RopeConfig.from_gguf(
            gguf(
                "deepseek2",
                rope__scaling__type="yarn",
                rope__scaling__factor=1.5,
                rope__scaling__attn_factor=1.0,
                rope__scaling__yarn_log_multiplier=0.0,
            )
        )
        # 0.1·ln 1.5 + 1
        assert config.frequencies().attention_factor == pytest.approx(1.0405465108108164)
        assert config.frequencies().softmax_multiplier == 1.0

    @pytest.mark.parametrize(
        ("given", "factor", "rope_type"),
        [
            (None, None, "default"),
            (None, 4.0, "linear"),
            (None, 0.0, "default"),
            ("none", 4.0, "default"),
            ("none", None, "default"),
            ("linear", None, "default"),
            ("linear", 4.0, "linear"),
        ],
    )
    def test_linear(self, given: object, factor: object, rope_type: str) -> None:
        config = RopeConfig.from_gguf(gguf(rope__scaling__type=given, rope__scaling__factor=factor))
        assert config.rope_type == rope_type
        assert config.frequencies().inv_freq[0] == (0.25 if rope_type == "linear" else 1.0)
        contradicts = (given, factor) == ("none", 4.0)
        assert bool(config.warnings) is contradicts

    def test_old_name_of_the_factor(self) -> None:
        config = RopeConfig.from_gguf(gguf(rope__scale_linear=4.0))
        assert config.frequencies().inv_freq[0] == 0.25
        assert "llama.rope.scale_linear" in config.used
        both = gguf(rope__scale_linear=4.0, rope__scaling__factor=2.0)
        assert RopeConfig.from_gguf(both).frequencies().inv_freq[0] == 0.5
        with pytest.raises(RopeConfigError, match=r"^llama\.rope\.scale_linear must be at least 1"):
            RopeConfig.from_gguf(gguf(rope__scale_linear=0.5))

    @pytest.mark.parametrize("given", [None, "longrope"])
    def test_longrope(self, given: object) -> None:
        metadata = gguf(
            "phi3",
            rope__scaling__type=given,
            rope__scaling__original_context_length=1024,
            rope__scaling__attn_factor=1.19,
        )
        metadata["rope_factors_short.weight"] = np.full(4, 2.0, dtype=np.float32)
        metadata["rope_factors_long.weight"] = [4.0] * 4
        config = RopeConfig.from_gguf(metadata)
        assert config.frequencies(1024).inv_freq[0] == 0.5
        assert config.frequencies(1025).inv_freq[0] == 0.25
        assert config.frequencies().attention_factor == 1.19
        assert "rope_factors_long.weight" in config.used

    def test_longrope_needs_its_lists(self) -> None:
        with pytest.raises(
            RopeConfigError,
            match=r"^rope_factors_short\.weight is required by rope_type 'longrope'",
        ):
            RopeConfig.from_gguf(gguf("phi3", rope__scaling__type="longrope"))

    def test_llama31_divisors(self) -> None:
        metadata = gguf(rope__scaling__original_context_length=1024)
        config = RopeConfig.from_gguf(metadata | {"rope_freqs.weight": [1.0, 2.0, 4.0, 8.0]})
        plain = 5e5 ** (-np.arange(0, 8, 2) / 8)
        for seq_len in (None, 10**6):
            found = config.frequencies(seq_len)
            np.testing.assert_allclose(found.inv_freq, plain / [1, 2, 4, 8], rtol=1e-14)
            assert found.attention_factor == 1.0
        assert "rope_freqs.weight" in config.used

    def test_divisors_of_the_wrong_length(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^rope_freqs\.weight must have 4 entries"):
            RopeConfig.from_gguf(gguf() | {"rope_freqs.weight": [1.0]})

    def test_divisors_beside_a_scaling(self) -> None:
        metadata = gguf(rope__scaling__factor=2.0) | {"rope_freqs.weight": [1.0] * 4}
        with pytest.raises(
            RopeConfigError,
            match=r"^rope_freqs\.weight must not stand beside a scaling, got 'linear'$",
        ):
            RopeConfig.from_gguf(metadata)

    def test_sliding_layers(self) -> None:
        """Gemma 3 leaves the sliding base to the loader, newer files state it."""
        metadata = gguf("gemma3", rope__freq_base=1e6, rope__scaling__factor=8.0)
        full = RopeConfig.from_gguf(metadata, layer_type="full_attention")
        local = RopeConfig.from_gguf(metadata, layer_type="sliding_attention")
        assert (full.base, full.rope_type, full.layer_type) == (1e6, "linear", "full_attention")
        assert (local.base, local.rope_type) == (1e4, "default")
        assert local.assumed == {"rope_theta": 10_000.0}
        assert "gemma3.rope.scaling.factor" in local.ignored
        with pytest.raises(
            RopeConfigError, match=r"^layer_type must be one of full_attention, sliding"
        ):
            RopeConfig.from_gguf(metadata)

    def test_sliding_keys(self) -> None:
        metadata = gguf(
            "gemma4",
            attention__key_length=512,
            attention__key_length_swa=256,
            rope__dimension_count=512,
            rope__dimension_count_swa=256,
            rope__freq_base=1e6,
            rope__freq_base_swa=1e4,
            rope__scaling__factor=8.0,
        )
        local = RopeConfig.from_gguf(metadata, layer_type="sliding_attention")
        assert (local.head_dim, local.rotary_dim, local.base, local.rope_type) == (
            256,
            256,
            1e4,
            "default",
        )
        full = RopeConfig.from_gguf(metadata, layer_type="full_attention")
        assert (full.head_dim, full.base, full.rope_type) == (512, 1e6, "linear")

    def test_sections(self) -> None:
        config = RopeConfig.from_gguf(gguf("qwen2vl", rope__dimension_sections=[1, 2, 1, 0]))
        assert (config.mrope_section, config.mrope_interleaved) == ((1, 2, 1), False)
        config = RopeConfig.from_gguf(
            gguf("qwen3vl", rope__dimension_sections=np.array([2, 1, 1, 0]))
        )
        assert (config.mrope_section, config.mrope_interleaved) == ((2, 1, 1), True)
        assert config.layout == "half"
        assert (
            RopeConfig.from_gguf(
                gguf("qwen35", rope__dimension_sections=[0, 0, 0, 0])
            ).mrope_section
            is None
        )

    def test_unknown_architecture(self) -> None:
        config = RopeConfig.from_gguf(gguf("brand-new", rope__freq_base=None))
        assert config.layout is None
        assert config.warnings == (
            "rope_theta is absent and general.architecture 'brand-new' unknown: 10000.0 is assumed",
            "partial_rotary_factor is absent and general.architecture 'brand-new' unknown: "
            "1.0 is assumed",
        )

    def test_architectures_have_one_layout(self) -> None:
        assert not INTERLEAVED & HALF
        assert not INTERLEAVED_AXES & (INTERLEAVED | HALF)
        assert {"llama", "chatglm", "deepseek2"} <= INTERLEAVED
        assert {"qwen2", "gptneox", "gemma3"} <= HALF

    def test_strange_keys_are_listed(self) -> None:
        assert RopeConfig.from_gguf(gguf() | {3: 4}).ignored == ("3",)

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [
            ({}, r"general\.architecture must be a string, got None"),
            ({"general.architecture": 3}, r"general\.architecture must be a string, got 3"),
            (gguf(attention__head_count=None), r"llama\.attention\.key_length or hidden_size and"),
            (gguf(rope__freq_base="1e4"), r"llama\.rope\.freq_base must be a number, got '1e4'"),
            (gguf(rope__freq_base=math.nan), r"llama\.rope\.freq_base must be above 1"),
            (gguf(rope__dimension_count=7), r"llama\.rope\.dimension_count must leave an even"),
            (gguf(context_length=True), r"llama\.context_length must be an integer, got True"),
            (gguf(rope__scaling__type="bands"), r"llama\.rope\.scaling\.type must be one of"),
            (gguf(rope__scaling__type=1), r"llama\.rope\.scaling\.type must be a string, got 1"),
            (gguf(rope__scaling__type="yarn"), r"llama\.rope\.scaling\.factor is required"),
            (gguf(rope__scaling__factor=0.5), r"llama\.rope\.scaling\.factor must be at least 1"),
            (gguf(rope__scaling__factor=[0]), r"llama\.rope\.scaling\.factor must be a number"),
            (
                gguf(rope__scaling__type="yarn", rope__scaling__attn_factor=1.0),
                r"llama\.rope\.scaling\.factor must be a number, got None",
            ),
            (
                gguf(rope__scaling__type="yarn", rope__scaling__yarn_log_multiplier="1"),
                r"llama\.rope\.scaling\.yarn_log_multiplier must be a number",
            ),
            (gguf(rope__dimension_sections=3), r"llama\.rope\.dimension_sections must be a list"),
            (gguf(rope__dimension_sections=[1]), r"llama\.rope\.dimension_sections must sum to"),
            (
                gguf(rope__scaling__type=np.array(["yarn", "none"])),
                r"llama\.rope\.scaling\.type must be a string, got \['yarn', 'none'\]",
            ),
            (
                gguf(rope__scaling__type="llama3", rope__scaling__factor=8.0),
                "low_freq_factor is required by rope_type 'llama3', got None",
            ),
            (
                gguf(
                    rope__scaling__type="yarn",
                    rope__scaling__factor=2.0,
                    rope__scaling__attn_factor=-1.0,
                ),
                r"llama\.rope\.scaling\.attn_factor must be at least 1e-30",
            ),
        ],
        ids=range(19),
    )
    def test_refused(self, metadata: dict[str, object], message: str) -> None:
        with pytest.raises(RopeConfigError, match=f"^{message}"):
            RopeConfig.from_gguf(metadata)

    def test_bad_layer_type(self) -> None:
        with pytest.raises(
            RopeConfigError,
            match=r"^layer_type must be one of full_attention, sliding_a.*, got 'global'",
        ):
            RopeConfig.from_gguf(gguf(), layer_type="global")

    def test_not_a_mapping(self) -> None:
        with pytest.raises(RopeConfigError, match=r"^config must be a dictionary of fields"):
            RopeConfig.from_gguf([1])
