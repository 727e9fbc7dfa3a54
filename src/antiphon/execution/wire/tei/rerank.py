"""The ranking endpoint of text-embeddings-inference. Such a server has one model, and ranks all that it is given."""

from typing import Final

import msgspec

from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import OutboundRerank
from antiphon.execution.wire.rerank import Ranked, RerankAnswer, RerankRequest, best_first
from antiphon.execution.wire.tei import DIALECT

ENDPOINT: Final = "the ranking endpoint of text-embeddings-inference"
OWN: Final = frozenset({"raw_scores", "truncation_direction"})
"""Fields of its own that callers of any dialect may give."""


class _Result(msgspec.Struct):
    index: int
    score: float


_decode_answer = msgspec.json.Decoder(list[_Result]).decode


def encode_request(request: RerankRequest) -> bytes:
    """The body for ``/rerank``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.max_tokens_per_document is not None:
        raise unsupported("max_tokens_per_doc", "this model's server does not know it")
    told = {
        "query": request.query,
        "texts": [document.text for document in request.documents],
        "truncate": request.truncate,
        **own_fields(request, DIALECT, OWN),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def read_answer(body: bytes, request: RerankRequest) -> RerankAnswer:
    """Raises UpstreamBroken where this is no answer to the request. It tells no usage."""
    found = reading.decode_answer(_decode_answer, body, ENDPOINT)
    return RerankAnswer(best_first([Ranked(result.index, result.score) for result in found], request))


OUTBOUND_RERANK: Final = OutboundRerank("rerank", encode_request, read_answer)
