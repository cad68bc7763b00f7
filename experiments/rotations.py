"""The programs of platforms.py: one rotation in several frameworks, from the same numbers.

Each takes a recipe ("tables" or "angles"), a number format and three float64 arrays, which it
rounds to that format: x, and cosines and sines or positions and frequencies. It gives the result
in float64, and the format in which the result came.
"""

from __future__ import annotations

import functools
import importlib.util
import shutil
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from rope_lib import apply_rope, cos_sin

Array: TypeAlias = Any
Numbers: TypeAlias = NDArray[np.float64]
Program: TypeAlias = Callable[[str, str, Numbers, Numbers, Numbers], tuple[Numbers, str]]


class RefusedError(Exception):
    """A platform does not take the number format; the text is its own message."""


def rotate(xp: Any, x: Array, cos: Array, sin: Array) -> Array:
    """Adjacent pairs, in real arithmetic: all that any platform needs."""
    a, b = x[..., 0::2], x[..., 1::2]
    return xp.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


def rotate_by_angles(xp: Any, x: Array, positions: Array, inv_freq: Array) -> Array:
    """The same, with angles, cosines and sines made where x is, in its number format."""
    angles = positions[:, None] * inv_freq
    return rotate(xp, x, xp.cos(angles), xp.sin(angles))


RECIPES: Mapping[str, Callable[..., Array]] = {"tables": rotate, "angles": rotate_by_angles}


class Module(torch.nn.Module):
    """A recipe, for exporters that want a module."""

    def __init__(self, recipe: str) -> None:
        super().__init__()
        self.recipe = recipe

    def forward(self, x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        rotated: torch.Tensor = RECIPES[self.recipe](torch, x, first, second)
        return rotated


def tensors(dtype: str, *arrays: Numbers) -> list[torch.Tensor]:
    return [torch.from_numpy(a).to(getattr(torch, dtype)) for a in arrays]


def read(turned: torch.Tensor) -> tuple[Numbers, str]:
    return turned.double().cpu().numpy(), str(turned.dtype).removeprefix("torch.")


def by_numpy(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    if dtype == "bfloat16":
        raise RefusedError("NumPy has no bfloat16")
    turned = RECIPES[recipe](np, *(a.astype(dtype) for a in arrays))
    return turned.astype(np.float64), turned.dtype.name


def by_torch(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    return read(Module(recipe)(*tensors(dtype, *arrays)))


def by_complex(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    """One complex product, as Meta's code has it, without its casts."""
    x, first, second = tensors(dtype, *arrays)
    try:
        if recipe == "tables":
            turn = torch.complex(first, second)
        else:
            angles = first[:, None] * second
            turn = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return read(torch.view_as_real(pairs * turn).flatten(-2))
    # torch raises the one or the other, by operator, where a dtype has no complex form.
    except (RuntimeError, NotImplementedError) as error:
        raise RefusedError(first_line(error)) from error


def by_compiler(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    return read(compiled(recipe, dtype)(*tensors(dtype, *arrays)))


@functools.cache
def compiled(recipe: str, dtype: str) -> Callable[..., torch.Tensor]:
    torch.compiler.reset()  # no more than a few variants of one function are kept
    return torch.compile(Module(recipe), fullgraph=True)


def by_export(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    given = tensors(dtype, *arrays)
    return read(torch.export.export(Module(recipe), tuple(given)).module()(*given))


def by_gpu(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    return read(Module(recipe)(*(t.cuda() for t in tensors(dtype, *arrays))))


def by_onnx(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    """The graph that torch.onnx.export makes of the module."""
    shapes = tuple(a.shape for a in arrays)
    return in_onnx_runtime(onnx_graph(recipe, dtype, shapes), dtype, arrays)


@functools.cache
def onnx_graph(recipe: str, dtype: str, shapes: tuple[tuple[int, ...], ...]) -> bytes:
    given = tuple(torch.zeros(shape, dtype=getattr(torch, dtype)) for shape in shapes)
    program = torch.onnx.export(Module(recipe), given, dynamo=True, verbose=False)
    assert program is not None
    graph: bytes = program.model_proto.SerializeToString()
    return graph


def by_onnx_operator(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    """RotaryEmbedding of operator set 23, which takes tables and no angles."""
    if recipe == "angles":
        raise RefusedError("the operator takes tables")
    import onnx
    from onnx import helper

    x, cos, sin = arrays
    arrays = (x[None], cos[None], sin[None])
    kind = getattr(
        onnx.TensorProto, {"float64": "DOUBLE", "float32": "FLOAT"}.get(dtype, dtype.upper())
    )
    inputs = [
        helper.make_tensor_value_info(name, kind, a.shape)
        for name, a in zip(("x", "cos", "sin"), arrays, strict=True)
    ]
    output = helper.make_tensor_value_info("y", kind, arrays[0].shape)
    node = helper.make_node("RotaryEmbedding", ["x", "cos", "sin"], ["y"], interleaved=1)
    graph = helper.make_graph([node], "rotary", inputs, [output])
    opset = [helper.make_opsetid("", 23)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=10)
    turned, out = in_onnx_runtime(model.SerializeToString(), dtype, arrays)
    return turned[0], out


def in_onnx_runtime(model: bytes, dtype: str, arrays: tuple[Numbers, ...]) -> tuple[Numbers, str]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # what it refuses, it says in the error, too
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [given.name for given in session.get_inputs()]
        fed = {n: a.astype(dtype) for n, a in zip(names, arrays, strict=True)}
        turned = session.run(None, fed)[0]
    except Exception as error:  # its exceptions share no base of their own
        raise RefusedError(first_line(error)) from error
    return turned.astype(np.float64), turned.dtype.name


def by_jax(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    return in_jax(recipe, dtype, arrays, lambda function: function)


def by_jax_jit(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    import jax

    return in_jax(recipe, dtype, arrays, jax.jit)


def in_jax(
    recipe: str, dtype: str, arrays: tuple[Numbers, ...], wrap: Callable[[Any], Any]
) -> tuple[Numbers, str]:
    import jax.numpy as jnp

    turn = wrap(lambda *given: RECIPES[recipe](jnp, *given))
    turned = turn(*(jnp.asarray(a, dtype) for a in arrays))
    return np.asarray(turned, np.float64), turned.dtype.name


def by_rope_lib(recipe: str, dtype: str, *arrays: Numbers) -> tuple[Numbers, str]:
    """apply_rope, on PyTorch tensors; its own angles, from positions that are not rounded."""
    x, first, second = arrays
    if recipe == "tables":
        cos, sin = tensors(dtype, first, second)
    else:
        kind = np.float64 if dtype == "float64" else None
        cos, sin = map(torch.from_numpy, cos_sin(first, second, dtype=kind))
    return read(apply_rope(*tensors(dtype, x), cos, sin))


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160]


def nothing() -> str:
    return ""


def lacks_compiler() -> str:
    return "" if shutil.which("g++") or shutil.which("clang++") else "a C++ compiler"


def lacks_gpu() -> str:
    return "" if torch.cuda.is_available() else "a GPU"


def lacks_jax() -> str:
    return "" if importlib.util.find_spec("jax") else "JAX"


PLATFORMS: Mapping[str, tuple[str, Program, Callable[[], str]]] = {
    "NumPy": ("numpy", by_numpy, nothing),
    "PyTorch": ("torch", by_torch, nothing),
    "PyTorch, complex": ("torch", by_complex, nothing),
    "PyTorch, compiled": ("torch", by_compiler, lacks_compiler),
    "PyTorch, exported": ("torch", by_export, nothing),
    "PyTorch, GPU": ("torch", by_gpu, lacks_gpu),
    "ONNX Runtime": ("onnxruntime", by_onnx, nothing),
    "ONNX operator": ("onnxruntime", by_onnx_operator, nothing),
    "JAX": ("jax", by_jax, lacks_jax),
    "JAX, jit": ("jax", by_jax_jit, lacks_jax),
    "rope_lib": ("torch", by_rope_lib, nothing),
}
"""Name -> the package whose version counts, the program, and what this machine lacks for it."""
