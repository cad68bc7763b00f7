"""rope_lib.xpos: one fixed centre, so that a cache and one full pass agree."""

from __future__ import annotations

import math

import array_api_strict
import numpy as np
import peers
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import apply_rope, cos_sin, inverse_frequencies, xpos_cos_sin, xpos_decay

DIM, SEQ = 16, 40
INV_FREQ = inverse_frequencies(DIM)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def turned(q, k, positions=None, **options) -> tuple[np.ndarray, np.ndarray]:
    positions = np.arange(len(q)) if positions is None else positions
    q_tables, k_tables = xpos_cos_sin(positions, INV_FREQ, dtype=np.float64, **options)
    return apply_rope(q, *q_tables), apply_rope(k, *k_tables)


def scores(q, k, positions=None, **options) -> np.ndarray:
    q_turned, k_turned = turned(q, k, positions, **options)
    return q_turned @ k_turned.T


def test_decay_of_the_paper():
    np.testing.assert_allclose(xpos_decay(2), [0.4 / 1.4, 0.9 / 1.4])
    zeta = xpos_decay(64)
    assert (np.diff(zeta) > 0).all()
    assert zeta[0] > 0
    assert zeta[-1] < 1
    assert xpos_decay(1, gamma=1.0) == 0.5


def test_a_score_is_a_rotation_times_the_decay_over_the_distance():
    q, k = random(2, SEQ, DIM)
    got = scores(q, k)
    zeta = xpos_decay(DIM // 2)
    z_q, z_k = (x[:, 0::2] + 1j * x[:, 1::2] for x in (q, k))
    for m, n in ((0, 0), (17, 5), (39, 0), (3, 30)):
        turn = zeta ** ((m - n) / 512) * np.exp(1j * (m - n) * INV_FREQ)
        assert got[m, n] == pytest.approx((z_q[m] * z_k[n].conj() * turn).sum().real, abs=1e-12)


def test_equal_content_counts_for_less_the_further_back_it_lies():
    """The first pair alone, so that no rotation of others interferes: its length shrinks."""
    q_tables, k_tables = xpos_cos_sin(np.arange(1500), [0.0], dtype=np.float64)
    sizes = q_tables[0][-1, 0] * k_tables[0][:, 0]  # against the last query
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] == pytest.approx(1.0)
    assert sizes[-513] == pytest.approx(0.4 / 1.4)


def test_any_one_centre_gives_the_same_scores_and_two_centres_do_not():
    """G23."""
    q, k = random(2, SEQ, DIM)
    reference = scores(q, k)
    for centre in (10, -300, 20.5, 5000):
        assert abs(scores(q, k, centre=centre) - reference).max() < 2e-13
    q_moved, _ = turned(q, k, centre=10)
    _, k_still = turned(q, k, centre=0)
    assert abs(q_moved @ k_still.T - reference).max() > 0.1


def test_scores_do_not_change_when_all_positions_shift():
    q, k = random(2, SEQ, DIM)
    shifted = scores(q, k, np.arange(SEQ) + 3000)
    np.testing.assert_allclose(shifted, scores(q, k), rtol=0, atol=2e-12)


def test_decoding_with_a_cache_equals_one_full_pass():
    q, k = random(2, SEQ, DIM)
    full = scores(q, k)
    cache = np.empty((0, DIM))
    for start, stop in ((0, 25), *((m, m + 1) for m in range(25, SEQ))):  # prefill, then decode
        new = np.arange(start, stop)
        q_turned, k_turned = turned(q[new], k[new], new)
        cache = np.concatenate([cache, k_turned])
        np.testing.assert_allclose(q_turned @ cache.T, full[new, :stop], rtol=0, atol=1e-12)


def test_a_cached_key_moves_with_its_scale():
    _, k = random(2, SEQ, DIM)
    _, at_their_places = turned(k, k, np.arange(100, 100 + SEQ))
    _, move = xpos_cos_sin([-70], INV_FREQ, dtype=np.float64)
    _, expected = turned(k, k, np.arange(30, 30 + SEQ))
    np.testing.assert_allclose(apply_rope(at_their_places, *move), expected, rtol=0, atol=1e-12)


def test_without_decay_it_is_plain_rope():
    (q_tables, k_tables), plain = (
        xpos_cos_sin(range(SEQ), INV_FREQ, scale_base=1e18),
        cos_sin(range(SEQ), INV_FREQ),
    )
    for got in (q_tables, k_tables):
        for table, expected in zip(got, plain, strict=True):
            np.testing.assert_allclose(table, expected, rtol=0, atol=6e-8)


# --- beside other libraries -----------------------------------------------------------------------


def test_a_full_pass_agrees_with_x_transformers():
    q, k = (torch.tensor(x, dtype=torch.float32)[None, None] for x in random(2, SEQ, DIM))
    freqs, scale = peers.XRotary(DIM, use_xpos=True).forward_from_seq_len(SEQ)
    theirs = peers.x_rotated(q, freqs, scale) @ peers.x_rotated(k, freqs, scale**-1).mT
    q_tables, k_tables = xpos_cos_sin(torch.arange(SEQ), INV_FREQ)
    ours = apply_rope(q, *q_tables) @ apply_rope(k, *k_tables).mT
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-4)


# --- range ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [
        (torch.float16, 3966),
        (torch.bfloat16, 35_694),
        (torch.float32, 35_694),
        (torch.float64, 289_519),
    ],
)
@pytest.mark.parametrize("centre", [0.0, 1000.0])
def test_the_documented_range_is_safe_and_its_end_is_an_error(dtype, limit, centre):
    inside = torch.tensor([-limit, 0, limit]) + int(centre)
    for tables in xpos_cos_sin(inside, INV_FREQ, centre=centre, dtype=dtype):
        for table in tables:
            assert table.dtype == dtype
            assert torch.isfinite(table).all()
        # In pair 0 a scale is the length of (cos, sin); none has become 0.
        assert (torch.hypot(*(table[:, 0].double() for table in tables)) > 0).all()
    for outside in (inside.max() + 1, inside.min() - 1):
        message = f"within {limit} of centre {centre:g}.*{dtype}, got one {limit + 1} away"
        with pytest.raises(ValueError, match=message):
            xpos_cos_sin(outside[None], INV_FREQ, centre=centre, dtype=dtype)


def test_no_score_overflows_at_the_end_of_the_range():
    positions = torch.arange(35_694 - SEQ, 35_694)
    q, k = (torch.tensor(x, dtype=torch.float32) for x in random(2, SEQ, DIM))
    q_tables, k_tables = xpos_cos_sin(positions, INV_FREQ)
    got = apply_rope(q, *q_tables) @ apply_rope(k, *k_tables).mT
    expected = torch.tensor(scores(q.double().numpy(), k.double().numpy())).float()
    torch.testing.assert_close(got, expected, rtol=0, atol=2e-5)


# --- kinds and refusals ---------------------------------------------------------------------------


def test_the_kind_that_goes_in_comes_out():
    positions = np.arange(10)
    expected = xpos_cos_sin(positions, INV_FREQ)
    for convert in (torch.from_numpy, array_api_strict.asarray):
        given = convert(positions)
        for got, wanted in zip(xpos_cos_sin(given, INV_FREQ), expected, strict=True):
            for table, reference in zip(got, wanted, strict=True):
                assert type(table) is type(given)
                np.testing.assert_allclose(np.asarray(table), reference, rtol=0, atol=6e-8)
    assert isinstance(xpos_cos_sin([1, 2], torch.tensor(INV_FREQ))[0][0], torch.Tensor)
    assert xpos_cos_sin(np.zeros((2, 1, 5)), INV_FREQ)[1][0].shape == (2, 1, 5, DIM // 2)


def test_where_float64_may_be_missing_the_tables_are_made_in_numpy(monkeypatch):
    """What JAX arrays take, here with NumPy in their place."""
    expected = xpos_cos_sin(np.arange(1000, 1010), INV_FREQ)
    monkeypatch.setattr("rope_lib.xpos.is_jax", lambda _: True)
    got = xpos_cos_sin(np.arange(1000, 1010), INV_FREQ)
    np.testing.assert_array_equal(np.array(got), np.array(expected))


def test_jax_gives_the_numbers_of_numpy():
    jax = pytest.importorskip("jax", reason="JAX is optional: make test-jax installs it")
    expected = xpos_cos_sin(np.arange(1000, 1010), INV_FREQ)
    got = xpos_cos_sin(jax.numpy.arange(1000, 1010), INV_FREQ)
    assert isinstance(got[0][0], jax.Array)
    np.testing.assert_array_equal(np.array(got), np.array(expected))
    narrow = xpos_cos_sin(jax.numpy.arange(10), INV_FREQ, dtype=jax.numpy.bfloat16)
    assert narrow[1][0].dtype == jax.numpy.bfloat16
    with pytest.raises(ValueError, match="traced by JAX"):
        jax.jit(lambda ids: xpos_cos_sin(ids, INV_FREQ))(jax.numpy.arange(10))


def test_compiles_in_one_graph_and_differentiates():
    torch.compiler.reset()
    inv_freq = torch.tensor(INV_FREQ)

    def score(q, k, positions):
        q_tables, k_tables = xpos_cos_sin(positions, inv_freq)
        return apply_rope(q, *q_tables) @ apply_rope(k, *k_tables).mT

    q, k = (torch.tensor(x, dtype=torch.float32) for x in random(2, SEQ, DIM))
    compiled = torch.compile(score, fullgraph=True, backend="aot_eager")
    positions = torch.arange(SEQ)
    torch.testing.assert_close(compiled(q, k, positions), score(q, k, positions), rtol=0, atol=1e-5)
    places = torch.tensor([0.0, 2.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda p: sum(xpos_cos_sin(p, inv_freq, dtype=torch.float64), ()), (places,)
    )
    torch.compiler.reset()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: xpos_decay(0), ValueError, "pairs must be at least 1, got 0"),
        (lambda: xpos_decay(2.0), TypeError, "pairs must be an integer"),
        (lambda: xpos_decay(4, gamma=0.0), ValueError, "gamma must be positive, got 0.0"),
        (lambda: xpos_cos_sin([1], INV_FREQ, gamma=-1), ValueError, "gamma must be positive"),
        (lambda: xpos_cos_sin([1], INV_FREQ, gamma="a"), TypeError, "gamma must be a real number"),
        (lambda: xpos_cos_sin([1], INV_FREQ, scale_base=0), ValueError, "scale_base must be"),
        (lambda: xpos_cos_sin([1], INV_FREQ, centre=math.inf), ValueError, "centre must be finite"),
        (lambda: xpos_cos_sin([1], INV_FREQ, dtype=np.int32), TypeError, "dtype"),
        (lambda: xpos_cos_sin([math.nan], INV_FREQ), ValueError, "positions must be finite"),
        (lambda: xpos_cos_sin([True], INV_FREQ), TypeError, "positions"),
        (lambda: xpos_cos_sin([1], [[1.0]]), ValueError, r"inv_freq must have .* got \(1, 1\)"),
        (lambda: xpos_cos_sin([1], 1.0), ValueError, r"inv_freq must have .* got \(\)"),
        (lambda: xpos_cos_sin([1], []), ValueError, r"inv_freq must have .* got \(0,\)"),
        (lambda: xpos_cos_sin(torch.ones(2).half(), INV_FREQ), TypeError, "at least float32"),
        (lambda: xpos_cos_sin([10**6], INV_FREQ), ValueError, "within 35694 of centre 0"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70), st.booleans(), st.none(), st.text())


@given(
    st.lists(st.one_of(st.integers(-40_000, 40_000), NUMBERS), max_size=4),
    st.dictionaries(st.sampled_from(["gamma", "scale_base", "centre", "dtype"]), NUMBERS),
)
def test_any_input_gives_finite_tables_or_a_clear_error(positions, options):
    try:
        tables = xpos_cos_sin(positions, INV_FREQ, **options)
    except (ValueError, TypeError):
        return
    assert np.isfinite(np.array(tables)).all()
