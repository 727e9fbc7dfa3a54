"""A request in the form that belongs to no vendor, written for OpenAI's chat endpoint.

What OpenAI has no word for and what does not change the answer is left out: marks of what is to be cached, signatures of thoughts,
and the thoughts of earlier answers for servers that do not take them back. That a tool failed is told in words before its result.
"""

from collections.abc import Iterable
from typing import Any

from antiphon.execution.wire import chat, reading
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.openai.request_reader import DIALECT

_BUDGETS = {"minimal": 1024, "low": 4096, "medium": 16384}
"""Tokens for those who measure thinking by them (Model Studio's documentation, ``reasoning_effort``); more effort has no bound."""
_KIN = {"text.verbosity": "verbosity"}
"""Fields of OpenAI's other dialect, and what they are called here; its hints have the same names."""
_SCHEMA_NAME = "answer"
"""OpenAI wants a name for the schema of an answer; others have none."""


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``/v1/chat/completions``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    return reading.encode(fields_of(request, abilities))


def fields_of(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """The fields of that body. Raises as ``encode_request`` does."""
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request, abilities)}
    body.update(tool_fields(request, abilities))
    body.update(sampling_fields(request, abilities))
    body.update(answer_fields(request, abilities))
    if request.user:
        body["user"] = request.user
    if request.stream:
        body["stream"] = True
        if request.wants_usage and abilities.stream_usage:
            body["stream_options"] = {"include_usage": True}
    known = _KIN if request.dialect == "responses" else {}
    body.update({known.get(name, name): value for name, value in chat.own_fields(request, DIALECT, known).items()})
    if known:
        body.update(request.hints)
    return body


def sampling_fields(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """How long the answer may be and how it is chosen."""
    for name, asked, able in (
        ("top_k", request.top_k is not None, abilities.top_k),
        ("min_p", bool(request.min_p), abilities.min_p),
        ("repetition_penalty", request.repetition_penalty not in (None, 1), abilities.repetition_penalty),
    ):
        if asked and not able:
            raise unsupported(name, "this model's server does not know it")
    if request.n not in (None, 1) and not abilities.n:
        raise unsupported("n", "this model gives one answer at a time", "leave it out, or ask several times")
    if request.max_tokens == 0:
        raise unsupported("max_tokens", "this model's server has no way to answer nothing", "give at least 1")
    told = {
        abilities.max_tokens_name: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "min_p": request.min_p if abilities.min_p else None,
        "repetition_penalty": request.repetition_penalty if abilities.repetition_penalty else None,
        "stop": list(request.stop) or None,
        "n": request.n,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
    }
    return {name: value for name, value in told.items() if value is not None}


def answer_fields(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """What the answer must hold and keep to, and how much is thought before."""
    body: dict[str, Any] = {}
    if request.logprobs or request.top_logprobs:
        if not abilities.logprobs:
            raise unsupported("logprobs", "this model does not tell them")
        body["logprobs"] = bool(request.logprobs)
        if request.top_logprobs is not None:
            body["top_logprobs"] = request.top_logprobs
    if request.response_format is not None:
        body["response_format"] = _format(request.response_format, abilities)
    return {**body, **_reasoning(request, abilities)}


def _format(wanted: chat.ResponseFormat, abilities: ChatAbilities) -> dict[str, Any]:
    if wanted.kind != "json_schema":
        return {"type": wanted.kind}
    if not abilities.json_schema:
        raise unsupported("response_format", "this model does not keep to a schema")
    told = {"description": wanted.description or None, "schema": wanted.schema, "strict": wanted.strict}
    schema = {"name": wanted.name or _SCHEMA_NAME, **{name: value for name, value in told.items() if value is not None}}
    return {"type": "json_schema", "json_schema": schema}


def _reasoning(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """How much to think, as the server wants to be told; nothing where the model's own measure is right."""
    reasoning = request.reasoning
    if reasoning is None or reasoning == chat.Reasoning():
        return {}
    if abilities.thinkers is not None and not abilities.thinkers.match(request.model):
        return {}
    thinks, effort = reasoning.mode != "disabled", _effort(reasoning)
    match abilities.reasoning:
        case "":
            return {}
        case "thinking":
            return {"thinking": {"type": "enabled" if thinks else "disabled"}}
        case "thinking_effort":
            told: dict[str, Any] = {"thinking": {"type": "enabled" if thinks else "disabled"}}
            return {**told, "reasoning_effort": effort} if thinks and effort else told
        case "enable_thinking":
            budget = reasoning.budget if reasoning.budget is not None else _BUDGETS.get(reasoning.effort)
            return {"enable_thinking": thinks, **({"thinking_budget": budget} if thinks and budget is not None else {})}
        case "reasoning":
            measure = {"max_tokens": reasoning.budget} if reasoning.budget is not None else {"effort": effort}
            return {"reasoning": {"enabled": thinks} if not thinks or not effort else measure}
    return {"reasoning_effort": effort} if effort else {}


def _effort(reasoning: chat.Reasoning) -> str:
    """OpenAI's word for how much to think; empty where the model's own measure is right."""
    if reasoning.mode == "disabled":
        return "none"
    if reasoning.effort or reasoning.budget is None:
        return reasoning.effort
    return "low" if reasoning.budget <= 2048 else "medium" if reasoning.budget <= 8192 else "high"


def tool_fields(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """What may be called."""
    if not request.tools:
        return {}
    if not abilities.tools:
        raise unsupported("tools", "this model does not call tools")
    body: dict[str, Any] = {"tools": [_tool(tool, f"tools[{place}]") for place, tool in enumerate(request.tools)]}
    if request.tool_choice is not None:
        choice = request.tool_choice
        body["tool_choice"] = {"type": "function", "function": {"name": choice.name}} if choice.mode == "tool" else choice.mode
    if request.parallel_tools is not None:
        body["parallel_tool_calls"] = request.parallel_tools
    return body


def _tool(tool: chat.Tool, place: str) -> Any:
    if tool.foreign is not None:
        if tool.foreign.dialect == DIALECT:
            return tool.foreign.raw
        raise unsupported(f"{place}.type", f"this model's server has no tool {tool.foreign.kind[:200]} of its own")
    for name in tool.extra:
        raise unsupported(f"{place}.{name}", "this model's server does not know it")
    told = {"description": tool.description or None, "parameters": tool.schema, "strict": tool.strict}
    return {
        "type": "function",
        "function": {"name": tool.name, **{name: value for name, value in told.items() if value is not None}},
    }


def _messages(request: ChatRequest, abilities: ChatAbilities) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, chat.ToolResult):
                    messages.append({"role": "tool", "tool_call_id": part.call_id, "content": _result(part)})
                    shown += _shown(part, message, abilities)
            continue
        if shown:
            messages.append({"role": "user", "content": shown})
            shown = []
        if message.role == "assistant":
            messages.append(_assistant(message, abilities))
        else:
            content = _plain(_content(part, message, abilities) for part in message.parts)
            messages.append({"role": message.role, "content": content, **({"name": message.name} if message.name else {})})
    if shown:
        messages.append({"role": "user", "content": shown})
    return messages


def _plain(parts: Iterable[Any]) -> Any:
    """Parts of a content; a single text stands for itself, which every server understands."""
    parts = list(parts)
    if not parts:
        return ""
    first = parts[0]
    return first["text"] if len(parts) == 1 and isinstance(first, dict) and first["type"] == "text" else parts


def _assistant(message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    contents: list[Any] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for part in message.parts:
        match part:
            case chat.ToolCall():
                calls.append({"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}})
            case chat.Thinking():
                thoughts.append(part.text)
            case chat.RedactedThinking():
                pass
            case chat.Refusal():
                contents.append({"type": "refusal", "refusal": part.text})
            case _:
                contents.append(_content(part, message, abilities))
    body: dict[str, Any] = {"role": "assistant", "content": _plain(contents) if contents or not calls else None}
    if message.name:
        body["name"] = message.name
    if calls:
        body["tool_calls"] = calls
    if abilities.reasoning_back and (thoughts or calls):
        body["reasoning_content"] = "".join(thoughts)
    return body


def _result(result: chat.ToolResult) -> Any:
    texts = [{"type": "text", "text": part.text} for part in result.parts if isinstance(part, chat.Text)]
    if result.is_error:
        first = texts[0]["text"] if texts else ""
        texts[:1] = [{"type": "text", "text": f"Error: {first}"}]
    return _plain(texts)


def _shown(result: chat.ToolResult, message: chat.Message, abilities: ChatAbilities) -> list[dict[str, Any]]:
    """What a result has beside words. OpenAI's tools give back words alone, so the rest follows as if the user showed it."""
    others = [_content(part, message, abilities) for part in result.parts if not isinstance(part, chat.Text)]
    return [{"type": "text", "text": f"Belongs to the result of the call {result.call_id}:"}, *others] if others else []


def _content(part: chat.Part, message: chat.Message, abilities: ChatAbilities) -> Any:
    match part:
        case chat.Text():
            return {"type": "text", "text": part.text}
        case chat.Image():
            return _image(part, message, abilities)
        case chat.Document():
            return _document(part, message, abilities)
        case chat.Foreign(dialect="openai"):
            return part.raw
        case chat.Audio() if abilities.audio:
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}
    kind = part.kind if isinstance(part, chat.Foreign) else type(part).__name__.lower()
    raise unsupported(f"{message.place}.content", f"this model takes no part of type {kind[:200]} here", "send text instead")


def _image(image: chat.Image, message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    if not abilities.images:
        raise unsupported(f"{message.place}.content", "this model sees no images", "send text instead")
    url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
    return {"type": "image_url", "image_url": {"url": url, **({"detail": image.detail} if image.detail else {})}}


def _document(document: chat.Document, message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    where = f"{message.place}.content"
    if document.citations:
        raise unsupported(where, "this model's server gives no citations", "leave out `citations` of the document")
    if not document.data and not document.url:
        return {"type": "text", "text": "\n\n".join(text for text in (document.title, document.context, document.text) if text)}
    if not abilities.documents:
        raise unsupported(where, "this model reads no documents", "send their text instead")
    if not document.data:
        raise unsupported(where, "this model's server fetches no documents", "send it as base64")
    url = f"data:{document.media_type};base64,{document.data}"
    return {"type": "file", "file": {"filename": document.title or "document.pdf", "file_data": url}}
