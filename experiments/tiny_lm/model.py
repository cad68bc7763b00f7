"""The model while it learns: a Llama, its weights named as they are in a GGUF file.

rope_lib.model.Llama runs the same weights afterwards, one text at a time; here they have
gradients and a batch axis. tests/test_tiny_lm.py compares the two.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from rope_lib.nn import RotaryEmbedding

EPSILON = 1e-5


class TinyLM(nn.Module):
    """Tokens (b, n) -> logits (b, n, vocabulary); the embedding is also the output.

    Settings: vocabulary, width, inner (of the feed-forward), layers, heads, base.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        width, inner = settings["width"], settings["inner"]
        self.heads = settings["heads"]
        self.token_embd = nn.Embedding(settings["vocabulary"], width)
        self.blk = nn.ModuleList(Block(width, inner, self.heads) for _ in range(settings["layers"]))
        self.output_norm = nn.RMSNorm(width, EPSILON)
        self.rotary = RotaryEmbedding(width // self.heads, base=settings["base"])
        nn.init.normal_(self.token_embd.weight, std=0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(ids.shape[-1])
        x = self.token_embd(ids)
        for block in self.blk:
            x = block(x, self.rotary, positions)
        return self.output_norm(x) @ self.token_embd.weight.T


class Block(nn.Module):
    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attn_norm, self.ffn_norm = nn.RMSNorm(width, EPSILON), nn.RMSNorm(width, EPSILON)
        self.attn_q, self.attn_k, self.attn_v, self.attn_output = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.ffn_gate, self.ffn_up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.ffn_down = nn.Linear(inner, width, bias=False)
        for last in (self.attn_output, self.ffn_down):
            nn.init.zeros_(last.weight)  # each block begins as nothing, and the sum stays small

    def forward(
        self, x: torch.Tensor, rotary: RotaryEmbedding, positions: torch.Tensor
    ) -> torch.Tensor:
        normed = self.attn_norm(x)
        q, k, v = (
            linear(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for linear in (self.attn_q, self.attn_k, self.attn_v)
        )  # each (b, h, n, d)
        q, k = rotary(q, k, positions)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_output(mixed.transpose(1, 2).flatten(-2))
        normed = self.ffn_norm(x)
        gated = functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed)
        return x + self.ffn_down(gated)
