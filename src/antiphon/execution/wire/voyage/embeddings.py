"""Voyage's embeddings endpoint, asked in place of OpenAI's, whose answer it imitates."""

from typing import Final

from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingRequest, dimensions_of, texts_of
from antiphon.execution.wire.openai.embeddings import read_answer

__all__ = ["DIALECT", "encode_request", "read_answer"]

DIALECT: Final = "voyage"


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
        "truncation": None if request.truncate is None else request.truncate == "end",
        "output_dimension": dimensions_of(request, abilities),
        "encoding_format": "base64" if request.encoding == "base64" else None,
        **own_fields(request, DIALECT),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})
