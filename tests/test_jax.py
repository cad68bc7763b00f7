"""The core with JAX arrays: concrete and traced, with and without 64-bit floats."""

from __future__ import annotations

import numpy as np
import pytest

import rope_lib
from rope_lib import apply_rope, cos_sin, inverse_frequencies, rerotate

jax = pytest.importorskip("jax", reason="JAX is optional: make test-jax installs it")
jnp = jax.numpy

THETA = inverse_frequencies(8)
IDS = np.array([3, 1_000_000])
LAYOUTS = ["interleaved", "half"]


@pytest.fixture
def x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def random(dtype):
    return jnp.asarray(np.random.default_rng(0).normal(size=(2, 2, 9)), dtype)


def test_tables_are_exact_without_float64():
    exact = np.cos(IDS[:, None] * THETA)
    for positions, inv_freq in ((jnp.asarray(IDS), THETA), (IDS.tolist(), jnp.asarray(THETA))):
        cos, _ = cos_sin(positions, inv_freq)
        assert isinstance(cos, jax.Array)
        assert cos.dtype == jnp.float32
    # Frequencies that come as float32 are off by 2^−25 each; NumPy ones are not.
    np.testing.assert_allclose(cos_sin(jnp.asarray(IDS), THETA)[0], exact, atol=6e-8)
    assert cos_sin(jnp.asarray(IDS), THETA, dtype=jnp.bfloat16)[1].dtype == jnp.bfloat16
    long, _ = cos_sin(jnp.arange(2**15), THETA)
    np.testing.assert_allclose(long[-1], np.cos((2**15 - 1) * THETA), atol=6e-8)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_rotation_agrees_with_numpy_traced_or_not(layout, dtype):
    x, (cos, sin) = random(dtype), cos_sin(jnp.asarray(IDS), THETA)
    exact = apply_rope(np.asarray(x, np.float64), *map(np.asarray, (cos, sin)), layout=layout)
    got = apply_rope(x, cos, sin, layout=layout)
    assert isinstance(got, jax.Array)
    assert got.dtype == x.dtype
    step = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(got, np.float64), exact, rtol=step, atol=step)

    @jax.jit
    def turn(x, cos, sin):
        inside = cos_sin(IDS, THETA)
        return (
            apply_rope(x, cos, sin, layout=layout),
            apply_rope(x, *inside, layout=layout),
            rerotate(x, IDS, THETA, layout=layout),
        )

    for traced in turn(x, cos, sin):
        np.testing.assert_allclose(np.asarray(traced, np.float64), exact, rtol=step, atol=step)
    np.testing.assert_array_equal(
        jax.vmap(lambda x: apply_rope(x, cos, sin, layout=layout))(x), got
    )


def test_gradients_are_inverse_rotations():
    x, (cos, sin) = random("float32"), cos_sin(jnp.asarray(IDS), THETA)
    _, back = jax.vjp(lambda x: apply_rope(x, cos, sin), x)
    np.testing.assert_allclose(back(x)[0], apply_rope(x, cos, sin, inverse=True), atol=1e-6)


def test_traced_positions_need_float64():
    with pytest.raises(ValueError, match="positions are traced by JAX with jax_enable_x64 off"):
        jax.jit(lambda ids: cos_sin(ids, THETA))(jnp.asarray(IDS))
    with pytest.raises(ValueError, match="inv_freq are traced by JAX with jax_enable_x64 off"):
        jax.grad(lambda theta: cos_sin([3], theta)[0].sum())(jnp.asarray(THETA))
    with pytest.raises(ValueError, match="positions are traced by JAX"):
        jax.jit(lambda delta: rerotate(random("float32"), delta, THETA))(3)
    with pytest.raises(ValueError, match="dtype must be at most float32"):
        cos_sin(jnp.asarray(IDS), THETA, dtype=jnp.float64)


def test_traced_positions_with_float64(x64):
    traced = jax.jit(lambda ids: cos_sin(ids, THETA)[0])(jnp.asarray(IDS))
    np.testing.assert_allclose(traced, np.cos(IDS[:, None] * THETA), atol=6e-8)
    slope = jax.grad(lambda theta: cos_sin([3], theta, dtype=jnp.float64)[0].sum())(
        jnp.asarray(THETA)
    )
    np.testing.assert_allclose(slope, -3 * np.sin(3 * THETA), atol=1e-15)


def test_the_plane_and_the_layouts():
    vectors = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(
        jax.jit(rope_lib.rotate)(vectors, 2.0), rope_lib.rotate((1, 2), 2.0), atol=1e-6
    )
    np.testing.assert_array_equal(rope_lib.as_real(rope_lib.as_complex(vectors)), vectors)
    assert rope_lib.wavelengths(jnp.array([0.0]))[0] == jnp.inf
    converted = rope_lib.convert_layout(jnp.arange(6), "interleaved", "half")
    assert converted.tolist() == [0, 2, 4, 1, 3, 5]


def test_what_jax_cannot_do_is_named():
    x, (cos, sin) = random("float32"), cos_sin(jnp.asarray(IDS), THETA)
    with pytest.raises(TypeError, match="out must be writable"):
        apply_rope(x, cos, sin, out=x)
    with pytest.raises(TypeError, match="positions must hold real numbers, got dtype bfloat16"):
        cos_sin(jnp.ones(2, jnp.bfloat16), THETA)
    with pytest.raises(ValueError, match="theta must be finite, got nan"):
        rope_lib.rotation_matrix(jnp.array(jnp.nan))
