"""The helpers of the notebooks: device, timing, and what was stored before."""

import json
import re
from pathlib import Path

import pytest
import torch

from rope_lib.notebook import benchmarks, device, median_seconds, results, seconds_by_turn

ROOT = Path(__file__).parents[1]


def test_stored_results_are_found_from_a_chapters_folder(tmp_path, monkeypatch):
    folder = tmp_path / "experiments" / "results"
    folder.mkdir(parents=True)
    (folder / "stretch.json").write_text(json.dumps({"points": [1]}))
    chapter = tmp_path / "book" / "model"
    chapter.mkdir(parents=True)
    monkeypatch.chdir(chapter)
    assert results("stretch") == {"points": [1]}


def test_the_benchmarks_in_the_repository_have_a_machine_and_workloads(monkeypatch):
    monkeypatch.chdir(ROOT / "book" / "model")
    found = benchmarks()
    assert found["machine"]["class"] == "cpu-x86_64-avx2-2-threads"
    assert "prefill float32, half" in found["workloads"]


@pytest.mark.parametrize(
    ("read", "path", "command"),
    [
        (results, "experiments/results/none.json", "make experiments RUN=none"),
        (benchmarks, "benchmarks/results/none.json", "make bench"),
    ],
)
def test_a_missing_file_names_its_path_and_its_command(tmp_path, monkeypatch, read, path, command):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"{re.escape(path)}.*{re.escape(command)}"):
        read("none")


def test_the_device_is_the_one_of_the_environment_or_the_cpu(monkeypatch):
    monkeypatch.delenv("ROPE_DEVICE", raising=False)
    assert device() == torch.device("cpu")
    monkeypatch.setenv("ROPE_DEVICE", "meta")
    assert device() == torch.device("meta")
    monkeypatch.setenv("ROPE_DEVICE", "abacus")
    with pytest.raises(RuntimeError, match="ROPE_DEVICE='abacus' cannot be used here"):
        device()


@pytest.mark.parametrize("cuda", [False, True])
def test_functions_are_timed_in_turns_and_their_first_run_does_not_count(monkeypatch, cuda):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    waits = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waits.append(len(calls)))
    calls: list[str] = []
    functions = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    first_runs, rest = [0, 0], [0, 1, 10, 12, 20, 25, 30, 38]
    ticks = iter(first_runs + rest)
    times = seconds_by_turn(functions, rounds=2, clock=lambda: next(ticks))
    assert times == {"a": [1, 5], "b": [2, 8]}
    assert calls == ["a", "b"] * 3
    assert waits == ([1, 2, 3, 4, 5, 6] if cuda else [])
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        seconds_by_turn(functions, rounds=0)


def test_the_median_stands_between_the_fastest_and_the_slowest(monkeypatch):
    readings = {"a": [3.0, 1.0, 2.0]}
    monkeypatch.setattr("rope_lib.notebook.seconds_by_turn", lambda functions, rounds: readings)
    assert median_seconds({"a": int}, rounds=3) == {"a": (1.0, 2.0, 3.0)}
