"""The two layouts, and the weights that move between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import (
    apply_rope,
    convert_layout,
    convert_qk_weight,
    cos_sin,
    inverse_frequencies,
    layout_permutation,
)

PAIRS, HALVES = "interleaved", "half"
sizes = st.integers(1, 20).flatmap(
    lambda half: st.tuples(st.just(2 * half), st.integers(2 * half, 2 * half + 5))
)


def test_permutations_by_hand():
    # half[j] is the first of pair j, half[j + 4] the second: evens, then odds.
    assert layout_permutation(8, PAIRS, HALVES).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    # interleaved[2j] = half[j], interleaved[2j + 1] = half[j + 4]
    assert layout_permutation(8, HALVES, PAIRS).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert layout_permutation(8, PAIRS, HALVES, 4).tolist() == [0, 2, 1, 3, 4, 5, 6, 7]
    assert layout_permutation(7, HALVES, PAIRS, 6).tolist() == [0, 3, 1, 4, 2, 5, 6]
    assert layout_permutation(6, HALVES, HALVES).tolist() == [0, 1, 2, 3, 4, 5]
    assert layout_permutation(6, PAIRS, PAIRS).dtype == np.int64


@given(sizes)
def test_swapping_source_and_target_inverts(size):
    rotary, dim = size
    there, back = (
        layout_permutation(dim, PAIRS, HALVES, rotary),
        layout_permutation(dim, HALVES, PAIRS, rotary),
    )
    np.testing.assert_array_equal(there[back], np.arange(dim))
    np.testing.assert_array_equal(back[there], np.arange(dim))
    # The pair of channels (2j, 2j+1) comes to lie rotary/2 apart.
    for j in range(rotary // 2):
        assert (there[j], there[j + rotary // 2]) == (2 * j, 2 * j + 1)


def test_converting_channels(kind):
    x = np.arange(24).reshape(2, 2, 6)
    got = convert_layout(kind.make(x), PAIRS, HALVES)
    np.testing.assert_array_equal(kind.read(got), x[..., [0, 2, 4, 1, 3, 5]])
    np.testing.assert_array_equal(kind.read(convert_layout(got, HALVES, PAIRS)), x)
    got = convert_layout(kind.make(x), HALVES, PAIRS, rotary_dim=4)
    np.testing.assert_array_equal(kind.read(got), x[..., [0, 2, 1, 3, 4, 5]])
    assert convert_layout([1, 2, 3, 4], HALVES, PAIRS).tolist() == [1, 3, 2, 4]


@pytest.mark.parametrize("layouts", [(PAIRS, PAIRS), (HALVES, HALVES)])
def test_the_same_layout_gives_a_copy(layouts):
    x = np.arange(8.0)
    same = convert_layout(x, *layouts)
    np.testing.assert_array_equal(same, x)
    assert not np.shares_memory(same, x)


@given(sizes, st.integers(1, 4), st.integers(0, 3))
def test_weights_convert_back_bit_for_bit(size, heads, width):
    rotary, dim = size
    rng = np.random.default_rng(rotary * dim)
    for weight in (rng.normal(size=(heads * dim, width)), rng.normal(size=heads * dim)):
        there = convert_qk_weight(weight, heads, source=PAIRS, target=HALVES, rotary_dim=rotary)
        back = convert_qk_weight(there, heads, source=HALVES, target=PAIRS, rotary_dim=rotary)
        np.testing.assert_array_equal(back, weight)
        # Every head is converted as convert_layout converts its channels.
        by_head = weight.reshape(heads, dim, -1)
        expected = convert_layout(by_head.swapaxes(1, 2), PAIRS, HALVES, rotary).swapaxes(1, 2)
        np.testing.assert_array_equal(there, expected.reshape(weight.shape))


def test_weights_of_every_kind(kind):
    # Two heads of four channels: rows 0 2 1 3, then 4 6 5 7.
    weight = np.arange(24.0, dtype=np.float32).reshape(8, 3)
    rows = [0, 2, 1, 3, 4, 6, 5, 7]
    got = convert_qk_weight(kind.make(weight), 2, source=PAIRS, target=HALVES)
    np.testing.assert_array_equal(kind.read(got), weight[rows])
    assert got.dtype == kind.xp.float32
    bias = convert_qk_weight(kind.make(weight[:, 0]), 2, source=PAIRS, target=HALVES)
    np.testing.assert_array_equal(kind.read(bias), weight[rows, 0])


def test_rows_agree_with_the_reshape_that_converters_use():
    heads, dim, width = 3, 8, 5
    weight = np.random.default_rng(0).normal(size=(heads * dim, width))
    reshaped = weight.reshape(heads, dim // 2, 2, width).swapaxes(1, 2).reshape(weight.shape)
    got = convert_qk_weight(weight, heads, source=PAIRS, target=HALVES)
    np.testing.assert_array_equal(got, reshaped)


@pytest.mark.parametrize("rotary", [None, 4])
def test_scores_survive_the_conversion_of_a_grouped_query_layer(rotary):
    heads, kv_heads, dim, width, seq = 4, 2, 8, 6, 5
    rng = np.random.default_rng(1)
    x = rng.normal(size=(seq, width))
    wq, wk = rng.normal(size=(heads * dim, width)), rng.normal(size=(kv_heads * dim, width))
    bq, bk = rng.normal(size=heads * dim), rng.normal(size=kv_heads * dim)
    gain = rng.uniform(0.5, 2.0, size=dim)
    cos, sin = cos_sin(np.arange(3, 3 + seq), inverse_frequencies(rotary or dim), dtype=np.float64)

    def scores(wq, bq, wk, bk, gain, layout):
        q = (x @ wq.T + bq).reshape(seq, heads, dim).swapaxes(0, 1) * gain
        k = (x @ wk.T + bk).reshape(seq, kv_heads, dim).swapaxes(0, 1) * gain
        q, k = (apply_rope(a, cos, sin, layout=layout) for a in (q, k))
        return q @ np.repeat(k, heads // kv_heads, axis=0).swapaxes(1, 2)

    def converted(weight, count):
        return convert_qk_weight(weight, count, source=PAIRS, target=HALVES, rotary_dim=rotary)

    before = scores(wq, bq, wk, bk, gain, PAIRS)
    q_side = (converted(wq, heads), converted(bq, heads))
    k_side = (converted(wk, kv_heads), converted(bk, kv_heads))
    after = scores(*q_side, *k_side, converted(gain, 1), HALVES)
    np.testing.assert_allclose(after, before, atol=1e-12)
    # The key projection converted with the query's number of heads is another model.
    wrong = (converted(wk, heads), converted(bk, heads)) if rotary is None else (wk, bk)
    assert np.abs(scores(*q_side, *wrong, converted(gain, 1), HALVES) - before).max() > 0.1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layout_permutation(7, PAIRS, HALVES), ValueError, "dim must be even, got 7"),
        (lambda: layout_permutation(0, PAIRS, HALVES), ValueError, "dim must be at least 1, got 0"),
        (
            lambda: layout_permutation(8.0, PAIRS, HALVES),
            TypeError,
            "dim must be an integer, got 8.0",
        ),
        (
            lambda: layout_permutation(8, "neox", HALVES),
            ValueError,
            'source must be "interleaved" or "half", got \'neox\'',
        ),
        (lambda: layout_permutation(8, PAIRS, None), ValueError, "target must be .* got None"),
        (lambda: layout_permutation(8, PAIRS, []), ValueError, r"target must be .* got \[\]"),
        (
            lambda: layout_permutation(8, PAIRS, HALVES, 3),
            ValueError,
            "rotary_dim must be even, got 3",
        ),
        (
            lambda: layout_permutation(8, PAIRS, HALVES, 0),
            ValueError,
            "rotary_dim must be at least 2, got",
        ),
        (
            lambda: layout_permutation(8, PAIRS, HALVES, 10),
            ValueError,
            "rotary_dim must be at most dim 8, got 10",
        ),
        (
            lambda: convert_layout(3.0, PAIRS, HALVES),
            ValueError,
            r"x must have shape \(\.\.\., head_dim\), got \(\)$",
        ),
        (
            lambda: convert_layout(np.ones((2, 5)), PAIRS, HALVES),
            ValueError,
            "dim must be even, got 5",
        ),
        (lambda: convert_layout("abcd", PAIRS, HALVES), TypeError, "x must hold numbers, got str"),
        (
            lambda: convert_qk_weight(np.ones((9, 2)), 2, source=PAIRS, target=HALVES),
            ValueError,
            r"weight must have shape \(num_heads\*head_dim, in\) or \(num_heads\*head_dim,\) with "
            r"num_heads 2, got \(9, 2\); block-quantised rows and their scales are the caller's",
        ),
        (
            lambda: convert_qk_weight(np.ones((2, 4, 3)), 2, source=PAIRS, target=HALVES),
            ValueError,
            r"weight must have shape .* got \(2, 4, 3\); block-quantised",
        ),
        (
            lambda: convert_qk_weight(1.0, 1, source=PAIRS, target=HALVES),
            ValueError,
            r"weight must have shape .* got \(\)",
        ),
        (
            lambda: convert_qk_weight("abcd", 1, source=PAIRS, target=HALVES),
            TypeError,
            "weight must hold numbers, got str",
        ),
        (
            lambda: convert_qk_weight(np.ones((0, 3)), 1, source=PAIRS, target=HALVES),
            ValueError,
            r"weight must have shape .* got \(0, 3\)",
        ),
        (
            lambda: convert_qk_weight(np.ones(6), 2, source=PAIRS, target=HALVES),
            ValueError,
            "dim must be even, got 3",
        ),
        (
            lambda: convert_qk_weight(np.ones(8), 0, source=PAIRS, target=HALVES),
            ValueError,
            "num_heads must be at least 1, got 0",
        ),
        (
            lambda: convert_qk_weight(np.ones(8), True, source=PAIRS, target=HALVES),
            TypeError,
            "num_heads must be an integer, got True",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()
