"""Requests of Ollama's ``/api/chat`` and ``/api/generate``, read into the form that belongs to no vendor.

Shapes after Ollama's API documentation and its Python client. Three things are put right here that other dialects do not leave
open:

* calls of tools have no id and results name the tool alone, so ids are made, the same for the same conversation, and each
  result goes to the oldest call of its name that waits for one; calls that a stream told in several messages, and that stand so
  in the history, become one message, for results follow right behind all calls elsewhere;
* images have no media type, so it is told by their first bytes;
* what other dialects take by itself is grouped under ``options`` (see there).
"""

import binascii
from base64 import b64decode
from collections.abc import Iterable

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.ollama.options import own_options, read_options
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.wrong_values import is_object, one_of

DIALECT = "ollama"
HINTS = frozenset({"keep_alive", "shift", "truncate"})
"""Fields about the memory of Ollama's server, and about what it does when that is full; others refuse then, whatever is asked."""
_JSON, _EMPTY = msgspec.Raw(b'"json"'), msgspec.Raw(b'""')
_NOTHING = (NULL, _EMPTY, *(msgspec.Raw(value) for value in (b"[]", b"{}", b"false")))
"""Values of fields of Ollama's own that ask for nothing."""
_NAMES = {
    "repetition_penalty": "repeat_penalty",
    "max_tokens": "num_predict",
    "response_format": "format",
    "reasoning_effort": "think",
}
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
_KINDS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
)
"""Media types by the first bytes."""


class _Definition(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: msgspec.Raw = NULL


class _Tool(msgspec.Struct):
    function: _Definition
    type: str | None = None


class _Function(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = NULL


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | None = None
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[_Call] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    name: str | None = None


class _Asked(msgspec.Struct, kw_only=True):
    model: str
    stream: bool | None = None
    format: msgspec.Raw = NULL
    options: dict[str, msgspec.Raw] | None = None
    think: bool | str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


class _Chat(_Asked, kw_only=True):
    messages: list[_Message] | None = None
    tools: list[_Tool] | None = None


class _Generate(_Asked, kw_only=True):
    prompt: str | None = None
    system: str | None = None
    images: list[str] | None = None
    suffix: str | None = None
    template: str | None = None
    context: list[int] | None = None
    raw: bool | None = None


_decode_chat = msgspec.json.Decoder(_Chat).decode
_decode_generate = msgspec.json.Decoder(_Generate).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode_request(body: bytes) -> chat.ChatRequest:
    """The request in a body of ``/api/chat``. Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode_chat, body)
    if not read.messages:
        raise InvalidRequest(
            "`messages` is empty, which asks Ollama to load a model; here that is left to the model's server",
            remedy="give at least one message",
            param="messages",
        )
    calls = _Calls(read.messages)
    messages = _joined(_message(message, f"messages[{at}]", calls) for at, message in enumerate(read.messages))
    tools = tuple(_tool(tool, f"tools[{at}]") for at, tool in enumerate(read.tools or ()))
    return _request(read, body, messages, tools)


def decode_generate_request(body: bytes) -> chat.ChatRequest:
    """The request in a body of ``/api/generate``. Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode_generate, body)
    _refuse(read)
    images = _images(read.images, "images")
    if not read.prompt and not images:
        raise InvalidRequest(
            "`prompt` is empty, which asks Ollama to load a model; here that is left to the model's server",
            remedy="give a prompt",
            param="prompt",
        )
    messages = [chat.Message("system", (chat.Text(read.system),), place="system")] if read.system else []
    messages.append(chat.Message("user", (*images, *_texts(read.prompt)), place="prompt"))
    return _request(read, body, tuple(messages))


def _refuse(read: _Generate) -> None:
    """Raise UnsupportedParameter for the first field that a conversation cannot say."""
    for name, asked, reason in (
        ("raw", read.raw, "this model's server puts a conversation into the model's template itself"),
        ("template", read.template, "this model's server has the model's own template"),
        ("context", read.context, "the tokens of an earlier answer mean nothing to this model's server"),
        ("suffix", read.suffix, "this model's server fills no gap in a text"),
    ):
        if asked:
            raise chat.unsupported(name, reason)


def _request(read: _Asked, body: bytes, messages: tuple[chat.Message, ...], tools: tuple[chat.Tool, ...] = ()) -> chat.ChatRequest:
    options = read_options(read.options)
    extra, hints = own_options(read.options)
    others = {name: raw for name, raw in _decode_fields(body).items() if name not in read.__struct_fields__ and raw not in _NOTHING}
    stops = [options.stop] if isinstance(options.stop, str) else options.stop or []
    return chat.ChatRequest(
        dialect=DIALECT,
        model=read.model,
        messages=messages,
        tools=tools,
        max_tokens=_positive(options.num_predict),
        temperature=options.temperature,
        top_p=options.top_p,
        top_k=_positive(options.top_k),
        min_p=options.min_p,
        repetition_penalty=options.repeat_penalty,
        stop=tuple(stop for stop in stops if stop),
        seed=None if options.seed == -1 else options.seed,  # -1 is Ollama's word for any
        presence_penalty=options.presence_penalty,
        frequency_penalty=options.frequency_penalty,
        logprobs=read.logprobs,
        top_logprobs=read.top_logprobs,
        response_format=_format(read.format),
        reasoning=_reasoning(read.think),
        stream=read.stream is not False,
        wants_usage=True,
        names=_NAMES,
        extra={**extra, **{name: raw for name, raw in others.items() if name not in HINTS}},
        hints={**hints, **{name: raw for name, raw in others.items() if name in HINTS}},
    )


def _positive(value: int | None) -> int | None:
    """A bound, of which Ollama says with 0 or less that there is none."""
    return value if value is not None and value > 0 else None


def _format(raw: msgspec.Raw) -> chat.ResponseFormat | None:
    if raw in (NULL, _EMPTY):
        return None
    if raw == _JSON:
        return chat.ResponseFormat("json_object")
    if not is_object(raw):
        raise InvalidRequest("`format` is no format", remedy='give "json" or a JSON Schema', param="format")
    return chat.ResponseFormat("json_schema", raw, strict=True)


def _reasoning(think: bool | str | None) -> chat.Reasoning | None:
    if think is None or think == "":
        return None
    if isinstance(think, bool):
        return chat.Reasoning("enabled" if think else "disabled")
    if think not in _EFFORTS:
        raise one_of("think", think, f"true, false, {', '.join(_EFFORTS)}")
    return chat.Reasoning("enabled", effort=think)


def _tool(read: _Tool, place: str) -> chat.Tool:
    if read.type not in (None, "", "function"):
        raise one_of(f"{place}.type", read.type, "function")
    told = read.function
    schema = told.parameters if told.parameters != NULL else chat.NO_ARGUMENTS
    if not is_object(schema):
        path = f"{place}.function.parameters"
        raise InvalidRequest(f"`{path}` must be an object", remedy="give a JSON Schema", param=path)
    return chat.Tool(told.name, told.description or "", schema)


class _Calls:
    """The calls of tools in a conversation: gives ids to those without, and finds the call that a result belongs to."""

    def __init__(self, messages: list[_Message]) -> None:
        self._taken = {call.id for message in messages for call in message.tool_calls or () if call.id}
        self._made = 0
        self._waiting: list[tuple[str, str]] = []
        """Ids and names of those that no result came for yet."""
        self._over = False

    def end(self) -> None:
        """Another than the model speaks: the next call begins a new round, in which whatever waited waits no longer."""
        self._over = True

    def called(self, read: _Call) -> str:
        """The id of a call."""
        if self._over:
            self._waiting.clear()
            self._over = False
        identity = read.id
        while not identity:
            made = f"call_{self._made}"
            self._made += 1
            identity = made if made not in self._taken else None
        self._waiting.append((identity, read.function.name))
        return identity

    def answered(self, read: _Message, place: str) -> str:
        """The id of the call that a result belongs to. Raises InvalidRequest where none waits for it."""
        name = read.tool_name or read.name
        for at, (identity, called) in enumerate(self._waiting):
            if identity == read.tool_call_id or (not read.tool_call_id and name in (None, "", called)):
                del self._waiting[at]
                return identity
        if read.tool_call_id:
            return read.tool_call_id
        raise InvalidRequest(
            f"`{place}` is the result of a call that is not there",
            remedy="put the message with its `tool_calls` before it, and name the tool in `tool_name`",
            param=f"{place}.tool_name" if name else place,
        )


def _message(read: _Message, place: str, calls: _Calls) -> chat.Message:
    if read.tool_calls and read.role != "assistant":
        path = f"{place}.tool_calls"
        raise InvalidRequest(f"`{path}` stands in a message of role {read.role[:200]}", remedy="leave it out", param=path)
    shown: tuple[chat.Image | chat.Text, ...] = (*_images(read.images, f"{place}.images"), *_texts(read.content))
    if read.role != "assistant":
        calls.end()
    match read.role:
        case "assistant":
            thoughts = (chat.Thinking(read.thinking),) if read.thinking else ()
            return chat.Message("assistant", (*thoughts, *shown, *_called(read, place, calls)), read.name or "", place)
        case "tool":
            return chat.Message("tool", (chat.ToolResult(calls.answered(read, place), shown),), place=place)
        case "system" | "developer" | "user":
            return chat.Message(read.role, shown, read.name or "", place)
    raise one_of(f"{place}.role", read.role, "system, user, assistant, tool")


def _joined(messages: Iterable[chat.Message]) -> tuple[chat.Message, ...]:
    """The messages, those of an assistant that go on calling tools made one."""
    joined: list[chat.Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        calls = last is not None and any(isinstance(part, chat.ToolCall) for part in last.parts)
        if last is not None and calls and message.role == "assistant":
            joined[-1] = chat.Message("assistant", (*last.parts, *message.parts), last.name, last.place)
        else:
            joined.append(message)
    return tuple(joined)


def _called(read: _Message, place: str, calls: _Calls) -> list[chat.ToolCall]:
    parts: list[chat.ToolCall] = []
    for at, call in enumerate(read.tool_calls or ()):
        raw = call.function.arguments
        arguments = bytes(raw).decode() if raw != NULL else "{}"
        if not is_object(arguments):
            path = f"{place}.tool_calls[{at}].function.arguments"
            raise InvalidRequest(f"`{path}` is not an object", remedy="send the arguments as they were answered", param=path)
        parts.append(chat.ToolCall(calls.called(call), call.function.name, arguments))
    return parts


def _texts(text: str | None) -> tuple[chat.Text, ...]:
    return (chat.Text(text),) if text else ()


def _images(read: list[str] | None, place: str) -> tuple[chat.Image, ...]:
    return tuple(_image(data, f"{place}[{at}]") for at, data in enumerate(read or ()))


def _image(data: str, path: str) -> chat.Image:
    try:
        kind = _kind(b64decode(data[:16], validate=True))
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"`{path}` is not base64", remedy="give the bytes of an image as base64", param=path) from None
    if not kind:
        raise InvalidRequest(
            f"`{path}` is no image of a kind that is known", remedy="give a PNG, JPEG, GIF or WebP as base64", param=path
        )
    return chat.Image(data=data, media_type=kind)


def _kind(head: bytes) -> str:
    """Media type of an image that begins so; empty where it cannot be told."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp":
        return "image/avif" if head[8:12].startswith(b"avi") else "image/heic"
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "")
