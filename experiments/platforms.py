"""One rotation written in several frameworks and number formats, each against exact numbers.

What a machine lacks (JAX: make test-jax installs it; a C++ compiler; a GPU) becomes a point that
says so. Begin anew with --fresh once it is there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from experiments.driver import Lab, Point
from experiments.rotations import (
    PLATFORMS,
    Numbers,
    RefusedError,
    by_torch,
    rotate,
    tensors,
)
from rope_lib import cos_sin, inverse_frequencies

MODEL = False
TEXTS = ()
SETTINGS = {
    "heads": 4,
    "tokens": 64,
    "head_dim": 64,
    "base": 10_000.0,
    "starts": {"near": 0, "far": 131_008},
    "platforms": [
        *("NumPy", "PyTorch", "PyTorch, complex", "PyTorch, compiled", "PyTorch, exported"),
        *("ONNX Runtime", "ONNX operator", "JAX", "JAX, jit", "PyTorch, GPU", "rope_lib"),
    ],
    "dtypes": ["float64", "float32", "float16", "bfloat16"],
    "recipes": ["tables", "angles"],
}
QUICK = {"tokens": 4, "platforms": ["NumPy", "PyTorch", "rope_lib"], "dtypes": ["float32"]}


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [
        {"platform": platform, "dtype": dtype, "recipe": recipe}
        for platform in settings["platforms"]
        for dtype in settings["dtypes"]
        for recipe in settings["recipes"]
    ]


def compute(lab: Lab, point: Point) -> Point:
    """Relative errors near and far, and the share of numbers that are not PyTorch's to the bit."""
    platform, dtype, recipe = point["platform"], point["dtype"], point["recipe"]
    package, program, lacks = PLATFORMS[platform]
    if lack := lacks():
        return {"missing": lack}
    found: Point = {"version": version(package).partition("+")[0]}
    errors, differing = {}, []
    for where, start in lab.settings["starts"].items():
        x, positions, inv_freq = example(lab.settings, start)
        [x] = narrowed(dtype, x)
        second = (positions, inv_freq)
        if recipe == "tables":
            second = cos_sin(positions, inv_freq, dtype=np.float64)
        narrow = narrowed(dtype, *second)
        exactly = (platform, recipe) == ("rope_lib", "angles")  # it takes positions as they are
        given = second if exactly else narrow
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of exporters and compilers, about themselves
                turned, found["out"] = program(recipe, dtype, x, *given)
                eager, _ = by_torch(recipe, dtype, x, *narrow)
        except RefusedError as error:
            return {"version": found["version"], "refused": str(error)}
        tables = cos_sin(positions, inv_freq, dtype=np.float64)
        errors[where] = relative_error(turned, rotate(np, x, *tables))
        differing.append(~((turned == eager) | (np.isnan(turned) & np.isnan(eager))))
    return {**found, **errors, "differ": float(np.mean(differing))}


# ---- what is computed


def example(settings: Mapping[str, Any], start: int) -> tuple[Numbers, Numbers, Numbers]:
    """Random x, shape (heads, tokens, head_dim), positions from start, frequencies: float64."""
    shape = (settings["heads"], settings["tokens"], settings["head_dim"])
    x = np.random.default_rng(0).normal(size=shape)
    positions = start + np.arange(settings["tokens"], dtype=np.float64)
    return x, positions, inverse_frequencies(settings["head_dim"], settings["base"])


def narrowed(dtype: str, *arrays: Numbers) -> tuple[Numbers, ...]:
    """The arrays rounded to dtype, in float64 again: all platforms get the same numbers."""
    return tuple(t.double().numpy() for t in tensors(dtype, *arrays))


def relative_error(found: Numbers, expected: Numbers) -> float | None:
    """Length of the error over that of what was expected; None where not all is finite."""
    if not np.isfinite(found).all():
        return None
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
