"""The rotation of whole tensors, and moving what was rotated."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import (
    apply_rope,
    as_complex,
    as_real,
    conjugate_score,
    cos_sin,
    inverse_frequencies,
    layout_permutation,
    rerotate,
    rotation_matrix,
)

LAYOUTS = ["interleaved", "half"]
layouts = st.sampled_from(LAYOUTS)
shifts = st.integers(-(10**6), 10**6)


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def tables(positions, dim, dtype=np.float64, base=10_000.0):
    return cos_sin(positions, inverse_frequencies(dim, base), dtype=dtype)


def scores(q, k, layout, m, n, **kwargs):
    """All dot products of q at positions m with k at positions n."""
    q = apply_rope(q, *tables(m, q.shape[-1]), layout=layout, **kwargs)
    return q @ apply_rope(k, *tables(n, k.shape[-1]), layout=layout).T


def test_values_by_hand():
    # θ = (1, 0.01), m = 3: c = (−0.9899925, 0.9995500), s = (0.1411200, 0.0299955).
    cos, sin = tables([3], 4)
    # Pairs (1, 2) and (3, 4):
    # 1c − 2s = −0.9899925 − 0.2822400 = −1.2722325;  2c + 1s = −1.9799850 + 0.1411200 = −1.8388650
    # 3c − 4s =  2.9986501 − 0.1199820 =  2.8786681;  4c + 3s =  3.9982001 + 0.0899865 =  4.0881866
    by_pairs = apply_rope(np.array([[1.0, 2.0, 3.0, 4.0]]), cos, sin)
    np.testing.assert_allclose(by_pairs, [[-1.2722325, -1.8388650, 2.8786681, 4.0881866]], 5e-8)
    # The half layout holds the same pairs as (1, 3) and (2, 4) halves.
    by_halves = apply_rope(np.array([[1.0, 3.0, 2.0, 4.0]]), cos, sin, layout="half")
    np.testing.assert_allclose(by_halves, [[-1.2722325, 2.8786681, -1.8388650, 4.0881866]], 5e-8)


def test_the_running_example_as_a_batch():
    x = np.array([[1.0, 2.0], [3.0, -1.0]])  # q at position 5, k at position 2, θ = 0.4
    q, k = apply_rope(x, *cos_sin([5, 2], [0.4], dtype=np.float64))
    assert q @ k == pytest.approx(-6.1619158, abs=1e-7)  # cos 1.2 − 7 sin 1.2


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dim", [2, 8, 11])
def test_every_pair_one_by_one(kind, layout, inverse, dim):
    rotary = 8 if dim == 11 else dim
    x, positions = random(2, 3, 4, dim), np.array([0, 7, 300, -5])
    theta = inverse_frequencies(rotary, 500.0)
    cos, sin = cos_sin(kind.make(positions), theta, dtype=kind.xp.float64)
    got = apply_rope(kind.make(x), cos, sin, layout=layout, inverse=inverse)
    expected = reference.rotated(x, positions, theta, layout, -1.0 if inverse else 1.0)
    np.testing.assert_allclose(kind.read(got), expected, atol=1e-12)
    assert got.dtype == kind.xp.float64


@given(st.integers(1, 16), shifts, layouts)
def test_four_views_agree(pairs, m, layout):
    x = random(1, 2 * pairs, seed=pairs)
    theta = inverse_frequencies(2 * pairs)
    adjacent = np.empty_like(x)
    order = layout_permutation(2 * pairs, layout, "interleaved")
    adjacent[:] = x[:, order]
    blocks = rotation_matrix(m * theta)
    by_matrix = np.einsum("jab,sjb->sja", blocks, adjacent.reshape(1, pairs, 2)).reshape(1, -1)
    by_complex = as_real(as_complex(adjacent) * np.exp(1j * m * theta))
    batched = apply_rope(x, *tables([m], 2 * pairs), layout=layout)[:, order]
    np.testing.assert_allclose(batched, by_matrix, atol=1e-12)
    np.testing.assert_allclose(batched, by_complex, atol=1e-12)
    # The conjugate product of the rotated with the plain is the turn itself, scaled.
    turn = conjugate_score(as_complex(batched), as_complex(adjacent))
    expected = np.exp(1j * m * theta) * np.abs(as_complex(adjacent)) ** 2
    np.testing.assert_allclose(turn, expected, atol=1e-11)


def test_half_is_interleaved_with_its_channels_permuted():
    x = random(3, 5, 64).astype(np.float32)
    cos, sin = tables(np.arange(7, 12), 64, np.float32)
    order = layout_permutation(64, "interleaved", "half")
    by_pairs = apply_rope(x, cos, sin)[..., order]
    # Not merely close: the same products in the same order.
    np.testing.assert_array_equal(apply_rope(x[..., order], cos, sin, layout="half"), by_pairs)


@given(shifts, layouts)
def test_norms_are_kept(m, layout):
    x = random(4, 32, seed=abs(m))
    turned = apply_rope(x, *tables([m] * 4, 32), layout=layout)
    np.testing.assert_allclose(
        np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-14
    )


@given(shifts, layouts)
def test_scores_depend_on_the_distance_only(shift, layout):
    q, k = random(6, 32, seed=1), random(6, 32, seed=2)
    ids = np.array([3, 14, 15, 92, 65, 35])
    here = scores(q, k, layout, ids, ids[::-1])
    there = scores(q, k, layout, ids + shift, ids[::-1] + shift)
    np.testing.assert_allclose(there, here, atol=1e-8)


def test_a_shift_of_seven_changes_nothing_but_rounding():
    q, k = random(16, 64, seed=1), random(16, 64, seed=2)
    ids = np.arange(16)
    moved = scores(q, k, "interleaved", ids + 7, ids + 7)
    assert np.abs(moved - scores(q, k, "interleaved", ids, ids)).max() < 5e-14


@given(shifts, layouts, st.integers(1, 8))
def test_inverse_undoes(m, layout, pairs):
    x = random(2, 20, seed=3)
    cos, sin = tables([m, m + 1], 2 * pairs)
    turned = apply_rope(x, cos, sin, layout=layout)
    np.testing.assert_allclose(
        apply_rope(turned, cos, sin, layout=layout, inverse=True), x, atol=1e-14
    )


@given(st.integers(-5000, 5000), layouts, st.integers(1, 8), st.integers(0, 5))
def test_partial_rotation_passes_the_rest_through(m, layout, pairs, rest):
    x = random(3, 2 * pairs + rest)
    cos, sin = tables([m, m + 2, m + 4], 2 * pairs)
    got = apply_rope(x, cos, sin, layout=layout)
    np.testing.assert_array_equal(got[:, 2 * pairs :], x[:, 2 * pairs :])
    whole = apply_rope(x[:, : 2 * pairs], cos, sin, layout=layout)
    np.testing.assert_array_equal(got[:, : 2 * pairs], whole)


def test_an_odd_dimension_keeps_one_channel_still():
    # A rotation of an odd number of dimensions has a fixed axis: one channel must stay.
    turned = apply_rope(np.ones((1, 3)), *tables([2], 2))
    np.testing.assert_allclose(turned, [[math.cos(2) - math.sin(2), math.cos(2) + math.sin(2), 1]])


def test_the_score_matrix_of_a_repeated_token_is_toeplitz_only_for_one_layout():
    q, k = (np.tile(random(64, seed=seed), (32, 1)) for seed in (1, 2))
    ids = np.arange(32)
    for layout in LAYOUTS:
        assert toeplitz_defect(scores(q, k, layout, ids, ids)) < 1e-13
    mixed = apply_rope(q, *tables(ids, 64)) @ apply_rope(k, *tables(ids, 64), layout="half").T
    assert toeplitz_defect(mixed) > 1.0


def test_the_sign_of_the_angle():
    q, k = (np.tile(random(64, seed=seed), (32, 1)) for seed in (1, 2))
    ids = np.arange(32)
    cos, sin = tables(ids, 64)
    forward = scores(q, k, "interleaved", ids, ids)
    q_back = apply_rope(q, cos, sin, inverse=True)
    # Both turned backwards: query and key trade places.
    both = q_back @ apply_rope(k, cos, sin, inverse=True).T
    np.testing.assert_allclose(both, forward.T, atol=1e-13)
    # One turned backwards: the score follows m + n, constant along the other diagonals.
    one = q_back @ apply_rope(k, cos, sin).T
    assert toeplitz_defect(one[::-1]) < 1e-13
    assert toeplitz_defect(one) > 1.0


def toeplitz_defect(matrix):
    return np.abs(matrix[1:, 1:] - matrix[:-1, :-1]).max()


def test_a_constant_token_differs_along_the_sequence_and_not_along_the_heads():
    x = np.ones((2, 3, 4, 8))
    turned = apply_rope(x, *tables(np.arange(4), 8))
    assert np.ptp(turned, axis=(0, 1)).max() == 0.0
    assert all(np.abs(turned[0, 0, i] - turned[0, 0, i + 1]).max() > 0.1 for i in range(3))


def test_tables_broadcast_from_the_right():
    x = random(2, 3, 4, 8)
    ids = np.array([[3, 1, 4, 1], [5, 9, 2, 6]])
    per_batch = apply_rope(x, *tables(ids[:, None], 8))
    for row in range(2):
        alone = apply_rope(x[row], *tables(ids[row], 8))
        np.testing.assert_array_equal(per_batch[row], alone)
    for one_position in (tables(5, 8), tables([5], 8)):
        everywhere = apply_rope(x, *tables([5] * 4, 8))
        np.testing.assert_array_equal(apply_rope(x, *one_position), everywhere)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_empty_tensors(kind, layout):
    for shape in ((0, 8), (2, 0, 8), (0, 3, 8), (2, 0, 3, 8)):
        seq = shape[-2]
        cos, sin = cos_sin(kind.make(np.arange(seq)), inverse_frequencies(6))
        got = apply_rope(kind.make(np.zeros(shape, np.float32)), cos, sin, layout=layout)
        assert kind.read(got).shape == shape


@pytest.mark.parametrize(
    ("x_dtype", "table_dtype"),
    [("float32", "float32"), ("float32", "float64"), ("float64", "float32")],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_widest_dtype_computes_and_x_s_returns(kind, x_dtype, table_dtype, layout):
    x, positions = random(3, 8).astype(x_dtype), np.array([2, 3, 5])
    cos, sin = cos_sin(
        kind.make(positions), inverse_frequencies(8), dtype=getattr(kind.xp, table_dtype)
    )
    got = kind.read(apply_rope(kind.make(x), cos, sin, layout=layout))
    c, s = (kind.read(table).astype(np.float64) for table in (cos, sin))
    exact = apply_rope(x.astype(np.float64), c, s, layout=layout)
    assert got.dtype == np.dtype(x_dtype)
    if (x_dtype, table_dtype) == ("float32", "float64"):
        np.testing.assert_array_equal(got, exact.astype(np.float32))
    else:
        np.testing.assert_allclose(got, exact, atol=3e-7 if x_dtype == "float32" else 1e-15)


def test_torch_has_its_own_rotation(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("rope_lib._torch_rotary.apply_rope", lambda *given: given)
    x, table = torch.ones(3, 8), torch.ones(3, 4)
    assert apply_rope(x, table, table)[0] is x


@pytest.mark.parametrize("wide", ["cos", "sin"])
def test_one_wide_table_is_enough(wide):
    x = random(40, 64).astype(np.float32)
    dtypes = [np.float64 if name == wide else np.float32 for name in ("cos", "sin")]
    cos, sin = (t.astype(d) for t, d in zip(tables(np.arange(40), 64), dtypes, strict=True))
    exact = apply_rope(x.astype(np.float64), cos, sin)
    np.testing.assert_array_equal(apply_rope(x, cos, sin), exact.astype(np.float32))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_float16_is_computed_in_float32(layout):
    x = random(40, 64).astype(np.float16)
    cos, sin = tables(np.arange(40), 64, np.float32)
    exact = apply_rope(x.astype(np.float32), cos, sin, layout=layout)
    got = apply_rope(x, cos, sin, layout=layout)
    np.testing.assert_array_equal(got, exact.astype(np.float16))
    # Rounding each product to float16 would differ.
    narrow = apply_rope(x, cos.astype(np.float16), sin.astype(np.float16), layout=layout)
    assert (narrow != got).any()


def test_numpy_tables_serve_every_kind(kind):
    x = random(2, 3, 8)
    cos, sin = tables([4, 5, 6], 8)
    got = apply_rope(kind.make(x), cos, sin)
    np.testing.assert_allclose(kind.read(got), apply_rope(x, cos, sin), atol=1e-15)


def test_lists_are_arrays():
    cos, sin = tables([3], 2)
    expected = apply_rope(np.array([[1.0, 2.0]]), cos, sin)
    got = apply_rope([[1.0, 2.0]], cos.tolist(), sin.tolist())
    np.testing.assert_array_equal(got, expected)


def test_x_is_left_alone():
    x = random(3, 8)
    before = x.copy()
    for layout in LAYOUTS:
        apply_rope(x, *tables([1, 2, 3], 6), layout=layout)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rotary", [8, 4])
def test_out(kind, layout, rotary):
    x, out = kind.make(random(2, 3, 8)), kind.make(np.full((2, 3, 8), 7.0))
    cos, sin = cos_sin(
        kind.make(np.array([4, 5, 6])), inverse_frequencies(rotary), dtype=kind.xp.float64
    )
    expected = kind.read(apply_rope(x, cos, sin, layout=layout))
    assert apply_rope(x, cos, sin, layout=layout, out=out) is out
    np.testing.assert_allclose(kind.read(out), expected, atol=1e-15)
    assert apply_rope(x, cos, sin, layout=layout, out=x) is x
    np.testing.assert_allclose(kind.read(x), expected, atol=1e-15)


def test_out_that_does_not_fit(kind):
    x = kind.make(np.ones((2, 3, 8)))
    cos, sin = cos_sin(kind.make(np.arange(3)), inverse_frequencies(8))
    with pytest.raises(ValueError, match=r"out must have the shape of x \(2, 3, 8\), got \(3, 8\)"):
        apply_rope(x, cos, sin, out=kind.make(np.ones((3, 8))))
    with pytest.raises(TypeError, match=r"out must have the dtype of x .*float64, got .*float32"):
        apply_rope(x, cos, sin, out=kind.make(np.ones((2, 3, 8), np.float32)))
    with pytest.raises(TypeError, match=r"^out must be an array of the kind of x$"):
        apply_rope(x, cos, sin, out=[1.0])


ITS_OWN = r"^out must be x itself or share no memory with x, cos and sin$"


def test_out_that_overlaps():
    buffer = np.ones((5, 8))
    cos, sin = tables([1, 2, 3, 4], 8)
    with pytest.raises(ValueError, match=ITS_OWN):
        apply_rope(buffer[:4], cos, sin, out=buffer[1:])
    with pytest.raises(ValueError, match=ITS_OWN):
        apply_rope(buffer[:4, :4], cos[:, :2], sin[:, :2], out=buffer[:4, 4:].T.T[:, ::-1])
    table, other = np.ones((4, 8)), np.ones((4, 4))
    for overlapping in ((table[:, :4], other), (other, table[:, 4:])):
        with pytest.raises(ValueError, match=ITS_OWN):
            apply_rope(np.ones((4, 8)), *overlapping, out=table)
    view = buffer[:4]
    assert apply_rope(view, cos, sin, out=buffer[:4]) is not view  # the same memory is allowed


def test_out_that_cannot_be_written():
    out = np.ones((1, 2))
    out.flags.writeable = False
    with pytest.raises(TypeError, match=r"^out must be writable: "):
        apply_rope(np.ones((1, 2)), *tables([1], 2), out=out)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_moving_a_rotated_key(kind, layout):
    keys, ids, theta = random(2, 3, 4, 10), np.array([5, 6, 9, 2]), inverse_frequencies(8)
    at, moved = (
        apply_rope(keys, *cos_sin(i, theta, dtype=np.float64), layout=layout)
        for i in (ids, ids - 3)
    )
    got = rerotate(kind.make(at), -3, theta, layout=layout)
    np.testing.assert_allclose(kind.read(got), moved, atol=1e-14)
    twice = rerotate(rerotate(kind.make(at), 11, theta, layout=layout), -14, theta, layout=layout)
    np.testing.assert_allclose(kind.read(twice), moved, atol=1e-14)
    # Rotating by the new absolute position instead turns the key twice.
    wrong = apply_rope(at, *cos_sin(ids - 3, theta, dtype=np.float64), layout=layout)
    assert np.abs(wrong - moved).max() > 0.1


def test_moving_each_key_by_its_own_delta(kind):
    keys, ids, theta = random(2, 3, 8), np.array([5, 6, 9]), inverse_frequencies(8)
    delta = np.array([[0, -2, 7], [1, 1, -9]])
    at = apply_rope(keys, *cos_sin(ids, theta, dtype=np.float64))
    moved = apply_rope(keys, *cos_sin(ids + delta, theta, dtype=np.float64))
    for each in (delta, kind.make(delta), delta.tolist()):
        got = rerotate(kind.make(at), each, kind.make(theta))
        np.testing.assert_allclose(kind.read(got), moved, atol=1e-14)


def test_a_delta_goes_to_the_device_of_the_keys():
    torch = pytest.importorskip("torch")
    keys = torch.ones(2, 8, device="meta")
    assert rerotate(keys, torch.tensor([3, 4]), inverse_frequencies(8)).device.type == "meta"


def test_moving_keeps_the_dtype_and_the_exact_angle():
    keys = random(1, 8).astype(np.float32)
    got = rerotate(keys, 10**6, inverse_frequencies(8))
    assert got.dtype == np.float32
    exact = rerotate(keys.astype(np.float64), 10**6, inverse_frequencies(8))
    np.testing.assert_allclose(got, exact, atol=3e-7)


X, C = np.ones((2, 3, 8)), np.ones((3, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: apply_rope(X, C, C, layout="neox"), ValueError, "layout must be .* got 'neox'"),
        (
            lambda: apply_rope(np.ones(8), C[0], C[0]),
            ValueError,
            r"x must have shape \(\.\.\., seq, dim\), got \(8,\)",
        ),
        (
            lambda: apply_rope(X, C[0, 0], C[0, 0]),
            ValueError,
            r"tables must have 1 to 3 axes, as x has, got shape \(\)",
        ),
        (
            lambda: apply_rope(X[0], C[None], C[None]),
            ValueError,
            r"tables .* got shape \(1, 3, 4\)",
        ),
        (
            lambda: apply_rope(X, np.ones((3, 5)), np.ones((3, 5))),
            ValueError,
            "tables of 5 pairs need 2 to 8 channels, the dim of x, got 10",
        ),
        (
            lambda: apply_rope(X, np.ones((3, 0)), np.ones((3, 0))),
            ValueError,
            "tables of 0 pairs need 2 to 8 channels, the dim of x, got 0",
        ),
        (
            lambda: apply_rope(X, C[:2], C[:2]),
            ValueError,
            r"axis -2 of the tables must be 1 or 3 as in x \(2, 3, 8\), got 2$",
        ),
        (
            lambda: apply_rope(np.ones((2, 5, 3, 8)), np.ones((2, 3, 4)), np.ones((2, 3, 4))),
            ValueError,
            r"axis -3 of the tables must be 1 or 5 .* got 2; per-batch positions need a heads axis",
        ),
        (
            lambda: apply_rope(X[:1], np.ones((2, 3, 4)), np.ones((2, 3, 4))),
            ValueError,
            "axis -3 of the tables must be 1 or 1 ",
        ),
        (
            lambda: apply_rope(X, C, C[:, :2]),
            ValueError,
            r"cos and sin must have one shape, got \(3, 4\) and \(3, 2\)",
        ),
        (lambda: apply_rope(X.astype(int), C, C), TypeError, "x must be floating, got dtype int64"),
        (lambda: apply_rope(X > 0, C, C), TypeError, "x must be floating, got dtype bool"),
        (lambda: apply_rope(X + 1j, C, C), TypeError, "x must be floating, got dtype complex128"),
        (lambda: apply_rope(X, C.astype(int), C), TypeError, "cos must be floating, got dtype int"),
        (lambda: apply_rope(X, C, C + 0j), TypeError, "sin must be floating, got dtype complex"),
        (lambda: apply_rope(None, C, C), TypeError, "x must hold numbers, got NoneType"),
        (lambda: apply_rope(X, None, C), TypeError, "cos must hold numbers, got NoneType"),
        (lambda: rerotate(X.astype(int), 1, [1.0]), TypeError, "k must be floating, got dtype int"),
        (lambda: rerotate(X, math.nan, [1.0]), ValueError, "delta must be finite"),
        (lambda: rerotate(X, True, [1.0]), TypeError, "delta must hold real numbers"),
        (lambda: rerotate(X, "3", [1.0]), TypeError, "delta must hold numbers, got str"),
        (lambda: rerotate(X, 1, [math.inf]), ValueError, "inv_freq must be finite"),
        (lambda: rerotate(X, [1, 2], [1.0]), ValueError, "axis -2 of the tables must be 1 or 3"),
        (lambda: rerotate(X, 1, np.ones(5)), ValueError, "tables of 5 pairs need 2 to 8 channels"),
        (lambda: rerotate(X, 1, [1.0], layout="x"), ValueError, "layout must be"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


dims = st.integers(0, 5)
arrays = st.tuples(
    st.lists(dims, max_size=4),
    st.sampled_from(["float32", "float64", "float16", "int32", "bool", "complex64"]),
).map(lambda made: np.ones(*made))


@given(arrays, arrays, arrays, st.sampled_from([*LAYOUTS, "", None, 3]), st.booleans())
def test_no_input_gives_an_error_from_inside(x, cos, sin, layout, same):
    try:
        got = apply_rope(x, cos, cos if same else sin, layout=layout)
    except (ValueError, TypeError) as error:
        assert re.match("x |cos |sin |tables |axis -|layout must be", str(error))  # noqa: PT017
    else:
        assert got.shape == x.shape
        assert got.dtype == x.dtype


@given(st.lists(st.integers(0, 3), max_size=2), dims, dims, dims, st.booleans(), layouts)
def test_tables_that_fit_are_taken_and_others_refused(lead, seq, dim, pairs, one, layout):
    table = (1 if one else seq, pairs)
    cos, sin = np.full(table, 0.6), np.full(table, 0.8)
    x = np.ones((*lead, seq, dim))
    if 2 <= 2 * pairs <= dim:
        np.testing.assert_allclose(
            np.sort(apply_rope(x, cos, sin, layout=layout).ravel())[: x.size * pairs // dim],
            -0.2,  # 0.6 − 0.8
            atol=1e-15,
        )
    else:
        with pytest.raises(ValueError, match=f"tables of {pairs} pairs need 2 to {dim} channels"):
            apply_rope(x, cos, sin, layout=layout)


def test_what_jax_is_given_comes_from_numpy(monkeypatch):
    # JAX may lack float64, so a delta is not made a JAX array: NumPy makes the tables.
    monkeypatch.setattr("rope_lib.rotary.is_jax", lambda k: k is X)
    monkeypatch.delattr("rope_lib.rotary._float64")
    np.testing.assert_array_equal(
        rerotate(X, 3, [1.0]), apply_rope(X, *cos_sin(3, [1.0], dtype=float))
    )


def test_kinds_do_not_mix():
    torch, strict = pytest.importorskip("torch"), pytest.importorskip("array_api_strict")
    table = strict.ones((3, 4))
    with pytest.raises(TypeError, match="cos must be a NumPy or torch array, got array_api_strict"):
        apply_rope(torch.ones(3, 8), table, table)
    with pytest.raises(TypeError, match="delta must be a NumPy or numpy array, got torch"):
        rerotate(X, torch.tensor(1), [1.0])
