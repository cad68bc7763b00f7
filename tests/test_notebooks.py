"""The notebooks as files in git, and the tools that keep them so."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402  (a script, not a package)

BOOK = notebooks.book_notebooks()


def test_the_table_of_contents_and_the_folder_agree():
    assert set(BOOK) == {
        p for p in (ROOT / "book").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts
    }
    assert BOOK[0].name == "welcome.ipynb"


@pytest.mark.parametrize("path", BOOK, ids=lambda p: p.stem)
def test_a_notebook_in_git_is_clean(path):
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook["metadata"]
    for cell in notebook["cells"]:
        assert cell.get("execution_count") is None
        for output in cell.get("outputs", []):
            assert not any("image" in kind or "widget" in kind for kind in output.get("data", {}))
    assert path.read_text("utf-8") == notebooks.text_of(notebooks.cleaned(notebook, ""))


@pytest.mark.parametrize("path", BOOK, ids=lambda p: p.stem)
def test_a_cell_that_draws_has_an_alt_text(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "plt." in source and "import" not in source[:20]:
            assert cell["metadata"].get("mystnb", {}).get("image", {}).get("alt"), source


@pytest.mark.parametrize("path", BOOK, ids=lambda p: p.stem)
def test_a_chapter_has_five_exercises_with_solutions(path):
    text = "\n".join(
        "".join(c["source"])
        for c in json.loads(path.read_text("utf-8"))["cells"]
        if c["cell_type"] == "markdown"
    )
    assert text.count("```{exercise}") == 5
    assert text.count("```{solution-start}") == text.count("```{solution-end}") == 5
    assert text.count(":class: dropdown") >= 5


def test_clean_strips_what_nobody_should_commit():
    dirty = {
        "metadata": {"kernelspec": {"name": "my-env"}, "widgets": {"state": {}}},
        "nbformat": 4,
        "nbformat_minor": 5,
        "cells": [
            {
                "cell_type": "code",
                "id": "x",
                "source": "1 + 1",
                "execution_count": 7,
                "metadata": {"tags": ["hide-input"], "execution": {"started": "now"}},
                "outputs": [
                    {
                        "output_type": "execute_result",
                        "execution_count": 7,
                        "metadata": {"image/png": {"width": 4}},
                        "data": {"text/plain": "2", "image/png": "AAAA"},
                    }
                ],
            }
        ],
    }
    clean = notebooks.cleaned(dirty, "")
    cell = clean["cells"][0]
    assert cell["execution_count"] is None
    assert cell["metadata"] == {"tags": ["hide-input"]}
    assert cell["outputs"][0]["data"] == {"text/plain": "2"}
    assert cell["outputs"][0]["execution_count"] is None
    assert cell["id"] == "1-1"
    assert clean["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in clean["metadata"]
    assert notebooks.cleaned(clean, "") == clean


def test_a_public_address_adds_one_collapsed_install_cell_and_its_absence_removes_it():
    notebook = json.loads(BOOK[0].read_text("utf-8"))
    address = "https://github.com/owner/name"
    with_cell = notebooks.cleaned(notebook, address)
    cell = with_cell["cells"][1]
    assert cell["metadata"]["tags"] == ["hide-cell"]
    assert f"git+{address}" in cell["source"]
    assert notebooks.cleaned(with_cell, address) == with_cell
    assert notebooks.cleaned(with_cell, "") == notebook


def test_check_names_the_file_and_the_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "repository", lambda: "")
    path = tmp_path / "a.ipynb"
    path.write_text(
        json.dumps({"cells": [], "metadata": {"widgets": {}}, "nbformat": 4, "nbformat_minor": 5})
    )
    assert notebooks.clean([path], write=False) == 1
    said = capsys.readouterr()
    assert "not clean: a.ipynb" in said.out
    assert "make format" in said.err
    assert notebooks.clean([path], write=True) == 0
    assert notebooks.clean([path], write=False) == 0


def test_serve_says_what_is_wrong_with_a_port():
    for port, rule in (("no", "must be a number"), ("70000", "from 1 to 65535")):
        run = subprocess.run(
            [sys.executable, str(ROOT / "tools" / "serve.py"), ".", port],
            capture_output=True,
            text=True,
        )
        assert run.returncode == 2
        assert rule in run.stderr
