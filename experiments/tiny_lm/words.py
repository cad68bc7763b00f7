"""A tokenizer of 1024 tokens, learned from the training files: byte-level BPE.

All 256 bytes are in it, so any text can be written. It splits as GGUF's "smollm" does, digits one
by one, so that rope_lib.tokenizer.Tokenizer reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

END = "<|endoftext|>"


def learned(texts: Iterable[str], vocabulary: int) -> tuple[list[str], list[str], Any]:
    """The tokens by number, the merges in their order, and the tokenizer itself."""
    bpe = tokenizers.Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=alphabet, special_tokens=[END], show_progress=True
    )
    bpe.train_from_iterator(texts, trainer)
    merges = json.loads(bpe.to_str())["model"]["merges"]
    numbers = bpe.get_vocab()
    tokens = sorted(numbers, key=lambda token: numbers[token])
    return tokens, [" ".join(merge) for merge in merges], bpe
