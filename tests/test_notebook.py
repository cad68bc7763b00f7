"""What chapters read that was stored before them."""

import json
import re
from pathlib import Path

import pytest

from rope_lib.notebook import benchmarks, results

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
