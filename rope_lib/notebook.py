"""What the book's cells share: device, fair side-by-side timing, and stored measurements.

The only place that reads ``ROPE_DEVICE``; the rest of the library never looks at the environment.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch


def device() -> torch.device:
    """The device that a chapter's tensors live on: ``ROPE_DEVICE``, or the CPU.

    Returns:
        A torch device, checked to be usable.

    Raises:
        RuntimeError: if ``ROPE_DEVICE`` names a device that this machine does not have.
    """
    name = os.environ.get("ROPE_DEVICE", "cpu")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise RuntimeError(f"ROPE_DEVICE={name!r} cannot be used here: {error}") from None
    return torch.device(name)


def median_seconds(
    functions: Mapping[str, Callable[[], Any]], *, rounds: int = 15
) -> dict[str, tuple[float, float, float]]:
    """Time functions side by side, in turns, so that a busy moment hits all of them alike.

    Args:
        functions: name -> a function without arguments.
        rounds: how often each one runs after one run to warm up; at least 1.

    Returns:
        name -> (fastest, median, slowest) time of one call, in seconds.

    Raises:
        ValueError: if ``rounds`` is below 1.
    """
    times = seconds_by_turn(functions, rounds=rounds)
    return {name: (min(t), statistics.median(t), max(t)) for name, t in times.items()}


def seconds_by_turn(
    functions: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 15,
    clock: Callable[[], Any] = time.perf_counter,
) -> dict[str, list[Any]]:
    """Every time behind ``median_seconds``, so that two functions can be compared turn by turn.

    Args:
        functions: name -> a function without arguments.
        rounds: as in ``median_seconds``.
        clock: what is read before and after a call; the difference of two readings is the time.

    Returns:
        name -> the times of its calls, one a turn.

    Raises:
        ValueError: if ``rounds`` is below 1.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    times: dict[str, list[Any]] = {name: [] for name in functions}
    for turn in range(rounds + 1):
        for name, function in functions.items():
            start = clock()
            function()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if turn:
                times[name].append(clock() - start)
    return times


def results(name: str) -> dict[str, Any]:
    """What an experiment stored, for a chapter to plot: ``experiments/results/<name>.json``.

    Args:
        name: of the experiment, such as "stretch". ``make experiments`` redoes them.

    Returns:
        The file's content, that is, how it was made, and its points.

    Raises:
        FileNotFoundError: neither this folder nor one above it holds that file.
    """
    return _stored(f"experiments/results/{name}.json", f"make experiments RUN={name}")


def benchmarks(machine: str = "cpu-x86_64-avx2-2-threads") -> dict[str, Any]:
    """What a benchmark run stored, for a chapter to plot: ``benchmarks/results/<machine>.json``.

    Args:
        machine: class of the machine that it ran on. ``make bench`` stores one for yours.

    Returns:
        The file's content, that is, the machine, the budgets, and the ratios of each workload.

    Raises:
        FileNotFoundError: as results.
    """
    return _stored(f"benchmarks/results/{machine}.json", "make bench, on such a machine")


def _stored(path: str, command: str) -> dict[str, Any]:
    """The JSON at a path of the repository, seen from any folder of it."""
    start = Path.cwd()
    for folder in (start, *start.parents):
        if (folder / path).is_file():
            stored: dict[str, Any] = json.loads((folder / path).read_text("utf-8"))
            return stored
    raise FileNotFoundError(
        f"{path} is not in {start} nor above it. In a clone of the book: {command}"
    )
