"""Fixtures that every test of the library shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
