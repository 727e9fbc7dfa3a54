"""Ollama's embeddings, ``/api/embed`` and the older ``/api/embeddings``: requests and answers, both ways.

A server is asked at ``/api/embed`` alone. It would cut a text that is too long for the model in silence, so it is told to refuse
one, unless the caller allows the cut. Options are hints here: none of them changes a vector.
"""

from typing import Annotated, Final

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import InboundEmbedding, OutboundEmbedding
from antiphon.execution.wire.embedding import (
    EmbeddingAbilities,
    EmbeddingAnswer,
    EmbeddingRequest,
    Truncation,
    dimensions_of,
    one_each,
    texts_of,
    vector_of,
)
from antiphon.execution.wire.ollama.fields import Counts, usage_of
from antiphon.execution.wire.ollama.options import PREFIX, grouped
from antiphon.execution.wire.ollama.request_reader import DIALECT
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Ollama's embeddings endpoint"
HINTS: Final = frozenset({"keep_alive"})
"""Fields about the memory of Ollama's server."""


class _Asked(msgspec.Struct, kw_only=True):
    model: str
    options: dict[str, msgspec.Raw] | None = None


class _Request(_Asked, kw_only=True):
    input: str | list[str]
    dimensions: Annotated[int, msgspec.Meta(ge=0, lt=2**53)] | None = None
    truncate: bool | None = None


class _OlderRequest(_Asked, kw_only=True):
    prompt: str


class _Answer(Counts):
    embeddings: list[msgspec.Raw] | None = None


_decode = msgspec.json.Decoder(_Request).decode
_decode_older = msgspec.json.Decoder(_OlderRequest).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_answer = msgspec.json.Decoder(_Answer).decode


def decode_request(body: bytes) -> EmbeddingRequest:
    """The request in a body of ``/api/embed``. Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode, body)
    single = isinstance(read.input, str)
    inputs = (read.input,) if isinstance(read.input, str) else tuple(read.input)
    if not inputs:
        raise InvalidRequest("`input` is an empty list", remedy="put at least one text into it", param="input")
    truncate: Truncation | None = None if read.truncate is None else "end" if read.truncate else "none"
    return _request(read, body, inputs, single=single, dimensions=read.dimensions or None, truncate=truncate)


def decode_older_request(body: bytes) -> EmbeddingRequest:
    """The request in a body of ``/api/embeddings``. Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode_older, body)
    return _request(read, body, (read.prompt,), single=True)


def _request(
    read: _Asked,
    body: bytes,
    inputs: tuple[str, ...],
    *,
    single: bool,
    dimensions: int | None = None,
    truncate: Truncation | None = None,
) -> EmbeddingRequest:
    others = {name: raw for name, raw in _decode_fields(body).items() if name not in read.__struct_fields__ and raw != NULL}
    options = {PREFIX + name: raw for name, raw in (read.options or {}).items()}
    return EmbeddingRequest(
        dialect=DIALECT,
        model=read.model,
        inputs=inputs,
        single=single,
        dimensions=dimensions,
        truncate=truncate,
        extra={name: raw for name, raw in others.items() if name not in HINTS},
        hints={**options, **{name: raw for name, raw in others.items() if name in HINTS}},
    )


def write_answer(answer: EmbeddingAnswer, request: EmbeddingRequest, _identity: str) -> bytes:
    """The body for a caller of ``/api/embed``. Raises UpstreamBroken as vectors do."""
    vectors = b",".join(bytes(vector.as_numbers()) for vector in answer.vectors)
    counted = b"" if answer.usage is None else b',"prompt_eval_count":%d' % answer.usage.prompt_tokens
    return b'{"model":%b,"embeddings":[%b]%b}' % (reading.encode(request.model), vectors, counted)


def write_older_answer(answer: EmbeddingAnswer, _request: EmbeddingRequest, _identity: str) -> bytes:
    """The body for a caller of ``/api/embeddings``. Raises UpstreamBroken as vectors do."""
    return b'{"embedding":%b}' % bytes(answer.vectors[0].as_numbers())


def encode_request(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``/api/embed``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.task is not None:
        raise unsupported("input_type", "this model embeds all texts alike")
    if request.truncate == "start":
        raise unsupported("truncate", "this model's server cuts off the end of a text alone", "let it cut the end, or nothing")
    texts = texts_of(request)
    told = {
        "model": request.model,
        "input": texts[0] if request.single else texts,
        "dimensions": dimensions_of(request, abilities),
        "truncate": request.truncate == "end",
        **grouped(own_fields(request, DIALECT), {}),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_answer(body: bytes, request: EmbeddingRequest) -> EmbeddingAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.error:
        raise refused(said(answer.error, 502))
    return EmbeddingAnswer(one_each([vector_of(raw) for raw in answer.embeddings or ()], request), usage_of(answer))


INBOUND_EMBED: Final = InboundEmbedding(decode_request, write_answer)
INBOUND_OLDER: Final = InboundEmbedding(decode_older_request, write_older_answer)
OUTBOUND_EMBEDDING: Final = OutboundEmbedding("api/embed", encode_request, read_answer)
