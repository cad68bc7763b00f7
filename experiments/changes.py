"""What each change of the rotation does to the perplexity of the model, and to a line of its own.

Positions counted from 0, from 1000 and from 7168, whose last is 8191, the last one trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch

from experiments.driver import Lab, Point
from rope_lib import apply_rope, cos_sin, inverse_frequencies
from rope_lib.scaling import Frequencies

MODEL = True
TEXTS = ("code", "prose", "mixed", "argparse")
SETTINGS = {"tokens": 1024, "prompt": "The three primary colors are", "new_tokens": 16}
QUICK = {"tokens": 32, "new_tokens": 2}

Pair: TypeAlias = tuple[torch.Tensor, torch.Tensor]
Turn: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Rounded to nearest, ties to even, with the 10 bits of fraction that TF32 keeps of 23."""
    bits = x.float().contiguous().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


def bfloat16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def after(start: int, rounded: Callable[[torch.Tensor], torch.Tensor] | None = None) -> Any:
    """Positions counted from start, and rounded."""
    return lambda m: m + start if rounded is None else rounded((m + start).double())


def float16(x: torch.Tensor) -> torch.Tensor:
    return x.half().float()


def changes(inv_freq: np.ndarray) -> dict[str, dict[str, Any]]:
    """The keywords of Llama.logits behind each name."""
    exact = torch.from_numpy(inv_freq)
    cast = Frequencies(exact.bfloat16().double().numpy())
    product = Frequencies(tf32(exact).double().numpy())
    return {
        "right": {},
        "half layout": {"layout": "half"},
        "no rotation": {"rotate_layers": ()},
        "positions + 1000": {"positions": after(1000)},
        "positions in bfloat16": {"positions": after(0, bfloat16)},
        "base 10000": {"base": 10_000.0},
        "positions x 2": {"positions": lambda m: m * 2},
        "positions x 1/2": {"positions": lambda m: m / 2},
        "positions + 7168": {"positions": after(7168)},
        "positions + 1000 in bfloat16": {"positions": after(1000, bfloat16)},
        "positions + 7168 in bfloat16": {"positions": after(7168, bfloat16)},
        "positions in float16": {"positions": after(0, float16)},
        "positions + 7168 in float16": {"positions": after(7168, float16)},
        "inv_freq in bfloat16": {"scaling": cast},
        "inv_freq in bfloat16, positions + 7168": {"scaling": cast, "positions": after(7168)},
        "product in tf32": {"scaling": product, "positions": after(0, tf32), "angles": "float32"},
        "product in tf32, positions + 7168": {
            "scaling": product,
            "positions": after(7168, tf32),
            "angles": "float32",
        },
        "product in bfloat16": {"rotary": turning(inv_freq, product_in_bfloat16)},
        "angles in float32": {"angles": "float32"},
        "positions + 1000000": {"positions": after(1_000_000)},
        "angles in float32, positions + 1000000": {
            "angles": "float32",
            "positions": after(1_000_000),
        },
        "rotation in bfloat16": {"rotary": turning(inv_freq, turned=turned_in_bfloat16)},
        "rotation in float32, then bfloat16": {
            "rotary": turning(inv_freq, turned=lambda *given: bfloat16(apply_rope(*given)))
        },
        "model in bfloat16": {"dtype": torch.bfloat16},
    }


def turning(
    inv_freq: np.ndarray,
    tables: Callable[[torch.Tensor, np.ndarray], Pair] = cos_sin,
    turned: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor] = apply_rope,
) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Pair]:
    """A rotary for Llama.logits, from its two steps."""

    def rotary(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Pair:
        cos, sin = tables(positions, inv_freq)
        return turned(q, cos, sin), turned(k, cos, sin)

    return rotary


def product_in_bfloat16(positions: torch.Tensor, inv_freq: np.ndarray) -> Pair:
    """What autocast makes of the product of positions and frequencies: both rounded, and it."""
    rounded = torch.from_numpy(inv_freq).bfloat16()
    angles = (positions.bfloat16()[:, None] * rounded).float()
    return angles.cos(), angles.sin()


def turned_in_bfloat16(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Every product and sum rounded."""
    (a, b), c, s = x.bfloat16().unflatten(-1, (-1, 2)).unbind(-1), cos.bfloat16(), sin.bfloat16()
    return torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2).float()


IN_ARGPARSE = 8
"""The first changes, measured on argparse.py too."""


def points(settings: Mapping[str, Any]) -> list[Point]:
    """Text by text; last the model in bfloat16, which takes minutes without an accelerator."""
    names = list(changes(inverse_frequencies(2)))
    quick = [{"text": text, "change": name} for text in TEXTS[:3] for name in names[:-1]]
    argparse = [{"text": TEXTS[3], "change": name} for name in names[:IN_ARGPARSE]]
    return [*quick, *argparse, {"text": TEXTS[0], "change": names[-1]}]


def compute(lab: Lab, point: Point) -> Point:
    """Perplexity of the text, and the greedy line after the prompt, which no text changes."""
    rope = lab.model.rope
    how = changes(inverse_frequencies(rope.rotary_dim, rope.base))[point["change"]]
    model = lab.once(dtype := how.pop("dtype", None), lambda: lab.model.to(dtype=dtype))
    tokens = lab.tokens(point["text"], lab.settings["tokens"])
    prompt, new = lab.settings["prompt"], lab.settings["new_tokens"]
    return {
        "perplexity": model.perplexity(tokens, window=len(tokens), **how),
        "line": lab.once(point["change"], lambda: model.generate(prompt, new, **how)),
    }
