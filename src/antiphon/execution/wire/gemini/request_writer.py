"""A request in the form that belongs to no vendor, written for Gemini's ``generateContent``.

Shapes after Google's API reference, "Generating content" (v1beta), and its Python SDK. What the system says before all others goes
to ``systemInstruction``; behind them there is no place for it. Signatures go back where they came from: with the call, or with the
text that they followed. What Gemini has no word for and what does not change the answer is left out: who the user is, the words of
earlier thoughts, empty texts, and how finely a picture is to be looked at.
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.execution.wire import chat, reading, speakers
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.gemini.names import DIALECT
from antiphon.execution.wire.gemini.thinking import thinking_config
from antiphon.execution.wire.gemini.turns import turns_of

MAX_STOPS: Final = 5
"""Stop sequences that the API takes."""
_MODES = {"auto": "AUTO", "required": "ANY", "tool": "ANY", "none": "NONE"}
_SEEDS: Final = range(-(2**31), 2**31)
_TAKES_NOTHING: Final = {"type": b'"object"', "properties": b"{}", "required": b"[]", "additionalProperties": b"false"}
"""The schema of a tool without parameters, which are then left out."""

_decode_schema = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def encode_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``generateContent`` and ``streamGenerateContent``; the model and whether to stream stand in the path.

    Raises UnsupportedParameter, naming the first field that the server cannot honour.
    """
    return reading.encode(fields_of(request, abilities))


def fields_of(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    """The fields of that body. Raises as ``encode_request`` does."""
    speakers.refuse_names(request)
    speakers.refuse_late_system(request)
    turns = turns_of(request, abilities)
    told: dict[str, Any] = {
        "contents": turns.contents,
        "systemInstruction": {"parts": turns.system} if turns.system else None,
        **_of_tools(request, abilities),
        "generationConfig": _config(request, abilities) or None,
    }
    body = {name: value for name, value in told.items() if value is not None}
    body.update(chat.own_fields(request, DIALECT))
    return body


def _config(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    _refuse(request, abilities)
    reasoning = request.reasoning or chat.Reasoning()
    told = {
        "maxOutputTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "topK": request.top_k,
        "stopSequences": list(request.stop) or None,
        "candidateCount": request.n,
        "seed": request.seed,
        "presencePenalty": request.presence_penalty,
        "frequencyPenalty": request.frequency_penalty,
        "responseLogprobs": request.logprobs or None,
        "logprobs": request.top_logprobs or None,
        "thinkingConfig": thinking_config(reasoning, request.model) if abilities.reasoning else None,
        **_format(request, abilities),
    }
    return {name: value for name, value in told.items() if value is not None}


def _refuse(request: ChatRequest, abilities: ChatAbilities) -> None:
    """Raise for the first setting that Gemini's API has no like of."""
    if request.max_tokens == 0:
        raise unsupported("max_tokens", "this model's server has no way to answer nothing", "give at least 1")
    if request.n not in (None, 1) and not abilities.n:
        raise unsupported("n", "this model gives one answer at a time", "leave it out, or ask several times")
    for name, asked in (("min_p", request.min_p), ("repetition_penalty", request.repetition_penalty not in (None, 1))):
        if asked:
            raise unsupported(name, "this model is behind an API that has nothing like it")
    for name, asked in (("logprobs", request.logprobs), ("top_logprobs", request.top_logprobs)):
        if asked and not abilities.logprobs:
            raise unsupported(name, "this model does not tell them")
    if request.top_logprobs and not request.logprobs:
        raise InvalidRequest("`top_logprobs` needs `logprobs`", remedy="set `logprobs` to true", param="top_logprobs")
    if request.seed is not None and request.seed not in _SEEDS:
        raise unsupported("seed", "this model's server takes 32 bits", "give a number between -2147483648 and 2147483647")
    if len(request.stop) > MAX_STOPS:
        raise unsupported(request.called("stop"), f"this model's server takes at most {MAX_STOPS}", "give fewer")


def _format(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    wanted = request.response_format
    if wanted is None or wanted.kind == "text":
        return {}
    told: dict[str, Any] = {"responseMimeType": "application/json"}
    if wanted.kind == "json_schema":
        if not abilities.json_schema:
            raise unsupported(request.called("response_format"), "this model does not keep to a schema")
        told["responseJsonSchema"] = wanted.schema
    return told


def _of_tools(request: ChatRequest, abilities: ChatAbilities) -> dict[str, Any]:
    if not request.tools:
        return {}
    if not abilities.tools:
        raise unsupported("tools", "this model does not call tools")
    declared: list[dict[str, Any]] = []
    others: list[Any] = []
    for place, tool in enumerate(request.tools):
        if tool.foreign is None:
            declared.append(_declaration(tool, f"tools[{place}]"))
        elif tool.foreign.dialect == DIALECT:
            others.append(tool.foreign.raw)
        else:
            kind = tool.foreign.kind[:200]
            raise unsupported(f"tools[{place}].type", f"this model's server has no tool of type {kind}")
    config = _calling(request)
    return {
        "tools": [*([{"functionDeclarations": declared}] if declared else []), *others],
        "toolConfig": {"functionCallingConfig": config} if config else None,
    }


def _calling(request: ChatRequest) -> dict[str, Any]:
    """Whether to call. With a tool that must be called exactly as declared, calls are held to what is declared."""
    choice = request.tool_choice
    mode = _MODES[choice.mode] if choice is not None else "AUTO"
    if request.parallel_tools is False and mode != "NONE":
        reason = "this model's server does not limit how many tools are called at once"
        raise unsupported(request.called("parallel_tool_calls"), reason)
    if mode == "AUTO" and any(tool.strict for tool in request.tools):
        return {"mode": "VALIDATED"}
    if choice is None:
        return {}
    return {"mode": mode, **({"allowedFunctionNames": [choice.name]} if choice.mode == "tool" else {})}


def _declaration(tool: chat.Tool, place: str) -> dict[str, Any]:
    for name in tool.extra:
        raise unsupported(f"{place}.{name}", "this model's server does not know it")
    schema = _decode_schema(tool.schema)
    schema.pop("$schema", None)  # which draft it keeps to is not for the model
    told: dict[str, Any] = {"name": tool.name, "description": tool.description or None}
    if not _takes_nothing(schema):
        told["parametersJsonSchema"] = schema
    return {name: value for name, value in told.items() if value is not None}


def _takes_nothing(schema: dict[str, msgspec.Raw]) -> bool:
    if "properties" not in schema or not schema.keys() <= _TAKES_NOTHING.keys():
        return False
    return all(b"".join(bytes(raw).split()) == _TAKES_NOTHING[name] for name, raw in schema.items())
