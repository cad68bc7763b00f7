"""The trained model as one GGUF file: format, names and quantisation are those of ggml.

Matrices are Q8_0 (blocks of 32 signed bytes and one float16), norms float32. Anything that reads
a GGUF of the llama architecture runs the file; the pages' own reader is tiny_engine.js.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quants

from experiments.tiny_lm.model import EPSILON
from experiments.tiny_lm.words import END


def export(
    path: Path,
    weights: Mapping[str, torch.Tensor],
    tokens: Sequence[str],
    merges: Sequence[str],
    settings: Mapping[str, Any],
) -> None:
    """Write the file. The weights are named as in model.py."""
    writer = GGUFWriter(path, "llama")
    writer.add_name("RoPE, Turn by Turn: tiny Python model")
    writer.add_context_length(settings["trained"])
    writer.add_embedding_length(settings["width"])
    writer.add_feed_forward_length(settings["inner"])
    writer.add_block_count(settings["layers"])
    writer.add_head_count(settings["heads"])
    writer.add_head_count_kv(settings["heads"])
    writer.add_rope_dimension_count(settings["width"] // settings["heads"])
    writer.add_rope_freq_base(settings["base"])
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(list(tokens))
    writer.add_token_merges(list(merges))
    kinds = [TokenType.CONTROL if token == END else TokenType.NORMAL for token in tokens]
    writer.add_token_types(kinds)
    for add in (writer.add_bos_token_id, writer.add_eos_token_id):
        add(tokens.index(END))
    for name, weight in weights.items():
        _add(writer, name, weight.detach().float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: GGUFWriter, name: str, weight: np.ndarray) -> None:
    if weight.ndim == 1:
        writer.add_tensor(name, weight)
        return
    kind = GGMLQuantizationType.Q8_0
    writer.add_tensor(name, quants.quantize(weight, kind), raw_dtype=kind)
