"""A request in the form that belongs to no vendor, written for Ollama's ``/api/chat``.

A message there is a text and the images that come before it. Several texts of one message become one, with an empty line
between; where images stand between texts, each group of images begins a message of its own. What changes no answer is left out:
marks of what is to be cached, encrypted thoughts. That a tool failed is told in words before its
result.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from antiphon.execution.wire import chat, reading, speakers
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.ollama.options import grouped
from antiphon.execution.wire.ollama.request_reader import DIALECT

_LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
"""Ollama's words for how much to think."""


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``/api/chat``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    _refuse(request, abilities)
    speakers.refuse_names(request)
    told: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(request, abilities),
        "tools": _tools(request),
        "format": _format(request.response_format, abilities),
        "think": _think(request.reasoning, abilities),
        "logprobs": request.logprobs,
        "top_logprobs": request.top_logprobs,
        **grouped(chat.own_fields(request, DIALECT), _options(request)),
        "stream": request.stream,
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def _refuse(request: ChatRequest, abilities: ChatAbilities) -> None:
    """Raise UnsupportedParameter for the first field that Ollama's API has no like of."""
    if request.n not in (None, 1):
        raise unsupported("n", "this model gives one answer at a time", "leave it out, or ask several times")
    if request.max_tokens == 0:
        raise unsupported("max_tokens", "this model's server has no way to answer nothing", "give at least 1")
    if (request.logprobs or request.top_logprobs) and not abilities.logprobs:
        raise unsupported("logprobs", "this model does not tell them")
    if not request.tools:
        return
    if not abilities.tools:
        raise unsupported("tools", "this model does not call tools")
    if request.parallel_tools is False:
        raise unsupported("parallel_tool_calls", "this model's server cannot keep a model to one call at a time")
    if request.tool_choice is not None and request.tool_choice.mode not in ("auto", "none"):
        raise unsupported("tool_choice", "this model's server leaves the choice to the model", "leave it out, or let it be auto")


def _options(request: ChatRequest) -> dict[str, Any]:
    told = {
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
        "top_k": request.top_k,
        "top_p": request.top_p,
        "min_p": request.min_p,
        "repeat_penalty": request.repetition_penalty,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "seed": request.seed,
        "stop": list(request.stop) or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _format(wanted: chat.ResponseFormat | None, abilities: ChatAbilities) -> Any:
    if wanted is None or wanted.kind == "text":
        return None
    if wanted.kind == "json_schema" and not abilities.json_schema:
        raise unsupported("response_format", "this model does not keep to a schema")
    return wanted.schema if wanted.kind == "json_schema" and wanted.schema is not None else "json"


def _think(reasoning: chat.Reasoning | None, abilities: ChatAbilities) -> bool | str | None:
    """Whether and how much to think. A model that does not think refuses to be told to, but not to be told not to."""
    if reasoning is None or reasoning == chat.Reasoning(display=reasoning.display):
        return None
    if reasoning.mode == "disabled":
        return False
    if not abilities.reasoning:
        return None
    if reasoning.effort or reasoning.budget is None:
        return _LEVELS.get(reasoning.effort, True)
    return "low" if reasoning.budget <= 2048 else "medium" if reasoning.budget <= 8192 else "high"


def _tools(request: ChatRequest) -> list[dict[str, Any]] | None:
    """The tools that may be called; none are shown to a model that must call none."""
    if not request.tools or (request.tool_choice is not None and request.tool_choice.mode == "none"):
        return None
    return [_tool(tool, f"tools[{place}]") for place, tool in enumerate(request.tools)]


def _tool(tool: chat.Tool, place: str) -> dict[str, Any]:
    if tool.foreign is not None:
        raise unsupported(f"{place}.type", f"this model's server has no tool {tool.foreign.kind[:200]} of its own")
    if tool.strict:
        raise unsupported(f"{place}.strict", "this model's server does not hold a call to the schema of its tool")
    for name in tool.extra:
        raise unsupported(f"{place}.{name}", "this model's server does not know it")
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": _typed(tool.schema)}}


def _typed(schema: msgspec.Raw) -> Any:
    """The schema of a tool's input with the type and the properties that Ollama's templates build on."""
    fields = msgspec.json.decode(schema, type=dict[str, msgspec.Raw])
    if "type" in fields and "properties" in fields:
        return schema
    return {"type": "object", "properties": {}, **fields}


def _messages(request: ChatRequest, abilities: ChatAbilities) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    """Of the tools that were called, by the ids of their calls."""
    for message in request.messages:
        names |= {part.id: part.name for part in message.parts if isinstance(part, chat.ToolCall)}
        if message.role == "tool":
            messages += [_result(part, names, message, abilities) for part in message.parts if isinstance(part, chat.ToolResult)]
        elif message.role == "assistant":
            messages.append(_assistant(message, abilities))
        else:
            role = "user" if message.role == "user" else "system"
            messages += [{"role": role, **shown} for shown in _groups(message, abilities)]
    return messages


def _groups(message: chat.Message, abilities: ChatAbilities) -> list[dict[str, Any]]:
    """Text and images of a message, in as many messages as their order takes."""
    shown = [_shown(part, message, abilities) for part in message.parts]
    kinds = [isinstance(part, _Picture) for part in shown]
    between = any(kinds) and kinds != sorted(kinds) and kinds != sorted(kinds, reverse=True)
    groups: list[list[_Picture | str]] = [[]]
    for at, part in enumerate(shown):
        if between and kinds[at] and at and not kinds[at - 1]:
            groups.append([])
        groups[-1].append(part)
    return [_plain(group) for group in groups]


def _plain(shown: Iterable["_Picture | str"]) -> dict[str, Any]:
    shown = list(shown)
    images = [part.data for part in shown if isinstance(part, _Picture)]
    content = {"content": "\n\n".join(part for part in shown if isinstance(part, str) and part)}
    return {**content, "images": images} if images else content


def _assistant(message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    shown: list[_Picture | str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case chat.Thinking():
                thoughts.append(part.text)
            case chat.RedactedThinking():
                pass
            case chat.ToolCall():
                function = {"index": len(calls), "name": part.name, "arguments": msgspec.Raw(part.arguments.encode())}
                calls.append({"id": part.id, "function": function})
            case _:
                shown.append(_shown(part, message, abilities))
    body = {"role": "assistant", **_plain(shown)}
    if thoughts:
        body["thinking"] = "".join(thoughts)
    if calls:
        body["tool_calls"] = calls
    return body


def _result(result: chat.ToolResult, names: dict[str, str], message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    """A result, under the name of its tool, which is what Ollama goes by, and the id of its call, which newer servers know."""
    shown = [_shown(part, message, abilities) for part in result.parts]
    if result.is_error:
        first = next((at for at, part in enumerate(shown) if isinstance(part, str)), None)
        text = shown.pop(first) if first is not None else ""
        shown.insert(0, f"Error: {text}")
    name = names.get(result.call_id)
    named = {"tool_name": name} if name else {}
    return {"role": "tool", **_plain(shown), **named, "tool_call_id": result.call_id}


class _Picture(msgspec.Struct, frozen=True):
    """Base64 of an image."""

    data: str


def _shown(part: chat.Part, message: chat.Message, abilities: ChatAbilities) -> _Picture | str:
    where = f"{message.place}.content"
    match part:
        case chat.Text() | chat.Refusal():
            return part.text
        case chat.Image():
            if not abilities.images:
                raise unsupported(where, "this model sees no images", "send text instead")
            if not part.data:
                raise unsupported(where, "this model's server fetches no images", "send the image as base64")
            return _Picture(part.data)
        case chat.Document(data="", url="", citations=False):
            return "\n\n".join(text for text in (part.title, part.context, part.text) if text)
    kind = part.kind if isinstance(part, chat.Foreign) else type(part).__name__.lower()
    raise unsupported(where, f"this model takes no part of type {kind[:200]}", "send text instead")
