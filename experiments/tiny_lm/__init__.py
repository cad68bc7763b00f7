"""The language model of one megabyte that runs in the book's pages, made from its sources.

Reads Python files of pinned packages, learns a tokenizer and a model, writes the GGUF file that
rope_lib carries, and measures that file on the files held out. Training keeps its state: stopped,
the same command goes on from the last hundred steps. Beside the results, tiny_lm.txt lists the
files read.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from experiments.driver import Lab, Point
from experiments.tiny_lm import sources, words
from experiments.tiny_lm.export import export
from experiments.tiny_lm.training import train
from rope_lib.model import Llama, load_gguf

MODEL = False
TEXTS = ()
SETTINGS = {
    "seed": 0,
    "packages": list(sources.PACKAGES),
    "vocabulary": 1024,
    "width": 128,
    "inner": 352,
    "layers": 4,
    "heads": 4,
    "base": 10_000.0,
    "trained": 256,
    "tokens_a_step": 2048,
    "steps": 4000,
    "rate": 4e-3,
    "weight_decay": 0.05,
    "warm_up": 100,
    "falling": 0.5,
    "measured_windows": 512,
    "file": "rope_lib/tiny_lm.gguf",
    "list": "experiments/results/tiny_lm.txt",
}
QUICK = {
    "packages": ["parso"],
    "vocabulary": 300,
    "width": 32,
    "inner": 32,
    "layers": 1,
    "heads": 1,
    "trained": 16,
    "tokens_a_step": 64,
    "steps": 4,
    "warm_up": 1,
    "measured_windows": 2,
    "file": "_build/experiments/tiny_lm_quick.gguf",
    "list": "_build/experiments/tiny_lm_quick.txt",
}
STATES = Path("_build/experiments")


def points(settings: Mapping[str, Any]) -> list[Point]:
    return [{"file": settings["file"]}]


def compute(lab: Lab, point: Point) -> Point:
    """Makes the file. Losses are in nats a token, of windows that each begin at position 0."""
    settings, made_by = lab.settings, commit()
    files = sources.sources(settings["packages"])
    seen, held_out = ([f.text for f in files if f.held_out == held] for held in (False, True))
    vocabulary, merges, bpe = words.learned(seen, settings["vocabulary"])
    to_learn, to_measure = (joined(bpe, texts) for texts in (seen, held_out))
    path = Path(settings["file"])
    state = STATES / f"{path.stem}.pt"
    for folder in (path.parent, state.parent):
        folder.mkdir(parents=True, exist_ok=True)
    model = train(to_learn, settings, state)
    export(path, model.state_dict(), vocabulary, merges, settings)
    listed = sources.described(settings["packages"], files)
    Path(settings["list"]).write_text("\n".join(listed) + "\n", "utf-8")
    windows = to_measure.split(settings["trained"])[: settings["measured_windows"]]
    found = {
        "bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "commit": made_by,
        "files_sha256": hashlib.sha256("\n".join(listed).encode()).hexdigest(),
        "files": len(seen),
        "files_held_out": len(held_out),
        "tokens": len(to_learn),
        "tokens_held_out": len(to_measure),
        "loss_held_out": held_out_loss(load_gguf(path), windows),
    }
    state.unlink()  # whoever asks again wants it made again
    return found


def joined(bpe: Any, texts: Sequence[str]) -> torch.Tensor:
    """The tokens of all texts, each followed by the token that ends a file."""
    end = bpe.token_to_id(words.END)
    numbers = [number for text in texts for number in (*bpe.encode(text).ids, end)]
    return torch.tensor(numbers, dtype=torch.int16)


def held_out_loss(model: Llama, windows: Iterable[torch.Tensor]) -> float:
    """The mean over all tokens but the first of each window."""
    losses = torch.cat([model.token_losses(window.long()) for window in windows])
    return losses.double().mean().item()


def commit() -> str:
    """Of the scripts, or a word if this is no clone."""
    asked = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
