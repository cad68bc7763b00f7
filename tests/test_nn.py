"""rope_lib.nn: the modules, and everything that is done to modules."""

from __future__ import annotations

import copy
import io
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import reference
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import LlamaConfig, LlamaModel
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

import rope_lib
from rope_lib import grid_positions, inverse_frequencies, scaling
from rope_lib.nn import MixedRotaryEmbedding, RotaryEmbedding

BATCH, HEADS, KEY_HEADS, SEQ, DIM = 2, 4, 2, 7, 16
FAR = 100_003

SCALINGS = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 3.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.7, "original_max_position_embeddings": 300},
    "yarn": {
        "rope_type": "yarn",
        "factor": 16.0,
        "original_max_position_embeddings": 4096,
        "mscale": 0.707,
        "mscale_all_dim": 0.9,
    },
    "yarn, not truncated": {
        "rope_type": "yarn",
        "factor": 8.0,
        "original_max_position_embeddings": 4096,
        "beta_fast": 16,
        "beta_slow": 2,
        "truncate": False,
    },
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "longrope": {
        "rope_type": "longrope",
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "short_factor": [1.0 + j / 100 for j in range(64)],
        "long_factor": [1.0 + j for j in range(64)],
    },
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 2.0},
}


def tensors(
    seq: int = SEQ, dim: int = DIM, dtype: torch.dtype = torch.float32, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(BATCH, HEADS, seq, dim, generator=generator, dtype=torch.float64)
    k = torch.randn(BATCH, KEY_HEADS, seq, dim, generator=generator, dtype=torch.float64)
    return q.to(dtype), k.to(dtype)


def by_the_book(
    x: torch.Tensor, positions: list[int], base: float = 10_000.0, layout: str = "interleaved"
) -> torch.Tensor:
    inv_freq = reference.frequencies(x.shape[-1], base)
    return torch.tensor(reference.rotated(x.double().numpy(), positions, inv_freq, layout))


# --- what it computes -----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("base", [None, 500_000.0])
def test_rotates_every_pair_by_its_angle(layout, base):
    q, k = tensors(dtype=torch.float64)
    positions = [FAR + 3 * i for i in range(SEQ)]
    rope = RotaryEmbedding(DIM, base=base, layout=layout)
    for x, turned in zip((q, k), rope(q, k, positions), strict=True):
        expected = by_the_book(x, positions, base or 10_000.0, layout)
        torch.testing.assert_close(turned, expected, rtol=0, atol=1e-9)


def test_positions_start_at_zero_and_position_zero_changes_nothing():
    q, k = tensors()
    rope = RotaryEmbedding(DIM)
    q_turned, k_turned = rope(q, k)
    assert torch.equal(q_turned, rope(q, k, torch.arange(SEQ))[0])
    assert torch.equal(k_turned[:, :, 0], k[:, :, 0])
    assert not torch.equal(k_turned[:, :, 1:], k[:, :, 1:])


@pytest.mark.parametrize(
    "positions",
    [
        [5, 6, 7, 8, 9, 10, 11],
        range(5, 12),
        np.arange(5, 12),
        np.arange(5.0, 12.0),
        torch.arange(5, 12, dtype=torch.int32),
        torch.arange(5, 12, dtype=torch.float32),
        torch.arange(5, 12)[None],
        torch.arange(5, 12).expand(BATCH, SEQ),
    ],
)
def test_positions_may_come_in_any_form(positions):
    q, k = tensors()
    rope = RotaryEmbedding(DIM)
    for got, expected in zip(rope(q, k, positions), rope(q, k, torch.arange(5, 12)), strict=True):
        assert torch.equal(got, expected)


def test_each_row_of_a_batch_has_its_own_positions():
    q, k = tensors()
    rope = RotaryEmbedding(DIM)
    positions = torch.stack([torch.arange(SEQ), torch.arange(90, 90 + SEQ)])
    together = rope(q, k, positions)
    for row in range(BATCH):
        alone = rope(q[row, None], k[row, None], positions[row])
        for got, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(got[row, None], expected, rtol=0, atol=1e-6)


def test_a_shared_key_head_scores_as_its_copies_do():
    q, k = tensors()
    q_turned, k_turned = RotaryEmbedding(DIM)(q, k)
    copies = k.repeat_interleave(HEADS // KEY_HEADS, 1)
    copies_turned = RotaryEmbedding(DIM)(q, copies)[1]
    shared = k_turned.repeat_interleave(HEADS // KEY_HEADS, 1)
    torch.testing.assert_close(q_turned @ copies_turned.mT, q_turned @ shared.mT, rtol=0, atol=1e-5)


def test_partial_rotary_leaves_the_rest_and_divides_by_the_part():
    q, k = tensors()
    rope = RotaryEmbedding(DIM, rotary_dim=8)
    q_turned, _ = rope(q, k)
    assert torch.equal(q_turned[..., 8:], q[..., 8:])
    alone = RotaryEmbedding(8)(q[..., :8], k[..., :8])[0]
    torch.testing.assert_close(q_turned[..., :8], alone, rtol=0, atol=1e-6)
    assert rope.rotary_dim == 8
    from_dict = RotaryEmbedding(80, scaling={"partial_rotary_factor": 0.4})
    assert from_dict.rotary_dim == 32  # phi-2


def test_an_odd_head_rotates_an_even_part():
    q, k = tensors(dim=5)
    q_turned, _ = RotaryEmbedding(5, rotary_dim=4)(q, k)
    assert torch.equal(q_turned[..., 4], q[..., 4])


def test_the_attention_factor_is_applied_and_the_softmax_multiplier_handed_on():
    q, k = tensors()
    deepseek = {
        "rope_type": "yarn",
        "factor": 40,
        "original_max_position_embeddings": 4096,
        "mscale": 0.707,
        "mscale_all_dim": 0.707,
    }
    rope = RotaryEmbedding(64, scaling=deepseek)
    assert rope.attention_factor == 1.0
    assert rope.softmax_multiplier == pytest.approx(1.5896, abs=5e-5)
    doubled = RotaryEmbedding(DIM, scaling=scaling.Frequencies(inverse_frequencies(DIM), 2.0, 1.5))
    assert doubled.softmax_multiplier == 1.5
    torch.testing.assert_close(
        doubled(q, k)[0], 2.0 * RotaryEmbedding(DIM)(q, k)[0], rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("name", SCALINGS)
def test_a_dict_and_its_frequencies_are_one(name):
    parameters = SCALINGS[name] | {"rope_theta": 500_000.0}
    rope = RotaryEmbedding(128, scaling=parameters)
    found = scaling.from_parameters(128, 500_000.0, parameters)
    assert rope.inv_freq.numpy().tolist() == found.inv_freq.tolist()
    assert rope.attention_factor == found.attention_factor
    again = RotaryEmbedding(128, scaling=found)
    assert torch.equal(again.inv_freq, rope.inv_freq)


def test_one_call_leaves_nothing_behind_for_the_next():
    q, k = tensors()
    used, fresh = RotaryEmbedding(DIM), RotaryEmbedding(DIM)
    for dtype in (torch.float64, torch.bfloat16):
        used(*tensors(seq=64, dtype=dtype))
    used(q, k, torch.arange(1_000_000, 1_000_000 + SEQ))
    for got, expected in zip(used(q, k), fresh(q, k), strict=True):
        assert torch.equal(got, expected)


def test_angles_are_exact_at_a_million_tokens():
    rope = RotaryEmbedding(128, base=500_000.0)
    cos, sin = rope.tables(torch.tensor([1_048_575]))
    angle = 1_048_575.0 * inverse_frequencies(128, 500_000.0)
    np.testing.assert_allclose(cos[0].numpy(), np.cos(angle), rtol=0, atol=6e-8)
    np.testing.assert_allclose(sin[0].numpy(), np.sin(angle), rtol=0, atol=6e-8)


@pytest.mark.parametrize("angles", ["float64", "float32"])
def test_tables_are_what_the_functions_make(angles):
    rope = RotaryEmbedding(DIM, angles=angles, scaling=SCALINGS["yarn"])
    q, k = tensors()
    tables = rope.tables([3, 1, 4, 1, 5, 9, 2])
    assert torch.equal(rope_lib.apply_rope(q, *tables), rope(q, k, [3, 1, 4, 1, 5, 9, 2])[0])
    for got, expected in zip(
        rope.tables(7),
        rope_lib.cos_sin(7, rope.inv_freq, attention_factor=rope.attention_factor),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=0, atol=2e-6)


def test_its_text_says_what_it_is():
    assert repr(RotaryEmbedding(64, rotary_dim=32, layout="half")) == (
        "RotaryEmbedding(64, rotary_dim=32, layout='half', angles='float64', learnable=False)"
    )
    assert repr(MixedRotaryEmbedding(64, 3)) == (
        "MixedRotaryEmbedding(64, num_heads=3, layout='interleaved')"
    )


# --- dtypes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_tensor_keeps_its_dtype_and_loses_one_rounding(dtype):
    q, k = tensors(dtype=dtype)
    positions = [FAR + i for i in range(SEQ)]
    q_turned, k_turned = RotaryEmbedding(DIM)(q, k.float(), positions)
    assert (q_turned.dtype, k_turned.dtype) == (dtype, torch.float32)
    expected = by_the_book(q, positions)
    # Half a unit in the last place of values up to 4; float64 is bound by the angle itself.
    bound = max(2 * torch.finfo(dtype).eps, 1e-10)
    assert (q_turned.double() - expected).abs().max() < bound + 4e-7 * (dtype != torch.float64)


CASTS = {
    "half": lambda module: module.half(),
    "bfloat16": lambda module: module.bfloat16(),
    "double": lambda module: module.double(),
    "to dtype": lambda module: module.to(torch.bfloat16),
    "to device and dtype": lambda module: module.to("cpu", torch.float16),
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
    "torch.save": lambda module: saved_and_loaded(module),
    "to_empty": lambda module: module.to_empty(device="cpu"),
    "share_memory": lambda module: module.share_memory(),
    "reset_parameters": lambda module: reset(module),
}


def saved_and_loaded(module: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def reset(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        module[0].inv_freq.zero_()
    module[0].reset_parameters()
    return module


@pytest.mark.parametrize("angles", ["float64", "float32"])
@pytest.mark.parametrize(
    ("name", "learnable"),
    # A parameter that to_empty empties in place is the caller's to load.
    [
        (name, learns)
        for name in CASTS
        for learns in (False, True)
        if not learns or name != "to_empty"
    ],
)
def test_angles_survive_what_is_done_to_a_model(name, angles, learnable):
    model = nn.Sequential(RotaryEmbedding(128, angles=angles, learnable=learnable))
    before = model[0].inv_freq.detach().clone()
    rope = CASTS[name](model)[0]
    assert rope.inv_freq.dtype == getattr(torch, angles)
    assert torch.equal(rope.inv_freq.detach(), before)
    assert isinstance(rope.inv_freq, nn.Parameter) == learnable
    q, k = tensors(dim=128)
    positions = torch.arange(FAR, FAR + SEQ)
    reference = RotaryEmbedding(128, angles=angles)(q, k, positions)
    for got, expected in zip(rope(q, k, positions), reference, strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)


def test_what_a_cast_buffer_would_cost():
    """The trap that the tests above guard against: inv_freq rounded to bfloat16 (G7)."""
    exact = RotaryEmbedding(128).inv_freq
    rounded = exact.bfloat16().double()
    assert (4095 * (rounded - exact)).abs().max() == pytest.approx(5.0, abs=0.05)
    cos_error = (torch.cos(4095 * rounded) - torch.cos(4095 * exact)).abs()
    assert cos_error.max() == pytest.approx(1.68, abs=0.005)
    assert int((cos_error > 0.1).sum()) == 23


@pytest.mark.parametrize("learnable", [False, True])
def test_meta_initialisation(learnable):
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 4), RotaryEmbedding(DIM, learnable=learnable))
    model.to_empty(device="cpu")
    rope, built = model[1], RotaryEmbedding(DIM)
    assert rope.inv_freq[0] == 1.0  # trouble 16
    assert rope.inv_freq.device.type == "cpu"
    assert torch.equal(rope.inv_freq, built.inv_freq)
    q, k = tensors()
    torch.testing.assert_close(rope(q, k)[0], built(q, k)[0], rtol=0, atol=1e-6)


def test_meta_initialisation_by_a_tool_that_asks_for_parameters_and_buffers_only():
    with torch.device("meta"):
        rope = RotaryEmbedding(DIM)
    assert not list(rope.parameters())
    assert not list(rope.buffers())
    q, k = tensors()
    assert torch.equal(rope(q, k)[0], RotaryEmbedding(DIM)(q, k)[0])


def test_a_module_that_is_not_moved_follows_its_tensors():
    q, k = (x.to("meta") for x in tensors())
    q_turned, k_turned = RotaryEmbedding(DIM)(q, k)
    assert q_turned.device.type == k_turned.device.type == "meta"
    assert (q_turned.shape, k_turned.shape) == (q.shape, k.shape)


def test_moving_to_meta_and_back_restores_the_angles():
    rope = RotaryEmbedding(DIM).to("meta").to_empty(device="cpu")
    assert torch.equal(rope.inv_freq, RotaryEmbedding(DIM).inv_freq)
    learnable = RotaryEmbedding(DIM, learnable=True).to("meta")
    assert learnable.inv_freq.is_meta
    assert torch.equal(learnable.to_empty(device="cpu").inv_freq, rope.inv_freq)


def test_state_dict_is_empty_unless_learnable():
    assert RotaryEmbedding(DIM).state_dict() == {}
    learnable = RotaryEmbedding(DIM, learnable=True)
    assert list(learnable.state_dict()) == ["inv_freq"]
    assert [name for name, _ in learnable.named_parameters()] == ["inv_freq"]
    other = RotaryEmbedding(DIM, base=77.0, learnable=True)
    other.load_state_dict(learnable.state_dict())
    assert torch.equal(other.inv_freq, learnable.inv_freq)


def test_autocast_leaves_the_angles_alone():
    q, k = tensors()
    positions = torch.arange(FAR, FAR + SEQ)
    for angles in ("float64", "float32"):
        rope = RotaryEmbedding(DIM, angles=angles)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = rope(q, k, positions)
        for got, expected in zip(inside, rope(q, k, positions), strict=True):
            assert torch.equal(got, expected)


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("learnable", [False, True])
def test_gradients_and_their_gradients(layout, learnable):
    rope = RotaryEmbedding(6, rotary_dim=4, layout=layout, learnable=learnable)
    q, k = (x[:, :2, :3].requires_grad_() for x in tensors(dim=6, dtype=torch.float64))
    positions = torch.tensor([3, 1, 4])
    inputs: tuple[torch.Tensor, ...] = (q, k)

    def rotate(q, k, *inv_freq):
        if not inv_freq:
            return rope(q, k, positions)
        return torch.func.functional_call(rope, {"inv_freq": inv_freq[0]}, (q, k, positions))

    if learnable:
        inputs += (rope.inv_freq.detach().clone().requires_grad_(),)
    assert torch.autograd.gradcheck(rotate, inputs)
    assert torch.autograd.gradgradcheck(rotate, inputs)


def test_gradients_reach_floating_positions():
    rope = RotaryEmbedding(4)
    q, k = (x[:, :, :3, :4] for x in tensors(dtype=torch.float64))
    positions = torch.tensor([0.5, 2.0, 7.25], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: rope(q, k, p), (positions,))


def test_the_backward_pass_turns_the_gradient_back():
    q, k = (x.requires_grad_() for x in tensors())
    rope = RotaryEmbedding(DIM)
    q_turned, k_turned = rope(q, k)
    upstream = torch.randn_like(q_turned)
    (gradient,) = torch.autograd.grad((q_turned * upstream).sum(), q)
    torch.testing.assert_close(gradient.norm(), upstream.norm())
    torch.testing.assert_close(rope(gradient, k_turned)[0], upstream, rtol=0, atol=1e-5)


def test_frequencies_learn():
    """A module of another base learns to agree with scores that base 100 made."""
    q, k = tensors(seq=3, dim=4)
    target_q, target_k = RotaryEmbedding(4, base=100.0)(q, k)
    rope = RotaryEmbedding(4, base=400.0, learnable=True).bfloat16()
    optimiser = torch.optim.Adam(rope.parameters(), lr=1e-2)
    for _ in range(150):
        optimiser.zero_grad()
        q_turned, k_turned = rope(q, k)
        loss = (q_turned - target_q).square().mean() + (k_turned - target_k).square().mean()
        loss.backward()
        optimiser.step()
    assert rope.inv_freq[1].item() == pytest.approx(0.1, abs=2e-3)


# --- compile and export ---------------------------------------------------------------------------


@pytest.fixture
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize(
    ("backend", "layout", "angles", "learnable"),
    [
        ("eager", "interleaved", "float64", False),
        ("aot_eager", "half", "float64", True),
        ("aot_eager", "interleaved", "float32", False),
        ("eager", "half", "float32", True),
    ],
)
def test_compiles_in_one_graph(backend, layout, angles, learnable):
    rope = RotaryEmbedding(DIM, layout=layout, angles=angles, learnable=learnable, rotary_dim=12)
    compiled = torch.compile(rope, fullgraph=True, backend=backend)
    batched = torch.arange(BATCH * SEQ).reshape(BATCH, SEQ) + FAR
    for positions, dtype, bound in (
        (None, torch.float32, 1e-6),
        (batched, torch.float32, 1e-6),
        (torch.arange(40, 40 + SEQ), torch.bfloat16, 0.04),
    ):
        q, k = tensors(dtype=dtype)
        expected = rope(q, k, positions)
        for got, wanted in zip(compiled(q, k, positions), expected, strict=True):
            torch.testing.assert_close(got, wanted, rtol=0, atol=bound)


@pytest.mark.usefixtures("fresh_compiler")
def test_compiled_once_for_every_length_and_position():
    graphs = 0

    def count(graph, example_inputs):
        nonlocal graphs
        graphs += 1
        return graph.forward

    found = scaling.Frequencies(inverse_frequencies(DIM), attention_factor=1.3)
    rope = RotaryEmbedding(DIM, scaling=found)
    compiled = torch.compile(rope, fullgraph=True, backend=count, dynamic=True)
    for seq in (5, 9, 33, 70):
        q, k = tensors(seq)
        for start in (0, 10**6):
            positions = torch.arange(start, start + seq)
            torch.testing.assert_close(
                compiled(q, k, positions)[0], rope(q, k, positions)[0], rtol=0, atol=1e-6
            )
    assert graphs == 1


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("learnable", [False, True])
def test_gradients_when_compiled(learnable):
    q, k = (x.requires_grad_() for x in tensors())
    rope = RotaryEmbedding(DIM, learnable=learnable)
    compiled = torch.compile(rope, fullgraph=True, backend="aot_eager")
    inputs = (q, k, rope.inv_freq) if learnable else (q, k)
    gradients = []
    for module in (rope, compiled):
        q_turned, k_turned = module(q, k)
        loss = q_turned.sin().sum() + k_turned.cos().sum()
        gradients.append(torch.autograd.grad(loss, inputs))
    for got, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize(
    ("strict", "given", "learnable"),
    [(False, True, False), (False, False, True), (True, True, True), (True, False, False)],
)
def test_exports_for_any_length(strict, given, learnable):
    rope = RotaryEmbedding(DIM, layout="half", learnable=learnable)
    batch, seq = torch.export.Dim("batch", max=64), torch.export.Dim("seq", max=4096)
    inputs = tensors() + ((torch.arange(SEQ).repeat(BATCH, 1),) if given else ())
    program = torch.export.export(
        rope,
        inputs,
        dynamic_shapes=(
            {0: batch, 2: seq},
            {0: batch, 2: seq},
            {0: batch, 1: seq} if given else None,
        )[: 2 + given],
        strict=strict,
    )
    assert list(program.state_dict) == (["inv_freq"] if learnable else [])
    q, k = tensors(seq=50, seed=3)
    positions = torch.stack([torch.arange(50), torch.arange(900, 950)]) if given else None
    exported = program.module()(q, k, *([positions] if given else []))
    for got, expected in zip(exported, rope(q, k, positions), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("fresh_compiler")
def test_a_module_on_another_device_than_its_tensors_compiles():
    rope, moved = RotaryEmbedding(DIM), RotaryEmbedding(DIM)
    moved.inv_freq = moved.inv_freq.to("meta")
    q, k = tensors()
    compiled = torch.compile(moved, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(q, k)[0], rope(q, k)[0], rtol=0, atol=1e-6)


@pytest.mark.usefixtures("fresh_compiler")
def test_layers_of_different_factors_compile_beside_each_other():
    layers = [
        RotaryEmbedding(DIM, scaling=scaling.Frequencies(inverse_frequencies(DIM), factor))
        for factor in (1.0, 1.2, 1.4, 1.6)
    ]
    q, k = tensors()
    for layer in layers:
        compiled = torch.compile(layer, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(q, k)[0], layer(q, k)[0], rtol=0, atol=1e-6)


def test_vmap_over_positions():
    q, k = tensors()
    rope = RotaryEmbedding(DIM)
    starts = torch.tensor([0, 5, 10**6])
    turned = torch.vmap(lambda start: rope(q, k, start + torch.arange(SEQ))[0])(starts)
    for start, got in zip(starts, turned, strict=True):
        expected = rope(q, k, start + torch.arange(SEQ))[0]
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)


# --- the float32 angles of transformers -----------------------------------------------------------


def llama_config(parameters: dict, head_dim: int = 128, theta: float = 500_000.0) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=4 * head_dim,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=parameters.get("original_max_position_embeddings", 4096),
        rope_parameters=dict(parameters, rope_theta=theta),
        intermediate_size=32,
        num_hidden_layers=2,
        vocab_size=50,
    )


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("theta", [10_000.0, 500_000.0, 1_000_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_float32_angles_are_those_of_transformers_bit_for_bit(name, theta, dtype):
    theirs = LlamaRotaryEmbedding(llama_config(SCALINGS[name], theta=theta))
    ours = RotaryEmbedding(
        128, scaling=SCALINGS[name] | {"rope_theta": theta}, layout="half", angles="float32"
    )
    assert torch.equal(ours.inv_freq, theirs.inv_freq)
    assert ours.attention_factor == pytest.approx(theirs.attention_scaling, rel=1e-15)
    # Within the trained length of each, past which two of theirs change their frequencies.
    length = SCALINGS[name].get("original_max_position_embeddings", 131_072)
    positions = torch.cat([torch.arange(0, 200), torch.arange(length - 100, length)])
    cos, sin = theirs(torch.empty(0, dtype=dtype), positions[None])
    our_cos, our_sin = ours.tables(positions, dtype)
    assert torch.equal(torch.cat([our_cos, our_cos], -1), cos[0])
    assert torch.equal(torch.cat([our_sin, our_sin], -1), sin[0])


@pytest.mark.parametrize("head_dim", [64, 80, 96, 128, 256])
def test_float32_rotation_equals_transformers(head_dim):
    q, k = tensors(seq=40, dim=head_dim)
    positions = torch.arange(8000, 8040)
    theirs = LlamaRotaryEmbedding(llama_config(SCALINGS["default"], head_dim))
    cos, sin = theirs(q, positions[None])
    rope = RotaryEmbedding(head_dim, base=500_000.0, layout="half", angles="float32")
    for got, expected in zip(
        rope(q, k, positions), apply_rotary_pos_emb(q, k, cos, sin), strict=True
    ):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)


def test_float32_angles_drift_and_float64_angles_do_not():
    """What the mode costs: G8's angle errors, of up to 4e-3 rad at 131 071."""
    positions = torch.tensor([131_071])
    exact = RotaryEmbedding(128).tables(positions, torch.float64)[0]
    theirs = RotaryEmbedding(128, angles="float32").tables(positions)[0]
    assert 1e-3 < (theirs - exact).abs().max() < 5e-3
    assert (RotaryEmbedding(128).tables(positions)[0] - exact).abs().max() < 6e-8


@pytest.mark.parametrize("name", ["ntk"])
def test_float32_ntk_is_the_float32_ladder_of_the_grown_base(name):
    rope = RotaryEmbedding(128, scaling={"rope_type": name, "factor": 4.0}, angles="float32")
    theirs = LlamaRotaryEmbedding(
        llama_config(SCALINGS["default"], theta=10_000.0 * 4.0 ** (128 / 126))
    )
    assert torch.equal(rope.inv_freq, theirs.inv_freq)


def test_float32_of_given_frequencies_rounds_them_once():
    found = scaling.from_parameters(128, 10_000.0, SCALINGS["linear"])
    rope = RotaryEmbedding(128, scaling=found, angles="float32")
    assert torch.equal(rope.inv_freq, torch.tensor(found.inv_freq, dtype=torch.float32))


class InLlama(nn.Module):
    """RotaryEmbedding in the place of a LlamaModel's own."""

    def __init__(self, rope: RotaryEmbedding) -> None:
        super().__init__()
        self.rope = rope

    def forward(self, x, position_ids):
        cos, sin = self.rope.tables(position_ids, x.dtype)
        return torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)


@pytest.mark.parametrize("angles", ["float64", "float32"])
@pytest.mark.parametrize("name", ["default", "llama3", "yarn"])
def test_a_llama_with_our_rotary_gives_the_same_states(name, angles):
    torch.manual_seed(0)
    model = LlamaModel(llama_config(SCALINGS[name], head_dim=64)).eval()
    ids = torch.arange(2 * 20).reshape(2, 20) % 50
    with torch.no_grad():
        theirs = model(ids).last_hidden_state
        model.rotary_emb = InLlama(
            RotaryEmbedding(
                64, base=500_000.0, scaling=SCALINGS[name], layout="half", angles=angles
            )
        )
        ours = model(ids).last_hidden_state
    if angles == "float32":
        assert torch.equal(ours, theirs)
    else:
        torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)


# --- mixed frequencies ----------------------------------------------------------------------------


def test_mixed_rotary_turns_by_the_sum_over_the_axes():
    torch.manual_seed(3)
    rope = MixedRotaryEmbedding(8, num_heads=2)
    q, k = tensors(seq=15, dim=8, dtype=torch.float64)
    cells = grid_positions(3, 5)
    q_turned, k_turned = rope(q, k, cells)
    frequencies = rope.inv_freq.detach().double()
    for head in range(HEADS):
        theta = frequencies[head // (HEADS // KEY_HEADS)]
        for cell, (row, col) in enumerate(cells.tolist()):
            z = torch.view_as_complex(q[:, head, cell].reshape(BATCH, 4, 2).contiguous())
            turn = torch.exp(1j * (row * theta[0] + col * theta[1]))
            expected = torch.view_as_real(z * turn).reshape(BATCH, 8)
            torch.testing.assert_close(q_turned[:, head, cell], expected, rtol=0, atol=1e-12)
    scores = q_turned @ k_turned.repeat_interleave(2, 1).mT
    shifted = rope(q, k, cells + np.array([7, -3]))
    moved = shifted[0] @ shifted[1].repeat_interleave(2, 1).mT
    torch.testing.assert_close(scores, moved, rtol=0, atol=1e-12)


def test_mixed_rotary_takes_positions_for_each_row_of_a_batch():
    rope = MixedRotaryEmbedding(DIM, num_heads=KEY_HEADS, layout="half")
    q, k = tensors(seq=6)
    cells = torch.stack(
        [torch.from_numpy(grid_positions(2, 3)), torch.from_numpy(grid_positions(3, 2))]
    )
    together = rope(q, k, cells)
    for row in range(BATCH):
        alone = rope(q[row, None], k[row, None], cells[row])
        for got, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(got[row, None], expected, rtol=0, atol=1e-6)


def test_mixed_rotary_survives_casts_compiles_and_learns():
    torch.manual_seed(0)
    rope = MixedRotaryEmbedding(DIM, num_heads=KEY_HEADS)
    before = rope.inv_freq.detach().clone()
    assert list(rope.state_dict()) == ["inv_freq"]
    assert before.shape == (KEY_HEADS, 2, DIM // 2)
    rope = copy.deepcopy(rope).bfloat16()
    assert torch.equal(rope.inv_freq.detach(), before)
    q, k = tensors(seq=6)
    cells = torch.from_numpy(grid_positions(2, 3))
    compiled = torch.compile(rope, fullgraph=True, backend="aot_eager")
    q_turned, k_turned = compiled(q, k, cells)
    torch.testing.assert_close(q_turned, rope(q, k, cells)[0], rtol=0, atol=1e-6)
    (q_turned.square()[..., 0].sum() + k_turned[..., 1].sum()).backward()
    assert (rope.inv_freq.grad.abs().amax((1, 2)) > 0).all()
    torch.compiler.reset()


def test_mixed_rotary_on_meta_gets_its_values_back():
    with torch.device("meta"):
        rope = MixedRotaryEmbedding(DIM, num_heads=3)
    assert rope.inv_freq.is_meta
    rope.to_empty(device="cpu")
    lengths = torch.linalg.vector_norm(rope.inv_freq.detach(), dim=1)
    expected = torch.tensor(10.0 ** (-np.arange(0, DIM, 4) / DIM), dtype=torch.float32)
    torch.testing.assert_close(lengths, expected.repeat(3, 2))


# --- what is refused ------------------------------------------------------------------------------

LLAMA3 = SCALINGS["llama3"]
ANOTHER = scaling.Frequencies(inverse_frequencies(64))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"head_dim": 63}, ValueError, "head_dim must be even, got 63"),
        ({"head_dim": 0}, ValueError, "head_dim must be at least 2, got 0"),
        ({"head_dim": 64.0}, TypeError, "head_dim must be an integer, got 64.0"),
        ({"head_dim": True}, TypeError, "head_dim must be an integer"),
        ({"rotary_dim": 66}, ValueError, "rotary_dim must be from 2 to head_dim 64, got 66"),
        ({"rotary_dim": 31}, ValueError, "rotary_dim must be even, got 31"),
        ({"rotary_dim": 0}, ValueError, "rotary_dim must be at least 2, got 0"),
        ({"base": 0.5}, ValueError, "base must be at least 1, got 0.5"),
        ({"base": float("nan")}, ValueError, "base"),
        ({"base": "10000"}, (TypeError, ValueError), "base"),
        ({"layout": "neox"}, ValueError, 'layout must be "interleaved" or "half", got \'neox\''),
        ({"angles": "bfloat16"}, ValueError, 'angles must be "float64" or "float32"'),
        ({"learnable": 1}, TypeError, "learnable must be True or False, got 1"),
        ({"scaling": "yarn"}, TypeError, "scaling must be a rope_parameters dict.*got str"),
        ({"scaling": {"rope_type": "ntk_yarn"}}, ValueError, "rope_type must be one of"),
        ({"scaling": {"rope_type": "linear"}}, ValueError, "factor is required"),
        ({"scaling": ANOTHER, "base": 1e4}, ValueError, "base and rotary_dim must be None.*10000"),
        ({"scaling": ANOTHER, "rotary_dim": 64}, ValueError, "must be None beside it.*64"),
        (
            {"scaling": LLAMA3 | {"rope_theta": 5e5}, "base": 1e4},
            ValueError,
            "base must agree with the rope_theta of scaling, got 10000.0 and 500000.0",
        ),
        (
            {"scaling": {"partial_rotary_factor": 0.5}, "rotary_dim": 16},
            ValueError,
            "rotary_dim must agree.*got 16 and 32",
        ),
        ({"scaling": {"partial_rotary_factor": 1.5}}, ValueError, "partial_rotary_factor must be"),
        (
            {"scaling": {"full_attention": LLAMA3, "sliding_attention": {}}},
            ValueError,
            "one layer type, got one for each of .'full_attention', 'sliding_attention'.",
        ),
        (
            {"scaling": scaling.Frequencies(inverse_frequencies(66))},
            ValueError,
            "rotary_dim must be from 2 to head_dim 64, got 66",
        ),
        (
            {"scaling": scaling.Frequencies(np.array([1.0, math.nan]))},
            ValueError,
            "inv_freq must be finite floats",
        ),
        ({"scaling": scaling.Frequencies(np.ones((2, 2)))}, ValueError, "shape .2, 2."),
        ({"scaling": scaling.Frequencies(np.ones(2, dtype=int))}, ValueError, "int"),
        ({"scaling": scaling.Frequencies(np.ones(2), -1.0)}, ValueError, "attention_factor"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        RotaryEmbedding(**{"head_dim": 64, **arguments})


def test_what_agrees_is_accepted():
    same = RotaryEmbedding(
        64, base=5e5, rotary_dim=32, scaling={"rope_theta": 500_000, "partial_rotary_factor": 0.5}
    )
    assert torch.equal(same.inv_freq, RotaryEmbedding(64, base=5e5, rotary_dim=32).inv_freq)
    assert RotaryEmbedding(64, scaling={"rope_theta": None}).inv_freq.shape == (32,)


ONES = torch.ones(2, 4, 5, 16)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"q": ONES[0]},
            ValueError,
            r"q must have shape \(batch, heads, seq, 16\), got \(4, 5, 16\)",
        ),
        ({"k": ONES[..., :8]}, ValueError, r"k must have shape .* got \(2, 4, 5, 8\)"),
        ({"k": ONES[:1]}, ValueError, "q and k must have one batch and one seq"),
        ({"k": ONES[:, :, :4]}, ValueError, "rotate a key once, when it is new"),
        ({"q": ONES.numpy()}, TypeError, "q must be a torch tensor, got ndarray"),
        ({"q": ONES.long()}, TypeError, "must be floating, got dtype torch.int64"),
        (
            {"positions": torch.arange(4)},
            ValueError,
            r"must have shape \(5,\) or \(2, 5\), got \(4,\)",
        ),
        ({"positions": torch.tensor(3)}, ValueError, r"got \(\)"),
        ({"positions": torch.zeros(3, 5)}, ValueError, r"got \(3, 5\)"),
        ({"positions": torch.zeros(2, 1, 5)}, ValueError, r"got \(2, 1, 5\)"),
        ({"positions": torch.zeros(5, dtype=torch.bool)}, TypeError, "bool"),
        ({"positions": torch.zeros(5, dtype=torch.bfloat16)}, TypeError, "at least float32"),
        ({"positions": torch.full((5,), math.nan)}, ValueError, "finite"),
        ({"positions": [0, 1, 2, 3, math.inf]}, ValueError, "finite"),
        ({"positions": "01234"}, TypeError, "positions must hold numbers"),
        ({"positions": [[0], [1, 2]]}, ValueError, "rectangular"),
    ],
)
@pytest.mark.parametrize("angles", ["float64", "float32"])
def test_bad_inputs_are_refused(arguments, error, message, angles):
    rope = RotaryEmbedding(16, angles=angles)
    with pytest.raises(error, match=message):
        rope(**{"q": ONES, "k": ONES, "positions": None, **arguments})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"head_dim": 18}, ValueError, "dim must divide by 4"),
        ({"num_heads": 0}, ValueError, "num_heads must be at least 1, got 0"),
        ({"base": 0.0}, ValueError, "base must be at least 1, got 0.0"),
        ({"layout": "x"}, ValueError, "layout must be"),
    ],
)
def test_bad_arguments_of_mixed_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        MixedRotaryEmbedding(**{"head_dim": 16, "num_heads": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"q": ONES[:, :3]},
            ValueError,
            "k must have 2 heads and q a multiple of them, got 2 and 3",
        ),
        ({"k": ONES}, ValueError, "got 4 and 4"),
        ({"positions": torch.zeros(5)}, ValueError, r"must have shape \(5, 2\) or \(2, 5, 2\)"),
        ({"positions": torch.zeros(5, 3)}, ValueError, r"got \(5, 3\)"),
        ({"positions": torch.zeros(3, 5, 2)}, ValueError, r"got \(3, 5, 2\)"),
    ],
)
def test_bad_inputs_of_mixed_are_refused(arguments, error, message):
    rope = MixedRotaryEmbedding(16, num_heads=2)
    inputs = {"q": ONES, "k": ONES[:, :2], "positions": torch.zeros(5, 2), **arguments}
    with pytest.raises(error, match=message):
        rope(**inputs)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1000, 1000),  # a head of 2**40 channels would be made, if memory had room
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.lists(st.one_of(st.floats(), st.integers(), st.text(max_size=1)), max_size=3),
    st.dictionaries(
        st.sampled_from(["rope_type", "type", "factor", "rope_theta", "partial_rotary_factor"]),
        st.one_of(st.none(), st.floats(), st.integers(), st.sampled_from(["yarn", "linear", "x"])),
        max_size=4,
    ),
)


@given(
    st.one_of(JUNK, st.integers(1, 40)),
    st.dictionaries(
        st.sampled_from(["base", "rotary_dim", "layout", "scaling", "angles", "learnable"]), JUNK
    ),
)
def test_any_arguments_give_finite_tables_or_a_clear_error(head_dim, arguments):
    try:
        rope = RotaryEmbedding(head_dim, **arguments)
    except (ValueError, TypeError):
        return
    assert all(torch.isfinite(table).all() for table in rope.tables([0, 1, 10**9]))


@given(st.one_of(JUNK, st.lists(JUNK, max_size=5)))
def test_any_positions_give_finite_results_or_a_clear_error(positions):
    for rope in (RotaryEmbedding(16), RotaryEmbedding(16, angles="float32")):
        try:
            turned, _ = rope(ONES, ONES, positions)
        except (ValueError, TypeError):
            continue
        assert torch.isfinite(turned).all()


def test_importing_the_package_does_not_need_torch():
    code = "import sys, rope_lib; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert set(rope_lib.__all__) <= set(dir(rope_lib))
