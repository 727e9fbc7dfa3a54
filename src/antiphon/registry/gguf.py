"""Reads what a GGUF file says of its model, without loading it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

import mmap
import struct
from pathlib import Path

import msgspec

from antiphon.core.errors import ModelSourceError

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING = 8
_ARRAY = 9
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S",
    22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS",
    31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""``general.file_type``: how most tensors are stored."""

Scalar = str | int | float | bool


class GgufInfo(msgspec.Struct, frozen=True):
    """What a GGUF file says of its model; empty or 0 where it says nothing."""

    version: int
    name: str
    architecture: str
    quantisation: str
    parameters: int
    """Weights, counted from the shapes of the tensors."""
    context_length: int
    """Tokens."""
    vocabulary: int
    """Tokens."""
    licence: str
    chat_template: bool
    """The file has one."""


def read_gguf(path: Path) -> GgufInfo:
    """Raises ModelSourceError where the file is not GGUF or is damaged in its head."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _info(_Reader(data, path))
    except (OSError, ValueError, struct.error, UnicodeDecodeError, KeyError) as error:
        raise ModelSourceError(f"{path} cannot be read as GGUF: {error}", remedy="fetch it again") from error


class _Reader:
    """Walks through a GGUF head; arrays are stepped over, only their lengths are kept."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._at = 0
        if data[:4] != b"GGUF":
            raise ModelSourceError(f"{path} is not a GGUF file", remedy="check its source")
        self._at = 4
        self.version = int(self.scalar("I"))
        if self.version not in {2, 3}:
            raise ModelSourceError(
                f"{path} is GGUF of version {self.version}; versions 2 and 3 are understood", remedy="convert it anew"
            )
        self.tensors = int(self.scalar("Q"))
        self.pairs = int(self.scalar("Q"))

    def scalar(self, code: str) -> int | float | bool:
        (value,) = struct.unpack_from(f"<{code}", self._data, self._at)
        self._at += struct.calcsize(f"<{code}")
        number: int | float | bool = value
        return number

    def text(self) -> str:
        length = int(self.scalar("Q"))
        raw = self._data[self._at : self._at + length]
        if len(raw) != length:
            raise ValueError("it ends inside its head")
        self._at += length
        return raw.decode()

    def value(self) -> Scalar:
        """The next value; of an array its length."""
        kind = int(self.scalar("I"))
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._step_over_array()
        return self.scalar(_SCALARS[kind])

    def _step_over_array(self) -> int:
        kind = int(self.scalar("I"))
        count = int(self.scalar("Q"))
        if kind == _STRING:
            unpack = struct.Struct("<Q").unpack_from
            for _ in range(count):
                self._at += 8 + unpack(self._data, self._at)[0]
        elif kind == _ARRAY:
            for _ in range(count):
                self._step_over_array()
        else:
            self._at += count * struct.calcsize(f"<{_SCALARS[kind]}")
        return count

    def elements(self) -> int:
        """Number of weights in the next tensor."""
        self.text()
        product = 1
        for _ in range(int(self.scalar("I"))):
            product *= int(self.scalar("Q"))
        self._at += 12  # its type and its place in the file
        return product


def _info(reader: _Reader) -> GgufInfo:
    values: dict[str, Scalar] = {}
    for _ in range(reader.pairs):
        key = reader.text()
        values[key] = reader.value()
    architecture = str(values.get("general.architecture", ""))
    file_type = values.get("general.file_type")
    return GgufInfo(
        version=reader.version,
        name=str(values.get("general.name", "")),
        architecture=architecture,
        quantisation="" if file_type is None else _FILE_TYPES.get(int(file_type), f"file type {file_type}"),
        parameters=sum(reader.elements() for _ in range(reader.tensors)),
        context_length=int(values.get(f"{architecture}.context_length", 0)),
        vocabulary=int(values.get("tokenizer.ggml.tokens", 0)),
        licence=str(values.get("general.license", "")),
        chat_template="tokenizer.chat_template" in values,
    )
