"""The inverse frequencies and the wavelengths."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from rope_lib import inverse_frequencies, wavelengths

even = st.integers(1, 256).map(lambda half: 2 * half)
bases = st.floats(1.0, 1e9)


def test_exact_powers():
    # 16^(−2j/8) = 2^−j
    np.testing.assert_array_equal(inverse_frequencies(8, 16.0), [1.0, 0.5, 0.25, 0.125])
    # 1000^(−2j/6) = 10^−j
    np.testing.assert_allclose(inverse_frequencies(6, 1000), [1.0, 0.1, 0.01], rtol=1e-15)


def test_the_paper_s_base_is_the_default():
    # 10000^(−2/4) = 0.01
    np.testing.assert_allclose(inverse_frequencies(4), [1.0, 0.01], rtol=1e-15)
    # The last pair of a 128-channel head: 10000^(−126/128) = 10^(−3.9375) = 1.1547820e-4
    assert inverse_frequencies(128)[-1] == pytest.approx(1.1547820e-4, rel=1e-7)


@given(even, bases)
def test_the_formula(dim, base):
    theta = inverse_frequencies(dim, base)
    assert theta.dtype == np.float64
    np.testing.assert_allclose(theta, reference.frequencies(dim, base), rtol=1e-14)
    assert theta[0] == 1.0
    assert (np.diff(theta) <= 0).all()


@given(even, bases)
def test_neighbours_stand_in_one_ratio(dim, base):
    theta = inverse_frequencies(dim, base)
    np.testing.assert_allclose(theta[1:] / theta[:-1], base ** (-2.0 / dim), rtol=1e-13)


def test_numbers_of_other_types():
    expected = inverse_frequencies(8, 16.0)
    for dim, base in ((np.int32(8), 16), (8, np.float32(16)), (8, Fraction(16))):
        np.testing.assert_array_equal(inverse_frequencies(dim, base), expected)
    np.testing.assert_array_equal(inverse_frequencies(6, 1), [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("dim", "base", "error", "message"),
    [
        (63, 1e4, ValueError, "dim must be even, got 63"),
        (0, 1e4, ValueError, "dim must be at least 2, got 0"),
        (-4, 1e4, ValueError, "dim must be at least 2, got -4"),
        (8.0, 1e4, TypeError, "dim must be an integer, got 8.0"),
        (True, 1e4, TypeError, "dim must be an integer, got True"),
        ("8", 1e4, TypeError, "dim must be an integer, got '8'"),
        (None, 1e4, TypeError, "dim must be an integer, got None"),
        (8, 0.5, ValueError, "base must be at least 1, got 0.5"),
        (8, 0, ValueError, "base must be at least 1, got 0.0"),
        (8, -1e4, ValueError, "base must be at least 1, got -10000.0"),
        (8, math.nan, ValueError, "base must be finite, got nan"),
        (8, math.inf, ValueError, "base must be finite, got inf"),
        (8, 10**400, ValueError, "base must be finite, got inf"),
        (8, True, TypeError, "base must be a real number, got True"),
        (8, "1e4", TypeError, "base must be a real number, got '1e4'"),
        (8, 1j, TypeError, "base must be a real number, got 1j"),
    ],
)
def test_bad_sizes_and_bases_are_named(dim, base, error, message):
    with pytest.raises(error, match=f"^{message}"):
        inverse_frequencies(dim, base)


def test_wavelengths_are_tokens_per_turn():
    # 2π/1 = 6.2831853, 2π/0.01 = 628.31853
    np.testing.assert_allclose(wavelengths([1.0, 0.01]), [6.283185307, 628.3185307], rtol=1e-9)
    # A turn the other way is as long.
    assert wavelengths(-0.5) == pytest.approx(12.566370614)


def test_a_pair_that_never_turns_has_an_infinite_wavelength():
    np.testing.assert_array_equal(wavelengths([0.0, -0.0, 5e-324]), [math.inf] * 3)


def test_wavelengths_keep_the_kind(kind):
    theta = inverse_frequencies(16)
    got = wavelengths(kind.make(theta))
    np.testing.assert_allclose(kind.read(got), 2 * math.pi / theta, rtol=1e-15)
    assert kind.read(wavelengths(kind.make(theta.astype(np.float32)))).dtype == np.float32


@pytest.mark.parametrize(
    ("inv_freq", "error", "message"),
    [
        ([1.0, math.nan], ValueError, "inv_freq must be finite, got nan"),
        ([1.0, -math.inf], ValueError, "inv_freq must be finite, got -inf"),
        ([True], TypeError, "inv_freq must hold real numbers, got dtype bool"),
        ([1j], TypeError, "inv_freq must hold real numbers, got dtype complex128"),
    ],
)
def test_bad_frequencies_are_named(inv_freq, error, message):
    with pytest.raises(error, match=f"^{message}"):
        wavelengths(inv_freq)
