"""What NumPy, PyTorch and the array-API libraries do differently, in one place.

The modules above this one write each formula once, against a namespace ``xp``. For a torch
tensor ``xp`` is torch itself, so that compilation and function transforms see plain torch calls.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy as compat_numpy
import numpy as np

Array: TypeAlias = Any
"""An array of any supported kind."""

EXACT_LIMIT = 2**53
"""float64 holds every integer up to here; beyond, neighbouring positions collide."""

NUMPY_KINDS = {
    "b": "bool",
    "i": "integral",
    "u": "integral",
    "f": "real floating",
    "c": "complex floating",
}
"""np.isdtype knows no more, and fails on the dtypes that other packages add."""


def is_torch(x: Any) -> bool:
    """Whether x is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_numpy(x: Any) -> bool:
    """Whether x is a NumPy array or scalar."""
    return isinstance(x, (np.ndarray, np.generic))


def is_jax(x: Any) -> bool:
    """Whether x is a JAX array, concrete or traced; never imports jax."""
    return "jax" in sys.modules and not is_torch(x) and array_api_compat.is_jax_array(x)


def is_traced_jax(x: Any) -> bool:
    """Whether x is a JAX tracer, whose values cannot be read."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.core.Tracer)


def compiling() -> bool:
    """Whether torch traces the caller, for torch.compile or torch.export."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.compiler.is_compiling())


def is_array(x: Any) -> bool:
    """Whether x is an array already, as opposed to a number, a list or a range."""
    if isinstance(x, (int, float, complex, list, tuple, range)):
        return is_numpy(x)  # np.float64 is a float, too
    return is_torch(x) or is_numpy(x) or array_api_compat.is_array_api_obj(x)


def namespace(x: Array) -> Any:
    """The module that computes with arrays of x's kind."""
    if is_torch(x):
        return sys.modules["torch"]
    return compat_numpy if is_numpy(x) else array_api_compat.array_namespace(x)


def kind_name(x: Array) -> str:
    """The library that x belongs to, for messages."""
    return type(x).__module__.partition(".")[0]


def dtype_kind(x: Array) -> str:
    """One of "bool", "integral", "real floating", "complex floating", "other"."""
    if is_torch(x):
        return _torch_dtype_kind(x.dtype)
    if is_numpy(x):
        return NUMPY_KINDS.get(x.dtype.kind, "other")
    xp, kinds = namespace(x), ("bool", "integral", "real floating", "complex floating")
    return next((kind for kind in kinds if xp.isdtype(x.dtype, kind)), "other")


def _torch_dtype_kind(dtype: Any) -> str:
    if dtype.is_complex:
        return "complex floating"
    if dtype.is_floating_point:
        # The 8-bit floats neither promote nor add.
        return "real floating" if dtype.itemsize > 1 else "other"
    return "bool" if dtype == sys.modules["torch"].bool else "integral"


def cast(x: Array, dtype: Any) -> Array:
    """The array in another dtype, differentiably where the library differentiates."""
    return x.to(dtype) if is_torch(x) else namespace(x).astype(x, dtype)


def widest(xp: Any, *arrays: Array) -> Any:
    """The dtype that holds all the arrays and is at least float32."""
    # torch.result_type takes tensors, and lets those without axes count for less.
    promote = xp.promote_types if is_torch(arrays[0]) else xp.result_type
    return functools.reduce(promote, {array.dtype for array in arrays}, xp.float32)


def join(parts: list[Array]) -> Array:
    """The parts one after the other along the last axis."""
    # torch knows it as concat, too, but its vmap over backward passes only as cat.
    xp = namespace(parts[0])
    return (xp.cat if is_torch(parts[0]) else xp.concat)(parts, axis=-1)


def from_python(value: Any, name: str) -> Array:
    """An array as it is; a number, list or range as a NumPy array, or torch while it compiles."""
    if is_array(value):
        return value
    if compiling():
        # torch cannot trace the questions that the lines below ask of a NumPy array.
        torch = sys.modules["torch"]
        return torch.as_tensor(value, dtype=torch.float64)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise ValueError(f"{name} must be a number or a rectangular array of numbers") from error
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers, got {type(value).__name__} of {array.dtype}")
    return array


def as_floating(value: Any, name: str) -> Array:
    """A real array of floats; integers become the library's default float, bool is refused."""
    x = from_python(value, name)
    kind = dtype_kind(x)
    if kind == "integral":
        return cast(x, default_float(x))
    if kind != "real floating":
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}")
    return x


def default_float(x: Array) -> Any:
    """The float dtype that x's library chooses for itself."""
    xp = namespace(x)
    if is_torch(x):
        return xp.get_default_dtype()
    return xp.__array_namespace_info__().default_dtypes()["real floating"]


def like(value: Array, x: Array, name: str) -> Array:
    """Value in x's kind and, where it was NumPy, on x's device; no other kind changes."""
    if is_numpy(value):
        return _from_numpy(value, x)
    if namespace(value) is not namespace(x):
        raise TypeError(f"{name} must be a NumPy or {kind_name(x)} array, got {kind_name(value)}")
    return value


def _from_numpy(value: Any, x: Array) -> Array:
    xp = namespace(x)
    if is_numpy(x):
        return value
    if is_torch(x):
        # A copy, because torch warns about memory that it must not write.
        return xp.as_tensor(np.array(value), device=x.device)
    return xp.asarray(value, device=None if is_traced_jax(x) else array_api_compat.device(x))


def holds(condition: Array) -> bool:
    """Whether every element is true; values that cannot be read are given the benefit of doubt.

    They cannot be read while torch or JAX traces, under vmap, and on the meta device.
    """
    if compiling():
        return True
    try:
        return bool(condition.all() if is_torch(condition) else namespace(condition).all(condition))
    # vmap raises the first, a JAX tracer the second, the meta device the first or the third.
    except (RuntimeError, TypeError, NotImplementedError):
        return True
