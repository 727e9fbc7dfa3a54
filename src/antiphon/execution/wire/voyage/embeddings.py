"""Voyage's embeddings endpoint, asked in place of OpenAI's, whose answer it imitates.

It would cut off a text that is too long in silence, so it is told to refuse one unless the caller allows the cut.
"""

from typing import Final

from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import OutboundEmbedding
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingRequest, dimensions_of, texts_of
from antiphon.execution.wire.openai.embeddings import read_answer
from antiphon.execution.wire.voyage import DIALECT

__all__ = ["OUTBOUND_EMBEDDING", "encode_request", "read_answer"]


def encode_request(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``/v1/embeddings``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.task not in (None, "query", "document"):
        raise unsupported("input_type", f"Voyage's models know no vectors for {request.task}", 'give "query" or "document"')
    if request.truncate == "start":
        raise unsupported("truncate", "Voyage's models cut texts off at their end", 'give "end" or "none"')
    told = {
        "model": request.model,
        "input": texts_of(request),
        "input_type": request.task,
        "truncation": request.truncate == "end",
        "output_dimension": dimensions_of(request, abilities),
        "encoding_format": "base64" if request.encoding == "base64" else None,
        **own_fields(request, DIALECT),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


OUTBOUND_EMBEDDING: Final = OutboundEmbedding("embeddings", encode_request, read_answer)
