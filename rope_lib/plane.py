"""One pair of channels is a plane: a vector in it, or one complex number.

Rotation by θ is the matrix R(θ) = [[cos θ, −sin θ], [sin θ, cos θ]] on (a, b), or the factor
e^{iθ} on a + ib (Su et al., RoFormer, arXiv:2104.09864, equations 12 and 13).

Every function takes numbers, lists, or arrays of any kind, and answers in the kind that it got
(numbers and lists: NumPy). Integers become floats; bool is a TypeError. What is not finite in an
angle is a ValueError; in a vector it propagates as the arithmetic of floats says.
"""

from __future__ import annotations

from collections.abc import Callable

from rope_lib._arrays import (
    Array,
    as_floating,
    cast,
    dtype_kind,
    from_python,
    is_array,
    like,
    namespace,
    widest,
)
from rope_lib._checks import check_broadcast, check_finite


def rotation_matrix(theta: Array) -> Array:
    """R(θ), which turns the plane by theta radians, anticlockwise.

    Args:
        theta: angles in radians, shape (...).

    Returns:
        Shape (..., 2, 2), dtype of theta.

    Raises:
        ValueError: theta is not finite.
        TypeError: theta is bool or complex.
    """
    theta = as_floating(theta, "theta")
    check_finite(theta, "theta")
    xp = namespace(theta)
    c, s = xp.cos(theta), xp.sin(theta)
    rows = [xp.stack([c, -s], axis=-1), xp.stack([s, c], axis=-1)]
    return xp.stack(rows, axis=-2)


def rotate(vectors: Array, theta: Array) -> Array:
    """Turn plane vectors by theta radians: (a cos θ − b sin θ, a sin θ + b cos θ).

    Args:
        vectors: shape (..., 2).
        theta: angles in radians, shape (...), broadcast against the vectors' leading axes. May
            be a number, a list or NumPy beside vectors of another kind.

    Returns:
        The broadcast shape (..., 2), in the dtype of vectors; the arithmetic is done in the
        wider of the two dtypes, at least float32.

    Raises:
        ValueError: the last axis is not 2, shapes do not broadcast, or theta is not finite.
        TypeError: bool or complex input, or two different kinds of array.
    """
    vectors, theta = _same_kind(as_floating, vectors, theta, "vectors", "theta")
    if vectors.ndim == 0 or vectors.shape[-1] != 2:
        raise ValueError(f"vectors must have shape (..., 2), got {tuple(vectors.shape)}")
    check_broadcast(
        tuple(vectors.shape[:-1]), tuple(theta.shape), "the leading axes of vectors", "theta"
    )
    check_finite(theta, "theta")
    xp = namespace(vectors)
    dtype = widest(xp, vectors, theta)
    c, s = cast(xp.cos(theta), dtype), cast(xp.sin(theta), dtype)
    a, b = cast(vectors[..., 0], dtype), cast(vectors[..., 1], dtype)
    return cast(xp.stack([a * c - b * s, a * s + b * c], axis=-1), vectors.dtype)


def as_complex(x: Array) -> Array:
    """Read adjacent channels (x_2j, x_2j+1) as the complex numbers x_2j + i x_2j+1.

    Args:
        x: shape (..., d), d even.

    Returns:
        Shape (..., d/2), complex64 for float32 and narrower, complex128 for float64.

    Raises:
        ValueError: d is odd, or x has no axis.
        TypeError: x is bool or complex.
    """
    x = as_floating(x, "x")
    if x.ndim == 0:
        raise ValueError("x must have shape (..., d), got ()")
    if x.shape[-1] % 2:
        raise ValueError(f"x must have an even last axis, got {x.shape[-1]}")
    x = cast(x, widest(namespace(x), x))
    return x[..., 0::2] + 1j * x[..., 1::2]


def as_real(z: Array) -> Array:
    """Undo as_complex: z_j becomes the adjacent channels (Re z_j, Im z_j).

    Args:
        z: complex, shape (..., d/2).

    Returns:
        Real, shape (..., d).

    Raises:
        ValueError: z has no axis.
        TypeError: z is not complex.
    """
    z = _complex_array(z, "z")
    if z.ndim == 0:
        raise ValueError("z must have shape (..., d/2), got ()")
    xp = namespace(z)
    pairs = xp.stack([xp.real(z), xp.imag(z)], axis=-1)
    return xp.reshape(pairs, (*z.shape[:-1], 2 * z.shape[-1]))


def conjugate_score(zq: Array, zk: Array) -> Array:
    """The product zq · conj(zk), element by element: dot product and cross product at once.

    For zq = a + ib and zk = c + id it is (ac + bd) + i(bc − ad). Rotated by mθ and nθ, it gains
    the factor e^{i(m−n)θ} and nothing else: the score depends on m − n only.

    Args:
        zq: complex, any shape.
        zk: complex, broadcast against zq.

    Returns:
        Complex, the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.
        TypeError: an argument is real, or the two are different kinds of array.
    """
    zq, zk = _same_kind(_complex_array, zq, zk, "zq", "zk")
    check_broadcast(tuple(zq.shape), tuple(zk.shape), "zq", "zk")
    return zq * namespace(zk).conj(zk)


def _complex_array(z: Array, name: str) -> Array:
    z = from_python(z, name)
    if dtype_kind(z) != "complex floating":
        raise TypeError(f"{name} must be complex, got dtype {z.dtype}: as_complex makes it so")
    return z


def _same_kind(
    convert: Callable[[Array, str], Array], a: Array, b: Array, name_a: str, name_b: str
) -> tuple[Array, Array]:
    """Both in the kind of the first, or of the second where the first is a number or a list."""
    first_decides = is_array(a) or not is_array(b)
    a, b = convert(a, name_a), convert(b, name_b)
    return (a, like(b, a, name_b)) if first_decides else (like(a, b, name_a), b)
