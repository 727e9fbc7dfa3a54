"""A request in the form that belongs to no vendor, written for Bedrock's Converse and ConverseStream.

Shapes after the service model of ``bedrock-runtime``, version 2023-09-30. The model's name is part of the path, so it is not in the
body. What only some models know stands in ``additionalModelRequestFields``, in the words of the model's vendor (``families``).
Fields of Bedrock's own that callers give by name, such as ``guardrailConfig``, are taken over.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading, speakers
from antiphon.execution.wire.bedrock import families
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.signatures import unmarked
from antiphon.execution.wire.wrong_values import is_object

DIALECT: Final = "bedrock"
_MODEL_FIELDS = "additionalModelRequestFields"
_OWN_FIELDS = frozenset(
    {
        _MODEL_FIELDS, "additionalModelResponseFieldPaths", "guardrailConfig", "performanceConfig", "promptVariables",
        "requestMetadata", "serviceTier",
    }
)  # fmt: skip
_MAX_ID = 64
_NO_ID = re.compile(r"[^a-zA-Z0-9_.:-]")
_NO_NAME = re.compile(r"[^A-Za-z0-9\-()\[\]]+")
_MAX_NAME = 200
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``/model/NAME/converse``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    _refuse(request)
    speakers.refuse_names(request)
    speakers.refuse_late_system(request)
    if not families.keeps_marks(request.model):
        abilities = msgspec.structs.replace(abilities, cache_marks=False)
    system, turns = _turns(request, abilities)
    told: dict[str, Any] = {
        "messages": turns,
        "system": system or None,
        "inferenceConfig": _inference(request, abilities) or None,
        "toolConfig": _tools(request, abilities),
        "outputConfig": _output(request, abilities),
        **_own_fields(request),
        _MODEL_FIELDS: _model_fields(request, abilities) or None,
    }
    return reading.encode({name: value for name, value in told.items() if value is not None})


def _refuse(request: ChatRequest) -> None:
    """Raise UnsupportedParameter for the first field that Converse has no like of."""
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
        ("parallel_tool_calls", request.parallel_tools is False and bool(request.tools)),
    ):
        if asked:
            raise unsupported(request.called(name), nothing_like_it)
    if request.temperature is not None and request.temperature > 1:
        raise unsupported("temperature", "this model takes 0 to 1", "give at most 1")
    if request.max_tokens == 0:
        raise unsupported("max_tokens", "this model's server has no way to answer nothing", "give at least 1")
    if request.response_format is not None and request.response_format.kind == "json_object":
        raise unsupported(request.called("response_format"), nothing_like_it, "give a schema, with type json_schema")


def _own_fields(request: ChatRequest) -> dict[str, Any]:
    told = chat.own_fields(request, DIALECT, _OWN_FIELDS)
    told.pop(_MODEL_FIELDS, None)
    return told


def _inference(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    told = {
        "maxTokens": request.max_tokens if request.max_tokens is not None else abilities.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop) or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _model_fields(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """What is said in the words of the model's vendor; what the caller gave of it goes before."""
    told = families.thinking(request, abilities) | families.top_k(request)
    given = request.extra.get(_MODEL_FIELDS)
    if given is not None:
        if not is_object(given):
            raise InvalidRequest(f"the field `{_MODEL_FIELDS}` must be an object", remedy="give an object", param=_MODEL_FIELDS)
        told |= msgspec.json.decode(given, type=dict[str, msgspec.Raw])
    return told


def _output(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any] | None:
    wanted = request.response_format
    if wanted is None or wanted.kind != "json_schema":
        return None
    if not abilities.json_schema:
        raise unsupported(request.called("response_format"), "this model does not keep to a schema")
    schema = bytes(wanted.schema).decode() if wanted.schema is not None else '{"type":"object"}'
    told = {"schema": schema, "name": wanted.name or None, "description": wanted.description or None}
    structure = {"jsonSchema": {name: value for name, value in told.items() if value is not None}}
    return {"textFormat": {"type": "json_schema", "structure": structure}}


def _tools(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any] | None:
    if not request.tools:
        return None
    if not abilities.tools:
        raise unsupported("tools", "this model does not call tools")
    choice = request.tool_choice
    if choice is not None and choice.mode == "none":
        if any(isinstance(part, chat.ToolCall | chat.ToolResult) for message in request.messages for part in message.parts):
            raise unsupported("tool_choice", "once tools were called, this model's server cannot forbid it", "leave it out")
        return None  # what may not be called need not be told
    tools = [told for place, tool in enumerate(request.tools) for told in _tool(tool, f"tools[{place}]", abilities)]
    modes: dict[str, Any] = {"auto": {"auto": {}}, "required": {"any": {}}}
    if choice is None:
        return {"tools": tools}
    return {"tools": tools, "toolChoice": modes.get(choice.mode) or {"tool": {"name": choice.name}}}


def _tool(tool: chat.Tool, place: str, abilities: ChatAbilities) -> Iterable[dict[str, Any]]:
    if tool.foreign is not None:
        raise unsupported(f"{place}.type", f"this model's server has no tool of type {tool.foreign.kind[:200]}")
    for name in tool.extra:
        raise unsupported(f"{place}.{name}", "this model's server does not know it")
    told = {
        "name": tool.name,
        "description": tool.description or None,
        "inputSchema": {"json": tool.schema},
        "strict": tool.strict,
    }
    return [{"toolSpec": {name: value for name, value in told.items() if value is not None}}, *_mark(tool.cache, abilities)]


def _turns(request: ChatRequest, abilities: ChatAbilities) -> tuple[list[Any], list[dict[str, Any]]]:
    """The system prompt and the turns, in which neighbours of one role are one."""
    system: list[Any] = []
    turns: list[tuple[str, list[Any]]] = []
    places: list[str] = []
    dropped = () if families.takes_thoughts(request.model) else (chat.Thinking, chat.RedactedThinking)
    for message in request.messages:
        told = [part for part in message.parts if not isinstance(part, dropped)]
        blocks = [block for part in told for block in _block(part, message, abilities)]
        if message.role in ("system", "developer"):
            system += blocks
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks or role == "user":
            turns.append((role, blocks))
            places.append(message.place)
    for place, (_, blocks) in zip(places, turns, strict=True):
        if not blocks:
            raise _empty(place)
    return system, [{"role": role, "content": blocks} for role, blocks in turns]


def _empty(place: str) -> InvalidRequest:
    """The error for a user's message of which nothing is left, as an empty text, which Converse does not take."""
    param = f"{place}.content" if "[" in place else place
    return InvalidRequest(
        f"`{param}` is empty, and this model's server takes no empty message", remedy="say something", param=param
    )


def _block(part: chat.Part, message: chat.Message, abilities: ChatAbilities) -> Iterable[dict[str, Any]]:
    """The block for a part, with a mark behind it; none where Converse takes none."""
    match part:
        case chat.Text() | chat.Refusal():
            mark = _mark(part.cache, abilities) if isinstance(part, chat.Text) else []
            return [{"text": part.text}, *mark] if part.text else mark
        case chat.Image() if abilities.images:
            return [{"image": _image(part, message)}, *_mark(part.cache, abilities)]
        case chat.Audio() if abilities.audio:
            return [{"audio": {"format": part.format, "source": {"bytes": part.data}}}]
        case chat.Document():
            return [{"document": _document(part, message, abilities)}, *_mark(part.cache, abilities)]
        case chat.ToolCall():
            called = {"toolUseId": _id(part.id), "name": part.name, "input": msgspec.Raw(part.arguments.encode())}
            return [{"toolUse": called}, *_mark(part.cache, abilities)]
        case chat.ToolResult():
            return _result(part, message, abilities)
        case chat.Thinking():
            signature = unmarked(part.signature, "anthropic")
            thought = {"text": part.text, "signature": signature}
            return [{"reasoningContent": {"reasoningText": thought}}] if signature else []
        case chat.RedactedThinking():
            return [{"reasoningContent": {"redactedContent": part.data}}]
    kind = part.kind if isinstance(part, chat.Foreign) else type(part).__name__.lower()
    raise unsupported(f"{message.place}.content", f"this model takes no part of type {kind[:200]}", "send text instead")


def _result(result: chat.ToolResult, message: chat.Message, abilities: ChatAbilities) -> list[dict[str, Any]]:
    """What a tool gave back. A mark inside of it stands behind it, because Converse takes none there."""
    blocks = [block for part in result.parts for block in _block(part, message, abilities)]
    marks = [block for block in blocks if "cachePoint" in block]
    told: dict[str, Any] = {"toolUseId": _id(result.call_id), "content": [block for block in blocks if block not in marks]}
    if result.is_error:
        told["status"] = "error"
    return [{"toolResult": told}, *(_mark(result.cache, abilities) or marks[-1:])]


def _image(image: chat.Image, message: chat.Message) -> dict[str, Any]:
    source = _source(image, message)
    kind = _IMAGES.get(image.media_type if image.data else f"image/{image.url.rpartition('.')[2].lower()}")
    if kind is None:
        types = ", ".join(dict.fromkeys(_IMAGES.values()))
        raise unsupported(f"{message.place}.content", f"this model takes images of type {types}", "send one of these")
    return {"format": kind, "source": source}


def _document(document: chat.Document, message: chat.Message, abilities: ChatAbilities) -> dict[str, Any]:
    where = f"{message.place}.content"
    told: dict[str, Any] = {
        "name": _NO_NAME.sub(" ", document.title).strip()[:_MAX_NAME] or "document",
        "context": document.context or None,
        "citations": {"enabled": True} if document.citations else None,
    }
    if not document.data and not document.url:
        told |= {"format": "txt", "source": {"text": document.text}}
    elif not abilities.documents:
        raise unsupported(where, "this model reads no documents", "send their text instead")
    else:
        kind = document.media_type if document.data else "application/pdf"
        if kind not in _DOCUMENTS:
            raise unsupported(where, f"this model reads no documents of type {kind[:200]}", "send their text instead")
        told |= {"format": _DOCUMENTS[kind], "source": _source(document, message)}
    return {name: value for name, value in told.items() if value is not None}


def _source(part: chat.Image | chat.Document, message: chat.Message) -> dict[str, Any]:
    if part.data:
        return {"bytes": part.data}
    if not part.url.startswith("s3://"):
        raise unsupported(f"{message.place}.content", "this model's server fetches from S3 alone", "send it as base64")
    return {"s3Location": {"uri": part.url}}


def _mark(cache: str, abilities: ChatAbilities) -> list[dict[str, Any]]:
    if not cache or not abilities.cache_marks:
        return []
    return [{"cachePoint": {"type": "default", **({"ttl": cache} if cache != "5m" else {})}}]


def _id(call: str) -> str:
    """A call's id in the letters that Bedrock takes; the same call has the same id wherever it is named."""
    told = _NO_ID.sub(lambda found: f"_{ord(found[0]):x}", call) or "_"
    return told if len(told) <= _MAX_ID else hashlib.sha256(told.encode()).hexdigest()
