"""Which layers and which pairs the model needs turned, and what its previous-token heads use.

A previous-token head gives most of its attention to the token just before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import torch

from experiments.driver import Lab, Point
from rope_lib import apply_rope, cos_sin, inverse_frequencies

MODEL = True
TEXTS = ("prose",)
SETTINGS = {
    "tokens": 512,
    "head_tokens": 256,
    "layers": 30,
    "heads": 9,
    "pairs": 32,
    "ranks": 3,
    "first_query": 16,
}
QUICK = {
    "tokens": 24,
    "head_tokens": 24,
    "layers": 2,
    "heads": 4,
    "pairs": 8,
    "ranks": 1,
    "first_query": 2,
}

Heads: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]


def points(settings: Mapping[str, Any]) -> list[Point]:
    """Perplexity first: with everything turned, then without each layer, each group of pairs.

    "without" names what does not turn, from first to last.
    """
    pairs, layers, ranks = (range(settings[name]) for name in ("pairs", "layers", "ranks"))
    cuts = [round(third * len(pairs) / 3) for third in range(4)]
    groups = [(a, b - 1) for a, b in itertools.pairwise(cuts)]
    groups += [(a, a + 3) for a in pairs[::4]] + [(a, a) for a in pairs]
    heads = [{"measure": "heads", "rotation": rotation} for rotation in (True, False)]
    return [
        {"measure": "perplexity", "without": "nothing"},
        *heads,
        *({"measure": "best head", "rank": rank} for rank in ranks),
        *({"measure": "perplexity", "without": "layers", "first": n, "last": n} for n in layers),
        *({"measure": "perplexity", "without": "pairs", "first": a, "last": b} for a, b in groups),
    ]


def compute(lab: Lab, point: Point) -> Point:
    if point["measure"] == "heads":
        how = {} if point["rotation"] else {"rotate_layers": ()}
        return {"attention_to_previous": previous(lab, how).tolist()}
    if point["measure"] == "best head":
        return best_head(lab, point["rank"])
    tokens = lab.tokens(TEXTS[0], lab.settings["tokens"])
    return {"perplexity": lab.model.perplexity(tokens, window=len(tokens), **without(lab, point))}


def without(lab: Lab, point: Point) -> dict[str, list[int]]:
    """The keyword of Llama.logits that names all that still turns."""
    if point["without"] == "nothing":
        return {}
    off = range(point["first"], point["last"] + 1)
    turning = [n for n in range(lab.settings[point["without"]]) if n not in off]
    return {f"rotate_{point['without']}": turning}


def queries_and_keys(lab: Lab, how: Mapping[str, Any]) -> Heads:
    """Of every layer: q and k as attention gets them, both (heads, n, d)."""
    found: Heads = []
    shared = lab.model.heads // lab.model.key_heads

    def watch(_: int, q: torch.Tensor, k: torch.Tensor, __: torch.Tensor) -> None:
        found.append((q[0], k[0].repeat_interleave(shared, 0)))

    lab.model.logits(lab.tokens(TEXTS[0], lab.settings["head_tokens"]), watch=watch, **how)
    return found


def attention_to_previous(lab: Lab, scores: torch.Tensor) -> torch.Tensor:
    """Mean over queries of the attention on the token before; scores (..., n, n)."""
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    attention = scores.masked_fill(later, -math.inf).softmax(-1)
    return attention.diagonal(-1, -2, -1)[..., lab.settings["first_query"] - 1 :].mean(-1)


def previous(lab: Lab, how: Mapping[str, Any]) -> torch.Tensor:
    """(layers, heads)."""
    layers = queries_and_keys(lab, how)
    scores = (q @ k.mT / math.sqrt(q.shape[-1]) for q, k in layers)
    return torch.stack([attention_to_previous(lab, layer) for layer in scores])


def best_head(lab: Lab, rank: int) -> Point:
    """The head of that rank, what each pair adds to its scores, and what it does without each.

    Returns:
        at_previous: what a pair adds to the score of the token before, mean over queries.
        elsewhere: the same, mean over all other tokens up to the query.
        attention_without: attention to the token before when that pair does not turn here.
    """
    every = lab.once("previous", lambda: previous(lab, {}))
    layer, head = divmod(int(every.flatten().argsort(descending=True)[rank]), every.shape[-1])
    q, k = (x[head] for x in lab.once("q and k", lambda: queries_and_keys(lab, {}))[layer])
    parts = by_pair(q, k)
    still = by_pair(*(unturned(lab, x) for x in (q, k)))
    seen = torch.ones_like(parts[0], dtype=torch.bool).tril()
    before = torch.ones_like(seen).tril(-1) & ~torch.ones_like(seen).tril(-2)
    first = lab.settings["first_query"]
    others = (seen & ~before)[first:]
    counted = (parts[:, first:] * others).sum(-1) / others.sum(-1)
    whole = parts.sum(0)
    return {
        "layer": layer,
        "head": head,
        "attention_to_previous": float(every[layer, head]),
        "at_previous": parts.diagonal(-1, -2, -1)[:, first - 1 :].mean(-1).tolist(),
        "elsewhere": counted.mean(-1).tolist(),
        "attention_without": attention_to_previous(lab, whole - parts + still).tolist(),
    }


def by_pair(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """What each pair adds to every score: (n, d) and (n, d) -> (pairs, n, n)."""
    q, k = (x.unflatten(-1, (-1, 2)).transpose(0, 1) for x in (q, k))
    return q @ k.mT / math.sqrt(2 * len(q))


def unturned(lab: Lab, x: torch.Tensor) -> torch.Tensor:
    """A query or key of each token, (n, d), before its rotation."""
    rope = lab.model.rope
    cos, sin = cos_sin(torch.arange(len(x)), inverse_frequencies(rope.head_dim, rope.base))
    return apply_rope(x, cos, sin, inverse=True)
