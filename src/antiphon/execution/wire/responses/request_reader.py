"""A request of OpenAI's Responses endpoint, read into the form that belongs to no vendor.

Shapes after OpenAI's Python SDK. What OpenAI runs itself is not to be had from any other server: its own tools, templates of
prompts, conversations, calls in the background. All of that is refused by name, and so is every field that is not known.

Whoever continues an earlier response names it, and ``input`` has all of that conversation by the time it is read here: one that is
kept elsewhere cannot be continued by a server that does not speak this dialect.
"""

from typing import Any, Literal

import msgspec

from antiphon.core.errors import InvalidRequest, PreviousResponseNotFound
from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.responses import ids
from antiphon.execution.wire.responses.items import read_items
from antiphon.execution.wire.wrong_values import decode_at, is_object, missing, one_of

DIALECT = "responses"
ECHOED = (
    "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
    "prompt_cache_key", "reasoning", "safety_identifier", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p",
    "truncation", "user",
)  # fmt: skip
"""Fields that a response gives back as they were asked."""
_HINTS = ("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier")
"""Those that mean the same to OpenAI's chat endpoint, and change no answer."""
HINTS = frozenset({*_HINTS, "max_tool_calls", "metadata", "safety_identifier", "store", "user"})
"""All that change no answer; ``max_tool_calls`` is about tools that OpenAI runs."""
_NOTHING = (NULL, msgspec.Raw(b"false"), msgspec.Raw(b"[]"), msgspec.Raw(b"{}"))
"""Values of fields that are not served which ask for nothing."""
_ELSEWHERE = {
    "conversation": ("conversations are not kept under names of their own", "continue one with `previous_response_id`"),
    "prompt": ("templates of prompts are kept at OpenAI", "send the text itself"),
}
"""What stands for a part of the conversation that only OpenAI knows."""
_INCLUDABLE = frozenset(
    {
        "code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results",
        "message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content",
        "web_search_call.action.sources", "web_search_call.results",
    }
)  # fmt: skip
"""Those of tools that OpenAI runs ask for nothing here, for no answer holds a call of one."""
_NAMES = {
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "logprobs": "include",
    "tool_call_id": "call_id",
}
_LOGPROBS = "message.output_text.logprobs"


class _Options(msgspec.Struct):
    include_obfuscation: bool | None = None


class _Format(msgspec.Struct):
    type: str
    name: str = ""
    schema: msgspec.Raw = NULL
    description: str | None = None
    strict: bool | None = None


class _TextConfig(msgspec.Struct):
    format: _Format | None = None
    verbosity: str | None = None


class _Reasoning(msgspec.Struct):
    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None
    context: str | None = None
    mode: str | None = None


class _ToolKind(msgspec.Struct):
    type: str


class _Tool(msgspec.Struct):
    type: str
    name: str
    description: str | None = None
    parameters: msgspec.Raw = NULL
    strict: bool | None = None
    allowed_callers: list[str] | None = None


class _Named(msgspec.Struct):
    type: str = "function"
    name: str = ""


class _Choice(msgspec.Struct):
    type: str
    name: str | None = None
    mode: str | None = None
    tools: list[_Named] | None = None


class _Request(msgspec.Struct):
    model: str
    input: str | list[msgspec.Raw] | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    tools: list[msgspec.Raw] | None = None
    tool_choice: str | _Choice | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    text: _TextConfig | None = None
    reasoning: _Reasoning | None = None
    include: list[str] | None = None
    truncation: str | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: _Options | None = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: Any = None
    prompt_cache_retention: str | None = None
    service_tier: str | None = None
    # what OpenAI does not know but its imitators do
    top_k: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


_decode = msgspec.json.Decoder(_Request).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_kind = msgspec.json.Decoder(_ToolKind).decode
_decode_tool = msgspec.json.Decoder(_Tool).decode


def decode_request(body: bytes) -> chat.ChatRequest:
    """Raises InvalidRequest, naming the field."""
    read = reading.decode_request(_decode, body)
    fields = _decode_fields(body)
    _refuse(read, fields)
    tools = [_tool(raw, f"tools[{place}]") for place, raw in enumerate(read.tools or ())]
    tools, choice = _choice(tools, read.tool_choice)
    wants_logprobs = _LOGPROBS in (read.include or ()) or bool(read.top_logprobs)
    stops = [read.stop] if isinstance(read.stop, str) else read.stop or []
    hints = {name: fields[name] for name in _HINTS if fields.get(name, NULL) != NULL}
    return chat.ChatRequest(
        dialect=DIALECT,
        model=read.model,
        messages=tuple(_messages(read)),
        tools=tuple(tools),
        tool_choice=choice,
        parallel_tools=read.parallel_tool_calls,
        max_tokens=read.max_output_tokens,
        temperature=read.temperature,
        top_p=read.top_p,
        top_k=read.top_k,
        stop=tuple(stop for stop in stops if stop),
        seed=read.seed,
        presence_penalty=read.presence_penalty,
        frequency_penalty=read.frequency_penalty,
        logprobs=wants_logprobs or None,
        top_logprobs=read.top_logprobs,
        response_format=_format(read.text),
        reasoning=_reasoning(read.reasoning),
        stream=bool(read.stream),
        wants_usage=True,
        user=read.safety_identifier or read.user or "",
        extra=_extra(read, fields),
        hints=hints,
        names=_NAMES,
        echo={name: _one_line(fields[name]) for name in ECHOED if fields.get(name, NULL) != NULL},
    )


def _one_line(raw: msgspec.Raw) -> msgspec.Raw:
    """The value as it may stand in a server-sent event."""
    told = bytes(raw)
    return msgspec.Raw(msgspec.json.format(told, indent=-1)) if b"\n" in told or b"\r" in told else raw


def _refuse(read: _Request, fields: dict[str, msgspec.Raw]) -> None:
    """Raise InvalidRequest for what no server of another dialect can be asked, with whatever left out."""
    for name, (reason, remedy) in _ELSEWHERE.items():
        if fields.get(name, NULL) != NULL:
            raise chat.unsupported(name, reason, remedy)
    previous = read.previous_response_id
    if previous is not None and not ids.is_ours(previous):
        raise PreviousResponseNotFound(previous)
    for place, wanted in enumerate(read.include or ()):
        if wanted not in _INCLUDABLE:
            raise one_of(f"include[{place}]", wanted, ", ".join(sorted(_INCLUDABLE)))


def _extra(read: _Request, fields: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """What is asked for that only a server of this dialect could give."""
    extra = {name: raw for name, raw in fields.items() if name not in _Request.__struct_fields__ and raw not in _NOTHING}
    reasoning = read.reasoning or _Reasoning()
    for name, told, plain in (
        ("truncation", read.truncation, "disabled"),
        ("reasoning.context", reasoning.context, "auto"),
        ("reasoning.mode", reasoning.mode, "standard"),
        ("text.verbosity", read.text.verbosity if read.text is not None else None, "medium"),
    ):
        if told not in (None, plain):
            extra[name] = msgspec.Raw(reading.encode(told))
    if read.stream_options is not None and read.stream_options.include_obfuscation:
        extra["stream_options.include_obfuscation"] = msgspec.Raw(b"true")
    return extra


def _messages(read: _Request) -> list[chat.Message]:
    """The conversation, instructions first."""
    if read.input is None or read.input == []:
        raise InvalidRequest("the field `input` is missing", remedy="give a text, or at least one item", param="input")
    said = [chat.Message("system", (chat.Text(read.instructions),), place="instructions")] if read.instructions else []
    if isinstance(read.input, str):
        return [*said, chat.Message("user", (chat.Text(read.input),) if read.input else (), place="input")]
    return [*said, *read_items(read.input)]


def _reasoning(read: _Reasoning | None) -> chat.Reasoning | None:
    if read is None or read.effort is None:
        return None
    if read.effort == "none":
        return chat.Reasoning(mode="disabled")
    return chat.Reasoning(effort=read.effort, display="summarized" if read.summary or read.generate_summary else "")


def _format(read: _TextConfig | None) -> chat.ResponseFormat | None:
    wanted = read.format if read is not None else None
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return chat.ResponseFormat("json_object")
    if wanted.type != "json_schema":
        raise one_of("text.format.type", wanted.type, "text, json_object, json_schema")
    if wanted.schema == NULL:
        raise missing("text.format.schema")
    return chat.ResponseFormat("json_schema", wanted.schema, wanted.name, wanted.description or "", wanted.strict)


def _tool(raw: msgspec.Raw, place: str) -> chat.Tool:
    kind = decode_at(_decode_kind, raw, place).type
    if kind != "function":
        reason = f"a tool of type {kind[:200]} runs at OpenAI or takes no JSON, and this model's server has none of that kind"
        raise chat.unsupported(f"{place}.type", reason, "leave it out; give tools of type function")
    tool = decode_at(_decode_tool, raw, place)
    schema = tool.parameters if tool.parameters != NULL else chat.NO_ARGUMENTS
    if not is_object(schema):
        raise InvalidRequest(f"`{place}.parameters` must be an object", remedy="give a JSON Schema", param=f"{place}.parameters")
    extra = {
        name: value for name, value in _decode_fields(raw).items() if name not in _Tool.__struct_fields__ and value not in _NOTHING
    }
    if tool.allowed_callers not in (None, [], ["direct"]):
        extra["allowed_callers"] = msgspec.Raw(reading.encode(tool.allowed_callers))
    return chat.Tool(tool.name, tool.description or "", schema, tool.strict, extra=extra)


def _choice(tools: list[chat.Tool], read: str | _Choice | None) -> tuple[list[chat.Tool], chat.ToolChoice | None]:
    """The tools that may be called, and whether one must be."""
    match read:
        case None:
            return tools, None
        case "auto" | "none" | "required" as mode:
            return tools, chat.ToolChoice(mode)
        case _Choice(type="function", name=str() as name):
            return tools, chat.ToolChoice("tool", name)
        case _Choice(type="allowed_tools", tools=list() as allowed):
            names = {tool.name for tool in allowed if tool.type == "function"}
            how: Literal["required", "auto"] = "required" if read.mode == "required" else "auto"
            return [tool for tool in tools if tool.name in names], chat.ToolChoice(how)
    told = read if isinstance(read, str) else read.type
    raise one_of("tool_choice", told, 'none, auto, required, {"type": "function", "name": "..."}')
