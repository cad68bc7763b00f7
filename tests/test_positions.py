"""One argument, positions, for offsets, padding, packing, caches and shards.

Each test compares what a trick does to the attention of a small layer with the plain case.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import apply_rope, cos_sin, inverse_frequencies, rerotate, rotation_matrix, scaling
from rope_lib.nn import RotaryEmbedding

HEADS, KEY_HEADS, DIM = 4, 2, 16
INV_FREQ = inverse_frequencies(DIM)
ROPE = RotaryEmbedding(DIM, layout="half")
EXACT = {"rtol": 0, "atol": 1e-12}


def tokens(*lead: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v in float64, shape (batch, heads, seq, DIM) for lead (batch, seq)."""
    generator = torch.Generator().manual_seed(seed)
    batch, seq = lead
    return tuple(
        torch.randn(batch, heads, seq, DIM, generator=generator, dtype=torch.float64)
        for heads in (HEADS, KEY_HEADS, KEY_HEADS)
    )


def attention(q, k, v, allowed: torch.Tensor) -> torch.Tensor:
    """Softmax attention with grouped heads, where allowed (query, key) says who sees whom."""
    k, v = (x.repeat_interleave(HEADS // KEY_HEADS, 1) for x in (k, v))
    scores = (q @ k.mT / math.sqrt(DIM)).masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


def causal(queries: int, keys: int) -> torch.Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def full_pass(q, k, v, positions=None) -> torch.Tensor:
    q, k = ROPE(q, k, positions)
    return attention(q, k, v, causal(q.shape[2], k.shape[2]))


# --- offsets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [7, -3, 1_000, 1_000_000, 0.5])
def test_a_shift_of_all_positions_changes_no_output(shift):
    """G21; large shifts cost the rounding of the angle itself, 1e-10 rad at a million."""
    q, k, v = tokens(2, 12)
    shifted = full_pass(q, k, v, torch.arange(12) + shift)
    bound = max(1e-12, abs(shift) * 1e-15)
    torch.testing.assert_close(shifted, full_pass(q, k, v), rtol=0, atol=bound)


def test_a_gap_between_positions_does_change_the_output():
    """The tests here compare outputs, so an output must notice a wrong position."""
    q, k, v = tokens(1, 12)
    gap = torch.arange(12) + (torch.arange(12) >= 6)
    assert (full_pass(q, k, v, gap) - full_pass(q, k, v)).abs().max() > 0.01


def test_rotated_rows_differ_along_seq_and_agree_along_heads():
    """Trouble 6: rotating over the heads axis."""
    x = torch.ones(1, HEADS, 5, DIM)
    turned, _ = ROPE(x, x)
    assert torch.equal(turned, turned[:, :1].expand_as(turned))
    for m, n in itertools.combinations(range(5), 2):
        assert not torch.allclose(turned[0, 0, m], turned[0, 0, n], atol=0.1)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=20), st.randoms())
def test_rows_know_nothing_of_each_other(positions, random):
    """Any order, any gaps, any repeats: a row depends on its own position alone."""
    x = np.random.default_rng(0).normal(size=(len(positions), DIM))
    order = list(range(len(positions)))
    random.shuffle(order)
    together = apply_rope(x, *cos_sin(np.array(positions), INV_FREQ))
    shuffled = apply_rope(x[order], *cos_sin(np.array(positions)[order], INV_FREQ))
    np.testing.assert_allclose(shuffled, together[order], rtol=0, atol=1e-12)


# --- left padding ---------------------------------------------------------------------------------


def test_left_padding_changes_no_real_token():
    lengths, longest = (9, 5), 9
    q, k, v = tokens(2, longest)
    real = torch.stack([torch.arange(longest) >= longest - n for n in lengths])
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    assert positions.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 0, 1, 2, 3, 4]]
    q_turned, k_turned = ROPE(q, k, positions)
    # A padded query sees itself, so that its softmax is of something.
    allowed = causal(longest, longest) & (real[:, None, None, :] | torch.eye(longest).bool())
    padded = attention(q_turned, k_turned, v, allowed)
    for row, n in enumerate(lengths):
        alone = full_pass(*(x[row, None, :, -n:] for x in (q, k, v)))
        torch.testing.assert_close(padded[row, None, :, -n:], alone, **EXACT)


def test_a_padded_batch_decodes_each_row_at_its_own_position():
    lengths = torch.tensor([9, 5])
    q, k, v = tokens(2, 10)  # nine slots of prompt, one new token
    real = torch.arange(10) >= 9 - lengths[:, None]
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    _, cached = ROPE(q[:, :, :9], k[:, :, :9], positions[:, :9])
    q_new, k_new = ROPE(q[:, :, 9:], k[:, :, 9:], lengths[:, None])
    assert positions[:, 9].tolist() == lengths.tolist()
    decoded = attention(q_new, torch.cat([cached, k_new], 2), v, real[:, None, None, :])
    for row, n in enumerate(lengths.tolist()):
        alone = full_pass(*(x[row, None, :, 9 - n :] for x in (q, k, v)))
        torch.testing.assert_close(decoded[row, None], alone[:, :, -1:], **EXACT)


# --- packed documents -----------------------------------------------------------------------------


def test_packed_documents_may_restart_or_not():
    """Trouble 38: with a block-diagonal mask both are right; restarting equals each alone."""
    lengths = (4, 7, 1)
    q, k, v = tokens(1, sum(lengths))
    document = torch.repeat_interleave(torch.arange(3), torch.tensor(lengths))
    allowed = causal(12, 12) & (document[:, None] == document)
    restarted = torch.cat([torch.arange(n) for n in lengths])
    outputs = []
    for positions in (restarted, torch.arange(12)):
        q_turned, k_turned = ROPE(q, k, positions)
        outputs.append(attention(q_turned, k_turned, v, allowed))
    torch.testing.assert_close(*outputs, **EXACT)
    pieces = zip(*(x.split(lengths, 2) for x in (q, k, v)), strict=True)
    alone = torch.cat([full_pass(*piece) for piece in pieces], 2)
    torch.testing.assert_close(outputs[0], alone, **EXACT)
    without_the_mask = full_pass(q, k, v, restarted)
    assert (without_the_mask - alone).abs().max() > 0.01


# --- decoding with a cache ------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(20,), (13, 1, 1, 1, 1, 1, 1, 1), (5, 5, 5, 5), (1,) * 20])
@pytest.mark.parametrize("start", [0, 40_000])
def test_prefill_and_decode_agree(chunks, start):
    q, k, v = tokens(2, 20)
    expected = full_pass(q, k, v, torch.arange(start, start + 20))
    cache, outputs, done = torch.empty(2, KEY_HEADS, 0, DIM, dtype=torch.float64), [], 0
    for size in chunks:
        new = slice(done, done + size)
        positions = torch.arange(start + done, start + done + size)
        q_turned, k_turned = ROPE(q[:, :, new], k[:, :, new], positions)
        cache, done = torch.cat([cache, k_turned], 2), done + size
        outputs.append(attention(q_turned, cache, v[:, :, :done], causal(size, done)))
    torch.testing.assert_close(torch.cat(outputs, 2), expected, **EXACT)


def test_decoding_without_positions_would_restart_at_zero():
    """The trap of the default: a decode step has to say where it is."""
    q, k, _ = tokens(1, 8)
    q_full, _ = ROPE(q, k)
    step, _ = ROPE(q[:, :, 7:], k[:, :, 7:])
    assert torch.equal(step, q[:, :, 7:])
    told, _ = ROPE(q[:, :, 7:], k[:, :, 7:], [7])
    torch.testing.assert_close(told, q_full[:, :, 7:], **EXACT)


def test_a_table_row_does_not_depend_on_the_call_that_made_it():
    """What one call makes for positions 0..4095, another makes for a single one, bit for bit."""
    whole = cos_sin(torch.arange(4096), INV_FREQ)
    for m in (0, 1, 511, 512, 4095):
        for table, row in zip(whole, cos_sin(torch.tensor([m]), INV_FREQ), strict=True):
            assert torch.equal(table[m], row[0])


# --- moving a cache -------------------------------------------------------------------------------


def test_rotations_compose():
    """G24: R(a)R(b) = R(a + b)."""
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(-10, 10, size=(200, 2)):
        product = rotation_matrix(a) @ rotation_matrix(b)
        assert abs(product - rotation_matrix(a + b)).max() < 5e-15


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("rotary_dim", [DIM, 8])
def test_moving_twice_equals_moving_once_by_the_sum(layout, rotary_dim):
    inv_freq = inverse_frequencies(rotary_dim)
    _, k, _ = tokens(2, 10)
    turned = apply_rope(k, *cos_sin(torch.arange(10), inv_freq, dtype=torch.float64), layout=layout)
    twice = rerotate(rerotate(turned, 30, inv_freq, layout=layout), -34, inv_freq, layout=layout)
    once = rerotate(turned, -4, inv_freq, layout=layout)
    afresh = apply_rope(
        k, *cos_sin(torch.arange(10) - 4, inv_freq, dtype=torch.float64), layout=layout
    )
    torch.testing.assert_close(twice, once, **EXACT)
    torch.testing.assert_close(once, afresh, **EXACT)
    back = rerotate(once, 4, inv_freq, layout=layout)
    torch.testing.assert_close(back, turned, **EXACT)


def test_an_evicted_cache_closes_its_gap():
    """Trouble 19: keep 2 first tokens and the last 5 of 12, moved by a difference for each key."""
    q, k, v = tokens(1, 12)
    _, cached = ROPE(q[:, :, :11], k[:, :, :11], torch.arange(11))
    kept = torch.tensor([0, 1, 6, 7, 8, 9, 10])
    delta = torch.arange(7) - kept
    assert delta.tolist() == [0, 0, -4, -4, -4, -4, -4]
    moved = rerotate(cached[:, :, kept], delta, INV_FREQ, layout="half")
    kept_and_new = torch.cat([kept, torch.tensor([11])])
    q_new, k_new = ROPE(q[:, :, 11:], k[:, :, 11:], [7])
    slid = attention(q_new, torch.cat([moved, k_new], 2), v[:, :, kept_and_new], causal(1, 8))
    expected = full_pass(*(x[:, :, kept_and_new] for x in (q, k, v)))[:, :, -1:]
    torch.testing.assert_close(slid, expected, **EXACT)

    # Turned by the new absolute position instead, a key would stand at the sum of the two.
    wrong = rerotate(cached[:, :, kept], torch.arange(7), INV_FREQ, layout="half")
    at_the_sum = ROPE(q[:, :, kept], k[:, :, kept], kept + torch.arange(7))[1]
    torch.testing.assert_close(wrong, at_the_sum, **EXACT)
    spoilt = attention(q_new, torch.cat([wrong, k_new], 2), v[:, :, kept_and_new], causal(1, 8))
    assert (spoilt - expected).abs().max() > 0.01


def test_a_cache_that_slides_at_every_step_stays_right():
    """A window of 6 keys, moved back by one 300 times: rounding is all that is left."""
    q, k, _ = tokens(1, 306)
    _, window = ROPE(q[:, :, :6], k[:, :, :6])
    for new in range(6, 306):
        moved = rerotate(window[:, :, 1:], -1, INV_FREQ, layout="half")
        _, newest = ROPE(q[:, :, new, None], k[:, :, new, None], [5])
        window = torch.cat([moved, newest], 2)
    _, expected = ROPE(q[:, :, 300:], k[:, :, 300:])
    torch.testing.assert_close(window, expected, **EXACT)


def test_moving_keeps_the_attention_factor_that_a_key_carries():
    yarn = scaling.yarn(DIM, 10_000.0, factor=8.0, original_max_position_embeddings=512)
    rope = RotaryEmbedding(DIM, layout="half", scaling=yarn)
    q, k, _ = tokens(1, 6)
    moved = rerotate(rope(q, k)[1], 100, yarn.inv_freq, layout="half")
    torch.testing.assert_close(moved, rope(q, k, torch.arange(100, 106))[1], **EXACT)
    assert rope.attention_factor > 1.2


# --- shards ---------------------------------------------------------------------------------------


def contiguous_ids(seq: int, ranks: int) -> list[list[int]]:
    return np.arange(seq).reshape(ranks, -1).tolist()


def zig_zag_ids(seq: int, ranks: int, start: int = 0) -> list[list[int]]:
    """2·ranks chunks; rank r takes chunks r and 2·ranks − 1 − r, so that causal work is even."""
    chunks = start + np.arange(seq).reshape(2 * ranks, -1)
    return [[*chunks[r], *chunks[2 * ranks - 1 - r]] for r in range(ranks)]


def test_zig_zag_ids():
    """Trouble 39: 8 tokens, 2 ranks; then two packed documents of 4, each dealt on its own."""
    assert zig_zag_ids(8, 2) == [[0, 1, 6, 7], [2, 3, 4, 5]]
    packed = [[*a, *b] for a, b in zip(zig_zag_ids(4, 2), zig_zag_ids(4, 2, 4), strict=True)]
    assert packed == [[0, 3, 4, 7], [1, 2, 5, 6]]


@pytest.mark.parametrize("shards", [contiguous_ids, zig_zag_ids])
def test_context_parallel_ranks_with_global_ids_equal_one_device(shards):
    seq, ranks = 24, 3
    q, k, v = tokens(2, seq)
    expected = full_pass(q, k, v)
    held = [torch.tensor(ids) for ids in shards(seq, ranks)]
    parts = [ROPE(q[:, :, ids], k[:, :, ids], ids) for ids in held]
    order = torch.cat(held)
    keys = torch.cat([k_part for _, k_part in parts], 2)  # what an all-gather brings
    for ids, (q_part, _) in zip(held, parts, strict=True):
        output = attention(q_part, keys, v[:, :, order], ids[:, None] >= order)
        torch.testing.assert_close(output, expected[:, :, ids], **EXACT)


@pytest.mark.parametrize("shards", [contiguous_ids, zig_zag_ids])
def test_ranks_that_each_start_at_zero_are_wrong(shards):
    seq, ranks = 24, 3
    q, k, v = tokens(2, seq)
    held = [torch.tensor(ids) for ids in shards(seq, ranks)]
    order = torch.cat(held)
    keys = torch.cat([ROPE(q[:, :, ids], k[:, :, ids])[1] for ids in held], 2)
    q_last, _ = ROPE(q[:, :, held[-1]], k[:, :, held[-1]])
    output = attention(q_last, keys, v[:, :, order], held[-1][:, None] >= order)
    assert (output - full_pass(q, k, v)[:, :, held[-1]]).abs().max() > 0.05


def test_tensor_parallel_ranks_share_positions_and_split_heads():
    q, k, _ = tokens(2, 10)
    whole = ROPE(q, k, torch.arange(50, 60))
    for rank in range(2):
        part = ROPE(q[:, 2 * rank : 2 * rank + 2], k[:, rank, None], torch.arange(50, 60))
        torch.testing.assert_close(part[0], whole[0][:, 2 * rank : 2 * rank + 2], **EXACT)
        torch.testing.assert_close(part[1], whole[1][:, rank, None], **EXACT)
