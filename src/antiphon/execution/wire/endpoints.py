"""Every endpoint that callers may ask a model at, by the name that calls carry."""

from collections.abc import Mapping
from typing import Final

from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.dialect import Caller, Endpoint
from antiphon.execution.wire.ollama import chat as ollama
from antiphon.execution.wire.openai import chat as openai
from antiphon.execution.wire.openai.errors import render

OPENAI: Final = Caller(openai.DIALECT, render, openai.render_error, lambda body: b"data: %b\n\n" % body)
ANTHROPIC: Final = Caller(
    anthropic.DIALECT,
    anthropic.render_error,
    anthropic.render_error,
    lambda body: b"event: error\ndata: %b\n\n" % body,
    "/v1/messages",
)
OLLAMA: Final = Caller(ollama.DIALECT, ollama.render_error, ollama.render_error, lambda body: body + b"\n", "/api")
CALLERS: Final[Mapping[str, Caller]] = {caller.name: caller for caller in (OPENAI, ANTHROPIC, OLLAMA)}

ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    "chat/completions": Endpoint("/v1/chat/completions", OPENAI, "chat", openai.INBOUND_CHAT),
    "completions": Endpoint("/v1/completions", OPENAI, "completions"),
    "embeddings": Endpoint("/v1/embeddings", OPENAI, "embeddings"),
    "messages": Endpoint("/v1/messages", ANTHROPIC, "chat", anthropic.INBOUND_CHAT),
    "api/chat": Endpoint("/api/chat", OLLAMA, "chat", ollama.INBOUND_CHAT, streams=True),
    "api/generate": Endpoint("/api/generate", OLLAMA, "chat", ollama.INBOUND_GENERATE, streams=True),
    "api/embed": Endpoint("/api/embed", OLLAMA, "embeddings"),
    "api/embeddings": Endpoint("/api/embeddings", OLLAMA, "embeddings"),
}


def caller_at(path: str) -> Caller:
    """Who calls at a path, which need not be an endpoint: those whose root is the longest above it, OpenAI's where none is."""
    above = [caller for caller in CALLERS.values() if f"{path}/".startswith(f"{caller.root}/")]
    return max(above, key=lambda caller: len(caller.root), default=OPENAI)
