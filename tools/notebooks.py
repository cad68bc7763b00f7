"""The book's notebooks as files: clean them, run them, keep their outputs.

list names them in reading order; check says what clean would change, and exits 1 if anything; clean
strips what must not be in git; execute runs them in parallel into the build's cache; refresh runs
them and stores the text outputs that nbval compares. All, or only the files named.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from execution import cache_path  # noqa: E402  (the path has to be known first)

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
KEPT_CELL_METADATA = {"tags", "mystnb"}
# nbval compares these; pictures and widget views are rendered anew by every build.
KEPT_MIME = {"text/plain", "text/html", "text/markdown", "text/latex"}
INSTALL_ID = "install-on-colab"


def book_notebooks() -> list[Path]:
    """Every notebook of the table of contents, in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    names = [toc["root"]]
    names += [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    return [p for name in names if (p := ROOT / f"{name}.ipynb").exists()]


def repository() -> str:
    """The public address, or "" while it is not known."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    return config["sphinx"]["config"]["rope_repository"]


def install_cell(address: str) -> dict[str, Any]:
    """The collapsed first cell that a notebook opened in Colab needs."""
    source = (
        "# Colab starts with an empty machine: fetch this book's library there, and only there.\n"
        "import importlib.util\n\n"
        'if importlib.util.find_spec("rope_lib") is None:\n'
        f'    %pip install -q "rope-turn-by-turn[figures] @ git+{address}"'
    )
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": INSTALL_ID,
        "metadata": {"tags": ["hide-cell"]},
        "outputs": [],
        "source": source,
    }


def clean_output(output: dict[str, Any]) -> dict[str, Any]:
    output = dict(output)
    if "data" in output:
        output["data"] = {k: v for k, v in output["data"].items() if k in KEPT_MIME}
        output["metadata"] = {}
    if output["output_type"] == "execute_result":
        output["execution_count"] = None
    return output


def slug(cell: dict[str, Any], taken: set[str]) -> str:
    """A readable id from the cell's first words: two runs, and two people, get the same one."""
    words = re.sub(r"[^a-z0-9]+", "-", "".join(cell["source"]).lower()).strip("-")[:40]
    name = base = words.strip("-") or cell["cell_type"]
    n = 1
    while name in taken:
        n += 1
        name = f"{base}-{n}"
    taken.add(name)
    return name


def cleaned(notebook: dict[str, Any], address: str) -> dict[str, Any]:
    """The notebook as it belongs in git."""
    cells = [c for c in notebook["cells"] if c.get("id") != INSTALL_ID]
    if address:
        cells.insert(1, install_cell(address))
    result = []
    taken: set[str] = set()
    for cell in cells:
        cell = dict(cell)
        keep = cell.get("id") == INSTALL_ID
        cell["id"] = INSTALL_ID if keep else slug(cell, taken)
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k in KEPT_CELL_METADATA}
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            cell["outputs"] = [clean_output(o) for o in cell["outputs"]]
        result.append(cell)
    return {
        "cells": result,
        "metadata": {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def text_of(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def clean(paths: list[Path], write: bool) -> int:
    """Clean the files, or only name those that are not clean."""
    address = repository()
    dirty = 0
    for path in paths:
        before = path.read_text("utf-8")
        notebook = nbformat.reads(before, as_version=4)
        after = text_of(cleaned(json.loads(nbformat.writes(notebook)), address))
        if after != before:
            dirty += 1
            print(f"{'cleaned' if write else 'not clean'}: {path.relative_to(ROOT)}")
            if write:
                path.write_text(after, "utf-8")
    if dirty and not write:
        print("`make format` cleans them.", file=sys.stderr)
    return int(bool(dirty) and not write)


def run_one(path: Path) -> tuple[Any, float]:
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    start = time.monotonic()
    client = NotebookClient(
        notebook,
        # A kernel warns at every start that its loopback connection is not encrypted.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        timeout=600,
        # One print may reach us in pieces; MyST-NB would put a line break between them.
        coalesce_streams=True,
        # Timings would become cell metadata, and the cache's key holds cell metadata.
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    return notebook, time.monotonic() - start


def run_all(paths: list[Path]) -> dict[Path, tuple[Any, float]]:
    """Run notebooks side by side, saying how each went; SystemExit(1) if any failed."""
    done: dict[Path, tuple[Any, float]] = {}
    failed = []
    cores = os.cpu_count() or 1
    workers = min(4, cores)
    # Kernels that each use all cores wait for one another: many times slower than taking turns.
    os.environ.setdefault("OMP_NUM_THREADS", str(cores // workers))
    with ThreadPoolExecutor(workers) as pool:
        jobs = {pool.submit(run_one, path): path for path in paths}
        for count, job in enumerate(as_completed(jobs), 1):
            name = jobs[job].relative_to(ROOT)
            if error := job.exception():
                failed.append(name)
                print(f"[{count}/{len(paths)}] FAILED {name}\n{error}", flush=True)
            else:
                done[jobs[job]] = job.result()
                print(f"[{count}/{len(paths)}] {name}: {job.result()[1]:.1f} s", flush=True)
    if failed:
        raise SystemExit(1)
    return done


def execute(paths: list[Path]) -> int:
    """Fill the build's cache with the notebooks that it does not hold yet."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    cache = get_cache(str(cache_path()))

    def missing(path: Path) -> bool:
        try:
            cache.match_cache_file(str(path))
        except KeyError:
            return True
        return False

    todo = [p for p in paths if missing(p)]
    print(f"{len(paths) - len(todo)} notebooks are up to date, {len(todo)} to run", flush=True)
    for path, (notebook, seconds) in run_all(todo).items():
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return 0


def refresh(paths: list[Path]) -> int:
    for path, (notebook, _) in run_all(paths).items():
        path.write_text(nbformat.writes(notebook), "utf-8")
    return clean(paths, write=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("action", choices=["list", "check", "clean", "execute", "refresh"])
    parser.add_argument("files", nargs="*", type=lambda f: Path(f).resolve())
    arguments = parser.parse_args()
    paths = arguments.files or book_notebooks()
    match arguments.action:
        case "list":
            print(*(p.relative_to(ROOT) for p in paths), sep="\n")
            return 0
        case "check":
            return clean(paths, write=False)
        case "clean":
            return clean(paths, write=True)
        case "execute":
            return execute(paths)
        case _:
            return refresh(paths)


if __name__ == "__main__":
    sys.exit(main())
