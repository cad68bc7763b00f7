"""Ours beside the libraries that people use: where they agree, and where ours does better.

The second half holds a test for each defect of theirs that shows in the pinned version. Each
asserts the defect too, so that a release without it is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import peers
import pytest
import torch
from rotary_embedding_torch import RotaryEmbedding as LucidrainsRotary
from rotary_embedding_torch import apply_rotary_emb as lucidrains_rotated
from transformers.models.cohere import modeling_cohere
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama

from rope_lib import (
    RopeConfig,
    apply_rope,
    axes_cos_sin,
    axial_frequencies,
    convert_qk_weight,
    cos_sin,
    grid_positions,
    inverse_frequencies,
    scaling,
    xpos_cos_sin,
)
from rope_lib.nn import RotaryEmbedding

DIM, SEQ = 32, 40
LLAMA3, YARN, LONGROPE = peers.long_parameters(64, DIM // 2)
LINEAR = {"rope_type": "linear", "factor": 4.0}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0}


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def ours(x: torch.Tensor, positions: torch.Tensor, inv_freq=None, **options) -> torch.Tensor:
    inv_freq = inverse_frequencies(x.shape[-1]) if inv_freq is None else inv_freq
    return apply_rope(x, *cos_sin(positions, inv_freq), **options)


def relative(got: torch.Tensor, expected: torch.Tensor) -> float:
    return float((got - expected).norm() / expected.norm())


def close(got: torch.Tensor, expected: torch.Tensor, atol: float) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=atol)


# --- a LlamaModel, its rotary replaced ------------------------------------------------------------


@pytest.fixture
def rotate_with(monkeypatch: pytest.MonkeyPatch):
    """Put a function of (x, cos, sin), with a heads axis in the tables, for Llama's own."""

    def patch(rotate) -> None:
        monkeypatch.setattr(
            modeling_llama,
            "apply_rotary_pos_emb",
            lambda q, k, cos, sin: tuple(rotate(x, cos[:, None], sin[:, None]) for x in (q, k)),
        )

    return patch


IDS = torch.randint(peers.VOCABULARY, (2, SEQ), generator=torch.Generator().manual_seed(1))


def logits(model, ids=IDS, **options) -> torch.Tensor:
    with torch.no_grad():
        return model(ids, **options).logits


def in_half(x, cos, sin):
    return apply_rope(x, cos, sin, layout="half")


@pytest.mark.parametrize(
    "parameters",
    [{}, LLAMA3, YARN, LINEAR, DYNAMIC, LONGROPE],
    ids=["default", "llama3", "yarn", "linear", "dynamic", "longrope"],
)
def test_a_llama_gives_the_same_logits(rotate_with, parameters):
    """From config.json to logits: config, frequencies, tables and rotation are all ours."""
    max_positions = 64 if parameters is DYNAMIC else 512
    model = peers.llama(peers.llama_config(DIM, max_positions, **parameters))
    ragged = torch.stack([torch.arange(SEQ), torch.arange(SEQ) + 7])
    expected = [logits(model), logits(model, position_ids=ragged)]
    model.model.rotary_emb = peers.OurTables(model.config)
    rotate_with(in_half)
    close(logits(model), expected[0], 1e-6)
    close(logits(model, position_ids=ragged), expected[1], 1e-6)
    rotate_with(apply_rope)  # these weights are in the half layout
    assert (logits(model) - expected[0]).abs().max() > 5e-3


def test_a_llama_decodes_with_its_own_cache(rotate_with):
    model = peers.llama(peers.llama_config(DIM, **LLAMA3))
    expected = logits(model)
    model.model.rotary_emb = peers.OurTables(model.config)
    rotate_with(in_half)
    close(decoded(model, IDS, prompt=36), expected[:, -1], 1e-6)


def decoded(model, ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """The last logits, after a prompt and then one token at a time."""
    with torch.no_grad():
        out = model(ids[:, :prompt], use_cache=True)
        for m in range(prompt, ids.shape[1]):
            out = model(ids[:, m : m + 1], cache=out.cache, use_cache=True)
    return out.logits[:, -1]


def by_meta(x, cos, sin):
    return peers.meta_rotated(x, torch.complex(cos, sin))


@pytest.mark.parametrize("formula", ["Meta's", "ours"])
def test_a_llama_in_the_interleaved_layout_gives_the_same_logits(rotate_with, formula):
    """Its q and k rows permuted, each by its own number of heads; its scores the same (G1, G2)."""
    model = peers.llama(peers.llama_config(DIM))
    expected = logits(model)
    model.model.rotary_emb = peers.OurTables(model.config)
    rotate_with(by_meta if formula == "Meta's" else apply_rope)
    assert (logits(model) - expected).abs().max() > 5e-3
    for layer in model.model.layers:
        attention = layer.self_attn
        projections = ((attention.q_proj, peers.HEADS), (attention.k_proj, peers.KEY_HEADS))
        for projection, heads in projections:
            projection.weight.data = convert_qk_weight(
                projection.weight.data, heads, source="half", target="interleaved"
            )
    close(logits(model), expected, 1e-6)


# --- rotations, element by element ----------------------------------------------------------------


def test_the_half_layout_of_llama_and_of_gpt_neox():
    q, k = random(2, 4, SEQ, DIM), random(2, 2, SEQ, DIM, seed=1)
    for module, rotary_dim in ((modeling_llama, DIM), (modeling_gpt_neox, 8)):
        cos, sin = cos_sin(torch.arange(SEQ), inverse_frequencies(rotary_dim))
        wide = (torch.cat([table, table], -1)[None] for table in (cos, sin))
        for x, theirs in zip((q, k), module.apply_rotary_pos_emb(q, k, *wide), strict=True):
            close(apply_rope(x, cos, sin, layout="half"), theirs, 1e-6)


def test_the_interleaved_layout_of_gpt_j():
    """Its table is [sin | cos] by position, and its heads axis comes after the sequence."""
    x, positions = random(2, SEQ, 3, DIM), torch.arange(5, 5 + SEQ)
    sin, cos = modeling_gptj.create_sinusoidal_positions(64, DIM)[positions][None].chunk(2, -1)
    theirs = modeling_gptj.apply_rotary_pos_emb(x, sin, cos).transpose(1, 2)
    close(ours(x.transpose(1, 2), positions), theirs, 2e-5)


def test_the_interleaved_layout_of_cohere():
    config = modeling_cohere.CohereConfig(
        hidden_size=4 * DIM, num_attention_heads=4, rope_parameters={"rope_theta": 10_000.0}
    )
    q, k, positions = random(2, 4, SEQ, DIM), random(2, 2, SEQ, DIM, seed=1), torch.arange(SEQ)
    cos, sin = modeling_cohere.CohereRotaryEmbedding(config)(q, positions[None])
    rope = RotaryEmbedding(DIM)
    for got, theirs in zip(
        rope(q, k), modeling_cohere.apply_rotary_pos_emb(q, k, cos, sin), strict=True
    ):
        close(got, theirs, 1e-5)


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_complex_formula_of_meta(base, dtype):
    q, k = random(2, 4, SEQ, 128).to(dtype), random(2, 2, SEQ, 128, seed=1).to(dtype)
    turns = peers.meta_turns(128, SEQ, base)
    rope = RotaryEmbedding(128, base=base)
    # Where the float32 angles of theirs fall on the other side of a rounding to bfloat16.
    atol = 2e-5 if dtype == torch.float32 else 2**-6
    for got, x in zip(rope(q, k), (q, k), strict=True):
        close(got, peers.meta_rotated(x, turns), atol)


LADDERS = [
    ({}, {}, inverse_frequencies(DIM)),
    ({"theta": 5e5}, {"base": 5e5}, inverse_frequencies(DIM, 5e5)),
    (
        {"interpolate_factor": 4.0},
        {"interpolation_factor": 4.0},
        scaling.linear(DIM, 1e4, factor=4.0).inv_freq,
    ),
    (
        {"theta_rescale_factor": 4.0},
        {"base_rescale_factor": 4.0},
        scaling.ntk(DIM, 1e4, factor=4.0).inv_freq,
    ),
]
LADDER_NAMES = ["default", "base", "linear", "NTK-aware"]


@pytest.mark.parametrize("extra", [0, 16], ids=["whole", "partial"])
@pytest.mark.parametrize(("options", "_", "inv_freq"), LADDERS, ids=LADDER_NAMES)
def test_rotary_embedding_torch(options, _, inv_freq, extra):
    peer = LucidrainsRotary(DIM, **options)
    x, positions = random(2, 4, SEQ, DIM + extra), torch.arange(SEQ)
    close(ours(x, positions, inv_freq), peer.rotate_queries_or_keys(x), 2e-5)
    moved = peer.rotate_queries_or_keys(x, offset=100)
    close(ours(x, positions + 100, inv_freq), moved, 5e-5)
    q, k = peer.rotate_queries_with_cached_keys(x[:, :, -3:], x)
    close(ours(x[:, :, -3:], positions[-3:], inv_freq), q, 2e-5)
    close(ours(x, positions, inv_freq), k, 2e-5)


def test_axial_pairs_of_rotary_embedding_torch():
    """Rows before columns, on a grid that is not square."""
    peer = LucidrainsRotary(DIM // 2)
    x, ladder = random(2, 3, 3, 5, DIM), inverse_frequencies(DIM // 2)
    theirs = lucidrains_rotated(peer.get_axial_freqs(3, 5), x)
    tables = axes_cos_sin(torch.tensor(grid_positions(3, 5)), axial_frequencies(ladder, ladder))
    close(apply_rope(x.flatten(2, 3), *tables), theirs.flatten(2, 3), 2e-6)


@pytest.mark.parametrize("extra", [0, 16], ids=["whole", "partial"])
@pytest.mark.parametrize(("_", "options", "inv_freq"), LADDERS, ids=LADDER_NAMES)
def test_x_transformers(_, options, inv_freq, extra):
    x, positions = random(2, 4, SEQ, DIM + extra), torch.arange(50, 50 + SEQ)
    freqs, _ = peers.XRotary(DIM, **options)(positions)
    close(ours(x, positions, inv_freq), peers.x_rotated(x, freqs), 5e-5)
    # Fewer queries than positions are the last ones.
    last = peers.x_rotated(x[:, :, -3:], freqs)
    close(ours(x[:, :, -3:], positions[-3:], inv_freq), last, 5e-5)


LAYOUTS = {0: "half", 1: "interleaved"}


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rotary_dim", [0, 8], ids=["whole", "partial"])
def test_the_reference_semantics_of_onnx(interleaved, rotary_dim):
    """A rotary_embedding_dim of 0 is the whole head; position_ids index the rows of the tables."""
    x, ids = random(2, 4, SEQ, DIM).numpy(), np.random.default_rng(0).integers(90, size=(2, SEQ))
    inv_freq = inverse_frequencies(rotary_dim or DIM)
    cos, sin = cos_sin(np.arange(90), inv_freq)
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": rotary_dim}
    theirs = peers.onnx_rotated(x, cos, sin, ids, **attributes)
    tables = cos_sin(ids[:, None], inv_freq)
    got = apply_rope(x, *tables, layout=LAYOUTS[interleaved])
    np.testing.assert_allclose(got, theirs, rtol=0, atol=1e-6)
    # The form of rank 3: (batch, seq, heads * head_dim).
    flat = x.transpose(0, 2, 1, 3).reshape(2, SEQ, -1)
    theirs = peers.onnx_rotated(flat, cos, sin, ids, num_heads=4, **attributes)
    got = got.transpose(0, 2, 1, 3).reshape(2, SEQ, -1)
    np.testing.assert_allclose(got, theirs, rtol=0, atol=1e-6)


# --- what theirs get wrong, and what ours does: precision -----------------------------------------


@pytest.mark.parametrize("peer", peers.TURNS)
def test_a_cast_to_bfloat16_rounds_their_frequencies_and_not_ours(peer):
    """At position 4095 of 128 channels the cosine is off by up to 1.68 (G7); ours by nothing."""
    exact = torch.tensor(np.exp(1j * 4095 * inverse_frequencies(128)))[None]
    theirs = peers.TURNS[peer](1e4, torch.tensor([4095]), torch.bfloat16)
    assert (theirs - exact).real.abs().max() > 1.5
    got = peers.our_turns(1e4, torch.tensor([4095]), torch.bfloat16)
    assert (got - exact).abs().max() < 1e-7


@pytest.mark.parametrize(("base", "error"), [(1e4, 0.031), (5e5, 0.039), (1e6, 0.068)])
@pytest.mark.parametrize("peer", peers.TURNS)
def test_at_a_million_tokens_their_angles_have_drifted_and_ours_have_not(peer, base, error):
    """The product of position and frequency in float32 (G8)."""
    position = 1_048_575
    exact = torch.tensor(np.exp(1j * position * inverse_frequencies(128, base)))[None]
    theirs = peers.TURNS[peer](base, torch.tensor([position]), torch.float32)
    # rel: the last bits of float32 powers differ between machines.
    assert float((theirs / exact).angle().abs().max()) == pytest.approx(error, rel=0.6)
    got = peers.our_turns(base, torch.tensor([position]), torch.float32)
    assert (got / exact).angle().abs().max() < 1e-7


@pytest.mark.parametrize(
    ("dtype", "length", "distinct"), [(torch.bfloat16, 512, 385), (torch.float16, 4096, 3073)]
)
def test_positions_in_the_dtype_of_x_collide(dtype, length, distinct):
    """rotary-embedding-torch counts in x's dtype (G5, G6): two tokens share a place."""
    peer = LucidrainsRotary(DIM)
    x = torch.ones(1, 1, length, DIM, dtype=dtype)
    theirs = peer.rotate_queries_or_keys(x)
    assert peer.cached_freqs[:length, 0].unique().numel() == distinct
    exact = ours(x.double(), torch.arange(length))
    assert (theirs - exact).abs().max() > 0.5
    # Ours loses one rounding of a value below 2.
    got, _ = RotaryEmbedding(DIM)(x, x)
    assert (got - exact).abs().max() <= torch.finfo(dtype).eps / 2 + 1e-6


def test_cosines_in_bfloat16_cost_more_than_rounding_the_result():
    """Tables that transformers rounds to x's dtype: 1.6 times the error of one rounding (G10)."""
    x, positions = random(1, 8, 512, 128).bfloat16(), torch.arange(512)
    tables = cos_sin(positions, inverse_frequencies(128), dtype=torch.float64)
    exact = apply_rope(x.double(), *tables, layout="half")
    cos, sin = peers.LlamaRotary(peers.llama_config(128))(x, positions[None])
    theirs = modeling_llama.apply_rotary_pos_emb(x, x, cos, sin)[0]
    got = ours(x, positions, layout="half")
    assert relative(got, exact) == pytest.approx(1.66e-3, rel=0.05)
    assert relative(theirs, exact) / relative(got, exact) == pytest.approx(1.6, abs=0.1)


# --- what theirs get wrong: caches and buffers ----------------------------------------------------


def test_a_cache_of_angles_that_forgets_their_dtype():
    """rotary-embedding-torch: a bfloat16 call leaves rounded angles for the float32 call."""
    x, positions = random(1, 2, 512, DIM), torch.arange(512)
    peer = LucidrainsRotary(DIM)
    right = peer.rotate_queries_or_keys(x)
    spoilt = LucidrainsRotary(DIM)
    spoilt.rotate_queries_or_keys(x.bfloat16())
    assert (spoilt.rotate_queries_or_keys(x) - right).abs().max() > 1.0
    rope = RotaryEmbedding(DIM)
    rope(x.bfloat16(), x.bfloat16())
    close(rope(x, x)[0], right, 2e-4)
    assert torch.equal(rope(x, x)[0], ours(x, positions))


def test_a_cache_of_angles_that_forgets_their_positions():
    """rotary-embedding-torch keys it by length: other positions get those of the first call."""
    peer = LucidrainsRotary(DIM)
    first = peer(torch.arange(8), seq_len=8)
    assert torch.equal(peer(torch.arange(100, 108), seq_len=8), first)
    rope = RotaryEmbedding(DIM)
    before, _ = rope.tables(torch.arange(8))
    after, _ = rope.tables(torch.arange(100, 108))
    assert torch.equal(after, cos_sin(torch.arange(100, 108), inverse_frequencies(DIM))[0])
    assert (after - before).abs().max() > 0.5


def test_a_cache_of_axial_angles_that_forgets_their_offsets():
    """rotary-embedding-torch: the second patch of a picture lies where the first did."""
    peer = LucidrainsRotary(DIM // 2)
    first = peer.get_axial_freqs(3, 5)
    assert torch.equal(peer.get_axial_freqs(3, 5, offsets=(10, 20)), first)
    cells, ladder = torch.tensor(grid_positions(3, 5)), inverse_frequencies(DIM // 2)
    matrix, moved = axial_frequencies(ladder, ladder), torch.tensor([10, 20])
    axes_cos_sin(cells, matrix)
    cos, _ = axes_cos_sin(cells + moved, matrix)
    uncached = LucidrainsRotary(DIM // 2, cache_if_possible=False)
    theirs = uncached.get_axial_freqs(3, 5, offsets=(10, 20)).flatten(0, 1)[:, ::2].cos()
    close(cos, theirs.detach(), 2e-6)


@pytest.fixture
def fresh_memory_is_nan() -> Iterator[None]:
    """Makes torch fill what nobody has written, so that a test can see it."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("fresh_memory_is_nan")
def test_frequencies_that_no_checkpoint_holds_are_lost_on_the_meta_device():
    """Those of transformers, in a buffer that is not saved: to_empty leaves garbage."""
    with torch.device("meta"):
        theirs, rope = peers.LlamaRotary(peers.llama_config(DIM)), RotaryEmbedding(DIM)
    assert "inv_freq" not in theirs.state_dict()
    assert theirs.to_empty(device="cpu").inv_freq.isnan().all()
    assert torch.equal(rope.to_empty(device="cpu").inv_freq, RotaryEmbedding(DIM).inv_freq)


# --- what theirs get wrong: lengths ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "max_positions"), [(DYNAMIC, 64), (LONGROPE, 512)], ids=["dynamic", "longrope"]
)
def test_decoding_past_the_trained_length(rotate_with, parameters, max_positions):
    """At token 65 transformers changes the frequencies, and cached keys keep their old ones.

    In ours the caller fixes the length for which the frequencies are made, once.
    """
    ids = torch.cat([IDS, IDS], 1)[:1, :68]
    config = peers.llama_config(DIM, max_positions, **parameters)
    theirs = peers.llama(config)
    full = logits(theirs, ids)[:, -1]
    assert (decoded(peers.llama(config), ids, prompt=63) - full).abs().max() > 2e-4
    theirs.model.rotary_emb = peers.OurTables(config, seq_len=68)
    rotate_with(in_half)
    close(logits(theirs, ids)[:, -1], full, 1e-6)
    close(decoded(theirs, ids, prompt=63), full, 1e-6)


@pytest.mark.parametrize("length", [64, 100])
def test_a_long_prompt_does_not_touch_the_next(length):
    """Dynamic NTK in transformers keeps the longest length, down to the trained one (64)."""
    config = peers.llama_config(DIM, 64, **DYNAMIC)

    def last_frequency(*lengths: int) -> float:
        rotary = peers.LlamaRotary(config)
        for n in lengths:
            rotary(torch.empty(0), torch.arange(n)[None])
        return float(rotary.inv_freq[-1])

    assert last_frequency(1000, length) == last_frequency(1000) < 0.5 * last_frequency(length)
    found = RopeConfig.from_hf(config.to_dict())
    found.frequencies(1000)
    got = found.frequencies(length).inv_freq[-1]
    assert got == pytest.approx(last_frequency(length), rel=1e-6)


def test_xpos_with_cached_keys_in_rotary_embedding_torch():
    """It centres q and k on their own lengths: at 1024 tokens a score is off by a third."""
    q, k = random(1, 1, 1024, 64), random(1, 1, 1024, 64, seed=1)
    peer = LucidrainsRotary(64, use_xpos=True)
    q_full, k_full = peer.rotate_queries_and_keys(q, k)
    full = q_full[:, :, -1:] @ k_full.mT
    q_last, k_cached = peer.rotate_queries_with_cached_keys(q[:, :, -1:], k)
    assert relative(q_last @ k_cached.mT, full) == pytest.approx(0.33, abs=0.05)
    assert relative(cached_xpos_score(q, k, 64), full) < 1e-4


def cached_xpos_score(q: torch.Tensor, k: torch.Tensor, dim: int) -> torch.Tensor:
    """The last query alone, against keys that were rotated in two parts."""
    inv_freq, half = inverse_frequencies(dim), k.shape[2] // 2
    keys = []
    for part in (slice(0, half), slice(half, None)):
        positions = torch.arange(k.shape[2])[part]
        _, tables = xpos_cos_sin(positions, inv_freq)
        keys.append(apply_rope(k[:, :, part], *tables))
    tables, _ = xpos_cos_sin(torch.tensor([q.shape[2] - 1]), inv_freq)
    return apply_rope(q[:, :, -1:], *tables) @ torch.cat(keys, 2).mT


def test_xpos_with_cached_keys_in_x_transformers():
    """Its centre is half the present length, so keys of a shorter past have another one."""
    q, k = random(1, 1, 1024, 64), random(1, 1, 1024, 64, seed=1)
    peer = peers.XRotary(64, use_xpos=True)
    freqs, scale = peer(torch.arange(1024))
    q_last = peers.x_rotated(q, freqs, scale)[:, :, -1:]
    full = q_last @ peers.x_rotated(k, freqs, scale**-1).mT
    freqs, scale = peer(torch.arange(512))
    k_cached = peers.x_rotated(k[:, :, :512], freqs, scale**-1)
    assert relative(q_last @ k_cached.mT, full[..., :512]) == pytest.approx(0.2, abs=0.04)
    assert relative(cached_xpos_score(q, k, 64), full) < 1e-4


def test_xpos_scales_that_overflow():
    """At 140 000 tokens x-transformers returns infinite scales; ours refuses such positions."""
    _, scale = peers.XRotary(64, use_xpos=True)(torch.tensor([0, 139_999]))
    assert scale.isinf().any()
    with pytest.raises(ValueError, match="positions must stay within 35694 of centre 70000"):
        xpos_cos_sin([0, 139_999], inverse_frequencies(64), centre=70_000)


# --- what theirs get wrong: sizes and indices -----------------------------------------------------


def test_odd_dimensions():
    """Theirs drop a channel, add one or fail late; ours says so, and takes an explicit part."""
    x = random(1, 1, 4, 7)
    uncached = LucidrainsRotary(7, cache_if_possible=False)
    turned = uncached.rotate_queries_or_keys(x)
    assert torch.equal(turned[..., 6], x[..., 6])
    assert uncached.freqs.tolist() == pytest.approx([1e4 ** (-2 * j / 7) for j in range(3)])
    with pytest.raises(RuntimeError, match="must match the existing size"):
        LucidrainsRotary(7).rotate_queries_or_keys(x)
    freqs, _ = peers.XRotary(7)(torch.arange(4))
    assert freqs.shape[-1] == 8
    with pytest.raises(ValueError, match="dim must be even, got 7"):
        inverse_frequencies(7)
    with pytest.raises(ValueError, match="head_dim must be even, got 7"):
        RotaryEmbedding(7)
    got, _ = RotaryEmbedding(7, rotary_dim=6)(x, x)
    close(got[..., :6], ours(x[..., :6], torch.arange(4)), 1e-6)
    assert torch.equal(got[..., 6], x[..., 6])


def test_a_position_before_the_table():
    """ONNX's reference takes position −1 for the last row of its table; ours turns by −θ."""
    x, inv_freq = random(1, 1, 1, DIM).numpy(), inverse_frequencies(DIM)
    cos, sin = cos_sin(np.arange(90), inv_freq)
    theirs, at_the_end = (peers.onnx_rotated(x, cos, sin, np.array([[m]])) for m in (-1, 89))
    np.testing.assert_array_equal(theirs, at_the_end)
    got = apply_rope(x, *cos_sin([-1], inv_freq), layout="half")
    back = apply_rope(x, *cos_sin([1], inv_freq), layout="half", inverse=True)
    np.testing.assert_allclose(got, back, rtol=0, atol=1e-6)
    assert np.abs(got - theirs).max() > 0.1
