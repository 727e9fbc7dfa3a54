"""A request for embeddings that belongs to no vendor, and its answer: what every dialect is read into, and written from.

Vectors stay as the server wrote them, JSON numbers or packed floats, and are decoded only where the caller wants the other: a
thousand vectors hold millions of numbers. A field of one dialect without a like in the others is kept by name, as in ``chat``.
"""

import base64
import struct
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Final, Literal

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire.chat import unsupported
from antiphon.execution.wire.reading import UNREADABLE, encode

Task = Literal[
    "query", "document", "similarity", "classification", "clustering", "question", "fact_check", "code_query", "code_document"
]
"""What vectors are for: some models embed a question otherwise than the text that answers it."""
Truncation = Literal["none", "start", "end"]
"""Which end of a text that is too long is cut off; with ``none`` it is refused."""
_FLOAT: Final = 4
"""Bytes of a packed number."""
_OF_NUMBERS: Final = b"0123456789+-.eE, \t\r\n"
"""All that a JSON list of numbers has between its brackets. Words, texts, lists and objects have something else."""

_decode_text = msgspec.json.Decoder(str).decode
_decode_numbers = msgspec.json.Decoder(list[float]).decode


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Texts to embed. None means that the caller did not say."""

    dialect: str
    """The one that it was read from."""
    model: str
    inputs: tuple[str | tuple[int, ...], ...]
    """Texts, each as itself or as the numbers of its tokens; at least one."""
    single: bool = False
    """The caller gave one input by itself, not a list."""
    dimensions: int | None = None
    """Numbers wanted per vector."""
    encoding: Literal["float", "base64"] = "float"
    """How the caller wants to read vectors."""
    task: Task | None = None
    truncate: Truncation | None = None
    user: str = ""
    extra: dict[str, msgspec.Raw] = {}
    """Fields of its dialect alone that change the answer."""
    hints: dict[str, msgspec.Raw] = {}
    """Fields of its dialect alone that do not."""

    def place(self, index: int) -> str:
        """Path of an input in the caller's request, for errors."""
        return "input" if self.single else f"input[{index}]"


class Vector(msgspec.Struct, frozen=True, gc=False):
    """One embedding, in the spelling that its server chose. Made by ``vector_of``, which checks it."""

    numbers: msgspec.Raw | None
    """JSON list of numbers; None where the server packed them."""
    packed: str = ""
    """Base64 of little-endian 32-bit floats, where the server packed them."""

    def as_numbers(self) -> msgspec.Raw:
        """JSON list of numbers. Raises UpstreamBroken where one is infinite or none at all, which JSON has no word for."""
        if self.numbers is not None:
            return self.numbers
        data = base64.b64decode(self.packed)
        floats = struct.unpack(f"<{len(data) // _FLOAT}f", data)
        if not all(map(isfinite, floats)):
            raise _no_vector("a number is not finite")
        return msgspec.Raw(encode(floats))

    def as_packed(self) -> str:
        """Base64 of little-endian 32-bit floats. Raises UpstreamBroken where a number is none of 32 bits."""
        if self.numbers is None:
            return self.packed
        try:
            numbers = _decode_numbers(self.numbers)
            data = struct.pack(f"<{len(numbers)}f", *numbers)
        except (*UNREADABLE, OverflowError) as error:
            raise _no_vector(f"a number is out of range: {error}") from error
        return base64.b64encode(data).decode("ascii")


class EmbeddingAnswer(msgspec.Struct, frozen=True):
    """One vector per input, in the order of the request."""

    vectors: tuple[Vector, ...]
    usage: Usage | None = None


class EmbeddingAbilities(msgspec.Struct, frozen=True):
    """What the server that a request is written for understands."""

    dimensions: bool = True
    """Makes shorter vectors on demand."""
    token_ids: bool = True
    """Takes inputs as numbers of tokens, where its dialect has a way to say it."""


def texts_of(request: EmbeddingRequest) -> tuple[str, ...]:
    """The inputs, for a server that reads texts alone. Raises UnsupportedParameter where one is numbers of tokens."""
    texts = tuple(one for one in request.inputs if isinstance(one, str))
    if len(texts) < len(request.inputs):
        raise unsupported("input", "this model has a vocabulary of its own and takes no token numbers", "send the text itself")
    return texts


def dimensions_of(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> int | None:
    """The size of vectors that is wanted. Raises UnsupportedParameter where the server makes them of one size alone."""
    if request.dimensions is not None and not abilities.dimensions:
        raise unsupported("dimensions", "this model's vectors have one size")
    return request.dimensions


def vector_of(raw: msgspec.Raw) -> Vector:
    """A vector cut out of valid JSON: a list of numbers, or base64. Raises UpstreamBroken for anything else."""
    value = bytes(raw).strip()
    if value.startswith(b'"'):
        return _packed(value)
    inside = value[1:-1]
    if not value.startswith(b"[") or inside.translate(None, _OF_NUMBERS):
        raise _no_vector("it is no list of numbers")
    if not inside.strip():
        raise _no_vector("it is empty")
    return Vector(msgspec.Raw(value))


def one_each(vectors: Sequence[Vector], request: EmbeddingRequest) -> tuple[Vector, ...]:
    """The vectors of an answer that has them in order. Raises UpstreamBroken where they are not as many as the inputs."""
    if len(vectors) != len(request.inputs):
        raise UpstreamBroken(f"the model's server sent {len(vectors)} embeddings for {len(request.inputs)} inputs")
    return tuple(vectors)


def in_order(numbered: Iterable[tuple[int | None, Vector]], request: EmbeddingRequest) -> tuple[Vector, ...]:
    """The vectors of an answer that numbers them from 0, or has them in order where it does not.

    Raises UpstreamBroken where an input has no vector, or more than one.
    """
    found = [(place if index is None else index, vector) for place, (index, vector) in enumerate(numbered)]
    vectors = one_each([vector for _, vector in sorted(found, key=lambda pair: pair[0])], request)
    if {index for index, _ in found} != set(range(len(vectors))):
        raise UpstreamBroken("the model's server numbered its embeddings otherwise than the inputs")
    return vectors


def _packed(value: bytes) -> Vector:
    try:
        text = _decode_text(value)
        size = len(base64.b64decode(text, validate=True))
    except (*UNREADABLE, ValueError) as error:
        raise _no_vector("it is not base64") from error
    if not size or size % _FLOAT:
        raise _no_vector(f"its {size} bytes are no floats of {_FLOAT} bytes each")
    return Vector(None, text)


def _no_vector(why: str) -> UpstreamBroken:
    return UpstreamBroken(f"the model's server sent an embedding that cannot be read: {why}")
