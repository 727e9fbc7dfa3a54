"""Voyage's ranking endpoint."""

from typing import Any, Final

import msgspec

from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import OutboundRerank
from antiphon.execution.wire.openai.embeddings import usage_of
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.rerank import Ranked, RerankAnswer, RerankRequest, best_first
from antiphon.execution.wire.said_errors import refused, said
from antiphon.execution.wire.voyage import DIALECT

ENDPOINT: Final = "Voyage's ranking endpoint"


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Answer(msgspec.Struct):
    data: list[_Result] = []
    usage: msgspec.Raw = NULL
    detail: Any = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def encode_request(request: RerankRequest) -> bytes:
    """The body for ``/v1/rerank``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.max_tokens_per_document is not None:
        raise unsupported("max_tokens_per_doc", "Voyage's models have a limit of their own")
    told = {
        "model": request.model,
        "query": request.query,
        "documents": [document.text for document in request.documents],
        "top_k": request.top_n,
        "truncation": request.truncate,
        **own_fields(request, DIALECT),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_answer(body: bytes, request: RerankRequest) -> RerankAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.detail is not None and not answer.data:
        raise refused(said(answer.detail, 502))
    found = [Ranked(result.index, result.relevance_score) for result in answer.data]
    return RerankAnswer(best_first(found, request), usage_of(answer.usage))


OUTBOUND_RERANK: Final = OutboundRerank("rerank", encode_request, read_answer)
