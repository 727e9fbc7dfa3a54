"""What a chat is answered with, whole and in pieces."""

from typing import Any, Generic, TypeVar, overload

import msgspec

from antiphon_client import parsing
from antiphon_client.answers import Answer, ApiObject
from antiphon_client.errors import Details, ParseError
from antiphon_client.usage import Usage

Wanted = TypeVar("Wanted")
Into = type[Wanted]
"""A type to read into; the name ``type`` means a field in some classes below."""


class FunctionCall(ApiObject, frozen=True, kw_only=True, dict=True):
    """A function and its arguments, as the JSON text that the model wrote."""

    name: str = ""
    arguments: str = ""


class ToolCall(ApiObject, frozen=True, kw_only=True, dict=True):
    """A call of a tool that the model wants made."""

    id: str = ""
    type: str = "function"
    function: FunctionCall = FunctionCall()

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.name

    @overload
    def parse(self, kind: Into[Wanted]) -> Wanted: ...
    @overload
    def parse(self, kind: parsing.JsonSchema | None = None) -> Any: ...
    def parse(self, kind: Into[Any] | parsing.JsonSchema | None = None) -> Any:
        """The arguments, read into a type, or as plain JSON values. Raises ParseError."""
        return parsing.parse(self.function.arguments or "{}", {} if kind is None else kind)


class ChatMessage(ApiObject, frozen=True, kw_only=True, dict=True):
    """The message that the model wrote. It goes back into ``messages`` as it is, with all that its vendor put there."""

    role: str = "assistant"
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    thinking_blocks: tuple[dict[str, Any], ...] = ()
    """What the vendor of a reasoning model wants to be given back."""
    tool_calls: tuple[ToolCall, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The message as it goes back into a conversation."""
        known: dict[str, Any] = {"role": self.role, "content": self.content}
        for name in ("refusal", "reasoning_content", "thinking_blocks"):
            if value := getattr(self, name):
                known[name] = value
        if self.tool_calls:
            known["tool_calls"] = [_call_to_dict(call) for call in self.tool_calls]
        return {**{name: value for name, value in self.extra.items() if value is not None}, **known}


class TokenAlternative(ApiObject, frozen=True, kw_only=True, dict=True):
    """A token that could have stood here."""

    token: str = ""
    logprob: float = 0.0
    bytes: tuple[int, ...] | None = None


class TokenLogprob(TokenAlternative, frozen=True, kw_only=True, dict=True):
    """A token of the answer."""

    top_logprobs: tuple[TokenAlternative, ...] = ()


class ChatLogprobs(ApiObject, frozen=True, kw_only=True, dict=True):
    """Log-probabilities of the answer's tokens."""

    content: tuple[TokenLogprob, ...] | None = None
    refusal: tuple[TokenLogprob, ...] | None = None


class ChatChoice(ApiObject, frozen=True, kw_only=True, dict=True):
    """One of ``n`` answers."""

    index: int = 0
    message: ChatMessage = ChatMessage()
    finish_reason: str | None = None
    """``stop``, ``length``, ``tool_calls`` or ``content_filter``."""
    logprobs: ChatLogprobs | None = None


class ChatCompletion(Answer, frozen=True, kw_only=True, dict=True):
    """An answer to a conversation. The short names are those of its first choice."""

    id: str = ""
    created: int = 0
    """Unix time, seconds."""
    model: str = ""
    choices: tuple[ChatChoice, ...]
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    object: str = "chat.completion"

    @property
    def message(self) -> ChatMessage:
        """What the model said."""
        return self.choices[0].message if self.choices else ChatMessage()

    @property
    def text(self) -> str:
        """The text of what the model said; empty where it said none."""
        return self.message.content or ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that the model wants called."""
        return self.message.tool_calls

    @property
    def finish_reason(self) -> str | None:
        """Why the model ended."""
        return self.choices[0].finish_reason if self.choices else None

    @overload
    def parse(self, kind: type[Wanted]) -> Wanted: ...
    @overload
    def parse(self, kind: parsing.JsonSchema) -> Any: ...
    def parse(self, kind: type[Any] | parsing.JsonSchema) -> Any:
        """The text, read into a type, or with a JSON Schema as plain JSON values. Raises ParseError."""
        info = self.http
        details = Details(request_id=info.request_id, attempts=info.attempts, status=info.status)
        if self.message.refusal:
            raise ParseError(f"the model refused: {self.message.refusal}", _with_remedy(details, "ask otherwise"))
        if self.finish_reason == "length":
            remedy = "give more max_tokens, or ask for less"
            raise ParseError("the model's text was cut off at a limit of tokens", _with_remedy(details, remedy), self.text)
        if self.finish_reason == "content_filter":
            raise ParseError("the model's text was cut off by a filter", _with_remedy(details, "ask otherwise"), self.text)
        return parsing.parse(self.text, kind, details)


class ParsedCompletion(msgspec.Struct, Generic[Wanted], frozen=True):
    """An answer and what it was read into."""

    parsed: Wanted
    completion: ChatCompletion

    @property
    def usage(self) -> Usage | None:
        """Tokens that the answer took."""
        return self.completion.usage

    @property
    def request_id(self) -> str:
        """Id under which the server's log has the call."""
        return self.completion.request_id


class FunctionDelta(ApiObject, frozen=True, kw_only=True, dict=True):
    """A piece of a function's call."""

    name: str | None = None
    arguments: str | None = None


class ToolCallDelta(ApiObject, frozen=True, kw_only=True, dict=True):
    """A piece of a tool call; ``index`` tells which."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: FunctionDelta = FunctionDelta()


class ChatDelta(ApiObject, frozen=True, kw_only=True, dict=True):
    """What a chunk adds to a message."""

    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    thinking_blocks: tuple[dict[str, Any], ...] = ()
    tool_calls: tuple[ToolCallDelta, ...] = ()


class ChatChunkChoice(ApiObject, frozen=True, kw_only=True, dict=True):
    """A chunk's part for one of ``n`` answers."""

    index: int = 0
    delta: ChatDelta = ChatDelta()
    finish_reason: str | None = None
    logprobs: ChatLogprobs | None = None


class ChatCompletionChunk(Answer, frozen=True, kw_only=True, dict=True):
    """A piece of a streamed answer. The one with the usage has no choices."""

    id: str = ""
    created: int = 0
    model: str = ""
    choices: tuple[ChatChunkChoice, ...] = ()
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    object: str = "chat.completion.chunk"

    @property
    def text(self) -> str:
        """The text that this chunk adds to the first choice."""
        return "".join(choice.delta.content or "" for choice in self.choices if choice.index == 0)


def _call_to_dict(call: ToolCall) -> dict[str, Any]:
    function = {**call.function.extra, "name": call.function.name, "arguments": call.function.arguments}
    return {**call.extra, "id": call.id, "type": call.type, "function": function}


def _with_remedy(details: Details, remedy: str) -> Details:
    return msgspec.structs.replace(details, remedy=remedy)
