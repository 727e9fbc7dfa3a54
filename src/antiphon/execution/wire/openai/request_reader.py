"""A request of OpenAI's chat endpoint, read into the form that belongs to no vendor.

What OpenAI does not know but its imitators do is taken too: ``top_k``, ``min_p``, ``repetition_penalty``, ``reasoning_content``
and ``thinking_blocks`` of earlier answers, the signatures of their calls (Google's ``extra_content``), and marks of what is to be
cached (``cache_control``).
"""

from typing import Any, Literal

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.data_url import read_data_url
from antiphon.execution.wire.openai.extra_content import signature_in
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.wrong_values import decode_at, is_object, missing, one_of

DIALECT = "openai"
HINTS = frozenset(
    {
        "metadata", "prediction", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier",
        "store",
    }
)  # fmt: skip
"""Fields that change what a call costs, how fast it is or what is kept of it, but not what is asked."""
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "functions": ([],),
    "function_call": ("none", "auto"),
    "logit_bias": ({},),
    "modalities": (["text"], []),
    "verbosity": ("medium",),
}
"""Values that ask for nothing; ``null`` always does."""


class _Options(msgspec.Struct):
    include_usage: bool | None = None


class _Schema(msgspec.Struct):
    name: str = ""
    schema: msgspec.Raw = NULL
    description: str | None = None
    strict: bool | None = None


class _Format(msgspec.Struct):
    type: str
    json_schema: _Schema | None = None


class _Definition(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: msgspec.Raw = NULL
    strict: bool | None = None


class _Cache(msgspec.Struct):
    type: str | None = None
    mode: str | None = None
    ttl: str | None = None


class _Tool(msgspec.Struct):
    type: str = "function"
    function: _Definition | None = None
    cache_control: _Cache | None = None


class _Allowed(msgspec.Struct):
    mode: str
    tools: list[_Tool]


class _Choice(msgspec.Struct):
    type: str
    function: _Definition | None = None
    allowed_tools: _Allowed | None = None


class _Function(msgspec.Struct):
    name: str
    arguments: str | None = None


class _Call(msgspec.Struct):
    type: str = "function"
    id: str | None = None
    function: _Function | None = None
    cache_control: _Cache | None = None
    extra_content: Any = None


class _Thought(msgspec.Struct):
    type: str = "thinking"
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class _ImageURL(msgspec.Struct):
    url: str
    detail: str | None = None


class _Audio(msgspec.Struct):
    data: str
    format: str


class _File(msgspec.Struct):
    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class _Part(msgspec.Struct):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: _ImageURL | str | None = None
    input_audio: _Audio | None = None
    file: _File | None = None
    cache_control: _Cache | None = None
    prompt_cache_breakpoint: _Cache | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None
    name: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    thinking_blocks: list[_Thought] | None = None
    function_call: Any = None
    audio: Any = None


class _Request(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[msgspec.Raw] | None = None
    tool_choice: str | _Choice | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    response_format: _Format | None = None
    reasoning_effort: str | None = None
    stream: bool | None = None
    stream_options: _Options | None = None
    user: str | None = None
    safety_identifier: str | None = None


_decode = msgspec.json.Decoder(_Request).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_tool = msgspec.json.Decoder(_Tool).decode


def decode_request(body: bytes) -> chat.ChatRequest:
    """Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode, body)
    fields = _decode_fields(body)
    others = {name: raw for name, raw in fields.items() if name not in _Request.__struct_fields__ and not _asks_nothing(name, raw)}
    if not read.messages:
        raise InvalidRequest("`messages` is empty", remedy="give at least one message", param="messages")
    tools = [_tool(raw, f"tools[{place}]") for place, raw in enumerate(read.tools or ())]
    tools, choice = _choice(tools, read.tool_choice)
    length = read.max_completion_tokens if read.max_completion_tokens is not None else read.max_tokens
    stops = [read.stop] if isinstance(read.stop, str) else read.stop or []
    return chat.ChatRequest(
        dialect=DIALECT,
        model=read.model,
        messages=tuple(_message(message, f"messages[{place}]") for place, message in enumerate(read.messages)),
        tools=tuple(tools),
        tool_choice=choice,
        parallel_tools=read.parallel_tool_calls,
        max_tokens=length,
        temperature=read.temperature,
        top_p=read.top_p,
        top_k=read.top_k,
        min_p=read.min_p,
        repetition_penalty=read.repetition_penalty,
        stop=tuple(stop for stop in stops if stop),
        n=read.n,
        seed=read.seed,
        presence_penalty=read.presence_penalty,
        frequency_penalty=read.frequency_penalty,
        logprobs=read.logprobs,
        top_logprobs=read.top_logprobs,
        response_format=_format(read.response_format),
        reasoning=_reasoning(read.reasoning_effort),
        stream=bool(read.stream),
        wants_usage=read.stream_options is not None and bool(read.stream_options.include_usage),
        user=read.safety_identifier or read.user or "",
        extra={name: raw for name, raw in others.items() if name not in HINTS},
        hints={name: raw for name, raw in others.items() if name in HINTS},
    )


def _asks_nothing(name: str, raw: msgspec.Raw) -> bool:
    return raw == NULL or (name in _NEUTRAL and msgspec.json.decode(raw) in _NEUTRAL[name])


def _reasoning(effort: str | None) -> chat.Reasoning | None:
    if effort is None:
        return None
    return chat.Reasoning(mode="disabled") if effort == "none" else chat.Reasoning(effort=effort)


def _format(read: _Format | None) -> chat.ResponseFormat | None:
    if read is None or read.type == "text":
        return None
    if read.type == "json_object":
        return chat.ResponseFormat("json_object")
    if read.type != "json_schema":
        raise one_of("response_format.type", read.type, "text, json_object, json_schema")
    schema = read.json_schema
    if schema is None:
        raise missing("response_format.json_schema")
    given = schema.schema if schema.schema != NULL else None
    return chat.ResponseFormat("json_schema", given, schema.name, schema.description or "", schema.strict)


def _tool(raw: msgspec.Raw, place: str) -> chat.Tool:
    tool = decode_at(_decode_tool, raw, place)
    if tool.type != "function":
        return chat.Tool("", foreign=chat.Foreign(DIALECT, tool.type, raw))
    if tool.function is None:
        raise missing(f"{place}.function")
    told = tool.function
    schema = told.parameters if told.parameters != NULL else chat.NO_ARGUMENTS
    if not is_object(schema):
        raise InvalidRequest(
            f"`{place}.function.parameters` must be an object", remedy="give a JSON Schema", param=f"{place}.function.parameters"
        )
    return chat.Tool(told.name, told.description or "", schema, told.strict, _lifetime(tool.cache_control))


def _choice(tools: list[chat.Tool], read: str | _Choice | None) -> tuple[list[chat.Tool], chat.ToolChoice | None]:
    """The tools that may be called, and whether one must be."""
    match read:
        case None:
            return tools, None
        case "auto":
            return tools, chat.ToolChoice("auto")
        case "none":
            return tools, chat.ToolChoice("none")
        case "required" | "any":
            return tools, chat.ToolChoice("required")
        case _Choice(type="function", function=_Definition() as function):
            return tools, chat.ToolChoice("tool", function.name)
        case _Choice(type="allowed_tools", allowed_tools=_Allowed() as allowed):
            names = {tool.function.name for tool in allowed.tools if tool.function is not None}
            mode: Literal["required", "auto"] = "required" if allowed.mode == "required" else "auto"
            return [tool for tool in tools if tool.name in names], chat.ToolChoice(mode)
    told = read if isinstance(read, str) else read.type
    raise one_of("tool_choice", told, 'none, auto, required, {"type": "function", "function": {"name": "..."}}')


def _message(read: _Message, place: str) -> chat.Message:
    for name in ("function_call", "audio"):
        if getattr(read, name):
            raise chat.unsupported(f"{place}.{name}", "it cannot be translated for this model", "leave it out; use `tool_calls`")
    if read.tool_calls and read.role != "assistant":
        raise InvalidRequest(
            f"`{place}.tool_calls` stands in a message of role {read.role[:200]}",
            remedy="leave it out",
            param=f"{place}.tool_calls",
        )
    name = read.name or ""
    match read.role:
        case "assistant":
            return chat.Message("assistant", tuple(_of_assistant(read, place)), name, place)
        case "tool":
            if not read.tool_call_id:
                raise missing(f"{place}.tool_call_id")
            return chat.Message("tool", (chat.ToolResult(read.tool_call_id, _of_tool(read, place)),), name, place)
        case "system" | "developer" | "user":
            content = tuple(_content(read, place))
            if read.role != "user" and not all(isinstance(part, chat.Text) for part in content):
                raise InvalidRequest(
                    f"`{place}.content` of role {read.role} is not text alone",
                    remedy="give parts of type text",
                    param=f"{place}.content",
                )
            return chat.Message(read.role, content, name, place)
    raise one_of(f"{place}.role", read.role, "system, developer, user, assistant, tool")


def _content(read: _Message, place: str) -> list[chat.Part]:
    if read.content is None and read.role != "assistant":
        raise InvalidRequest(
            f"`{place}.content` is missing", remedy="give a text; only an assistant's may be null", param=f"{place}.content"
        )
    if isinstance(read.content, str):
        return [chat.Text(read.content)] if read.content else []
    return [_part(part, f"{place}.content[{at}]") for at, part in enumerate(read.content or ())]


def _of_tool(read: _Message, place: str) -> tuple[chat.ResultPart, ...]:
    parts: list[chat.ResultPart] = []
    for at, part in enumerate(_content(read, place)):
        if not isinstance(part, chat.ResultPart):
            path = f"{place}.content[{at}]"
            raise InvalidRequest(f"`{path}` is not what a tool can give back", remedy="give parts of type text", param=path)
        parts.append(part)
    return tuple(parts)


def _of_assistant(read: _Message, place: str) -> list[chat.Part]:
    parts: list[chat.Part] = []
    for thought in read.thinking_blocks or ():
        if thought.data:
            parts.append(chat.RedactedThinking(thought.data))
        else:
            parts.append(chat.Thinking(thought.thinking or "", thought.signature or ""))
    if not parts and read.reasoning_content:
        parts.append(chat.Thinking(read.reasoning_content))
    parts += _content(read, place)
    parts += [chat.Refusal(read.refusal)] if read.refusal else []
    for at, call in enumerate(read.tool_calls or ()):
        path = f"{place}.tool_calls[{at}]"
        if call.function is None:
            raise chat.unsupported(path, f"a call of type {call.type[:200]} cannot be translated for this model")
        arguments = call.function.arguments or "{}"
        if not is_object(arguments):
            path = f"{path}.function.arguments"
            raise InvalidRequest(
                f"`{path}` is not the JSON text of an object", remedy="send the arguments as they were answered", param=path
            )
        told = (call.id or f"call_{at}", call.function.name, arguments, _lifetime(call.cache_control))
        parts.append(chat.ToolCall(*told, signature_in(call.extra_content)))
    return parts


def _part(read: _Part, path: str) -> chat.Part:
    cache = _lifetime(read.cache_control or read.prompt_cache_breakpoint)
    match read:
        case _Part(type="text", text=str() as text):
            return chat.Text(text, cache)
        case _Part(type="refusal", refusal=str() as text):
            return chat.Refusal(text)
        case _Part(type="image_url", image_url=str() | _ImageURL() as image):
            url, detail = (image, "") if isinstance(image, str) else (image.url, image.detail or "")
            kind, data = read_data_url(url)
            return chat.Image(url="" if data else url, data=data, media_type=kind, detail=detail, cache=cache)
        case _Part(type="input_audio", input_audio=_Audio() as audio):
            return chat.Audio(audio.data, audio.format)
        case _Part(type="file", file=_File() as file):
            if file.file_id:
                return chat.Foreign(
                    DIALECT, "file", msgspec.Raw(reading.encode({"type": "file", "file": {"file_id": file.file_id}}))
                )
            kind, data = read_data_url(file.file_data or "")
            if not data:
                raise InvalidRequest(
                    f"`{path}.file.file_data` is not a data URL",
                    remedy="give data:application/pdf;base64,...",
                    param=f"{path}.file.file_data",
                )
            return chat.Document(data=data, media_type=kind, title=file.filename or "", cache=cache)
    if read.type in ("text", "refusal", "image_url", "input_audio", "file"):
        raise missing(f"{path}.{read.type}")
    raise one_of(f"{path}.type", read.type, "text, image_url, input_audio, file, refusal")


def _lifetime(mark: _Cache | None) -> str:
    if mark is None:
        return ""
    return "1h" if mark.ttl in ("1h", "12h") else "5m"
