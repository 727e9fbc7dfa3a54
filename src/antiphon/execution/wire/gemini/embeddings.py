"""Gemini's ``batchEmbedContents``, asked in place of OpenAI's embeddings endpoint.

Shapes after Google's API reference, "Embeddings" (v1beta), and its Python SDK.
"""

from typing import Any, Final

import msgspec

from antiphon.core.types import Usage
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
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
from antiphon.execution.wire.gemini.names import DIALECT, resource_name
from antiphon.execution.wire.reading import NULL, Count
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Gemini's batchEmbedContents"
_TASKS: Final[dict[Task, str]] = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
    "similarity": "SEMANTIC_SIMILARITY",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
    "question": "QUESTION_ANSWERING",
    "fact_check": "FACT_VERIFICATION",
    "code_query": "CODE_RETRIEVAL_QUERY",
    "code_document": "RETRIEVAL_DOCUMENT",
}
"""What vectors are for; Google searches code among documents like any others."""


class _Embedding(msgspec.Struct):
    values: msgspec.Raw = NULL


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: Count | None = None


class _Answer(msgspec.Struct, rename="camel"):
    embeddings: list[_Embedding] | None = None
    usage_metadata: msgspec.Raw = NULL
    error: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode
_decode_usage = msgspec.json.Decoder(_Usage | None).decode


def encode_request(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``batchEmbedContents``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.truncate is not None:
        raise unsupported("truncate", "this model's server decides by itself what becomes of a text that is too long")
    own_fields(request, DIALECT)
    told = {
        "model": resource_name(request.model),
        "taskType": _TASKS[request.task] if request.task is not None else None,
        "outputDimensionality": dimensions_of(request, abilities),
    }
    common = {name: value for name, value in told.items() if value is not None}
    return reading.encode({"requests": [{**common, "content": {"parts": [{"text": text}]}} for text in texts_of(request)]})


def read_answer(body: bytes, request: EmbeddingRequest) -> EmbeddingAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.error is not None:
        raise refused(said(answer.error, 502))
    vectors = [vector_of(one.values) for one in answer.embeddings or ()]
    return EmbeddingAnswer(one_each(vectors, request), _usage_of(answer.usage_metadata))


def _usage_of(raw: msgspec.Raw) -> Usage | None:
    """What was used, where the server tells: not every model's does. What is no count is not told on."""
    try:
        usage = _decode_usage(raw)
    except msgspec.ValidationError:
        return None
    if usage is None or usage.prompt_token_count is None:
        return None
    return Usage(usage.prompt_token_count, 0, usage.prompt_token_count)


OUTBOUND_EMBEDDING: Final = OutboundEmbedding("batchEmbedContents", encode_request, read_answer)
