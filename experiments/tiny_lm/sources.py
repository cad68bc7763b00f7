"""What the tiny model reads: Python files of packages that requirements.txt pins.

A file is held out, or not, by the hash of its name: the split needs no list, and stays when
another package is added. Tests, tables and vendored code are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distribution, version
from pathlib import Path

PACKAGES = (
    *("huggingface_hub", "ipython", "jedi", "joblib", "jupyter_server", "networkx"),
    *("prompt_toolkit", "sphinx", "tornado", "traitlets"),
)
LEFT_OUT = ("test", "vendor", "third_party", "typeshed", "externals", "locale", "search/")
LARGEST = 100_000
"""Bytes. What is longer is mostly a table."""
HELD_OUT_OF = 20
"""One file of this many, more or less."""


@dataclass(frozen=True)
class Source:
    """One file: its path in the installation, its text, and whether training may see it."""

    path: str
    text: str

    @property
    def held_out(self) -> bool:
        return int(hashlib.sha256(self.path.encode()).hexdigest(), 16) % HELD_OUT_OF == 0

    @property
    def line(self) -> str:
        """For the list that is kept: which file, and which version of it."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return f"{digest[:16]} {'held out' if self.held_out else 'training'} {self.path}"


def sources(packages: Sequence[str] = PACKAGES) -> list[Source]:
    """All files, in the order of their paths; a text that two files share counts once.

    Raises:
        PackageNotFoundError: a package is not installed.
    """
    found: dict[str, Source] = {}
    for package in packages:
        for file in distribution(package).files or ():
            path = file.as_posix()
            if path.endswith(".py") and not any(part in path for part in LEFT_OUT):
                text = Path(str(file.locate())).read_text("utf-8")
                if 0 < len(text.encode()) <= LARGEST:
                    found.setdefault(text, Source(path, text))
    return sorted(found.values(), key=lambda source: source.path)


def described(packages: Sequence[str], files: Sequence[Source]) -> list[str]:
    """A line for each package and each file: the same lines, the same texts and split."""
    return [f"{name}=={version(name)}" for name in packages] + [file.line for file in files]
