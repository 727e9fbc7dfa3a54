"""Writes small GGUF files for tests."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<Ii", 5, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if all(isinstance(item, int) for item in value):
        return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))


def write_gguf(
    path: Path, fields: dict[str, Any], tensors: Sequence[tuple[str, tuple[int, ...], int, bytes]] = (), version: int = 3
) -> str:
    """A GGUF file with these fields and tensors (name, shape outermost first, kind, data). Gives its path."""
    body = b"".join(_string(key) + _value(value) for key, value in fields.items())
    offset, contents = 0, b""
    for name, shape, kind, data in tensors:
        body += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, offset)
        padded = data + bytes(-len(data) % 32)
        contents += padded
        offset += len(padded)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(fields)) + body
    path.write_bytes(head + bytes(-len(head) % 32) + contents)
    return str(path)
