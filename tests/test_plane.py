"""One pair in its plane: the matrix, the complex number, the conjugate product."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import as_complex, as_real, conjugate_score, rotate, rotation_matrix

angles = st.floats(-1e3, 1e3)
numbers = st.floats(-100, 100)
points = st.tuples(numbers, numbers)

# The running example of the book.
Q, K, THETA, M, N = (1.0, 2.0), (3.0, -1.0), 0.4, 5, 2


def test_the_matrix_turns_by_thirty_degrees():
    # cos 30° = √3/2 = 0.8660254, sin 30° = 1/2
    expected = [[0.8660254037844386, -0.5], [0.5, 0.8660254037844386]]
    np.testing.assert_allclose(rotation_matrix(math.pi / 6), expected, atol=1e-15)


def test_rotation_is_anticlockwise():
    # A quarter turn takes (3, 4) to (−4, 3).
    np.testing.assert_allclose(rotate((3, 4), math.pi / 2), [-4.0, 3.0], atol=1e-15)


def test_rotation_of_the_running_example():
    # q at 5 · 0.4 = 2.0: cos 2 = −0.4161468, sin 2 = 0.9092974
    # (1 cos − 2 sin, 1 sin + 2 cos) = (−0.4161468 − 1.8185949, 0.9092974 − 0.8322937)
    np.testing.assert_allclose(rotate(Q, M * THETA), [-2.2347417, 0.0770037], atol=1e-7)
    # k at 2 · 0.4 = 0.8: cos 0.8 = 0.6967067, sin 0.8 = 0.7173561
    # (3 cos + 1 sin, 3 sin − 1 cos) = (2.0901201 + 0.7173561, 2.1520683 − 0.6967067)
    np.testing.assert_allclose(rotate(K, N * THETA), [2.8074762, 1.4553616], atol=1e-7)


def test_the_score_of_the_running_example_and_its_sign():
    # (1 + 2i)(3 + i) = 3 + i + 6i − 2 = 1 + 7i; times e^{1.2i} the real part is
    # cos 1.2 − 7 sin 1.2 = 0.3623578 − 6.5242736 = −6.1619158
    assert conjugate_score(1 + 2j, 3 - 1j) == 1 + 7j
    score = rotate(Q, M * THETA) @ rotate(K, N * THETA)
    assert score == pytest.approx(-6.1619158, abs=1e-7)
    # R(θ(m−n)) stands on q. On k it gives cos 1.2 + 7 sin 1.2 = 6.8866313: the usual sign slip.
    assert rotate(Q, (M - N) * THETA) @ np.array(K) == pytest.approx(-6.1619158, abs=1e-7)
    assert np.array(Q) @ rotate(K, (M - N) * THETA) == pytest.approx(6.8866313, abs=1e-7)


def test_complex_numbers_are_adjacent_pairs():
    np.testing.assert_array_equal(as_complex([1, 2, 3, -1]), [1 + 2j, 3 - 1j])
    np.testing.assert_array_equal(as_real([1 + 2j, 3 - 1j]), [1, 2, 3, -1])


def test_the_conjugate_product_holds_both_products():
    # a, b = 2, 5 and c, d = 7, 11: ac + bd = 14 + 55 = 69; bc − ad = 35 − 22 = 13
    assert conjugate_score(2 + 5j, 7 + 11j) == 69 + 13j


@given(angles)
def test_the_matrix_is_orthogonal_and_keeps_orientation(theta):
    r = rotation_matrix(theta)
    np.testing.assert_allclose(r.T @ r, np.eye(2), atol=1e-15)
    assert np.linalg.det(r) == pytest.approx(1.0, abs=1e-15)


@given(angles, angles)
def test_two_turns_are_one_turn_by_the_sum(a, b):
    # The rounding of a + b itself, at most 2000 · 2^−53, is what the tolerance allows.
    np.testing.assert_allclose(
        rotation_matrix(a) @ rotation_matrix(b), rotation_matrix(a + b), atol=1e-12
    )


def test_two_turns_agree_to_rounding_at_small_angles():
    # Near 2.4e-15 for angles of a few radians.
    a, b = np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-4, 4, 41))
    defect = rotation_matrix(a) @ rotation_matrix(b) - rotation_matrix(a + b)
    assert np.abs(defect).max() < 3e-15


def test_transposed_times_other_is_the_difference_not_the_identity():
    product = rotation_matrix(0.8).T @ rotation_matrix(2.0)
    np.testing.assert_allclose(product, rotation_matrix(1.2), atol=1e-15)
    assert np.abs(product - np.eye(2)).max() > 0.6


@given(points, angles)
def test_the_norm_is_kept(point, theta):
    assert math.hypot(*rotate(point, theta)) == pytest.approx(math.hypot(*point), abs=1e-12)


@given(points, angles)
def test_matrix_vector_and_complex_views_agree(point, theta):
    by_vector = rotate(point, theta)
    by_matrix = rotation_matrix(theta) @ np.array(point)
    by_complex = as_real(as_complex(point) * cmath.exp(1j * theta))
    np.testing.assert_allclose(by_vector, by_matrix, atol=1e-13)
    np.testing.assert_allclose(by_vector, by_complex, atol=1e-13)


@given(points, points, st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_dot_product_and_conjugate_product_agree(q, k, m, n):
    dot = rotate(q, 0.4 * m) @ rotate(k, 0.4 * n)
    turned = conjugate_score(complex(*q), complex(*k)) * cmath.exp(0.4j * (m - n))
    assert dot == pytest.approx(turned.real, abs=1e-8)


@given(points, points, st.integers(-1000, 1000), st.integers(-(10**6), 10**6))
def test_a_common_shift_leaves_the_score(q, k, m, shift):
    here = rotate(q, 0.4 * m) @ rotate(k, 0.4)
    there = rotate(q, 0.4 * (m + shift)) @ rotate(k, 0.4 * (1 + shift))
    # Angles up to 4e5 carry 4e5 · 2^−53 = 4e-11; scores reach 2e4.
    assert there == pytest.approx(here, abs=4e-6)


def test_shapes_broadcast():
    assert rotation_matrix(np.zeros((3, 5))).shape == (3, 5, 2, 2)
    assert rotate(np.ones((4, 1, 2)), np.ones(3)).shape == (4, 3, 2)
    assert rotate(np.ones(2), np.ones((7, 3))).shape == (7, 3, 2)
    assert as_complex(np.ones((3, 8))).shape == (3, 4)
    assert as_real(np.ones((3, 4), complex)).shape == (3, 8)
    assert conjugate_score(np.ones((3, 1), complex), np.ones(4, complex)).shape == (3, 4)
    assert rotate(np.ones((0, 2)), np.ones(0)).shape == (0, 2)


def test_every_kind_keeps_its_kind_and_numbers(kind):
    vectors, theta = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([2.0, 0.8])
    got = rotate(kind.make(vectors), kind.make(theta))
    np.testing.assert_allclose(kind.read(got), rotate(vectors, theta), rtol=1e-15)
    got = rotate(kind.make(vectors), theta)
    np.testing.assert_allclose(kind.read(got), rotate(vectors, theta), rtol=1e-15)
    got = rotate([1, 2], kind.make(theta))
    np.testing.assert_allclose(kind.read(got), rotate([1, 2], theta), rtol=1e-15)
    got = rotation_matrix(kind.make(theta))
    np.testing.assert_allclose(kind.read(got), rotation_matrix(theta), rtol=1e-15)
    z = as_complex(kind.make(vectors))
    np.testing.assert_array_equal(kind.read(z), [[1 + 2j], [3 - 1j]])
    np.testing.assert_array_equal(kind.read(as_real(z)), vectors)
    np.testing.assert_array_equal(kind.read(conjugate_score(z[0, ...], z[1, ...])), [1 + 7j])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_are_kept(kind, dtype):
    vectors = kind.make(np.array([[1.0, 2.0]], dtype))
    assert rotate(vectors, 0.4).dtype == getattr(kind.xp, dtype)
    assert rotation_matrix(vectors).dtype == getattr(kind.xp, dtype)
    assert as_real(as_complex(vectors)).dtype == getattr(kind.xp, dtype)


def test_integers_become_the_default_float(kind):
    ints = kind.make(np.array([1, 2]))
    np.testing.assert_allclose(kind.read(rotate(ints, 0.4)), rotate([1.0, 2.0], 0.4), rtol=1e-6)
    assert kind.read(rotation_matrix(ints)).shape == (2, 2, 2)


def test_half_precision_is_computed_in_float32():
    vectors = np.array([0.1, 0.7], np.float16)
    exact = rotate(vectors.astype(np.float64), 1.0)
    assert rotate(vectors, 1.0).dtype == np.float16
    np.testing.assert_array_equal(rotate(vectors, 1.0), exact.astype(np.float16))
    assert as_complex(vectors).dtype == np.complex64


def test_the_wider_dtype_computes():
    vectors, theta = np.random.default_rng(0).normal(size=(2, 100, 2))
    theta = theta[:, 0]
    narrow = vectors.astype(np.float32)
    exact = rotate(narrow.astype(np.float64), theta)
    np.testing.assert_array_equal(rotate(narrow, theta), exact.astype(np.float32))
    c, s = (f(theta.astype(np.float32)).astype(np.float64) for f in (np.cos, np.sin))
    a, b = vectors.T
    turned = rotate(vectors, theta.astype(np.float32))
    np.testing.assert_array_equal(turned, np.stack([a * c - b * s, a * s + b * c], axis=-1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rotate([1, 2, 3], 0.1), ValueError, r"vectors must have shape \(\.\.\., 2\), got"),
        (lambda: rotate(1.0, 0.1), ValueError, r"vectors must have shape .* got \(\)$"),
        (
            lambda: rotate(np.ones((3, 2)), np.ones(4)),
            ValueError,
            r"the leading axes of vectors and theta must broadcast, got \(3,\) and \(4,\)",
        ),
        (lambda: rotate([1, 2], math.nan), ValueError, "theta must be finite, got nan"),
        (lambda: rotate([1, 2], [0.0, -math.inf]), ValueError, "theta must be finite, got -inf"),
        (lambda: rotate([True, False], 0.1), TypeError, "vectors must hold real numbers"),
        (lambda: rotate([1, 2], 1j), TypeError, "theta must hold real numbers"),
        (lambda: rotate([1, "2"], 1), TypeError, "vectors must hold numbers"),
        (lambda: rotate([1, [2]], 1), ValueError, "vectors must be a number or a rectangular"),
        (lambda: rotate(None, 1), TypeError, "vectors must hold numbers, got NoneType"),
        (lambda: rotation_matrix(math.inf), ValueError, "theta must be finite, got inf"),
        (
            lambda: rotation_matrix([1.0, math.nan, 2.0]),
            ValueError,
            "theta must be finite, got nan",
        ),
        (lambda: rotation_matrix(True), TypeError, "theta must hold real numbers, got dtype bool"),
        (lambda: rotation_matrix(10**30), TypeError, "theta must hold numbers, got int"),
        (lambda: as_complex([1, 2, 3]), ValueError, "x must have an even last axis, got 3"),
        (lambda: as_complex(3.0), ValueError, r"x must have shape \(\.\.\., d\), got \(\)$"),
        (lambda: as_complex([1j, 2]), TypeError, "x must hold real numbers, got dtype complex128"),
        (lambda: as_real([1.0, 2.0]), TypeError, "z must be complex, got dtype float64"),
        (lambda: as_real(1j), ValueError, r"z must have shape \(\.\.\., d/2\), got \(\)"),
        (lambda: conjugate_score(1.0, 1j), TypeError, "zq must be complex"),
        (lambda: conjugate_score("i", 1j), TypeError, "zq must hold numbers, got str"),
        (lambda: conjugate_score(1j, 2), TypeError, "zk must be complex"),
        (
            lambda: conjugate_score(np.ones(2, complex), np.ones(3, complex)),
            ValueError,
            r"zq and zk must broadcast, got \(2,\) and \(3,\)",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


def test_two_kinds_do_not_mix():
    strict = pytest.importorskip("array_api_strict")
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="theta must be a NumPy or torch array, got array_api_"):
        rotate(torch.ones(2), strict.asarray(1.0))
    with pytest.raises(TypeError, match="theta must be a NumPy or numpy array, got torch"):
        rotate(np.ones(2), torch.tensor(1.0))
