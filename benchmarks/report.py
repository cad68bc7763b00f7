"""The run: workloads in order, a table for each, the budgets, and the same numbers as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from benchmarks import budgets, tables, workloads
from benchmarks.measure import CLOCKS, Clock, machine
from benchmarks.workloads import Result

POSITIONS, QUICK_POSITIONS = 1_000_000, 2**17


def run(
    device: torch.device,
    *,
    quick: bool,
    compiled: bool,
    rounds: int,
    clock: Clock,
    folder: Path,
    allocator: str = "as the process has it",
) -> None:
    """Measure everything, print it, write folder/<class of machine>.json."""
    about = machine(device, allocator) | {"clock": clock, "rounds": rounds, "quick": quick}
    print(_heading(about))
    results: dict[str, Result] = {}
    for work in workloads.all_workloads(device, quick=quick):
        results[work.name] = workloads.run(work, device, rounds=rounds, compiled=compiled)
        print(table(results[work.name], clock), flush=True)
    long = tables.run(
        device, rounds=min(rounds, 5), positions=QUICK_POSITIONS if quick else POSITIONS
    )
    results[long.name] = long
    print(table(long, clock))
    found = budgets.verdicts(results, clock, on_gpu=device.type == "cuda")
    caveat = "; sizes too small for a verdict: leave --quick out" if quick else ""
    print(f"\nBudgets ({clock} time{caveat})", *found, sep="\n")
    path = folder / f"{about['class']}{'-quick' if quick else ''}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(about, results, found))
    print(f"\nWritten: {path}")


def table(result: Result, clock: Clock) -> str:
    """Ratios to the baseline and to rope_lib: least, median, largest of the turns."""
    other = next(c for c in CLOCKS if c != clock)
    lines = [
        f"\n{result.name}",
        f"  {'':32}{'wall ms':>8}  {'/ ' + result.baseline + ', ' + clock:^20}"
        f"{other:>8}  {'/ rope_lib, ' + clock:^20}{'extra':>7}{'error':>9}",
    ]
    for name in result.times.seconds:
        to_limit = result.times.ratio(name, result.baseline, clock)
        by_other = result.times.ratio(name, result.baseline, other)[1]
        to_ours = result.times.ratio(name, "rope_lib", clock)
        extra = f"{result.extra[name]:.2f}" if name in result.extra else ""
        error = f"{result.errors[name]:.0e}" if name in result.errors else ""
        lines.append(
            f"  {name:32}{1e3 * result.times.median(name):8.2f}  {_three(to_limit)}"
            f"{by_other:8.2f}  {_three(to_ours)}{extra:>7}{error:>9}"
        )
    return "\n".join(lines)


def as_json(about: dict[str, Any], results: dict[str, Result], found: list[budgets.Verdict]) -> str:
    """The numbers of the tables, rounded; a workload a line."""
    measured = {
        name: {"baseline": result.baseline, "contenders": _contenders(result)}
        for name, result in results.items()
    }
    judged = [
        {
            "budget": v.budget,
            "limit": f"{v.sign} {v.limit:g}",
            "measured": None if v.measured is None else _rounded(v.measured),
            "verdict": v.word,
        }
        for v in found
    ]
    content = {"machine": about, "budgets": judged, "workloads": measured}
    return json.dumps(content, indent=1) + "\n"


def _contenders(result: Result) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in result.times.seconds:
        entry: dict[str, Any] = {"wall_ms": _rounded(1e3 * result.times.median(name))}
        for clock in CLOCKS:
            for over in (result.baseline, "rope_lib"):
                ratio = result.times.ratio(name, over, clock)
                entry[f"{clock} / {over}"] = "  ".join(f"{r:.3g}" for r in ratio)
        for key, numbers in (("extra_memory", result.extra), ("error", result.errors)):
            if name in numbers:
                entry[key] = _rounded(numbers[name])
        found[name] = entry
    return found


def _heading(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"{about['class']}: {about['threads']} threads on {about['cores']} cores, "
        f"load average {about['load_average']} at the start\n"
        f"allocator: {about['allocator']}; OMP_WAIT_POLICY={about['omp_wait_policy']}\n"
        f"Python {about['python']}, {versions}\n"
        f"{about['rounds']} turns; ratios as least, median, largest, by {about['clock']} time; "
        "extra: peak memory beyond the output / x; error: largest, / largest entry"
    )


def _three(ratio: tuple[float, float, float]) -> str:
    return "".join(f"{value:7.2f}" for value in ratio)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
