"""Whatever the benchmarks compare gives the same result, and their sums are right; no times."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import budgets, measure, report, tables, workloads

# x-transformers brings functions that torch deprecates, when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

CPU = torch.device("cpu")
PEERS = {
    "half": {"rope_lib", "transformers"},
    "interleaved": {
        "rope_lib",
        "Meta's complex form",
        "torchtune's formula",
        "rotary-embedding-torch",
        "x-transformers",
    },
}


def tiny(work):
    return replace(work, batch=2, heads=3, seq=1 if work.decode else 5, repeats=1)


WORKLOADS = [tiny(work) for work in workloads.all_workloads(CPU, quick=False)]


def timed(**seconds):
    return measure.Times({name: np.array(turns, float) for name, turns in seconds.items()})


@pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.name)
def test_every_implementation_gives_the_exact_rotation(work):
    steps = workloads.steps(work, CPU)
    assert set(steps) == PEERS[work.layout]
    errors = workloads.check(work, steps, CPU)
    assert set(errors) == set(steps)


def test_a_wrong_result_is_not_timed():
    work = WORKLOADS[0]
    steps = {"unturned": lambda: workloads._x(work, CPU)}
    with pytest.raises(AssertionError, match="unturned is off by"):
        workloads.check(work, steps, CPU)


def test_every_maker_gives_the_same_tables():
    makers = tables.table_makers(CPU, 300)
    assert len(makers) == 5
    for name, maker in makers.items():
        assert tables.table_error(maker) < 3e-5, name
    assert tables.table_error(makers["rope_lib"]) < 1e-7


def test_ratios_compare_calls_of_one_turn():
    times = timed(ours=[[2, 1], [4, 1], [9, 1]], clone=[[1, 1], [4, 2], [3, 4]])
    assert times.ratio("ours", "clone", "wall") == (1.0, 2.0, 3.0)
    assert times.ratio("ours", "clone", "cpu") == (0.25, 0.5, 1.0)
    assert times.median("ours") == 4.0


def test_extra_memory_is_the_peak_without_the_output():
    x = torch.zeros(1 << 16)
    assert measure.extra_memory(x.clone) == 0
    assert measure.extra_memory(lambda: x.neg().neg()) == x.nbytes


def test_budgets_are_met_missed_or_not_measured():
    name = "prefill float32, half"
    times = timed(rope_lib=[[1, 1]], transformers=[[3, 1]], clone=[[1, 1]])
    results = {name: workloads.Result(name, "clone", times, extra={"rope_lib": 0.1})}
    words = {v.budget: v.word for v in budgets.verdicts(results, "wall", on_gpu=False)}
    assert words["float32 half: transformers / ours"] == "met"
    assert words["memory beyond the output / x, the worst eager case"] == "met"
    assert words["table: largest error"] == "not measured"
    words = {v.budget: v.word for v in budgets.verdicts(results, "cpu", on_gpu=False)}
    assert words["float32 half: transformers / ours"] == "missed"


def test_a_run_prints_and_writes_the_same_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(workloads, "all_workloads", lambda device, quick: WORKLOADS)
    monkeypatch.setattr(report, "QUICK_POSITIONS", 200)
    report.run(CPU, quick=True, compiled=False, rounds=1, clock="wall", folder=tmp_path)
    (path,) = tmp_path.iterdir()
    written = json.loads(path.read_text())
    printed = capsys.readouterr().out
    assert set(written["workloads"]) == {work.name for work in WORKLOADS} | {
        "tables of 200 positions, 64 pairs"
    }
    for work, result in written["workloads"].items():
        assert work in printed
        assert result["contenders"][result["baseline"]][f"wall / {result['baseline']}"] == "1  1  1"
    assert written["machine"]["threads"] == torch.get_num_threads()
    assert written["machine"]["versions"]["torch"] in printed
    assert all(budget["budget"] in printed for budget in written["budgets"])
