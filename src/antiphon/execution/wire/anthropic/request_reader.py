"""A request of Anthropic's Messages endpoint, read into the form that belongs to no vendor.

Shapes after Anthropic's API reference, "Create a Message", and its Python SDK. Results of tools come before whatever else stands in
their message, which is the order that the API itself demands.
"""

from typing import Any

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.signatures import at_calls
from antiphon.execution.wire.wrong_values import decode_at, is_object, missing, one_of

DIALECT = "anthropic"
HINTS = frozenset({"cache_control", "diagnostics", "service_tier", "speed", "user_profile_id", "workspace_id"})
"""Fields that change what a call costs or how fast it is answered, but not what is asked."""
_TOOL_HINTS = frozenset({"eager_input_streaming"})


class _Cache(msgspec.Struct):
    type: str = "ephemeral"
    ttl: str | None = None


class _Source(msgspec.Struct):
    type: str
    data: str | None = None
    media_type: str | None = None
    url: str | None = None
    file_id: str | None = None
    content: str | list[msgspec.Raw] | None = None


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    source: _Source | None = None
    title: str | None = None
    context: str | None = None
    citations: Any = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = NULL
    tool_use_id: str | None = None
    content: str | list[msgspec.Raw] | None = None
    is_error: bool | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    cache_control: _Cache | None = None


class _OnlyType(msgspec.Struct):
    type: str


class _Message(msgspec.Struct):
    role: str
    content: str | list[msgspec.Raw]


class _Tool(msgspec.Struct):
    name: str
    input_schema: msgspec.Raw
    type: str | None = None
    description: str | None = None
    strict: bool | None = None
    cache_control: _Cache | None = None
    allowed_callers: list[str] | None = None


class _ToolKind(msgspec.Struct):
    type: str | None = None


class _Choice(msgspec.Struct):
    type: str
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class _Thinking(msgspec.Struct):
    type: str
    budget_tokens: int | None = None
    display: str | None = None


class _Format(msgspec.Struct):
    type: str
    schema: msgspec.Raw


class _OutputConfig(msgspec.Struct):
    effort: str | None = None
    format: _Format | None = None


class _Metadata(msgspec.Struct):
    user_id: str | None = None


class _Counted(msgspec.Struct, kw_only=True):
    """A request whose tokens are to be counted. What only a chat needs may be there, and changes no number."""

    model: str
    messages: list[_Message]
    max_tokens: int | None = None
    system: str | list[msgspec.Raw] | None = None
    tools: list[msgspec.Raw] | None = None
    tool_choice: _Choice | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    thinking: _Thinking | None = None
    output_config: _OutputConfig | None = None
    output_format: _Format | None = None
    metadata: _Metadata | None = None
    stream: bool | None = None


class _Request(_Counted, kw_only=True):
    max_tokens: int


_decode_counted = msgspec.json.Decoder(_Counted).decode
_decode = msgspec.json.Decoder(_Request).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_kind = msgspec.json.Decoder(_OnlyType).decode
_decode_block = msgspec.json.Decoder(_Block).decode
_decode_tool_kind = msgspec.json.Decoder(_ToolKind).decode
_decode_tool = msgspec.json.Decoder(_Tool).decode
_NOTHING = (NULL, msgspec.Raw(b"[]"), msgspec.Raw(b"{}"), msgspec.Raw(b"false"))
"""Values of fields of Anthropic's own that ask for nothing."""
_KNOWN = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")
_NAMES = {
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "reasoning_effort": "thinking",
    "response_format": "output_config.format",
    "stop": "stop_sequences",
    "tool_call_id": "content",
}
_MODES: dict[str, Any] = {"auto": "auto", "any": "required", "tool": "tool", "none": "none"}


def decode_request(body: bytes) -> chat.ChatRequest:
    """Raises InvalidRequest, naming the field."""
    return _told(reading.decode_request(_decode, body), body)


def decode_count(body: bytes) -> chat.ChatRequest:
    """The chat whose tokens are to be counted. Raises InvalidRequest, naming the field."""
    return _told(reading.decode_request(_decode_counted, body), body)


def _told(read: _Counted, body: bytes) -> chat.ChatRequest:
    others = {
        name: raw for name, raw in _decode_fields(body).items() if name not in _Request.__struct_fields__ and raw not in _NOTHING
    }
    if not read.messages:
        raise InvalidRequest("`messages` is empty", remedy="give at least one message", param="messages")
    if read.max_tokens is not None and read.max_tokens < 0:
        raise InvalidRequest("`max_tokens` is negative", remedy="give at least 1", param="max_tokens")
    messages = [chat.Message("system", _texts(read.system, "system"), place="system")] if read.system else []
    for place, message in enumerate(read.messages):
        messages += _of_message(message, f"messages[{place}]")
    choice = read.tool_choice
    if choice is not None and choice.type not in _MODES:
        raise one_of("tool_choice.type", choice.type, "auto, any, tool, none")
    disabled = choice.disable_parallel_tool_use if choice is not None else None
    return chat.ChatRequest(
        dialect=DIALECT,
        model=read.model,
        messages=tuple(messages),
        tools=tuple(_tool(raw, f"tools[{place}]") for place, raw in enumerate(read.tools or ())),
        tool_choice=None if choice is None else chat.ToolChoice(_MODES[choice.type], choice.name or ""),
        parallel_tools=None if disabled is None else not disabled,
        max_tokens=read.max_tokens,
        temperature=read.temperature,
        top_p=read.top_p,
        top_k=read.top_k,
        stop=tuple(read.stop_sequences or ()),
        response_format=_format(read),
        reasoning=_reasoning(read),
        stream=bool(read.stream),
        wants_usage=True,
        user=(read.metadata.user_id or "") if read.metadata is not None else "",
        extra={name: raw for name, raw in others.items() if name not in HINTS},
        hints={name: raw for name, raw in others.items() if name in HINTS},
        names=_NAMES,
    )


def _format(read: _Counted) -> chat.ResponseFormat | None:
    wanted = read.output_config.format if read.output_config is not None else None
    wanted = wanted or read.output_format  # its older place
    if wanted is None:
        return None
    if wanted.type != "json_schema":
        raise one_of("output_config.format.type", wanted.type, "json_schema")
    return chat.ResponseFormat("json_schema", wanted.schema, strict=True)


def _reasoning(read: _Counted) -> chat.Reasoning | None:
    effort = (read.output_config.effort or "") if read.output_config is not None else ""
    thinking = read.thinking
    if thinking is None:
        return chat.Reasoning(effort=effort) if effort else None
    match thinking.type:
        case "enabled" | "adaptive" | "disabled" | "between_tools" as mode:
            return chat.Reasoning(mode, thinking.budget_tokens, effort, thinking.display or "")
    raise one_of("thinking.type", thinking.type, "enabled, adaptive, disabled, between_tools")


def _tool(raw: msgspec.Raw, place: str) -> chat.Tool:
    kind = decode_at(_decode_tool_kind, raw, place).type
    if kind not in (None, "custom"):
        return chat.Tool("", foreign=chat.Foreign(DIALECT, kind, raw))
    tool = decode_at(_decode_tool, raw, place)
    if not is_object(tool.input_schema):
        raise InvalidRequest(
            f"`{place}.input_schema` must be an object", remedy="give a JSON Schema", param=f"{place}.input_schema"
        )
    extra = {
        name: value
        for name, value in _decode_fields(raw).items()
        if name not in (*_Tool.__struct_fields__, *_TOOL_HINTS) and value not in _NOTHING
    }
    if tool.allowed_callers not in (None, ["direct"]):
        extra["allowed_callers"] = msgspec.Raw(reading.encode(tool.allowed_callers))
    return chat.Tool(tool.name, tool.description or "", tool.input_schema, tool.strict, _lifetime(tool.cache_control), extra)


def _of_message(read: _Message, place: str) -> list[chat.Message]:
    if read.role == "system":
        return [chat.Message("system", _texts(read.content, f"{place}.content"), place=place)]
    if read.role not in ("user", "assistant"):
        raise one_of(f"{place}.role", read.role, "user, assistant, system")
    parts = _parts(read.content, f"{place}.content")
    results = [part for part in parts if isinstance(part, chat.ToolResult)]
    others = tuple(part for part in parts if not isinstance(part, chat.ToolResult))
    messages = [chat.Message("tool", (result,), place=place) for result in results]
    if read.role == "assistant":
        if results:
            raise InvalidRequest(
                f"`{place}.content` of an assistant holds a tool_result",
                remedy="put it into a user message",
                param=f"{place}.content",
            )
        return [chat.Message("assistant", at_calls(others), place=place)]
    return [*messages, chat.Message("user", others, place=place)] if others or not messages else messages


def _texts(read: str | list[msgspec.Raw], place: str) -> tuple[chat.Part, ...]:
    parts = tuple(_parts(read, place))
    for at, part in enumerate(parts):
        if not isinstance(part, chat.Text):
            raise InvalidRequest(f"`{place}[{at}]` is not a text", remedy="give blocks of type text", param=f"{place}[{at}]")
    return parts


def _parts(read: str | list[msgspec.Raw], place: str) -> list[chat.Part]:
    if isinstance(read, str):
        return [chat.Text(read)] if read else []
    return [_part(raw, f"{place}[{at}]") for at, raw in enumerate(read)]


def _part(raw: msgspec.Raw, path: str) -> chat.Part:
    kind = decode_at(_decode_kind, raw, path).type
    if kind not in _KNOWN:
        return chat.Foreign(DIALECT, kind, raw)
    block = decode_at(_decode_block, raw, path)
    cache = _lifetime(block.cache_control)
    match block:
        case _Block(type="text", text=str() as text):
            return chat.Text(text, cache)
        case _Block(type="image", source=_Source() as source):
            return _image(source, cache, raw, path)
        case _Block(type="document", source=_Source() as source):
            return _document(block, source, raw, path)
        case _Block(type="tool_use", id=str() as call, name=str() as name):
            if not is_object(block.input):
                raise InvalidRequest(
                    f"`{path}.input` is not an object", remedy="give the arguments as an object", param=f"{path}.input"
                )
            return chat.ToolCall(call, name, bytes(block.input).decode(), cache)
        case _Block(type="tool_result", tool_use_id=str() as call):
            parts = tuple(_result(part, path) for part in _parts(block.content or "", f"{path}.content"))
            return chat.ToolResult(call, parts, bool(block.is_error), cache)
        case _Block(type="thinking", thinking=str() as text):
            return chat.Thinking(text, block.signature or "")
        case _Block(type="redacted_thinking", data=str() as data):
            return chat.RedactedThinking(data)
    fields = {"tool_use": "id", "tool_result": "tool_use_id", "redacted_thinking": "data", "image": "source", "document": "source"}
    path = f"{path}.{fields.get(kind, kind)}" if kind != "tool_use" or block.id is None else f"{path}.name"
    raise missing(path)


def _result(part: chat.Part, path: str) -> chat.ResultPart:
    if isinstance(part, chat.ResultPart):
        return part
    raise InvalidRequest(
        f"`{path}.content` holds what no result can", remedy="give text, images or documents", param=f"{path}.content"
    )


def _image(source: _Source, cache: str, raw: msgspec.Raw, path: str) -> chat.Image | chat.Foreign:
    match source:
        case _Source(type="base64", data=str() as data, media_type=str() as kind):
            return chat.Image(data=data, media_type=kind, cache=cache)
        case _Source(type="url", url=str() as url):
            return chat.Image(url=url, cache=cache)
        case _Source(type="file", file_id=str()):
            return chat.Foreign(DIALECT, "file", raw)
    raise _bad_source(source, path, "base64, url, file")


def _document(block: _Block, source: _Source, raw: msgspec.Raw, path: str) -> chat.Document | chat.Foreign:
    cited = isinstance(block.citations, dict) and bool(block.citations.get("enabled"))
    told = {"title": block.title or "", "context": block.context or "", "citations": cited, "cache": _lifetime(block.cache_control)}
    match source:
        case _Source(type="base64", data=str() as data, media_type=str() as kind):
            return chat.Document(data=data, media_type=kind, **told)  # type: ignore[arg-type] # a mixed dictionary
        case _Source(type="text", data=str() as data):
            return chat.Document(text=data, **told)  # type: ignore[arg-type] # the same
        case _Source(type="content", content=str() as data):
            return chat.Document(text=data, **told)  # type: ignore[arg-type] # the same
        case _Source(type="url", url=str() as url):
            return chat.Document(url=url, **told)  # type: ignore[arg-type] # the same
        case _Source(type="file", file_id=str()) | _Source(type="content", content=list()):
            return chat.Foreign(DIALECT, source.type, raw)
    raise _bad_source(source, path, "base64, text, content, url, file")


def _bad_source(source: _Source, path: str, known: str) -> InvalidRequest:
    if source.type not in known.split(", "):
        return one_of(f"{path}.source.type", source.type, known)
    return InvalidRequest(
        f"`{path}.source` lacks a field", remedy=f"give what a source of type {source.type} has", param=f"{path}.source"
    )


def _lifetime(mark: _Cache | None) -> str:
    return "" if mark is None else mark.ttl or "5m"
