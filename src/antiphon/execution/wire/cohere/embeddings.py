"""Cohere's embeddings endpoint, version 2, asked in place of OpenAI's.

It would cut off a text that is too long in silence, so it is told to refuse one unless the caller allows the cut.
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.cohere import DIALECT
from antiphon.execution.wire.cohere.billing import meta_of, usage_of
from antiphon.execution.wire.dialect import OutboundEmbedding
from antiphon.execution.wire.embedding import (
    EmbeddingAbilities,
    EmbeddingAnswer,
    EmbeddingRequest,
    Task,
    dimensions_of,
    one_each,
    texts_of,
    vector_of,
)
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Cohere's embeddings endpoint"
OWN: Final = frozenset({"max_tokens", "priority"})
"""Fields of its own that callers of any dialect may give."""
UNSAID: Final = "search_document"
"""What vectors are for where the caller does not say. Cohere wants to know."""
_TASKS: Final[dict[Task, str]] = {
    "query": "search_query",
    "document": "search_document",
    "classification": "classification",
    "clustering": "clustering",
}


class _Embeddings(msgspec.Struct):
    float: list[msgspec.Raw] | None = None
    base64: list[msgspec.Raw] | None = None


class _Answer(msgspec.Struct):
    embeddings: _Embeddings | None = None
    meta: msgspec.Raw = NULL
    message: Any = None
    error: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def encode_request(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``/v2/embed``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.task is not None and request.task not in _TASKS:
        raise unsupported("input_type", f"Cohere's models know no vectors for {request.task}")
    told = {
        "model": request.model,
        "texts": texts_of(request),
        "input_type": UNSAID if request.task is None else _TASKS[request.task],
        "embedding_types": [request.encoding],
        "output_dimension": dimensions_of(request, abilities),
        "truncate": (request.truncate or "none").upper(),
        **own_fields(request, DIALECT, OWN),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_answer(body: bytes, request: EmbeddingRequest) -> EmbeddingAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    told = answer.embeddings
    if told is None:
        if answer.error is not None or answer.message is not None:
            raise refused(said(answer.error if answer.error is not None else {"message": answer.message}, 502))
        raise UpstreamBroken(f"the model's server sent what is no answer of {ENDPOINT}: it has no embeddings")
    found = told.base64 if told.base64 is not None else told.float or []
    return EmbeddingAnswer(one_each([vector_of(raw) for raw in found], request), usage_of(meta_of(answer.meta)))


OUTBOUND_EMBEDDING: Final = OutboundEmbedding("embed", encode_request, read_answer)
