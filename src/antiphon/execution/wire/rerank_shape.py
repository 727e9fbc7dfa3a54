"""The shape that Cohere gave to ranking, and that Jina, vLLM and others imitate: requests read, and results written.

The dialects differ in what goes without saying, and in what stands around the results.
"""

from typing import Annotated, Any

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import reading
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.rerank import Candidate, RerankAnswer, RerankRequest
from antiphon.execution.wire.wrong_values import decode_at

HINTS = frozenset({"priority", "metadata", "user"})
"""Fields that change when a call is answered, or what is kept of it, but not how documents are ranked."""
_NEUTRAL = {"rank_fields": ["text"]}
"""Values that ask for nothing; ``null`` always does."""
_Natural = Annotated[int, msgspec.Meta(ge=1, lt=2**53)]


class _Document(msgspec.Struct):
    text: str


class _Request(msgspec.Struct):
    model: str
    query: str
    documents: list[msgspec.Raw]
    top_n: _Natural | None = None
    return_documents: bool | None = None
    max_tokens_per_doc: _Natural | None = None
    truncation: bool | None = None


_decode = msgspec.json.Decoder(_Request).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_document = msgspec.json.Decoder(str | _Document).decode


def decode_request(body: bytes, dialect: str, *, returns_documents: bool) -> RerankRequest:
    """``returns_documents`` holds where the caller does not say. Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode, body)
    if not read.documents:
        raise InvalidRequest("`documents` is an empty list", remedy="put at least one text into it", param="documents")
    others = {
        name: raw
        for name, raw in _decode_fields(body).items()
        if name not in _Request.__struct_fields__ and raw != NULL and not _asks_nothing(name, raw)
    }
    return RerankRequest(
        dialect=dialect,
        model=read.model,
        query=read.query,
        documents=tuple(_candidate(raw, f"documents[{place}]") for place, raw in enumerate(read.documents)),
        top_n=read.top_n,
        return_documents=returns_documents if read.return_documents is None else read.return_documents,
        max_tokens_per_document=read.max_tokens_per_doc,
        truncate=read.truncation,
        extra={name: raw for name, raw in others.items() if name not in HINTS},
        hints={name: raw for name, raw in others.items() if name in HINTS},
    )


def _asks_nothing(name: str, raw: msgspec.Raw) -> bool:
    return name in _NEUTRAL and msgspec.json.decode(raw) == _NEUTRAL[name]


def _candidate(raw: msgspec.Raw, place: str) -> Candidate:
    document = decode_at(_decode_document, raw, place)
    return Candidate(document) if isinstance(document, str) else Candidate(document.text, raw)


def told_results(answer: RerankAnswer, request: RerankRequest) -> list[dict[str, Any]]:
    """The results, with their documents where the caller wants them: in an object, their own where they came in one."""
    results: list[dict[str, Any]] = []
    for result in answer.results:
        told: dict[str, Any] = {"index": result.index, "relevance_score": result.score}
        if request.return_documents:
            document = request.documents[result.index]
            told["document"] = {"text": document.text} if document.whole is None else document.whole
        results.append(told)
    return results
