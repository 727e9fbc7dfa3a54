"""Writes the answer of ``POST /v1/embeddings``."""

import base64
import sys
from array import array
from collections.abc import Sequence

import msgspec

_encode = msgspec.json.Encoder().encode


def render(model: str, vectors: Sequence[Sequence[float]], tokens: int, as_base64: bool) -> bytes:
    """The whole body. ``vectors`` are in the order of the request."""
    name, items = _encode(model), b",".join(_item(index, vector, as_base64) for index, vector in enumerate(vectors))
    return b'{"object":"list","data":[%b],"model":%b,"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (
        items,
        name,
        tokens,
        tokens,
    )


def _item(index: int, vector: Sequence[float], as_base64: bool) -> bytes:
    written = b'"%b"' % _packed(vector) if as_base64 else _encode(list(vector))
    return b'{"object":"embedding","index":%d,"embedding":%b}' % (index, written)


def _packed(vector: Sequence[float]) -> bytes:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes())
