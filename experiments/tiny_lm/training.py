"""Training that can stop and go on: the state is kept every hundred steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from tqdm import tqdm

from experiments.tiny_lm.model import TinyLM

KEPT_EVERY = 100


def train(tokens: torch.Tensor, settings: Mapping[str, Any], kept: Path) -> TinyLM:
    """A model that has read windows of the tokens; the state in the file `kept` goes on."""
    torch.manual_seed(settings["seed"])
    model = TinyLM(settings)
    optimiser = torch.optim.AdamW(
        model.parameters(), settings["rate"], (0.9, 0.95), weight_decay=settings["weight_decay"]
    )
    done = restored(kept, settings, model, optimiser)
    bar = tqdm(range(done, settings["steps"]), initial=done, total=settings["steps"], unit="step")
    mean = 0.0
    for step in bar:
        for group in optimiser.param_groups:
            group["lr"] = settings["rate"] * share(step, settings)
        loss = learn(model, optimiser, batch(tokens, settings, step))
        mean = loss if step == done else 0.98 * mean + 0.02 * loss
        bar.set_postfix(loss=f"{mean:.3f}")
        if (step + 1) % KEPT_EVERY == 0 or step + 1 == settings["steps"]:
            keep(kept, settings, model, optimiser, step + 1)
    return model


def share(step: int, settings: Mapping[str, Any]) -> float:
    """Of the rate: up in the warm-up, level, then down to nothing over the last part."""
    left = (settings["steps"] - step) / (settings["steps"] * settings["falling"])
    return min(1.0, (step + 1) / settings["warm_up"], left)


def batch(tokens: torch.Tensor, settings: Mapping[str, Any], step: int) -> torch.Tensor:
    """Windows (b, trained + 1) from places that the step alone decides: a resumed run agrees."""
    seeded = torch.Generator().manual_seed(settings["seed"] + step)
    window = torch.arange(settings["trained"] + 1)
    count = settings["tokens_a_step"] // settings["trained"]
    starts = torch.randint(len(tokens) - len(window) + 1, (count, 1), generator=seeded)
    return tokens[starts + window].long()


def learn(model: TinyLM, optimiser: torch.optim.Optimizer, windows: torch.Tensor) -> float:
    """One step, and the loss before it."""
    optimiser.zero_grad()
    loss = functional.cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def keep(
    kept: Path,
    settings: Mapping[str, Any],
    model: TinyLM,
    optimiser: torch.optim.Optimizer,
    done: int,
) -> None:
    """Write the state beside the old one, then in its place: a run may stop at any moment."""
    fresh = kept.with_suffix(".new")
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save({"settings": dict(settings), "done": done, **state}, fresh)
    fresh.replace(kept)


def restored(
    kept: Path, settings: Mapping[str, Any], model: TinyLM, optimiser: torch.optim.Optimizer
) -> int:
    """How many steps the file holds; none if it is not there.

    Raises:
        ValueError: it was made with other settings.
    """
    if not kept.is_file():
        return 0
    state = torch.load(kept)
    for name, value in settings.items():
        if state["settings"].get(name) != value:
            raise ValueError(
                f"{kept} was made with {name} = {state['settings'].get(name)!r}, now it is "
                f"{value!r}. Remove it, or run with --fresh"
            )
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["done"])
