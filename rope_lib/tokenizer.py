"""Text to token numbers and back, as a GGUF file says."""

from __future__ import annotations

from collections.abc import Iterable

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from rope_lib.gguf_file import GGUFError, GGUFFile

CONTROL_TOKEN = 3


class Tokenizer:
    """Text to token numbers and back: byte-level BPE, from the vocabulary and merges of a file.

    Digits are split one by one (the pre-tokenizer that GGUF calls "smollm"). Control tokens such
    as ``<|im_start|>`` are recognised in the text. Nothing is put before or after it. Characters
    whose bytes the vocabulary lacks vanish: in SmolLM2, six control characters such as U+0016.

    Args:
        file: the GGUF file.

    Attributes:
        vocabulary: the tokens by number, with bytes spelt as byte-level BPE does.
        end: the number of the token that ends an answer.

    Raises:
        GGUFError: the file lacks its vocabulary, or has another kind of tokenizer.
    """

    def __init__(self, file: GGUFFile) -> None:
        kind = (file.value("tokenizer.ggml.model"), file.value("tokenizer.ggml.pre"))
        if kind != ("gpt2", "smollm"):
            raise GGUFError(f"{file.path}: the tokenizer must be ('gpt2', 'smollm'), got {kind}")
        self.vocabulary: tuple[str, ...] = tuple(file.value("tokenizer.ggml.tokens"))
        self.end: int = file.value("tokenizer.ggml.eos_token_id")
        merges = [tuple(merge.split(" ", 1)) for merge in file.value("tokenizer.ggml.merges")]
        numbers = {token: number for number, token in enumerate(self.vocabulary)}
        try:
            self._bpe = tokenizers.Tokenizer(models.BPE(numbers, merges))
        except Exception as error:  # the package has no class of its own for this
            raise GGUFError(f"{file.path}: merges do not fit the vocabulary: {error}") from error
        digits = pre_tokenizers.Digits(individual_digits=True)
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._bpe.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
        self._bpe.decoder = decoders.ByteLevel()
        kinds = enumerate(file.value("tokenizer.ggml.token_type"))
        control = [self.vocabulary[number] for number, kind in kinds if kind == CONTROL_TOKEN]
        self._bpe.add_special_tokens(control)

    def encode(self, text: str) -> list[int]:
        """The token numbers of a text."""
        numbers: list[int] = self._bpe.encode(text, add_special_tokens=False).ids
        return numbers

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token numbers, control tokens included."""
        text: str = self._bpe.decode([int(i) for i in ids], skip_special_tokens=False)
        return text
