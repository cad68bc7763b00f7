"""The wheel: what it holds, and that it runs beside NumPy and array-api-compat alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-q"]
CONFIG = ROOT / "tests" / "configs" / "llama-3.1-8b.json"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as setuptools leaves a build folder beside what it builds."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "rope_lib", source / "rope_lib", ignore=ignored)
    # A folder that must stay out, as the tests of this repository must.
    shutil.copytree(ROOT / "tests" / "configs", source / "tests")
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(out)]
    subprocess.run([*PIP, "wheel", *options, str(source)], check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed, and links to its two dependencies."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-index", "--no-compile", "--target", str(folder)]
    subprocess.run([*PIP, "install", *options, str(wheel)], check=True)
    for name in ("numpy", "array-api-compat"):
        found = metadata.distribution(name)
        # The first parts of its files: the package, its shared libraries, its metadata.
        for part in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (folder / part).symlink_to(Path(found.locate_file(part)).resolve())
    return folder


def python(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A process that sees the standard library and that folder: -S leaves out site-packages."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV"))}
    return subprocess.run(
        [sys.executable, "-S", "-s", "-P", "-B", "-W", "error", *arguments],
        env=inherited | {"PYTHONPATH": str(site)},
        cwd=site.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    held = {name for name in names if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "rope_lib").rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    assert held == wanted
    assert "rope_lib/py.typed" in wanted
    assert {Path(name).suffix for name in wanted} >= {".js", ".css", ".py"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_asks_for_two_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        message = Parser().parsestr(archive.read(name).decode())
    required = [line for line in message.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(required) == ["array-api-compat>=1.12", "numpy>=2.0"]
    assert message["Requires-Python"] == ">=3.11"


ROTATION = """
import json, sys
import numpy as np
import rope_lib
from importlib.util import find_spec

x = np.array([[1.0, 2.0], [3.0, -1.0]])
q, k = rope_lib.apply_rope(x, *rope_lib.cos_sin([5, 2], [0.4], dtype=np.float64))
optional = ("torch", "transformers", "jax", "anywidget", "ipywidgets", "matplotlib")
print(json.dumps({
    "file": rope_lib.__file__,
    "names": [name for name in rope_lib.__all__ if not hasattr(rope_lib, name)],
    "score": q @ k,
    "imported": [name for name in optional if name in sys.modules],
    "findable": [name for name in optional if find_spec(name)],
}))
"""


def test_rotates_beside_numpy_alone(site: Path) -> None:
    done = python(site, "-c", ROTATION)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said.pop("score") == pytest.approx(-6.161916, abs=1e-6)
    assert Path(said.pop("file")) == site / "rope_lib" / "__init__.py"
    assert said == {"names": [], "imported": [], "findable": []}


def test_reads_a_config_beside_numpy_alone(site: Path) -> None:
    done = python(site, "-m", "rope_lib", str(CONFIG), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["head_dim"] == 128
    text = python(site, "-m", "rope_lib", str(CONFIG))
    assert (text.returncode, text.stderr) == (0, "")
    assert "llama3" in text.stdout
    bad = python(site, "-m", "rope_lib", "missing.json")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.count("\n") == 1


def test_names_what_an_optional_part_lacks(site: Path) -> None:
    done = python(site, "-c", "import rope_lib.nn")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'torch'"
