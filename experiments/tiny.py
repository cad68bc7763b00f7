"""A transformer small enough to train while you wait: one decoder for every encoding.

It knows nothing of positions except what its Encoding adds to the embedding, does to queries and
keys, or adds to the scores. Two models made with one seed start from the same weights, whatever
their encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch import nn
from torch.nn import functional
from tqdm import tqdm

from experiments.tiny_encodings import ENCODINGS, Encoding, Settings

__all__ = ["ENCODINGS", "UNASKED", "Batch", "Decoder", "Encoding", "Settings"]
__all__ += ["learn", "losses", "made", "missed", "norm", "shifted", "train"]

Batch: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""Tokens (b, n), and the token that each is to predict (b, n): UNASKED where nothing is asked."""
UNASKED = -100


class Decoder(nn.Module):
    """A pre-norm decoder with tied embeddings, whose heads pass a gate.

    Settings: width, heads, layers, vocabulary (256 where it is not named), and inner, the
    channels of all heads together: as many as width where it is not named, and then no output
    matrix follows the gate.
    """

    def __init__(self, settings: Settings, encoding: Encoding) -> None:
        super().__init__()
        width, self.heads = settings["width"], settings["heads"]
        inner = settings.get("inner", width)
        self.embedding = nn.Embedding(settings.get("vocabulary", 256), width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.mixers = nn.ModuleList(nn.Linear(width, 4 * inner) for _ in range(settings["layers"]))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(settings["layers"])
        )
        self.outs = nn.ModuleList(
            nn.Identity() if inner == width else nn.Linear(inner, width)
            for _ in range(settings["layers"])
        )
        self.encoding = encoding

    def forward(self, ids: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        """Tokens (b, n), at 0, 1, ... or at positions (n,) -> logits (b, n, vocabulary)."""
        if positions is None:
            positions = torch.arange(ids.shape[-1], device=ids.device)
        x = self.encoding.embed(self.embedding(ids), positions)
        for layer, block in enumerate(self.blocks):
            x = x + self.mixed(norm(x), positions, layer)
            x = x + block(norm(x))
        return norm(x) @ self.embedding.weight.T

    def mixed(self, x: torch.Tensor, positions: torch.Tensor, layer: int) -> torch.Tensor:
        """Attention of one layer: (b, n, width) -> (b, n, width)."""
        parts = self.mixers[layer](x).unflatten(-1, (4, self.heads, -1))
        q, k, v, gate = parts.permute(2, 0, 3, 1, 4)  # each (b, h, n, d)
        q, k = self.encoding.turn(q, k, positions, layer, x)
        bias = self.encoding.bias(positions, layer)
        if bias is not None:
            unseen = torch.ones(bias.shape[-2:], dtype=torch.bool, device=bias.device).triu(1)
            bias = bias.masked_fill(unseen, -torch.inf)
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, is_causal=bias is None
        )
        return self.outs[layer]((mixed * gate.sigmoid()).transpose(1, 2).flatten(-2))


def norm(x: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, x.shape[-1:])


def made(settings: Settings, make: Callable[[Settings], Encoding], seed: int) -> Decoder:
    """A decoder whose own weights depend on the seed and on nothing of its encoding."""
    torch.manual_seed(seed + 1)
    encoding = make(settings)
    torch.manual_seed(seed)
    return Decoder(settings, encoding)


def train(model: nn.Module, batches: Iterator[Batch], settings: Settings, seed: int) -> list[float]:
    """The loss at each step. The rate rises to training_rate, then falls to nothing.

    The seed is for whatever the model draws while it learns; the batches have their own.
    """
    torch.manual_seed(seed)
    steps, rate = settings["training_steps"], settings["training_rate"]
    optimiser = torch.optim.Adam(model.parameters(), rate, (0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps, pct_start=0.1)
    found = []
    for _ in tqdm(range(steps), leave=False, disable=None):
        found.append(learn(model, optimiser, next(batches)))
        schedule.step()
    return found


def learn(model: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch) -> float:
    """One step, and the loss before it."""
    optimiser.zero_grad()
    loss = losses(model, batch)[batch[1] != UNASKED].mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def losses(model: nn.Module, batch: Batch) -> torch.Tensor:
    """Of every token asked for, from those before it: (b, n), in nats; 0 where UNASKED."""
    return missed(model(batch[0]), batch[1])


def missed(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The same from logits (b, n, vocabulary)."""
    return functional.cross_entropy(logits.mT, targets, ignore_index=UNASKED, reduction="none")


def shifted(windows: torch.Tensor) -> Batch:
    """Every token asks for the next one: (b, n + 1) -> a batch."""
    return windows[:, :-1], windows[:, 1:]
