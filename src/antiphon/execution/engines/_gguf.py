"""Reads the metadata of a GGUF file, and where its tensors are.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

import math
import mmap
import os
import struct
from typing import Any, Final

import msgspec

from antiphon.core.errors import ModelSourceError, SetupError

MAGIC: Final = b"GGUF"
_SCALARS: Final = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING: Final = 8
_ARRAY: Final = 9
_MAX_ITEMS: Final = 10_000_000
_BLOCKS: Final = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 30: (1, 2),
}  # fmt: skip
"""Weights in a block of a storage format, and the bytes that it takes. Of other formats only the offset is checked."""


class GgufMetadata(msgspec.Struct, frozen=True):
    """What an engine needs to know of a GGUF file."""

    architecture: str
    context_length: int
    """Tokens; 0 where the file does not say."""
    tokenizer: str
    """``gpt2`` (byte-level BPE), ``llama`` (SentencePiece) or another name."""
    tokens: tuple[bytes, ...]
    """The vocabulary as written in the file, UTF-8."""
    token_types: tuple[int, ...]
    """1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte; empty where the file does not say."""
    bos_id: int
    """-1 where there is none."""
    eos_id: int
    end_ids: tuple[int, ...]
    """Tokens that the file declares as ends: of text, of turn, of message."""
    chat_template: str


class GgufTensor(msgspec.Struct, frozen=True):
    """Where a tensor is in its file."""

    name: str
    shape: tuple[int, ...]
    """Outermost dimension first."""
    kind: int
    """Number of the storage format, as in ``ggml_type``."""
    offset: int
    """Bytes from the start of the file."""


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def string(self) -> bytes:
        length = self.scalar("<Q")
        if length > len(self.data) - self.at:
            raise struct.error("string longer than the file")
        start, self.at = self.at, self.at + length
        return self.data[start : self.at]

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.scalar(_SCALARS[kind])
        item, count = self.scalar("<I"), self.scalar("<Q")
        if count > _MAX_ITEMS:
            raise struct.error("array too long")
        if item in (_STRING, _ARRAY):
            return [self.value(item) for _ in range(count)]
        form = f"<{count}{_SCALARS[item][1]}"
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values


def read_metadata(path: str) -> GgufMetadata:
    """Metadata of the GGUF file at ``path``. Raises SetupError where it is not one or is damaged."""
    return _metadata(_parsed(path)[0])


def read_tensors(path: str) -> tuple[GgufTensor, ...]:
    """The tensors of the GGUF file at ``path``. Raises SetupError as ``read_metadata`` does."""
    return _parsed(path)[1]


def make_sure_it_is_whole(path: str) -> None:
    """Raises ModelSourceError where a tensor of the GGUF file at ``path`` ends behind the file: native code would not notice."""
    expected = max((_end(tensor) for tensor in read_tensors(path)), default=0)
    size = os.path.getsize(path)
    if size < expected:
        raise ModelSourceError(
            f'model file "{path}" is cut off: {size} bytes, {expected} expected',
            remedy='fetch it again with "antiphon models pull --force"',
        )


def _end(tensor: GgufTensor) -> int:
    weights, size = _BLOCKS.get(tensor.kind, (1, 0))
    return tensor.offset + -(-math.prod(tensor.shape) // weights) * size


def _parsed(path: str) -> tuple[dict[bytes, Any], tuple[GgufTensor, ...]]:
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data)
            tensors, fields = _fields(reader)
            return fields, _tensors(reader, tensors, int(fields.get(b"general.alignment", 32)))
    except (OSError, ValueError) as error:
        raise SetupError(f'model file "{path}" cannot be read: {error}', remedy="check the path and its permissions") from error
    except (struct.error, KeyError, MemoryError) as error:
        raise SetupError(f'model file "{path}" is not a whole GGUF file ({error})', remedy="fetch it again") from error


def _tensors(reader: _Reader, count: int, alignment: int) -> tuple[GgufTensor, ...]:
    found = []
    for _ in range(count):
        name = _text(reader.string())
        shape = tuple(reader.scalar("<Q") for _ in range(reader.scalar("<I")))
        found.append(GgufTensor(name, shape[::-1], reader.scalar("<I"), reader.scalar("<Q")))
    start = -(-reader.at // alignment) * alignment
    return tuple(msgspec.structs.replace(tensor, offset=start + tensor.offset) for tensor in found)


def _fields(reader: _Reader) -> tuple[int, dict[bytes, Any]]:
    magic, version = reader.data[:4], struct.unpack_from("<I", reader.data, 4)[0]
    if magic != MAGIC or version not in (2, 3):
        raise struct.error(f"magic {magic!r}, version {version}")
    reader.at = 8
    tensors, count = reader.scalar("<Q"), reader.scalar("<Q")
    fields: dict[bytes, Any] = {}
    for _ in range(count):
        key = reader.string()
        fields[key] = reader.value(reader.scalar("<I"))
    return tensors, fields


def _metadata(fields: dict[bytes, Any]) -> GgufMetadata:
    architecture = _text(fields.get(b"general.architecture", b""))
    ids = [int(fields.get(f"tokenizer.ggml.{name}_token_id".encode(), -1)) for name in ("eos", "eot", "eom")]
    return GgufMetadata(
        architecture=architecture,
        context_length=int(fields.get(f"{architecture}.context_length".encode(), 0)),
        tokenizer=_text(fields.get(b"tokenizer.ggml.model", b"")),
        tokens=tuple(fields.get(b"tokenizer.ggml.tokens", ())),
        token_types=tuple(fields.get(b"tokenizer.ggml.token_type", ())),
        bos_id=int(fields.get(b"tokenizer.ggml.bos_token_id", -1)),
        eos_id=ids[0],
        end_ids=tuple(sorted({token for token in ids if token >= 0})),
        chat_template=_text(fields.get(b"tokenizer.chat_template", b"")),
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
