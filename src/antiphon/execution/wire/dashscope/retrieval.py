"""DashScope's endpoints that embed texts and rank documents.

Shapes after Alibaba's documentation of Model Studio, "Text embedding" and "Text rerank", and its Python SDK.
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dashscope.errors import failed
from antiphon.execution.wire.dashscope.request_writer import DIALECT
from antiphon.execution.wire.dialect import OutboundEmbedding, OutboundRerank
from antiphon.execution.wire.embedding import (
    EmbeddingAbilities,
    EmbeddingAnswer,
    EmbeddingRequest,
    dimensions_of,
    in_order,
    texts_of,
    vector_of,
)
from antiphon.execution.wire.reading import NULL, Count
from antiphon.execution.wire.rerank import Ranked, RerankAnswer, RerankRequest, best_first
from antiphon.execution.wire.said_errors import refused

OWN: Final = frozenset({"instruct"})
"""Fields of its own that callers of any dialect may give."""


class _Embedding(msgspec.Struct):
    embedding: msgspec.Raw = NULL
    text_index: int | None = None


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Output(msgspec.Struct):
    embeddings: list[_Embedding] | None = None
    results: list[_Result] | None = None


class _Usage(msgspec.Struct):
    total_tokens: Count | None = None


class _Answer(msgspec.Struct):
    output: _Output | None = None
    usage: msgspec.Raw = NULL
    code: Any = None
    message: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode
_decode_usage = msgspec.json.Decoder(_Usage | None).decode


def encode_embedding(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``text-embedding``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.task not in (None, "query", "document"):
        reason = f"DashScope's models know no vectors for {request.task}"
        raise unsupported("input_type", reason, 'give "query" or "document", or describe the task in `instruct`')
    if request.truncate not in (None, "none"):
        raise unsupported("truncate", "this model's server refuses what is too long", "leave it out, and send shorter texts")
    parameters = {
        "text_type": request.task,
        "dimension": dimensions_of(request, abilities),
        **own_fields(request, DIALECT, OWN),
    }
    return _encoded(request.model, {"texts": texts_of(request)}, parameters)


def read_embedding(body: bytes, request: EmbeddingRequest) -> EmbeddingAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer, output = _decoded(body, "DashScope's embeddings endpoint")
    found = ((one.text_index, vector_of(one.embedding)) for one in output.embeddings or ())
    return EmbeddingAnswer(in_order(found, request), _usage_of(answer.usage))


def encode_rerank(request: RerankRequest) -> bytes:
    """The body for ``text-rerank``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.truncate is False:
        raise unsupported("truncation", "DashScope's models always cut off what is too long")
    if request.max_tokens_per_document is not None:
        raise unsupported("max_tokens_per_doc", "DashScope's models have a limit of their own")
    told = {"query": request.query, "documents": [document.text for document in request.documents]}
    return _encoded(request.model, told, {"top_n": request.top_n, **own_fields(request, DIALECT, OWN)})


def read_rerank(body: bytes, request: RerankRequest) -> RerankAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer, output = _decoded(body, "DashScope's ranking endpoint")
    found = [Ranked(result.index, result.relevance_score) for result in output.results or ()]
    return RerankAnswer(best_first(found, request), _usage_of(answer.usage))


def _encoded(model: str, told: dict[str, Any], parameters: dict[str, Any]) -> bytes:
    given = {name: value for name, value in parameters.items() if value is not None}
    return reading.encode({"model": model, "input": told, **({"parameters": given} if given else {})})


def _decoded(body: bytes, endpoint: str) -> tuple[_Answer, _Output]:
    answer = reading.decode_answer(_decode_answer, body, endpoint)
    if answer.output is None:
        if answer.code:
            raise refused(failed(answer.code, answer.message))
        raise UpstreamBroken(f"the model's server sent what is no answer of {endpoint}: it has no output")
    return answer, answer.output


def _usage_of(raw: msgspec.Raw) -> Usage | None:
    """What was used. What is no count is not told on."""
    try:
        usage = _decode_usage(raw)
    except msgspec.ValidationError:
        return None
    total = usage.total_tokens if usage is not None else None
    return None if total is None else Usage(total, 0, total)


EMBEDDING: Final = OutboundEmbedding("services/embeddings/text-embedding/text-embedding", encode_embedding, read_embedding)
RERANK: Final = OutboundRerank("services/rerank/text-rerank/text-rerank", encode_rerank, read_rerank)
