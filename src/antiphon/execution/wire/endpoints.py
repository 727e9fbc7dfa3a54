"""Every endpoint that callers may ask a model at, by the name that calls carry."""

from collections.abc import Mapping
from typing import Final

from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.dialect import Caller, Endpoint
from antiphon.execution.wire.openai import chat as openai
from antiphon.execution.wire.openai.errors import render
from antiphon.execution.wire.responses import chat as responses

OPENAI: Final = Caller(openai.DIALECT, render, openai.render_error, lambda body, _: b"data: %b\n\n" % body)
ANTHROPIC: Final = Caller(
    anthropic.DIALECT, anthropic.render_error, anthropic.render_error, lambda body, _: b"event: error\ndata: %b\n\n" % body
)
RESPONSES: Final = Caller(responses.DIALECT, render, openai.render_error, responses.error_event)
CALLERS: Final[Mapping[str, Caller]] = {caller.name: caller for caller in (OPENAI, ANTHROPIC, RESPONSES)}

ENDPOINTS: Final[Mapping[str, Endpoint]] = {
    "chat/completions": Endpoint("/v1/chat/completions", OPENAI, "chat", openai.INBOUND_CHAT),
    "completions": Endpoint("/v1/completions", OPENAI, "completions"),
    "embeddings": Endpoint("/v1/embeddings", OPENAI, "embeddings"),
    "responses": Endpoint("/v1/responses", RESPONSES, "chat", responses.INBOUND_CHAT),
    "messages": Endpoint("/v1/messages", ANTHROPIC, "chat", anthropic.INBOUND_CHAT),
}


def caller_at(path: str) -> Caller:
    """Who calls at a path, which need not be an endpoint: the dialect of the longest path above it, OpenAI's where none is."""
    above = [endpoint for endpoint in ENDPOINTS.values() if f"{path}/".startswith(f"{endpoint.path}/")]
    return max(above, key=lambda endpoint: len(endpoint.path)).caller if above else OPENAI
