"""Jina's ranking endpoint, whose shape vLLM, llama.cpp and others have too: its callers and its servers."""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire import reading, rerank_shape
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import InboundRerank, OutboundRerank, Passing
from antiphon.execution.wire.jina import DIALECT
from antiphon.execution.wire.openai.embeddings import usage_of
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.rerank import Ranked, RerankAnswer, RerankRequest, best_first
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Jina's ranking endpoint"


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Passed(msgspec.Struct):
    """An answer as far as a gateway looks into it."""

    usage: msgspec.Raw = NULL
    error: Any = None
    detail: Any = None


class _Answer(_Passed):
    results: list[_Result] = []


_decode_passed = msgspec.json.Decoder(_Passed).decode
_decode_answer = msgspec.json.Decoder(_Answer).decode


def decode_request(body: bytes) -> RerankRequest:
    """Raises InvalidRequest, naming the field. Documents come back unless the caller wants none, as Jina does it."""
    return rerank_shape.decode_request(body, DIALECT, returns_documents=True)


def write_answer(answer: RerankAnswer, request: RerankRequest, identity: str) -> bytes:
    """The body. What Cohere's first version has and Jina has not is there too: both come to the same path."""
    usage = answer.usage
    counts = {} if usage is None else {"usage": {"total_tokens": usage.total_tokens, "prompt_tokens": usage.prompt_tokens}}
    units = {} if answer.search_units is None else {"meta": {"billed_units": {"search_units": answer.search_units}}}
    results = rerank_shape.told_results(answer, request)
    return reading.encode({"id": identity, "model": request.model, **counts, "results": results, **units})


def encode_request(request: RerankRequest) -> bytes:
    """The body for ``/v1/rerank``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.max_tokens_per_document is not None:
        raise unsupported("max_tokens_per_doc", "this model's server does not know it")
    told = {
        "model": request.model,
        "query": request.query,
        "documents": [document.text for document in request.documents],
        "top_n": request.top_n,
        "return_documents": False,
        "truncation": request.truncate,
        **own_fields(request, DIALECT),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_passed(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of an answer that goes on as it came. Raises one of ``reading.UNREADABLE``."""
    answer = _decode_passed(body)
    error = answer.error if answer.error is not None else answer.detail
    return usage_of(answer.usage), refused(said(error, 502)) if error is not None else None


def read_answer(body: bytes, request: RerankRequest) -> RerankAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    error = answer.error if answer.error is not None else answer.detail
    if error is not None and not answer.results:
        raise refused(said(error, 502))
    found = [Ranked(result.index, result.relevance_score) for result in answer.results]
    return RerankAnswer(best_first(found, request), usage_of(answer.usage))


INBOUND_RERANK: Final = InboundRerank(decode_request, write_answer)
OUTBOUND_RERANK: Final = OutboundRerank("rerank", encode_request, read_answer)
PASSING: Final = Passing(read_passed)
