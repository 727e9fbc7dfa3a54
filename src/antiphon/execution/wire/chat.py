"""A chat request that belongs to no vendor: what every dialect is read into, and written from, where caller and server differ.

A field of one dialect that has no like in the others is kept by its name. A writer of the same dialect passes it on; any other
refuses it, unless it is among the hints, which do not change what is answered.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

import msgspec

from antiphon.core.errors import UnsupportedParameter

Role = Literal["system", "developer", "user", "assistant", "tool"]
NO_ARGUMENTS = msgspec.Raw(b'{"type":"object","properties":{}}')
"""The schema of a tool that takes nothing."""


class Text(msgspec.Struct, frozen=True, tag=True):
    """Words. ``cache`` marks that what stands up to here is worth keeping by the server, and for how long: ``5m`` or ``1h``."""

    text: str
    cache: str = ""


class Image(msgspec.Struct, frozen=True, tag=True):
    """A picture: an address, or base64 with its media type."""

    url: str = ""
    data: str = ""
    media_type: str = ""
    detail: str = ""
    cache: str = ""


class Audio(msgspec.Struct, frozen=True, tag=True):
    """A sound, base64."""

    data: str
    format: str


class Document(msgspec.Struct, frozen=True, tag=True):
    """A file to read: base64 with its media type, an address, or else plain text."""

    text: str = ""
    data: str = ""
    media_type: str = ""
    url: str = ""
    title: str = ""
    context: str = ""
    citations: bool = False
    cache: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag=True):
    """A call that an earlier answer made. ``arguments`` is the JSON text of an object."""

    id: str
    name: str
    arguments: str
    cache: str = ""
    signature: str = ""
    """What the vendor wants back with the call, so that the model goes on with the thought that led to it."""


class Thinking(msgspec.Struct, frozen=True, tag=True):
    """What the model thought before it answered. Its vendor takes it back only with the signature that it came with."""

    text: str
    signature: str = ""


class RedactedThinking(msgspec.Struct, frozen=True, tag=True):
    """The same, encrypted."""

    data: str


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """Words with which the model declined."""

    text: str


class Foreign(msgspec.Struct, frozen=True, tag=True):
    """A part that only one dialect knows, or that only its vendor keeps, as it came."""

    dialect: str
    kind: str
    raw: msgspec.Raw


ResultPart = Text | Image | Document | Foreign


class ToolResult(msgspec.Struct, frozen=True, tag=True):
    """What a tool gave back."""

    call_id: str
    parts: tuple[ResultPart, ...] = ()
    is_error: bool = False
    cache: str = ""


Part = Text | Image | Audio | Document | ToolCall | ToolResult | Thinking | RedactedThinking | Refusal | Foreign


class Message(msgspec.Struct, frozen=True):
    """One message. Results of tools stand alone, each in a message of role ``tool``."""

    role: Role
    parts: tuple[Part, ...]
    name: str = ""
    place: str = ""
    """Where it stood in the caller's request, for errors: ``messages[3]``."""


class Tool(msgspec.Struct, frozen=True):
    """Something that the model may call."""

    name: str
    description: str = ""
    schema: msgspec.Raw = NO_ARGUMENTS
    strict: bool | None = None
    cache: str = ""
    extra: dict[str, msgspec.Raw] = {}
    """Fields of its own dialect that change how it is used."""
    foreign: Foreign | None = None
    """A tool that the vendor runs itself, or whose input is not JSON."""


class ToolChoice(msgspec.Struct, frozen=True):
    """Whether tools are to be called; ``name`` where it must be a certain one."""

    mode: Literal["auto", "none", "required", "tool"]
    name: str = ""


class ResponseFormat(msgspec.Struct, frozen=True):
    """The shape that the answer must have."""

    kind: Literal["text", "json_object", "json_schema"]
    schema: msgspec.Raw | None = None
    name: str = ""
    description: str = ""
    strict: bool | None = None


class Reasoning(msgspec.Struct, frozen=True):
    """How much the model may think: upper bounds and wishes, so a server that knows none of it still answers what was asked."""

    mode: Literal["", "enabled", "adaptive", "disabled", "between_tools"] = ""
    budget: int | None = None
    """Tokens."""
    effort: str = ""
    """``minimal``, ``low``, ``medium``, ``high``, ``xhigh`` or ``max``."""
    display: str = ""


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the next message of a conversation. None means that the caller did not say."""

    dialect: str
    """The one that it was read from."""
    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tools: bool | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    """The least share of the likeliest token's probability that another must have."""
    repetition_penalty: float | None = None
    """Divides the scores of tokens that were there already; 1 changes nothing."""
    stop: tuple[str, ...] = ()
    n: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    response_format: ResponseFormat | None = None
    reasoning: Reasoning | None = None
    stream: bool = False
    wants_usage: bool = False
    user: str = ""
    extra: dict[str, msgspec.Raw] = {}
    """Fields of its dialect alone that change the answer."""
    hints: dict[str, msgspec.Raw] = {}
    """Fields of its dialect alone that do not, such as ``metadata`` and ``service_tier``."""
    echo: dict[str, msgspec.Raw] = {}
    """Fields that an answer in the caller's dialect gives back, as they came."""
    names: Mapping[str, str] = {}
    """What its dialect calls the fields that have another name with OpenAI, for errors."""

    def called(self, field: str) -> str:
        """The caller's name for a field of OpenAI's."""
        return self.names.get(field, field)


ReasoningStyle = Literal["", "effort", "budget", "adaptive", "thinking", "thinking_effort", "enable_thinking", "reasoning"]
"""How servers are told to think. Anthropic's: by a ``budget``, or ``adaptive``-ly, which Claude's names say before this does.

OpenAI's: by an ``effort``; its imitators by ``thinking`` on or off (Zhipu), and with an effort besides (``thinking_effort``,
DeepSeek), by ``enable_thinking`` and a budget (Qwen), or by one object ``reasoning`` (OpenRouter). Empty: not at all.
"""


class ChatAbilities(msgspec.Struct, frozen=True):
    """What the server that a request is written for understands."""

    max_tokens: int | None = None
    """Sent where the caller gives none and the dialect requires it."""
    max_tokens_name: str = "max_tokens"
    """OpenAI's newer models want ``max_completion_tokens``."""
    tools: bool = True
    images: bool = True
    audio: bool = False
    documents: bool = False
    n: bool = True
    logprobs: bool = True
    json_schema: bool = True
    top_k: bool = False
    min_p: bool = False
    repetition_penalty: bool = False
    system_anywhere: bool = False
    """Anthropic: takes system messages in the middle of a conversation; otherwise they move to its beginning."""
    reasoning: ReasoningStyle = ""
    """How it is told to think."""
    reasoning_back: bool = False
    """OpenAI: takes the thinking of earlier answers back, as ``reasoning_content``, and wants that field beside calls of tools."""
    stream_usage: bool = True
    cache_marks: bool = True
    """Takes marks of what is worth keeping; where it does not, they are left out."""
    thinkers: re.Pattern[str] | None = None
    """Names of the models that can be told how to think; None where all can."""


class Asked(Protocol):
    """A request of any kind, as far as its dialect's own fields go."""

    @property
    def dialect(self) -> str: ...
    @property
    def extra(self) -> dict[str, msgspec.Raw]: ...
    @property
    def hints(self) -> dict[str, msgspec.Raw]: ...


def unsupported(param: str, reason: str, remedy: str = "leave it out") -> UnsupportedParameter:
    """The error for a field that a server cannot honour."""
    return UnsupportedParameter(f"`{param}` is not supported: {reason}", remedy=remedy, param=param)


def own_fields(request: Asked, dialect: str, known: Collection[str] = ()) -> dict[str, Any]:
    """What a writer of ``dialect`` passes on of a request's own fields: all of its own dialect, of another the ``known`` ones.

    Raises UnsupportedParameter for the first that it cannot pass on.
    """
    if request.dialect == dialect:
        return {**request.hints, **request.extra}
    unknown = [name for name in request.extra if name not in known]
    if unknown:
        error = unsupported(unknown[0], "this model is behind an API that has nothing like it")
        error.also = tuple(unknown[1:])
        raise error
    return dict(request.extra)
