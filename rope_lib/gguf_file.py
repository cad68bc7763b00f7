"""A GGUF file, read from its first byte: metadata and weights of one model.

A header, then key-value pairs, then one description a tensor, then the tensors' data. The format
is specified with ggml (docs/gguf.md); `gguf` supplies its numbers and undoes the quantisation.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType
from gguf.quants import dequantize, quant_shape_to_byte_shape
from numpy.typing import NDArray

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
# struct's letter for each kind of number, little-endian as the files are.
LETTERS = {
    GGUFValueType.UINT8: "B",
    GGUFValueType.INT8: "b",
    GGUFValueType.UINT16: "H",
    GGUFValueType.INT16: "h",
    GGUFValueType.UINT32: "I",
    GGUFValueType.INT32: "i",
    GGUFValueType.FLOAT32: "f",
    GGUFValueType.BOOL: "?",
    GGUFValueType.UINT64: "Q",
    GGUFValueType.INT64: "q",
    GGUFValueType.FLOAT64: "d",
}


class GGUFError(ValueError):
    """A GGUF file is damaged, or holds what is not supported; the message names the file."""


class GGUFFile:
    """The content of a GGUF file, held in memory; weights are dequantised as they are asked for.

    Args:
        path: the file, GGUF version 2 or 3, little-endian.

    Attributes:
        metadata: values by key; strings, numbers, bools and lists of these.
        tensors: where each tensor lies, by name.

    Raises:
        GGUFError: wrong magic, another version, a truncated or damaged file.
        OSError: the file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._data = self.path.read_bytes()
        try:
            self.metadata, self.tensors = self._read()
        except GGUFError as error:
            raise GGUFError(f"{self.path}: {error}") from None
        except ValueError as error:  # a type that is not in the enumeration, a name not in UTF-8
            raise GGUFError(f"{self.path}: the file is damaged: {error}") from error

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The weight of that name in float32, rows first: shape (out, in).

        Raises:
            GGUFError: no such tensor, or a quantisation that gguf cannot undo.
        """
        if name not in self.tensors:
            raise GGUFError(f"{self.path}: no tensor {name!r} among {len(self.tensors)}")
        where = self.tensors[name]
        stored = np.frombuffer(self._data, np.uint8, where.size, where.start)
        rows = stored.reshape(quant_shape_to_byte_shape(where.shape, where.quantisation))
        try:
            weight = dequantize(rows, where.quantisation)
        except NotImplementedError as error:  # what gguf raises for a type that it cannot decode
            raise GGUFError(
                f"{self.path}: {name} has the unsupported quantisation {where.quantisation.name}"
            ) from error
        return weight if weight.flags.writeable else weight.copy()  # float32 comes as a view

    def value(self, key: str, default: Any = None) -> Any:
        """The metadata of that key.

        Raises:
            GGUFError: it is absent and there is no default.
        """
        found = self.metadata.get(key, default)
        if found is None:
            raise GGUFError(f"{self.path}: the metadata lack {key!r}")
        return found

    def whole(self, key: str, default: int | None = None) -> int:
        """The metadata of that key, a positive integer.

        Raises:
            GGUFError: it is not, or is absent and there is no default.
        """
        found = self.value(key, default)
        if not isinstance(found, int) or found < 1:
            raise GGUFError(f"{self.path}: {key} must be a positive integer, got {found!r}")
        return found

    def _read(self) -> tuple[dict[str, Any], dict[str, _Tensor]]:
        if self._data[:4] != MAGIC:
            raise GGUFError(f"wrong magic: must start with {MAGIC!r}, got {self._data[:4]!r}")
        cursor = _Cursor(self._data, at=4)
        (version,) = cursor.numbers("I")
        if version not in VERSIONS:
            raise GGUFError(f"version must be one of {VERSIONS}, got {version}")
        tensor_count, pair_count = cursor.numbers("QQ")
        metadata = {cursor.string(): cursor.value() for _ in range(pair_count)}
        listed = [cursor.tensor() for _ in range(tensor_count)]
        alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise GGUFError(f"general.alignment must be a positive integer, got {alignment!r}")
        start = -(-cursor.at // alignment) * alignment
        tensors = {name: tensor.moved(start) for name, tensor in listed}
        for name, tensor in tensors.items():
            if tensor.start + tensor.size > len(self._data):
                raise GGUFError(
                    f"truncated: {name} ends at byte {tensor.start + tensor.size}, "
                    f"the file at {len(self._data)}"
                )
        return metadata, tensors


@dataclass(frozen=True)
class _Tensor:
    """One tensor: its shape, rows first, and the bytes that hold it."""

    shape: tuple[int, ...]
    quantisation: GGMLQuantizationType
    start: int

    @property
    def size(self) -> int:
        block, bytes_of_block = GGML_QUANT_SIZES[self.quantisation]
        return math.prod(self.shape) // block * bytes_of_block

    def moved(self, by: int) -> _Tensor:
        return _Tensor(self.shape, self.quantisation, self.start + by)


class _Cursor:
    """A place in the file, which moves on as values are read."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def numbers(self, letters: str) -> tuple[Any, ...]:
        try:
            found = struct.unpack_from(f"<{letters}", self.data, self.at)
        except struct.error:
            raise self._truncated() from None
        self.at += struct.calcsize(f"<{letters}")
        return found

    def string(self) -> str:
        (length,) = self.numbers("Q")
        raw = self.data[self.at : self.at + length]
        if len(raw) < length:
            raise self._truncated()
        self.at += length
        return raw.decode("utf-8")

    def value(self) -> Any:
        """A value after its type: a number, a string, or a list of either."""
        kind = self._kind()
        if kind is not GGUFValueType.ARRAY:
            return self.string() if kind is GGUFValueType.STRING else self.numbers(LETTERS[kind])[0]
        of = self._kind()
        (length,) = self.numbers("Q")
        if of is GGUFValueType.ARRAY:
            raise GGUFError("an array of arrays is not supported")
        if of is GGUFValueType.STRING:
            return [self.string() for _ in range(length)]
        return list(self.numbers(f"{length}{LETTERS[of]}"))

    def tensor(self) -> tuple[str, _Tensor]:
        """The name and the description; start counts from the data section."""
        name = self.string()
        (axes,) = self.numbers("I")
        shape = self.numbers(f"{axes}Q")[::-1]
        number, start = self.numbers("IQ")
        try:
            quantisation = GGMLQuantizationType(number)
        except ValueError:
            raise GGUFError(f"{name} has the unsupported quantisation number {number}") from None
        quant_shape_to_byte_shape(shape, quantisation)  # refuses a row that splits a block
        return name, _Tensor(shape, quantisation, start)

    def _kind(self) -> GGUFValueType:
        return GGUFValueType(self.numbers("I")[0])

    def _truncated(self) -> GGUFError:
        return GGUFError(f"truncated: more is to come at byte {self.at}, of {len(self.data)}")
