"""Anthropic's dialect, as the API description shows it. These structs document; they decode nothing."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from antiphon.gateway.admin.openapi.requests import Model, Natural, Positive, Share


class MessageParam(msgspec.Struct, frozen=True):
    """One turn of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: Annotated[
        str | list[dict[str, Any]], Meta(description="Text, or blocks: text, image, tool_use, tool_result and others.")
    ]


class MessagesRequest(msgspec.Struct, frozen=True):
    """A request for the next message. What the model's server has no like of is refused by name, never dropped in silence."""

    model: Model
    max_tokens: Annotated[Positive, Meta(description="Upper bound of tokens generated.")]
    messages: list[MessageParam]
    system: Annotated[str | list[dict[str, Any]] | None, Meta(description="What the model is told before the conversation.")] = None
    stream: Annotated[bool | None, Meta(description="Answer in server-sent events, as the text comes.")] = None
    temperature: Share | None = None
    top_p: Share | None = None
    top_k: Natural | None = None
    stop_sequences: list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class CountTokensRequest(msgspec.Struct, frozen=True):
    """A conversation that is not answered: only its tokens are counted. What the model's server could not answer is refused."""

    model: Model
    messages: list[MessageParam]
    system: Annotated[str | list[dict[str, Any]] | None, Meta(description="What the model is told before the conversation.")] = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None


class TokenCount(msgspec.Struct, frozen=True):
    """The tokens of the prompt, as the model's server counts them."""

    input_tokens: int


class MessageUsage(msgspec.Struct, frozen=True):
    """Tokens used. What was read from a cache is not among ``input_tokens``."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class MessageAnswer(msgspec.Struct, frozen=True):
    """The model's message."""

    id: str
    model: str
    content: list[dict[str, Any]]
    stop_reason: Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"] | None
    stop_sequence: str | None
    usage: MessageUsage
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"


class MessageEvent(msgspec.Struct, frozen=True):
    """An event of a stream: ``message_start``, blocks that begin, grow and end, ``message_delta``, ``message_stop``; ``error``."""

    type: str
