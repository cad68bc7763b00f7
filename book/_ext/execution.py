"""Keep executed notebooks in a cache that notices a changed library.

MyST-NB's cache is keyed by a notebook's cells alone, so an edit in rope_lib would leave old results
on the page. Here the cache's folder is named after a hash of everything that cells import from this
repository.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".py", ".js", ".css", ".json", ".bin"}


def cache_path(root: Path = ROOT) -> Path:
    """The cache folder for the library (and stored results) as they are now."""
    digest = hashlib.sha256((root / "requirements.txt").read_bytes())
    for folder in ("rope_lib", "experiments", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return root / "_build" / ".jupyter_cache" / digest.hexdigest()[:16]


def setup(app: Any) -> dict[str, bool]:
    # Before MyST-NB reads it: its own listener has the default priority 500.
    app.connect(
        "config-inited",
        lambda _app, config: setattr(config, "nb_execution_cache_path", str(cache_path())),
        priority=100,
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
