"""rope_lib.axes: grids, axial and mixed frequencies, M-RoPE; rows and columns on oblong grids."""

from __future__ import annotations

import math

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

from rope_lib import (
    apply_rope,
    axes_cos_sin,
    axial_frequencies,
    cos_sin,
    grid_positions,
    inverse_frequencies,
    mixed_frequencies,
    mrope_frequencies,
)

QWEN2 = {"sections": [16, 24, 24], "interleaved": False}
QWEN3 = {"sections": [24, 20, 20], "interleaved": True}


def axis_of_pair(sections: list[int], interleaved: bool) -> list[int]:
    matrix = mrope_frequencies(np.ones(sum(sections)), sections, interleaved=interleaved)
    assert (matrix.sum(axis=0) == 1.0).all()
    return matrix.argmax(axis=0).tolist()


# --- grids ----------------------------------------------------------------------------------------


def test_a_grid_runs_along_its_rows_and_says_row_first():
    picture = np.array([[10, 11, 12], [20, 21, 22]])  # 2 rows, 3 columns
    for value, (row, col) in zip(picture.reshape(-1), grid_positions(2, 3), strict=True):
        assert picture[row, col] == value
    video = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    for value, (frame, row, col) in zip(video.reshape(-1), grid_positions(2, 3, 5), strict=True):
        assert video[frame, row, col] == value
    assert grid_positions(4).tolist() == [[0], [1], [2], [3]]
    assert grid_positions(2, 3).dtype == np.int64


def test_a_grid_agrees_with_a_convolution_over_patches():
    """The order of a ViT's patch embedding, on a picture that is not square."""
    image = torch.arange(4 * 6, dtype=torch.float32).reshape(1, 1, 4, 6)
    patches = torch.nn.functional.unfold(image, kernel_size=2, stride=2)[0].T  # (seq, 4)
    for patch, (row, col) in zip(patches, grid_positions(2, 3), strict=True):
        assert patch[0] == image[0, 0, 2 * row, 2 * col]


# --- axial ----------------------------------------------------------------------------------------


def test_every_axis_turns_its_own_pairs():
    ladders = inverse_frequencies(8), inverse_frequencies(6, 100.0)
    cells = grid_positions(3, 5)
    cos, sin = axes_cos_sin(cells, axial_frequencies(*ladders))
    for axis, columns in enumerate((slice(0, 4), slice(4, 7))):
        expected = cos_sin(cells[:, axis], ladders[axis])
        assert np.array_equal(cos[:, columns], expected[0])
        assert np.array_equal(sin[:, columns], expected[1])


def test_rows_and_columns_are_not_exchanged():
    """Trouble 41, on a grid of 2 rows and 5 columns: neighbours along one axis score alike."""
    ladder = inverse_frequencies(8)
    x = np.random.default_rng(0).normal(size=16)
    tables = axes_cos_sin(grid_positions(2, 5), axial_frequencies(ladder, ladder), dtype=np.float64)
    turned = apply_rope(np.broadcast_to(x, (10, 16)), *tables).reshape(2, 5, 2, 8)
    by_row, by_col = turned[..., 0, :], turned[..., 1, :]
    assert np.array_equal(by_row[:, 1:], by_row[:, :-1])
    assert np.array_equal(by_col[1:], by_col[:-1])
    assert not np.allclose(by_row[0], by_row[1])
    assert not np.allclose(by_col[:, 0], by_col[:, 1])


def test_a_score_depends_on_the_difference_along_each_axis_alone():
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2, 24))
    frequencies = axial_frequencies(*(inverse_frequencies(n, 50.0) for n in (4, 8, 12)))

    def score(m, n):
        (q_turned,) = apply_rope(q[None], *axes_cos_sin([m], frequencies, dtype=np.float64))
        (k_turned,) = apply_rope(k[None], *axes_cos_sin([n], frequencies, dtype=np.float64))
        return q_turned @ k_turned

    assert score([3, 1, 4], [1, 5, 9]) == pytest.approx(score([103, 0, 7], [101, 4, 12]), abs=1e-12)
    assert score([3, 1, 4], [1, 5, 9]) != pytest.approx(score([1, 3, 4], [5, 1, 9]), abs=1e-2)


def test_one_axis_is_plain_rope():
    inv_freq = inverse_frequencies(32)
    positions = np.arange(300)
    for got, expected in zip(
        axes_cos_sin(positions[:, None], axial_frequencies(inv_freq)),
        cos_sin(positions, inv_freq),
        strict=True,
    ):
        assert np.array_equal(got, expected)


# --- M-RoPE ---------------------------------------------------------------------------------------


def test_sections_of_published_models():
    assert axis_of_pair(**QWEN2) == [0] * 16 + [1] * 24 + [2] * 24
    interleaved = axis_of_pair(**QWEN3)
    assert interleaved == [0, 1, 2] * 20 + [0] * 4
    assert [interleaved.count(axis) for axis in range(3)] == [24, 20, 20]
    # Where the axes behind the first have different shares, each stops on its own.
    assert axis_of_pair([4, 3, 1], True) == [0, 1, 2, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("model", [QWEN2, QWEN3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("attention_factor", [1.0, 1.3])
def test_text_only_mrope_is_plain_rope_exactly(model, dtype, attention_factor):
    """Trouble 40: t = h = w."""
    inv_freq = inverse_frequencies(128, 1_000_000.0)
    options = {"attention_factor": attention_factor, "dtype": dtype}
    for positions in (
        torch.arange(7, 40_000),  # long enough to be composed, not computed one by one
        torch.randint(0, 2**40, (2, 1, 500), generator=torch.Generator().manual_seed(0)),
        torch.rand(300, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 1e5,
    ):
        triples = positions[..., None].expand(*positions.shape, 3)
        got = axes_cos_sin(triples, mrope_frequencies(inv_freq, **model), **options)
        for table, expected in zip(got, cos_sin(positions, inv_freq, **options), strict=True):
            assert torch.equal(table, expected)


def text_and_picture() -> torch.Tensor:
    """Ids (seq, 3) of 4 words, a picture of 3 rows and 5 columns, and 3 words more."""
    before = torch.arange(4)[:, None].expand(4, 3)
    picture = 4 + torch.from_numpy(grid_positions(1, 3, 5))
    after = int(picture.max()) + 1 + torch.arange(3)[:, None].expand(3, 3)
    return torch.cat([before, picture, after])


@pytest.mark.parametrize(
    ("model", "config", "rotary"),
    [
        (QWEN2, Qwen2VLTextConfig, Qwen2VLRotaryEmbedding),
        (QWEN3, Qwen3VLTextConfig, Qwen3VLTextRotaryEmbedding),
    ],
)
@pytest.mark.parametrize("offset", [0, 30_000])
def test_mrope_agrees_with_transformers(model, config, rotary, offset):
    theirs = rotary(
        config(
            hidden_size=256,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=128,
            rope_parameters={
                "rope_type": "default",
                "rope_theta": 1_000_000.0,
                "mrope_section": model["sections"],
            },
        )
    )
    ids = text_and_picture() + offset
    assert len({tuple(triple) for triple in ids.tolist()}) == len(ids)
    expected = theirs(torch.empty(0), ids.T[:, None, :])
    got = axes_cos_sin(ids, mrope_frequencies(inverse_frequencies(128, 1e6), **model))
    for table, twice in zip(got, expected, strict=True):
        # Their angles are float32: at 30 000 that is worth up to 1e-3 rad.
        torch.testing.assert_close(
            table, twice[0, :, :64], rtol=0, atol=1e-6 if offset == 0 else 2e-3
        )


def test_chunked_is_not_interleaved():
    ids, inv_freq = text_and_picture(), inverse_frequencies(128, 1e6)
    chunked = axes_cos_sin(ids, mrope_frequencies(inv_freq, [24, 20, 20]))[0]
    interleaved = axes_cos_sin(ids, mrope_frequencies(inv_freq, [24, 20, 20], interleaved=True))[0]
    assert torch.equal(chunked[:4], interleaved[:4])
    assert not torch.allclose(chunked[4:19], interleaved[4:19], atol=0.1)


def test_a_cached_picture_moves_by_a_difference_on_every_axis():
    """Trouble 20: positions are triples, so a shift is one, too."""
    frequencies = mrope_frequencies(inverse_frequencies(128, 1e6), **QWEN2)
    ids = text_and_picture()
    keys = torch.randn(
        len(ids), 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    delta = torch.tensor([[-2, -2, -2]])

    def turned(x, by):
        return apply_rope(x, *axes_cos_sin(by, frequencies, dtype=torch.float64), layout="half")

    moved = turned(turned(keys, ids), delta)
    torch.testing.assert_close(moved, turned(keys, ids + delta), rtol=0, atol=1e-12)


# --- mixed ----------------------------------------------------------------------------------------


def test_mixed_frequencies_form_a_compass():
    headings = np.array([0.0, 0.3, 2.0])
    matrix = mixed_frequencies(16, headings)
    assert matrix.shape == (3, 2, 8)
    lengths = 10.0 ** (-np.arange(0, 16, 4) / 16)
    z = matrix[:, 0] + 1j * matrix[:, 1]
    np.testing.assert_allclose(z[:, :4], np.exp(1j * headings)[:, None] * lengths, atol=1e-15)
    np.testing.assert_allclose(z[:, 4:], 1j * z[:, :4], atol=1e-15)


def test_mixed_tables_have_an_axis_of_heads():
    matrix = mixed_frequencies(8, [0.1, 1.7])
    cells = grid_positions(3, 5)
    cos, sin = axes_cos_sin(cells, matrix, attention_factor=2.0, dtype=np.float64)
    assert cos.shape == (2, 15, 4)
    for head in range(2):
        angles = cells @ matrix[head]
        np.testing.assert_allclose(cos[head], 2.0 * np.cos(angles), rtol=0, atol=1e-14)
        np.testing.assert_allclose(sin[head], 2.0 * np.sin(angles), rtol=0, atol=1e-14)
    batch = np.stack([cells, cells[::-1]])[:, None]  # (batch, 1, seq, axes)
    both = axes_cos_sin(batch, matrix, dtype=np.float64)[0]
    assert both.shape == (2, 2, 15, 4)
    np.testing.assert_array_equal(both[1], both[0, :, ::-1])


def test_full_columns_see_a_diagonal_that_axial_pairs_cannot():
    """A pair of heading 45° does not turn along the other diagonal."""
    matrix = mixed_frequencies(4, [math.pi / 4])[0]
    cos, sin = axes_cos_sin([[0, 0], [1, -1], [7, -7]], matrix, dtype=np.float64)
    np.testing.assert_allclose(cos[:, 0], 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(sin[:, 0], 0.0, rtol=0, atol=1e-14)


def test_gradients_reach_frequencies_and_positions():
    frequencies = torch.tensor(mixed_frequencies(8, [0.1, 1.7]), requires_grad=True)
    positions = torch.tensor(
        [[0.5, 1.0], [2.0, 3.5], [1.0, 0.0]], dtype=torch.float64, requires_grad=True
    )
    assert torch.autograd.gradcheck(
        lambda p, f: axes_cos_sin(p, f, dtype=torch.float64), (positions, frequencies)
    )
    axial = axial_frequencies(inverse_frequencies(4), inverse_frequencies(4))
    assert torch.autograd.gradcheck(
        lambda p: axes_cos_sin(p, axial, dtype=torch.float64), (positions,)
    )


def test_angles_are_not_rounded_under_autocast():
    """A matrix product would be: positions of 1000 times a frequency, in bfloat16."""
    cells = torch.from_numpy(grid_positions(3, 5)) + 1000
    matrix = torch.tensor(mixed_frequencies(8, [0.1]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = axes_cos_sin(cells, matrix)
    for got, expected in zip(inside, axes_cos_sin(cells, matrix), strict=True):
        assert torch.equal(got, expected)


# --- kinds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frequencies",
    [
        mrope_frequencies(inverse_frequencies(24), [4, 4, 4], interleaved=True),
        mixed_frequencies(24, [0.1, 0.2])[:, [0, 1, 1]],
    ],
    ids=["one axis each", "all axes"],
)
def test_the_kind_that_goes_in_comes_out(frequencies):
    cells = grid_positions(2, 3, 4)
    expected = axes_cos_sin(cells, frequencies)
    assert all(table.dtype == np.float32 for table in expected)
    for convert in (torch.from_numpy, array_api_strict.asarray):
        positions = convert(cells)
        for matrix in (frequencies, convert(frequencies)):
            for got, wanted in zip(axes_cos_sin(positions, matrix), expected, strict=True):
                assert type(got) is type(positions)
                np.testing.assert_allclose(np.asarray(got), wanted, rtol=0, atol=6e-8)
    from_list = axes_cos_sin(cells.tolist(), torch.from_numpy(frequencies))
    assert isinstance(from_list[0], torch.Tensor)


def test_where_float64_may_be_missing_the_angles_are_made_in_numpy(monkeypatch):
    """What JAX arrays take, here with NumPy in their place."""
    cells, matrix = grid_positions(3, 5) + 10**6, mixed_frequencies(8, [0.1, 0.2])
    expected = axes_cos_sin(cells, matrix)
    monkeypatch.setattr("rope_lib._axis_tables.is_jax", lambda _: True)
    for got, wanted in zip(axes_cos_sin(cells, matrix), expected, strict=True):
        assert np.array_equal(got, wanted)


def test_jax_gives_the_numbers_of_numpy():
    jax = pytest.importorskip("jax", reason="JAX is optional: make test-jax installs it")
    cells = grid_positions(3, 5) + 10**6
    ladder = inverse_frequencies(8)
    for matrix in (axial_frequencies(ladder, ladder), mixed_frequencies(16, [0.1, 0.2])):
        for got, wanted in zip(
            axes_cos_sin(jax.numpy.asarray(cells), matrix), axes_cos_sin(cells, matrix), strict=True
        ):
            assert isinstance(got, jax.Array)
            assert np.array_equal(got, wanted)
        with pytest.raises(ValueError, match="traced by JAX"):
            jax.jit(lambda ids, matrix=matrix: axes_cos_sin(ids, matrix))(jax.numpy.asarray(cells))


@pytest.mark.parametrize("learned", [False, True])
def test_tables_compile_in_one_graph(learned):
    torch.compiler.reset()
    matrix = torch.tensor(mrope_frequencies(inverse_frequencies(128), **QWEN2))
    if learned:
        matrix = torch.tensor(mixed_frequencies(128, [0.1, 0.2]))[:, [0, 1, 1]]

    def rotate(x, ids):
        return apply_rope(x, *axes_cos_sin(ids, matrix))

    ids = text_and_picture()
    x = torch.randn(1, 2, len(ids), 128, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(rotate, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, ids), rotate(x, ids), rtol=0, atol=1e-6)
    torch.compiler.reset()


def test_numpy_frequencies_compile_too():
    torch.compiler.reset()
    matrix = mrope_frequencies(inverse_frequencies(128), **QWEN3)
    compiled = torch.compile(lambda ids: axes_cos_sin(ids, matrix), fullgraph=True, backend="eager")
    ids = text_and_picture()
    for got, expected in zip(compiled(ids), axes_cos_sin(ids, matrix), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=6e-8)
    torch.compiler.reset()


# --- what is refused ------------------------------------------------------------------------------

TWO = axial_frequencies([1.0, 0.1], [1.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: grid_positions(), ValueError, "at least 1 size, got 0"),
        (lambda: grid_positions(3, 0), ValueError, r"sizes\[1\] must be at least 1, got 0"),
        (lambda: grid_positions(2.0), TypeError, r"sizes\[0\] must be an integer"),
        (lambda: axial_frequencies(), ValueError, "at least 1 ladder, got 0"),
        (lambda: axial_frequencies([1.0], []), ValueError, r"ladders\[1\] must have shape"),
        (lambda: axial_frequencies([[1.0]]), ValueError, r"got \(1, 1\)"),
        (lambda: axial_frequencies([math.inf]), ValueError, r"ladders\[0\] must be finite"),
        (lambda: axial_frequencies(["a"]), TypeError, "must hold numbers"),
        (
            lambda: mrope_frequencies(np.ones(64), [16, 24, 20]),
            ValueError,
            r"add up to the 64 pairs of inv_freq, got \[16, 24, 20\] with sum 60",
        ),
        (lambda: mrope_frequencies(np.ones(2), [3, -1]), ValueError, r"sections\[1\] must be"),
        (lambda: mrope_frequencies(np.ones(2), [1, 1.0]), TypeError, r"sections\[1\] must be"),
        (lambda: mrope_frequencies(np.ones(2), 2), TypeError, "sections must be a list, got 2"),
        (lambda: mrope_frequencies(np.ones(2), []), ValueError, "with sum 0"),
        (
            lambda: mrope_frequencies(np.ones(32), [8, 12, 12], interleaved=True),
            ValueError,
            r"sections\[1\] must be at most 11 to interleave 3 axes over 32 pairs, got 12",
        ),
        (lambda: mixed_frequencies(6, [0.0]), ValueError, "dim must divide by 4.*got 6"),
        (lambda: mixed_frequencies(5, [0.0]), ValueError, "dim must be even, got 5"),
        (lambda: mixed_frequencies(8, [0.0], base=0.9), ValueError, "base must be at least 1"),
        (lambda: mixed_frequencies(8, []), ValueError, "headings must have shape"),
        (
            lambda: axes_cos_sin(np.zeros((3, 5, 7)), mrope_frequencies(np.ones(3), [1, 1, 1])),
            ValueError,
            r"positions must have shape \(..., seq, 3\).*got \(3, 5, 7\)",
        ),
        (lambda: axes_cos_sin(4, TWO), ValueError, r"got \(\)"),
        (lambda: axes_cos_sin([[0, 1]], [1.0, 2.0]), ValueError, "inv_freq must have shape"),
        (lambda: axes_cos_sin([[0, 1]], np.ones((2, 0))), ValueError, r"got \(2, 0\)"),
        (
            lambda: axes_cos_sin([[0, 1]], [[math.nan], [0.0]]),
            ValueError,
            "inv_freq must be finite",
        ),
        (lambda: axes_cos_sin([[0, 1]], TWO > 0), TypeError, "inv_freq"),
        (lambda: axes_cos_sin([[0, math.inf]], TWO), ValueError, "positions must be finite"),
        (lambda: axes_cos_sin([[True, False]], TWO), TypeError, "positions"),
        (lambda: axes_cos_sin([[0, 1]], TWO, attention_factor=0), ValueError, "attention_factor"),
        (lambda: axes_cos_sin([[0, 1]], TWO, dtype=np.int64), TypeError, "dtype"),
        (
            lambda: axes_cos_sin(torch.zeros(1, 2, dtype=torch.float16), TWO),
            TypeError,
            "at least float32",
        ),
        (
            lambda: axes_cos_sin(torch.zeros(1, 2, dtype=torch.float16), torch.ones(2, 1)),
            TypeError,
            "at least float32",
        ),
        (lambda: axes_cos_sin(np.zeros((1, 2)), torch.ones(2, 1)), TypeError, "inv_freq"),
        (lambda: axes_cos_sin([[2**53, 0]], np.ones((2, 2))), ValueError, "2\\*\\*53"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70), st.booleans(), st.none(), st.text())
NESTED = st.recursive(NUMBERS, lambda inner: st.lists(inner, max_size=3), max_leaves=12)


@given(NESTED, NESTED, st.one_of(NUMBERS, st.just(1.0)))
def test_any_input_gives_finite_tables_or_a_clear_error(positions, inv_freq, factor):
    for call in (
        lambda: axes_cos_sin(positions, inv_freq, attention_factor=factor),
        lambda: axes_cos_sin([[0, 1, 2]], mrope_frequencies([1.0, 0.5, 0.2], inv_freq)),
        lambda: axes_cos_sin([[0, 1]], axial_frequencies(inv_freq, positions)),
        lambda: axes_cos_sin([[0, 1]], mixed_frequencies(8, inv_freq)),
    ):
        try:
            tables = call()
        except (ValueError, TypeError):
            continue
        assert all(np.isfinite(table).all() for table in tables)


def test_constants_that_learn_elsewhere_are_read_as_they_are():
    ladder = torch.tensor([1.0, 0.5], requires_grad=True)
    assert axial_frequencies(ladder, ladder).tolist() == [[1.0, 0.5, 0, 0], [0, 0, 1.0, 0.5]]
