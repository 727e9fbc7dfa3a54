"""``client.embeddings``: texts as vectors."""

import base64
import binascii
import struct
from collections.abc import Sequence
from typing import Literal, Required, Unpack

import msgspec

from antiphon_client.answers import Answer, ApiObject, invalid
from antiphon_client.options import BodyOptions
from antiphon_client.params import Params, take
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.transport.ask import Ask, ResponseInfo
from antiphon_client.transport.said_errors import UNREADABLE
from antiphon_client.usage import Usage


class EmbeddingParams(BodyOptions, total=False):
    """Arguments of an embedding."""

    model: Required[str]
    input: Required[str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]]
    dimensions: int | None
    encoding_format: Literal["float", "base64"] | None
    """How the vectors travel: ``base64`` is shorter, and has the precision of float32. They arrive as numbers either way."""
    user: str | None


class Embedding(ApiObject, frozen=True, kw_only=True, dict=True):
    """The vector of one text."""

    index: int = 0
    embedding: tuple[float, ...]
    object: str = "embedding"


class EmbeddingList(Answer, frozen=True, kw_only=True, dict=True):
    """The vectors, in the order of the texts."""

    data: tuple[Embedding, ...]
    model: str = ""
    usage: Usage | None = None
    object: str = "list"

    @property
    def vectors(self) -> tuple[tuple[float, ...], ...]:
        """Nothing but the numbers."""
        return tuple(one.embedding for one in self.data)


class Embeddings(Resource):
    """Asks models for vectors."""

    def create(self, **params: Unpack[EmbeddingParams]) -> EmbeddingList:
        """The vectors of texts. Raises APIError."""
        return self._sender.whole(_ask(take(params, EmbeddingParams, self._options)))


class AsyncEmbeddings(AsyncResource):
    """Asks models for vectors."""

    async def create(self, **params: Unpack[EmbeddingParams]) -> EmbeddingList:
        """The vectors of texts. Raises APIError."""
        return await self._sender.whole(_ask(take(params, EmbeddingParams, self._options)))


def _ask(params: Params) -> Ask[EmbeddingList]:
    return Ask(method="POST", path="/v1/embeddings", body=params.body, decode=_read, options=params.options)


def _read(body: bytes, info: ResponseInfo) -> EmbeddingList:
    try:
        told = msgspec.json.decode(body)
        for one in told["data"]:
            if isinstance(one["embedding"], str):
                one["embedding"] = _numbers(one["embedding"])
        told["data"].sort(key=lambda one: one.get("index", 0))
        return EmbeddingList.of(told).came_in(info, body)
    except (TypeError, KeyError, AttributeError, binascii.Error, struct.error, *UNREADABLE) as error:
        raise invalid(error, body, info) from error


def _numbers(text: str) -> list[float]:
    packed = base64.b64decode(text, validate=True)
    return list(struct.unpack(f"<{len(packed) // 4}f", packed))
