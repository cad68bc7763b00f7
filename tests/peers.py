"""Other implementations, each behind the few lines that make it comparable with ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from rotary_embedding_torch import RotaryEmbedding as LucidrainsRotary
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

from rope_lib import RopeConfig
from rope_lib.nn import RotaryEmbedding

with warnings.catch_warnings():
    # It scripts a function while it is imported, which torch deprecates.
    warnings.filterwarnings("ignore", ".torch.jit.script. is deprecated", DeprecationWarning)
    from x_transformers import x_transformers

HEADS, KEY_HEADS, VOCABULARY = 4, 2, 50
XRotary, x_rotated = x_transformers.RotaryEmbedding, x_transformers.apply_rotary_pos_emb
LlamaRotary = modeling_llama.LlamaRotaryEmbedding


def llama_config(head_dim: int, max_positions: int = 512, **parameters: Any) -> LlamaConfig:
    """A model of two layers with grouped queries; the keywords are its rope_parameters."""
    return LlamaConfig(
        hidden_size=HEADS * head_dim,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        intermediate_size=64,
        num_hidden_layers=2,
        vocab_size=VOCABULARY,
        max_position_embeddings=max_positions,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0} | parameters,
    )


def long_parameters(trained: int, pairs: int) -> tuple[dict[str, Any], ...]:
    """The rope_parameters of llama3, yarn and longrope, past a trained length in tokens."""
    length = {"original_max_position_embeddings": trained}
    bands = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    lists = {
        "short_factor": [1.0 + j / pairs for j in range(pairs)],
        "long_factor": [1.0 + 4 * j / pairs for j in range(pairs)],
    }
    return (
        {"rope_type": "llama3"} | bands | length,
        {"rope_type": "yarn", "factor": 8.0} | length,
        {"rope_type": "longrope"} | lists | length,
    )


def llama(config: LlamaConfig) -> LlamaForCausalLM:
    """The same random weights for the same shape, every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LlamaForCausalLM(config).eval()


class OurTables(nn.Module):
    """Our tables in the place of a model's rotary_emb, from its own config."""

    def __init__(self, config: LlamaConfig, seq_len: int | None = None) -> None:
        super().__init__()
        found = RopeConfig.from_hf(config.to_dict())
        self.rope = RotaryEmbedding(found.head_dim, scaling=found.frequencies(seq_len))

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        return self.rope.tables(position_ids, x.dtype)


def meta_turns(dim: int, length: int, base: float) -> Tensor:
    """Meta's table: e^(i m θ_j) in float32, shape (length, dim/2)."""
    theta = base ** -(torch.arange(0, dim, 2).float() / dim)
    angles = torch.arange(length).float()[:, None] * theta
    return torch.polar(torch.ones_like(angles), angles)


def meta_rotated(x: Tensor, turns: Tensor) -> Tensor:
    """Adjacent channels as one complex number, times its turn, in x's dtype again."""
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * turns).flatten(-2).to(x.dtype)


def onnx_rotated(
    x: np.ndarray, cos: np.ndarray, sin: np.ndarray, ids: np.ndarray, **attributes: int
) -> np.ndarray:
    """RotaryEmbedding of opset 23, by ONNX's own reference evaluator."""
    given = {"x": x, "cos": cos, "sin": sin, "ids": ids}
    inputs = [
        helper.make_tensor_value_info(
            name, TensorProto.INT64 if name == "ids" else TensorProto.FLOAT, value.shape
        )
        for name, value in given.items()
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)
    node = helper.make_node("RotaryEmbedding", list(given), ["y"], **attributes)
    graph = helper.make_graph([node], "rotary", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    onnx.checker.check_model(model)
    return ReferenceEvaluator(model).run(None, given)[0]


# How each library turns pair j at each position: base, positions, and the dtype that the module
# is cast to, to e^(i m θ_j) of a 128-channel head, shape (seq, 64).
Turns = Callable[[float, Tensor, torch.dtype], Tensor]


def _transformers_turns(base: float, positions: Tensor, dtype: torch.dtype) -> Tensor:
    rotary = LlamaRotary(llama_config(128, rope_theta=base)).to(dtype)
    cos, sin = rotary(torch.empty(0), positions[None])
    return torch.complex(cos.double(), sin.double())[0, :, :64]


def _lucidrains_turns(base: float, positions: Tensor, dtype: torch.dtype) -> Tensor:
    with torch.no_grad():
        angles = LucidrainsRotary(128, theta=base).to(dtype)(positions)[:, ::2].double()
    return torch.polar(torch.ones_like(angles), angles)


def _x_transformers_turns(base: float, positions: Tensor, dtype: torch.dtype) -> Tensor:
    angles = XRotary(128, base=base).to(dtype)(positions)[0][0, :, ::2].double()
    return torch.polar(torch.ones_like(angles), angles)


TURNS: dict[str, Turns] = {
    "transformers": _transformers_turns,
    "rotary-embedding-torch": _lucidrains_turns,
    "x-transformers": _x_transformers_turns,
}


def our_turns(base: float, positions: Tensor, dtype: torch.dtype) -> Tensor:
    cos, sin = RotaryEmbedding(128, base=base).to(dtype).tables(positions)
    return torch.complex(cos.double(), sin.double())
