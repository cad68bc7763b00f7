"""One rotation on several platforms: how the experiment measures, and what it stored."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments import platforms
from experiments.driver import Lab

RESULTS = Path(__file__).parents[1] / "experiments" / "results" / "platforms.json"
DTYPES = platforms.SETTINGS["dtypes"]


def measure(platform: str, dtype: str = "float32", recipe: str = "tables") -> dict:
    lab = Lab({**platforms.SETTINGS, "tokens": 4})
    return platforms.compute(lab, {"platform": platform, "dtype": dtype, "recipe": recipe})


def test_every_platform_has_a_program_and_a_point_for_each_format_and_recipe():
    assert set(platforms.SETTINGS["platforms"]) == set(platforms.PLATFORMS)
    points = platforms.points(platforms.SETTINGS)
    assert len(points) == len(platforms.PLATFORMS) * len(DTYPES) * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_with_given_tables_near_and_far_are_alike(dtype):
    step = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
    for platform in ("PyTorch", "rope_lib"):
        found = measure(platform, dtype)
        assert found["out"] == dtype
        assert max(found["near"], found["far"]) < 2 * step[dtype]


def test_angles_in_float32_and_in_bfloat16_fail_far_away_and_float64_ones_do_not():
    assert 1e-4 < measure("PyTorch", "float32", "angles")["far"] < 1e-2
    assert measure("PyTorch", "bfloat16", "angles")["far"] > 0.5
    assert measure("PyTorch", "float16", "angles")["far"] is None  # 131 008 is infinite there
    assert measure("rope_lib", "bfloat16", "angles")["far"] < 0.01


@pytest.mark.parametrize("platform", ["NumPy", "PyTorch, exported"])
def test_the_same_order_of_the_same_operations_gives_the_same_bits(platform):
    assert measure(platform)["differ"] == 0.0


@pytest.mark.parametrize(
    ("platform", "dtype", "recipe", "says"),
    [
        ("NumPy", "bfloat16", "tables", "NumPy has no bfloat16"),
        ("PyTorch, complex", "bfloat16", "tables", "BFloat16"),
        ("ONNX operator", "float32", "angles", "takes tables"),
        ("ONNX operator", "float64", "tables", "DOUBLE|double"),
    ],
)
def test_what_a_platform_refuses_is_stored_in_its_words(platform, dtype, recipe, says):
    refused = measure(platform, dtype, recipe)["refused"]
    assert any(word in refused for word in says.split("|")), refused


def test_onnx_runtime_and_its_operator_agree_with_pytorch():
    for platform in ("ONNX Runtime", "ONNX operator"):
        found = measure(platform)
        assert max(found["near"], found["far"]) < 2.0**-23


def test_a_compiled_rotation_agrees_to_rounding_where_there_is_a_compiler():
    found = measure("PyTorch, compiled")
    if shutil.which("g++") or shutil.which("clang++"):
        assert max(found["near"], found["far"]) < 2.0**-23
    else:
        assert found == {"missing": "a C++ compiler"}


def test_jax_agrees_to_rounding_and_is_named_where_it_is_missing():
    for platform in ("JAX", "JAX, jit"):
        found = measure(platform)
        if importlib.util.find_spec("jax"):
            assert max(found["near"], found["far"]) < 2.0**-23
            assert measure(platform, "float64")["out"] == "float32"
        else:
            assert found == {"missing": "JAX"}


def test_an_error_that_is_not_finite_has_no_number():
    assert platforms.relative_error(np.array([np.inf]), np.ones(1)) is None
    assert platforms.relative_error(np.array([1.5, 2.0]), np.array([1.0, 2.0])) == pytest.approx(
        0.5 / 5**0.5
    )


# ---- what is stored


def test_all_that_a_cpu_can_measure_is_stored():
    points = json.loads(RESULTS.read_text("utf-8"))["points"]
    for point in points:
        keys = set(point) - {"platform", "dtype", "recipe"}
        if point["platform"] == "PyTorch, GPU" and "missing" in point:
            assert keys == {"missing"}
        else:
            assert keys in ({"version", "refused"}, {"version", "out", "near", "far", "differ"})
