"""What is wrong with a body that no JSON reader takes, in words that tell where, and what to send instead."""

import json
import re
from typing import Any, Final

from antiphon.core.errors import InvalidRequest

_JSON: Final = "send a JSON object"
_COMPRESSED: Final = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x78\x9c", "deflate"))
_NOT_UTF8: Final = ((b"\xef\xbb\xbf", "a byte order mark"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_HALF: Final = re.compile(
    rb"(?<!\\)(?:\\\\)*(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""An escaped half of a character that stands alone; two halves make one that needs no more than 16 bits each."""
_ABOUT_ESCAPES: Final = ("surrogate", "hex escape", "truncated")
"""What msgspec says where it meets such a half, depending on what follows it and whether it keeps the text."""
_MOST_WALKED: Final = 1 << 20
"""Bytes of a body that is read once more to name the field: other calls wait meanwhile."""


def not_json(body: bytes, error: Exception) -> InvalidRequest:
    """The error for a body at which a JSON decoder raised ``error``, which was no ValidationError."""
    for magic, name in _COMPRESSED:
        if body.startswith(magic):
            return InvalidRequest(f"the request body is compressed ({name})", remedy="send it as it is, as plain JSON")
    for magic, name in _NOT_UTF8:
        if body.startswith(magic):
            return InvalidRequest(f"the request body begins with {name}", remedy="send JSON in UTF-8, without a byte order mark")
    words = str(error)
    if any(word in words for word in _ABOUT_ESCAPES) and (half := _HALF.search(body)) is not None:
        return _half_a_character(body, half.end() - len(rb"\ud83d"))
    if (at := _first_not_utf8(body)) is not None:
        return InvalidRequest(
            f"the request body is not UTF-8: 0x{body[at]:02x} at byte {at} is no part of a character", remedy="send JSON in UTF-8"
        )
    if "truncated" in words:
        how = f"it breaks off after {len(body)} bytes" if body else "it is empty"
        return InvalidRequest(f"the request body is not valid JSON: {how}", remedy=_JSON)
    return InvalidRequest(f"the request body is not valid JSON: {error}", remedy=_JSON)


def make_sure_of_utf8(body: bytes) -> None:
    """Raises InvalidRequest, telling the first byte that is none of it."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise not_json(body, error) from error


def _first_not_utf8(body: bytes) -> int | None:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _half_a_character(body: bytes, at: int) -> InvalidRequest:
    param = _path_of_half(body) if len(body) <= _MOST_WALKED else None
    where = f"`{param}`" if param else "the request body"
    half = body[at : at + 6].decode()
    return InvalidRequest(
        f"{where} is not valid Unicode: {half} at byte {at} is half of a character (a lone surrogate)",
        remedy="send both halves, or neither: a text was cut inside of a character",
        param=param,
    )


def _path_of_half(body: bytes) -> str | None:
    """Path of the first text that holds one; None where it cannot be told."""
    try:
        return _walk(json.loads(body), "")
    except (ValueError, RecursionError):
        return None


def _walk(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        return path if _is_halved(value) else None
    if isinstance(value, list):
        return next((found for at, item in enumerate(value) if (found := _walk(item, f"{path}[{at}]"))), None)
    if isinstance(value, dict):
        if any(map(_is_halved, value)):
            return path or None
        below = ((f"{path}.{name}" if path else name, item) for name, item in value.items())
        return next((found for place, item in below if (found := _walk(item, place))), None)
    return None


def _is_halved(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
