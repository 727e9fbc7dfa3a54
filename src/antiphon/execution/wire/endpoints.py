"""Every endpoint that callers may ask a model at, by the name that calls carry."""

from collections.abc import Mapping
from typing import Final

from antiphon.execution.wire import rerank_errors
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.cohere import DIALECT as COHERES
from antiphon.execution.wire.cohere import rerank as cohere
from antiphon.execution.wire.dialect import Caller, Endpoint
from antiphon.execution.wire.jina import DIALECT as JINAS
from antiphon.execution.wire.jina import rerank as jina
from antiphon.execution.wire.openai import chat as openai
from antiphon.execution.wire.openai.embeddings import INBOUND_EMBEDDING
from antiphon.execution.wire.openai.errors import render

OPENAI: Final = Caller(openai.DIALECT, render, openai.render_error, lambda body: b"data: %b\n\n" % body)
ANTHROPIC: Final = Caller(
    anthropic.DIALECT, anthropic.render_error, anthropic.render_error, lambda body: b"event: error\ndata: %b\n\n" % body
)
JINA: Final = Caller(JINAS, rerank_errors.render_error, rerank_errors.render_error, lambda body: b"data: %b\n\n" % body)
COHERE: Final = Caller(COHERES, rerank_errors.render_error, rerank_errors.render_error, lambda body: b"data: %b\n\n" % body)
CALLERS: Final[Mapping[str, Caller]] = {caller.name: caller for caller in (OPENAI, ANTHROPIC, JINA, COHERE)}

ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    "chat/completions": Endpoint("/v1/chat/completions", OPENAI, "chat", openai.INBOUND_CHAT),
    "completions": Endpoint("/v1/completions", OPENAI, "completions"),
    "embeddings": Endpoint("/v1/embeddings", OPENAI, "embeddings", embedding=INBOUND_EMBEDDING),
    "rerank": Endpoint("/v1/rerank", JINA, "rerank", rerank=jina.INBOUND_RERANK),
    "v2/rerank": Endpoint("/v2/rerank", COHERE, "rerank", rerank=cohere.INBOUND_RERANK),
    "moderations": Endpoint("/v1/moderations", OPENAI, "moderations"),
    "images/generations": Endpoint("/v1/images/generations", OPENAI, "images"),
    "images/edits": Endpoint("/v1/images/edits", OPENAI, "images", forms=True),
    "images/variations": Endpoint("/v1/images/variations", OPENAI, "images", forms=True),
    "audio/speech": Endpoint("/v1/audio/speech", OPENAI, "speech", streams=True),
    "audio/transcriptions": Endpoint("/v1/audio/transcriptions", OPENAI, "transcription", forms=True),
    "audio/translations": Endpoint("/v1/audio/translations", OPENAI, "transcription", forms=True),
    "messages": Endpoint("/v1/messages", ANTHROPIC, "chat", anthropic.INBOUND_CHAT),
}


def caller_at(path: str) -> Caller:
    """Who calls at a path, which need not be an endpoint: the dialect of the longest path above it, OpenAI's where none is."""
    above = [endpoint for endpoint in ENDPOINTS.values() if f"{path}/".startswith(f"{endpoint.path}/")]
    return max(above, key=lambda endpoint: len(endpoint.path)).caller if above else OPENAI
