"""A request in the form that belongs to no vendor, written for Anthropic's Messages endpoint.

What the system says before all others goes to the top-level ``system``. Behind them it stays in its place where the model takes
it there, and is refused elsewhere. Thoughts without a signature are left out, because Anthropic takes only its own back; so are
empty texts, which it refuses.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading, speakers
from antiphon.execution.wire.anthropic.request_reader import DIALECT
from antiphon.execution.wire.anthropic.thinking import effort_of, style_of, thinking_field
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.signatures import unmarked

_MODES = {"auto": "auto", "required": "any", "tool": "tool", "none": "none"}
_SYSTEM_ROLES = ("system", "developer")
_SYSTEM_LATER = re.compile(r"claude-opus-(?:4-(?:[89]|\d\d)(?!\d)|[5-9](?!\d))")
"""Names of the models that take what the system says in the middle of a conversation: Opus since 4.8."""
_NO_ID = re.compile(r"[^a-zA-Z0-9_-]")


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``/v1/messages``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    _refuse(request)
    speakers.refuse_names(request)
    length = request.max_tokens if request.max_tokens is not None else abilities.max_tokens
    if length is None:
        raise InvalidRequest(
            "the field `max_tokens` is missing, and this model's server requires it", remedy="add it", param="max_tokens"
        )
    _check_places(request, abilities)
    system, turns = _turns(request, abilities)
    told: dict[str, Any] = {
        "model": request.model,
        "max_tokens": length,
        "system": system,
        "messages": turns,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "stop_sequences": list(request.stop) or None,
        "metadata": {"user_id": request.user} if request.user else None,
        "stream": True if request.stream else None,
        **_of_tools(request, abilities),
        **_of_answer(request, abilities, length),
    }
    body = {name: value for name, value in told.items() if value is not None}
    body.update(chat.own_fields(request, DIALECT))
    return reading.encode(body)


def _refuse(request: ChatRequest) -> None:
    """Raise UnsupportedParameter for the first field that Anthropic's API has no like of."""
    nothing_like_it = "this model is behind an API that has nothing like it"
    for name, asked in (
        ("n", request.n not in (None, 1)),
        ("seed", request.seed is not None),
        ("min_p", bool(request.min_p)),
        ("repetition_penalty", request.repetition_penalty not in (None, 1)),
        ("presence_penalty", bool(request.presence_penalty)),
        ("frequency_penalty", bool(request.frequency_penalty)),
        ("logprobs", bool(request.logprobs)),
        ("top_logprobs", bool(request.top_logprobs)),
    ):
        if asked:
            raise unsupported(name, nothing_like_it)
    if request.temperature is not None and request.temperature > 1:
        raise unsupported("temperature", "this model takes 0 to 1", "give at most 1")
    if request.response_format is not None and request.response_format.kind == "json_object":
        raise unsupported("response_format", nothing_like_it, "give a schema, with type json_schema")


def _of_answer(request: ChatRequest, abilities: ChatAbilities, length: int) -> dict[str, Any]:
    config: dict[str, Any] = {}
    style = abilities.reasoning
    if style == "budget":  # of those whose names do not tell their generation
        style = style_of(request.model, unknown=style)
    wanted = request.response_format
    if wanted is not None and wanted.kind == "json_schema":
        if not abilities.json_schema:
            raise unsupported("response_format", "this model does not keep to a schema")
        config["format"] = {"type": "json_schema", "schema": wanted.schema if wanted.schema is not None else {"type": "object"}}
    effort = effort_of(request, style)
    if effort:
        config["effort"] = effort
    return {"output_config": config or None, "thinking": thinking_field(request, style, length)}


def _of_tools(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    if not request.tools:
        return {}
    if not abilities.tools:
        raise unsupported("tools", "this model does not call tools")
    body: dict[str, Any] = {"tools": [_tool(tool, request.dialect, f"tools[{place}]") for place, tool in enumerate(request.tools)]}
    choice = request.tool_choice
    if choice is None and request.parallel_tools is None:
        return body
    body["tool_choice"] = {"type": _MODES[choice.mode] if choice is not None else "auto"}
    if choice is not None and choice.mode == "tool":
        body["tool_choice"]["name"] = choice.name
    if request.parallel_tools is not None and body["tool_choice"]["type"] != "none":
        body["tool_choice"]["disable_parallel_tool_use"] = not request.parallel_tools
    return body


def _tool(tool: chat.Tool, dialect: str, place: str) -> Any:
    if tool.foreign is not None:
        if tool.foreign.dialect == DIALECT:
            return tool.foreign.raw
        raise unsupported(f"{place}.type", f"this model's server has no tool of type {tool.foreign.kind[:200]}")
    for name in tool.extra if dialect != DIALECT else ():
        raise unsupported(f"{place}.{name}", "this model's server does not know it")
    told: dict[str, Any] = {"name": tool.name, "description": tool.description or None, "input_schema": _typed(tool.schema)}
    told |= {"strict": tool.strict, **_mark(tool.cache), **tool.extra}
    return {name: value for name, value in told.items() if value is not None}


def _typed(schema: msgspec.Raw) -> Any:
    """The schema of a tool's input with the type that Anthropic requires."""
    fields = msgspec.json.decode(schema, type=dict[str, msgspec.Raw])
    return schema if "type" in fields else {"type": "object", **fields}


def _turns(request: ChatRequest, abilities: ChatAbilities) -> tuple[Any, list[dict[str, Any]]]:
    """The system prompt and the turns, in which neighbours of one role are one."""
    system: list[dict[str, Any]] = []
    turns: list[tuple[str, list[Any]]] = []
    for message in request.messages:
        blocks = [block for part in message.parts for block in _block(part, message, abilities)]
        if message.role in ("system", "developer"):
            if not turns:
                system += blocks
                continue
            if not blocks:
                continue
            role = "system"
        else:
            role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks or role == "user":
            turns.append((role, blocks))
    return _plain(system) or None, [{"role": role, "content": _plain(blocks)} for role, blocks in turns]


def _check_places(request: ChatRequest, abilities: ChatAbilities) -> None:
    """Raise UnsupportedParameter for what the system says where the model does not take it.

    Those that take it at all do so behind a user's turn that the model has still to answer, or has answered then (Anthropic's
    documentation, "Mid-conversation system messages").
    """
    if abilities.system_anywhere:
        return
    if not _SYSTEM_LATER.search(request.model):
        speakers.refuse_late_system(request)
    messages = [message for message in request.messages if message.parts]
    for message in speakers.late_system(messages):
        at = messages.index(message)
        before = next(other.role for other in messages[at::-1] if other.role not in _SYSTEM_ROLES)
        behind = next((other.role for other in messages[at:] if other.role not in _SYSTEM_ROLES), "assistant")
        if before == "assistant" or behind != "assistant":
            raise speakers.no_place(message)


def _plain(blocks: Iterable[Any]) -> Any:
    """Blocks of a content; a single text without a mark stands for itself."""
    blocks = list(blocks)
    if not blocks:
        return ""
    first = blocks[0]
    return first["text"] if len(blocks) == 1 and isinstance(first, dict) and first.keys() == {"type", "text"} else blocks


def _block(part: chat.Part, message: chat.Message, abilities: ChatAbilities) -> Iterable[Any]:
    """The block for a part, or none where Anthropic takes none."""
    match part:
        case chat.Text() | chat.Refusal():
            mark = _mark(part.cache) if isinstance(part, chat.Text) else {}
            return [{"type": "text", "text": part.text, **mark}] if part.text else []
        case chat.Image():
            if not abilities.images:
                raise unsupported(f"{message.place}.content", "this model sees no images", "send text instead")
            return [{"type": "image", "source": _source(part, message), **_mark(part.cache)}]
        case chat.Document():
            return [_document(part, message)]
        case chat.ToolCall():
            called = {"id": _id(part.id), "name": part.name, "input": msgspec.Raw(part.arguments.encode())}
            return [{"type": "tool_use", **called, **_mark(part.cache)}]
        case chat.ToolResult():
            return [_result(part, message, abilities)]
        case chat.Thinking():
            signature = unmarked(part.signature, DIALECT)
            return [{"type": "thinking", "thinking": part.text, "signature": signature}] if signature else []
        case chat.RedactedThinking():
            return [{"type": "redacted_thinking", "data": part.data}]
        case chat.Foreign(dialect="anthropic"):
            return [part.raw]
    kind = part.kind if isinstance(part, chat.Foreign) else type(part).__name__.lower()
    raise unsupported(f"{message.place}.content", f"this model takes no part of type {kind[:200]}", "send text instead")


def _result(result: chat.ToolResult, message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    blocks = [block for part in result.parts for block in _block(part, message, abilities)]
    failed = {"is_error": True} if result.is_error else {}
    content = {"content": _plain(blocks)} if blocks else {}
    return {"type": "tool_result", "tool_use_id": _id(result.call_id), **content, **failed, **_mark(result.cache)}


def _source(part: chat.Image | chat.Document, message: chat.Message) -> dict[str, Any]:
    if part.data:
        return {"type": "base64", "media_type": part.media_type, "data": part.data}
    if not part.url.startswith(("http://", "https://")):
        raise InvalidRequest(
            f"`{message.place}.content` has an address that is neither http, https nor a base64 data URL",
            remedy="give an https address, or data:image/png;base64,...",
            param=f"{message.place}.content",
        )
    return {"type": "url", "url": part.url}


def _document(part: chat.Document, message: chat.Message) -> dict[str, Any]:
    source = (
        {"type": "text", "media_type": "text/plain", "data": part.text}
        if not part.data and not part.url
        else _source(part, message)
    )
    told = {"title": part.title, "context": part.context, "citations": {"enabled": True} if part.citations else None}
    return {"type": "document", "source": source, **{name: value for name, value in told.items() if value}, **_mark(part.cache)}


def _mark(cache: str) -> dict[str, Any]:
    if not cache:
        return {}
    return {"cache_control": {"type": "ephemeral", **({"ttl": cache} if cache != "5m" else {})}}


def _id(call: str) -> str:
    """A call's id in the letters that Anthropic takes; the same call has the same id wherever it is named."""
    return _NO_ID.sub(lambda found: f"_{ord(found[0]):x}", call) or "_"
