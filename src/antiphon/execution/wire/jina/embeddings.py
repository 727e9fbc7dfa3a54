"""Jina's embeddings endpoint, asked in place of OpenAI's, whose answer it imitates."""

from typing import Final

from antiphon.execution.wire import reading
from antiphon.execution.wire.chat import own_fields, unsupported
from antiphon.execution.wire.dialect import OutboundEmbedding
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingRequest, Task, dimensions_of, texts_of
from antiphon.execution.wire.jina import DIALECT
from antiphon.execution.wire.openai.embeddings import read_answer

__all__ = ["OUTBOUND_EMBEDDING", "encode_request", "read_answer"]

OWN: Final = frozenset({"late_chunking", "normalized"})
"""Fields of its own that callers of any dialect may give."""
_TASKS: Final[dict[Task, str]] = {
    "query": "retrieval.query",
    "document": "retrieval.passage",
    "similarity": "text-matching",
    "classification": "classification",
    "clustering": "separation",
    "code_query": "code.query",
    "code_document": "code.passage",
}


def encode_request(request: EmbeddingRequest, abilities: EmbeddingAbilities) -> bytes:
    """The body for ``/v1/embeddings``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    if request.task is not None and request.task not in _TASKS:
        raise unsupported("input_type", f"Jina's models know no vectors for {request.task}")
    if request.truncate == "start":
        raise unsupported("truncate", "Jina's models cut texts off at their end", 'give "end" or "none"')
    told = {
        "model": request.model,
        "input": texts_of(request),
        "embedding_type": "base64" if request.encoding == "base64" else None,
        "task": None if request.task is None else _TASKS[request.task],
        "dimensions": dimensions_of(request, abilities),
        "truncate": None if request.truncate is None else request.truncate == "end",
        **own_fields(request, DIALECT, OWN),
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


OUTBOUND_EMBEDDING: Final = OutboundEmbedding("embeddings", encode_request, read_answer)
