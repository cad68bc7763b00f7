"""Times taken in turns, ratios turn by turn, memory beyond the output, and what the machine is.

A ratio compares two calls of the same turn, so that a busy moment hits both. Two clocks are read:
the wall's, and the processor time of this process over all its threads, to which other programs
add little. On a GPU only the wall's means anything.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from rope_lib.notebook import seconds_by_turn

Clock: TypeAlias = Literal["wall", "cpu"]
CLOCKS: tuple[Clock, Clock] = ("wall", "cpu")
PACKAGES = ("numpy", "torch", "transformers", "rotary-embedding-torch", "x-transformers")


class Times:
    """name -> times of one call, shape (rounds, 2): wall and processor seconds."""

    def __init__(self, seconds: Mapping[str, np.ndarray]) -> None:
        self.seconds = dict(seconds)

    def ratio(self, name: str, over: str, clock: Clock) -> tuple[float, float, float]:
        """(least, median, largest) of name's time divided by over's in the same turn."""
        column = CLOCKS.index(clock)
        ratios = self.seconds[name][:, column] / self.seconds[over][:, column]
        return float(ratios.min()), float(np.median(ratios)), float(ratios.max())

    def median(self, name: str) -> float:
        """Wall seconds of one call."""
        return statistics.median(self.seconds[name][:, 0].tolist())


def take_times(
    functions: Mapping[str, Callable[[], Any]], *, rounds: int, repeats: int = 1
) -> Times:
    """Time each function repeats times a turn; freeing what it returns is part of its time."""
    seconds = seconds_by_turn(
        {name: _repeated(function, repeats) for name, function in functions.items()},
        rounds=rounds,
        clock=lambda: np.array([time.perf_counter(), time.process_time()]),
    )
    return Times({name: np.array(turns) / repeats for name, turns in seconds.items()})


def _repeated(function: Callable[[], Any], repeats: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(repeats):
            function()

    return run


def extra_memory(function: Callable[[], torch.Tensor]) -> int:
    """Bytes that one call holds at its peak beyond its output, as torch's allocator counts them.

    On a CPU torch.profiler records every allocation and release; their running sum has the peak.
    """
    output = function()
    size, on_gpu = output.nbytes, output.is_cuda
    del output
    if on_gpu:
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        function()
        return torch.cuda.max_memory_allocated() - before - size
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
            function()
        trace.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    changes = [event for event in events if event.get("name") == "[memory]"]
    changes.sort(key=lambda event: event["ts"])
    held = np.cumsum([0, *(event["args"]["Bytes"] for event in changes)])
    return int(held.max()) - size


def fix_allocator() -> str:
    """Make every large output cost the same page faults, and say so.

    glibc's malloc learns from what is freed: after some calls it hands 32 MiB back without new
    pages, after others it does not, and x.clone() is then 4 times as fast as in the workload
    before. Fixed thresholds keep 4 MiB and more on fresh pages, and less on pages kept.
    """
    huge = os.environ.get("THP_MEM_ALLOC_ENABLE") == "1"
    pages = "huge pages (THP_MEM_ALLOC_ENABLE=1)" if huge else "pages of the usual size"
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return f"as the system has it; {pages}"
    mmap_threshold, trim_threshold = -3, -1  # from malloc.h
    mallopt(mmap_threshold, 4 << 20)
    mallopt(trim_threshold, 16 << 20)
    return f"glibc, 4 MiB and more always on fresh pages; {pages}"


def machine(device: torch.device, allocator: str) -> dict[str, Any]:
    """What a reader needs to know to compare: no name of the machine, nothing of its owner."""
    return {
        "class": machine_class(device),
        "threads": torch.get_num_threads(),
        "allocator": "torch's caching allocator" if device.type == "cuda" else allocator,
        "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY", "default"),
        "load_average": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def machine_class(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device).lower().replace(" ", "-")
    capability = torch.backends.cpu.get_cpu_capability().lower()
    pages = "-huge-pages" if os.environ.get("THP_MEM_ALLOC_ENABLE") == "1" else ""
    return f"cpu-{platform.machine()}-{capability}-{torch.get_num_threads()}-threads{pages}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
