"""Requests of the two completion endpoints and of the one that counts, as they come over the wire."""

import re
from typing import Any, TypeVar

import msgspec

from antiphon.core.errors import InvalidRequest, UnsupportedParameter
from antiphon.execution.engine_host.fields import (
    REFUSED_CHAT,
    REFUSED_COMPLETION,
    REFUSED_TOKENIZE,
    Refusal,
    check_names,
    unknown_field,
)
from antiphon.execution.wire.not_json import not_json
from antiphon.execution.wire.wrong_values import WrongValue

ROLES = ("system", "developer", "user", "assistant", "tool")


class ContentPart(msgspec.Struct, frozen=True):
    """One part of a message's content. Other parts than text are read to be refused by name."""

    type: str
    text: str | None = None
    refusal: str | None = None


class FunctionCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The function that an earlier answer called."""

    name: str
    arguments: str
    """JSON text."""


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of an earlier answer."""

    function: FunctionCall
    id: str | None = None
    type: str = "function"
    index: int | None = None


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a conversation.

    ``refusal``, ``annotations``, ``audio`` and ``function_call`` are what clients send back of an answer.
    """

    role: str
    content: str | list[ContentPart] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    annotations: Any = None
    audio: Any = None
    function_call: Any = None


class StreamOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a stream carries beside text. Obfuscation, padding against observers of the line, is left out."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class NamedSchema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON Schema that an answer must satisfy. The engine always keeps to it, whatever ``strict`` says."""

    name: str
    schema: msgspec.Raw = msgspec.Raw(b"{}")
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``text``, ``json_object``, or ``json_schema`` with a schema."""

    type: str
    json_schema: NamedSchema | None = None


class SamplingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What both endpoints take. ``top_k``, ``min_p``, ``repetition_penalty`` and ``ignore_eos`` are additions that vLLM has too."""

    model: str
    frequency_penalty: float | None = None
    ignore_eos: bool | None = None
    max_tokens: int | None = None
    min_p: float | None = None
    n: int | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None


class ChatRequest(SamplingRequest, frozen=True, kw_only=True):
    """Body of ``POST /v1/chat/completions``."""

    messages: list[Message]
    chat_template_kwargs: dict[str, Any] | None = None
    """Variables for the chat template, such as ``enable_thinking``; vLLM's addition."""
    logprobs: bool | None = None
    max_completion_tokens: int | None = None
    response_format: ResponseFormat | None = None


class TokenizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of ``POST /tokenize``: what of a chat its prompt is made of."""

    model: str
    messages: list[Message]
    add_generation_prompt: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class CompletionRequest(SamplingRequest, frozen=True, kw_only=True):
    """Body of ``POST /v1/completions``."""

    prompt: str | list[str | int | list[int]]
    """A text, several texts, a text as token ids, or several of those."""
    best_of: int | None = None
    logprobs: int | None = None
    response_format: ResponseFormat | None = None


_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CHAT = msgspec.json.Decoder(ChatRequest)
_COMPLETION = msgspec.json.Decoder(CompletionRequest)
_TOKENIZE = msgspec.json.Decoder(TokenizeRequest)
_NESTED: dict[str, type[msgspec.Struct]] = {
    "messages": Message,
    "function": FunctionCall,
    "tool_calls": ToolCall,
    "stream_options": StreamOptions,
    "response_format": ResponseFormat,
    "json_schema": NamedSchema,
}

R = TypeVar("R", ChatRequest, CompletionRequest, TokenizeRequest)


def decode_chat(body: bytes) -> ChatRequest:
    """Raises InvalidRequest or UnsupportedParameter, naming the field."""
    request = _decode(body, _CHAT, ChatRequest, REFUSED_CHAT)
    _check_messages(request.messages)
    return request


def decode_tokenize(body: bytes) -> TokenizeRequest:
    """Raises InvalidRequest or UnsupportedParameter, naming the field."""
    request = _decode(body, _TOKENIZE, TokenizeRequest, REFUSED_TOKENIZE)
    if request.add_generation_prompt is False:
        raise UnsupportedParameter(
            "`add_generation_prompt` is not supported where it is false: this engine counts what a chat sends",
            remedy="leave it out, or give true",
            param="add_generation_prompt",
        )
    _check_messages(request.messages)
    return request


def decode_completion(body: bytes) -> CompletionRequest:
    """Raises InvalidRequest or UnsupportedParameter, naming the field."""
    return _decode(body, _COMPLETION, CompletionRequest, REFUSED_COMPLETION)


def _decode(body: bytes, decoder: msgspec.json.Decoder[R], shape: type[R], refused: dict[str, Refusal] | Any) -> R:
    try:
        check_names(_FIELDS.decode(body), shape.__struct_fields__, refused)
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _invalid(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise not_json(body, error) from None
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply", remedy="send a flatter JSON object") from None


def _invalid(error: msgspec.ValidationError) -> InvalidRequest:
    wrong = WrongValue.of(error)
    if wrong.unknown:
        noun = re.sub(r"\[\d+\]$", "", wrong.place).rpartition(".")[2]
        return unknown_field(wrong.unknown, wrong.below(wrong.unknown), _NESTED[noun].__struct_fields__)
    return wrong.error()


def _check_messages(messages: list[Message]) -> None:
    if not messages:
        raise InvalidRequest("`messages` is empty", remedy="give at least one message", param="messages")
    for position, message in enumerate(messages):
        _check_message(message, f"messages[{position}]")


def _check_message(message: Message, path: str) -> None:
    if message.role not in ROLES:
        known = ", ".join(ROLES)
        raise InvalidRequest(f'`{path}.role` is "{message.role[:200]}"', remedy=f"give one of {known}", param=f"{path}.role")
    if message.content is None and message.role != "assistant":
        raise InvalidRequest(
            f"`{path}.content` is missing", remedy="give a text; only an assistant's may be null", param=f"{path}.content"
        )
    if message.audio or message.function_call:
        field = "audio" if message.audio else "function_call"
        raise UnsupportedParameter(f"`{path}.{field}` is not supported", remedy="leave it out", param=f"{path}.{field}")
    if message.tool_calls and message.role != "assistant":
        raise InvalidRequest(
            f"`{path}.tool_calls` stands in a message of role {message.role}", remedy="leave it out", param=f"{path}.tool_calls"
        )
    for place, part in enumerate(message.content if isinstance(message.content, list) else ()):
        _check_part(part, f"{path}.content[{place}]")
    for place, call in enumerate(message.tool_calls or ()):
        _check_arguments(call, f"{path}.tool_calls[{place}].function.arguments")


def _check_part(part: ContentPart, path: str) -> None:
    if part.type not in ("text", "refusal"):
        raise UnsupportedParameter(
            f"`{path}.type` is {part.type[:200]}: this engine reads text only",
            remedy="send parts of type text",
            param=f"{path}.type",
        )
    if (part.text if part.type == "text" else part.refusal) is None:
        raise InvalidRequest(f"`{path}.{part.type}` is missing", remedy="add it", param=f"{path}.{part.type}")


def _check_arguments(call: ToolCall, path: str) -> None:
    try:
        arguments = msgspec.json.decode(call.function.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise InvalidRequest(
            f"`{path}` is not the JSON text of an object", remedy="send the arguments as they were answered", param=path
        )
