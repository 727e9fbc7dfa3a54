"""Every endpoint that callers may ask a model at, by the name that calls carry."""

from collections.abc import Mapping
from typing import Final

from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.anthropic import said as anthropic_said
from antiphon.execution.wire.anthropic.counting import INBOUND_COUNT
from antiphon.execution.wire.cohere import DIALECT as COHERES
from antiphon.execution.wire.cohere import rerank as cohere
from antiphon.execution.wire.dialect import Caller, Endpoint
from antiphon.execution.wire.jina import DIALECT as JINAS
from antiphon.execution.wire.jina import rerank as jina
from antiphon.execution.wire.ollama import chat as ollama
from antiphon.execution.wire.ollama import said as ollama_said
from antiphon.execution.wire.ollama.embeddings import INBOUND_EMBED, INBOUND_OLDER
from antiphon.execution.wire.openai import chat as openai
from antiphon.execution.wire.openai import said as openai_said
from antiphon.execution.wire.openai.embeddings import INBOUND_EMBEDDING
from antiphon.execution.wire.openai.errors import render
from antiphon.execution.wire.rerank_errors import render_error as render_rerank
from antiphon.execution.wire.responses import chat as responses
from antiphon.execution.wire.responses import said as responses_said
from antiphon.execution.wire.responses.counting import INBOUND_COUNT as COUNT_INPUT
from antiphon.execution.wire.said import Speech
from antiphon.execution.wire.said_errors import is_worded

OPENAI: Final = Caller(openai.DIALECT, render, openai.render_error, lambda body, _: b"data: %b\n\n" % body, words_error=is_worded)
ANTHROPIC: Final = Caller(
    anthropic.DIALECT,
    anthropic.render_error,
    anthropic.render_error,
    lambda body, _: b"event: error\ndata: %b\n\n" % body,
    "/v1/messages",
    is_worded,
    b"request-id",
)
RESPONSES: Final = Caller(responses.DIALECT, render, openai.render_error, responses.error_event, "/v1/responses", is_worded)
OLLAMA: Final = Caller(ollama.DIALECT, ollama.render_error, ollama.render_error, lambda body, _: body + b"\n", "/api")
JINA: Final = Caller(JINAS, render_rerank, render_rerank, lambda body, _: b"data: %b\n\n" % body, "/v1/rerank")
COHERE: Final = Caller(COHERES, render_rerank, render_rerank, lambda body, _: b"data: %b\n\n" % body, "/v2/rerank")
CALLERS: Final[Mapping[str, Caller]] = {caller.name: caller for caller in (OPENAI, ANTHROPIC, RESPONSES, OLLAMA, JINA, COHERE)}

ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    "chat/completions": Endpoint("/v1/chat/completions", OPENAI, "chat", openai.INBOUND_CHAT),
    "completions": Endpoint("/v1/completions", OPENAI, "completions"),
    "responses": Endpoint("/v1/responses", RESPONSES, "chat", responses.INBOUND_CHAT),
    "responses/input_tokens": Endpoint("/v1/responses/input_tokens", RESPONSES, "count_tokens", count=COUNT_INPUT),
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
    "messages/count_tokens": Endpoint("/v1/messages/count_tokens", ANTHROPIC, "count_tokens", count=INBOUND_COUNT),
    "api/chat": Endpoint("/api/chat", OLLAMA, "chat", ollama.INBOUND_CHAT, streams=True),
    "api/generate": Endpoint("/api/generate", OLLAMA, "chat", ollama.INBOUND_GENERATE, streams=True),
    "api/embed": Endpoint("/api/embed", OLLAMA, "embeddings", embedding=INBOUND_EMBED),
    "api/embeddings": Endpoint("/api/embeddings", OLLAMA, "embeddings", embedding=INBOUND_OLDER),
}

SPEECHES: Final[Mapping[str, Speech]] = {
    "chat/completions": openai_said.SPEECH,
    "completions": openai_said.SPEECH,
    "audio/transcriptions": openai_said.SPEECH,
    "audio/translations": openai_said.SPEECH,
    "rerank": openai_said.SPEECH,
    "v2/rerank": openai_said.SPEECH,
    "responses": responses_said.SPEECH,
    "messages": anthropic_said.SPEECH,
    "api/chat": ollama_said.SPEECH,
    "api/generate": ollama_said.SPEECH,
}
"""How answers carry texts, at the endpoints where they do."""


def caller_at(path: str) -> Caller:
    """Who calls at a path, which need not be an endpoint: those whose root is the longest above it, OpenAI's where none is."""
    above = [caller for caller in CALLERS.values() if f"{path}/".startswith(f"{caller.root}/")]
    return max(above, key=lambda caller: len(caller.root), default=OPENAI)
