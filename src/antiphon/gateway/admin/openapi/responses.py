"""OpenAI's Responses dialect, as the API description shows it. These structs document; they decode nothing."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from antiphon.gateway.admin.openapi.answers import UnixTime
from antiphon.gateway.admin.openapi.requests import Model, Positive, Share, Temperature

Item = dict[str, Any]


class ResponsesRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a response. What the model's server has no like of is refused by name, never dropped in silence."""

    model: Model
    input: Annotated[
        str | list[Item], Meta(description="A text, or items: message, function_call, function_call_output, reasoning and others.")
    ]
    instructions: Annotated[
        str | None, Meta(description="What the model is told before the conversation; not part of what is continued.")
    ] = None
    previous_response_id: Annotated[str | None, Meta(description="The response that this one continues.")] = None
    store: Annotated[bool | None, Meta(description="Keep the response; so it is unless this is false.")] = None
    stream: Annotated[bool | None, Meta(description="Answer in server-sent events, as the text comes.")] = None
    max_output_tokens: Annotated[Positive | None, Meta(description="Upper bound of tokens generated.")] = None
    temperature: Temperature | None = None
    top_p: Share | None = None
    top_logprobs: int | None = None
    tools: Annotated[list[dict[str, Any]] | None, Meta(description="Functions that the model may call.")] = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    text: Annotated[dict[str, Any] | None, Meta(description="`format`: the shape of the answer; `verbosity`.")] = None
    reasoning: Annotated[dict[str, Any] | None, Meta(description="`effort`, and whether a `summary` is wanted.")] = None
    include: list[str] | None = None
    metadata: dict[str, str] | None = None


class ResponseUsage(msgspec.Struct, frozen=True):
    """Tokens used, as the model that answered counted them."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens_details: dict[str, int]


class ResponseAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A response. Beside these fields it has those of the request, as they were asked."""

    id: str
    created_at: UnixTime
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    model: str
    output: Annotated[list[Item], Meta(description="Items: message, function_call, reasoning.")]
    usage: ResponseUsage | None = None
    error: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None
    previous_response_id: str | None = None
    store: Annotated[bool | None, Meta(description="Whether it is kept; in an answer that is complete.")] = None
    object: Literal["response"] = "response"


class ResponseEvent(msgspec.Struct, frozen=True):
    """An event of a stream: ``response.created``, items that begin, grow and end, ``response.completed``; or ``error``."""

    type: str
    sequence_number: int


class ResponseItems(msgspec.Struct, frozen=True):
    """A page of items."""

    data: list[Item]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: Literal["list"] = "list"


class ResponseDeleted(msgspec.Struct, frozen=True):
    """A response is forgotten."""

    id: str
    object: Literal["response"] = "response"
    deleted: bool = True
