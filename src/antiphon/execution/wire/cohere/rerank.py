"""Cohere's ranking endpoint, version 2: its callers and its servers."""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire import reading, rerank_shape
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.cohere import DIALECT
from antiphon.execution.wire.cohere.billing import count, meta_of, usage_of
from antiphon.execution.wire.dialect import InboundRerank, OutboundRerank, Passing
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.rerank import Ranked, RerankAnswer, RerankRequest, best_first
from antiphon.execution.wire.said_errors import refused, said

ENDPOINT: Final = "Cohere's ranking endpoint"


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Passed(msgspec.Struct):
    """An answer as far as a gateway looks into it."""

    meta: msgspec.Raw = NULL


class _Answer(_Passed):
    results: list[_Result] = []
    message: Any = None


_decode_passed = msgspec.json.Decoder(_Passed).decode
_decode_answer = msgspec.json.Decoder(_Answer).decode


def decode_request(body: bytes) -> RerankRequest:
    """Raises InvalidRequest, naming the field. Documents come back where the caller wants them, as version 1 did it."""
    return rerank_shape.decode_request(body, DIALECT, returns_documents=False)


def write_answer(answer: RerankAnswer, request: RerankRequest, identity: str) -> bytes:
    """The body."""
    meta: dict[str, Any] = {"api_version": {"version": "2"}}
    if answer.search_units is not None:
        meta["billed_units"] = {"search_units": answer.search_units}
    if answer.usage is not None:
        meta["tokens"] = {"input_tokens": answer.usage.prompt_tokens, "output_tokens": answer.usage.completion_tokens}
    return reading.encode({"id": identity, "results": rerank_shape.told_results(answer, request), "meta": meta})


def encode_request(request: RerankRequest) -> bytes:
    """The body for ``/v2/rerank``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.truncate is False:
        raise unsupported("truncation", "Cohere's models always cut off what is too long")
    told = {
        "model": request.model,
        "query": request.query,
        "documents": [document.text for document in request.documents],
        "top_n": request.top_n,
        "max_tokens_per_doc": request.max_tokens_per_document,
        **own_fields(request, DIALECT),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_passed(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of an answer that goes on as it came. Raises one of ``reading.UNREADABLE``."""
    answer = _decode_passed(body)
    return usage_of(meta_of(answer.meta)), None


def read_answer(body: bytes, request: RerankRequest) -> RerankAnswer:
    """Raises UpstreamBroken where this is no answer to the request, UpstreamRefused where it tells an error."""
    answer = reading.decode_answer(_decode_answer, body, ENDPOINT)
    if answer.message is not None and not answer.results:
        raise refused(said({"message": answer.message}, 502))
    meta = meta_of(answer.meta)
    units = meta.billed_units.search_units if meta.billed_units is not None else None
    found = [Ranked(result.index, result.relevance_score) for result in answer.results]
    return RerankAnswer(best_first(found, request), usage_of(meta), None if units is None else count(units))


INBOUND_RERANK: Final = InboundRerank(decode_request, write_answer)
OUTBOUND_RERANK: Final = OutboundRerank("rerank", encode_request, read_answer)
PASSING: Final = Passing(read_passed)
