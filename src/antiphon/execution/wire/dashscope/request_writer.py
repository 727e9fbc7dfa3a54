"""A request in the form that belongs to no vendor, written for DashScope's generation endpoints.

Messages and parameters are worded as OpenAI's, in an envelope of ``input`` and ``parameters``. What its clients say by name in
OpenAI's dialect beyond that (``enable_thinking``, ``enable_search`` and the like) is taken over. Models that read text alone have
one endpoint, in which a content is a text; those that see or hear have another, in which it is a list of parts.

The answer is always asked for as a stream: thinking, and some models altogether, come in no other way.
"""

from collections.abc import Callable, Iterable
from typing import Any

from antiphon.execution.wire import chat, reading, speakers
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest, unsupported
from antiphon.execution.wire.openai import request_writer as openai

DIALECT = "dashscope"
_PARAMETERS = frozenset(
    {
        "enable_code_interpreter", "enable_search", "enable_thinking", "max_completion_tokens", "max_pixels", "preserve_thinking",
        "search_options", "thinking_budget", "tool_stream", "translation_options",
        "vl_high_resolution_images",
    }
)  # fmt: skip
"""Parameters of DashScope's that callers of OpenAI's dialect give by the same name."""
_PARAGRAPH = "\n\n"

_Content = Callable[[Iterable[chat.Part], chat.Message, ChatAbilities], Any]


def encode_text_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``text-generation``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    return _encode(request, abilities, _as_text)


def encode_multimodal_request(request: ChatRequest, abilities: ChatAbilities) -> bytes:
    """The body for ``multimodal-generation``. Raises UnsupportedParameter, naming the first field that the server cannot honour."""
    return _encode(request, abilities, _as_parts)


def _encode(request: ChatRequest, abilities: ChatAbilities, content: _Content) -> bytes:
    if request.frequency_penalty:
        raise unsupported(request.called("frequency_penalty"), "this model's server does not know it", "give `presence_penalty`")
    speakers.refuse_names(request)
    for place, tool in enumerate(request.tools):
        if tool.foreign is not None:
            raise unsupported(f"tools[{place}].type", f"this model's server has no tool of type {tool.foreign.kind[:200]}")
    parameters: dict[str, Any] = {
        "result_format": "message",
        "incremental_output": True,
        **openai.tool_fields(request, abilities),
        **openai.sampling_fields(request, abilities),
        **openai.answer_fields(request, abilities),
        **chat.own_fields(request, DIALECT, _PARAMETERS),
    }
    messages = [told for message in request.messages for told in _messages(message, abilities, content)]
    return reading.encode({"model": request.model, "input": {"messages": messages}, "parameters": parameters})


def _messages(message: chat.Message, abilities: ChatAbilities, content: _Content) -> Iterable[dict[str, Any]]:
    match message.role:
        case "tool":
            results = [part for part in message.parts if isinstance(part, chat.ToolResult)]
            return [
                {"role": "tool", "tool_call_id": result.call_id, "content": content(_marked(result), message, abilities)}
                for result in results
            ]
        case "assistant":
            return [_assistant(message, abilities, content)]
        case "user":
            return [{"role": "user", "content": content(message.parts, message, abilities)}]
    return [{"role": "system", "content": content(message.parts, message, abilities)}]


def _marked(result: chat.ToolResult) -> Iterable[chat.Part]:
    """What a tool gave back; that it failed is told in words before."""
    if not result.is_error:
        return result.parts
    first = result.parts[0] if result.parts else None
    if isinstance(first, chat.Text):
        return (chat.Text(f"Error: {first.text}"), *result.parts[1:])
    return (chat.Text("Error:"), *result.parts)


def _assistant(message: chat.Message, abilities: ChatAbilities, content: _Content) -> dict[str, Any]:
    said = [part for part in message.parts if not isinstance(part, chat.ToolCall | chat.Thinking | chat.RedactedThinking)]
    body: dict[str, Any] = {"role": "assistant", "content": content(said, message, abilities)}
    thought = "".join(part.text for part in message.parts if isinstance(part, chat.Thinking))
    if thought and abilities.reasoning_back:
        body["reasoning_content"] = thought
    calls = [part for part in message.parts if isinstance(part, chat.ToolCall)]
    if calls:
        body["tool_calls"] = [_call(place, call) for place, call in enumerate(calls)]
    return body


def _call(place: int, call: chat.ToolCall) -> dict[str, Any]:
    return {"index": place, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _as_text(parts: Iterable[chat.Part], message: chat.Message, abilities: ChatAbilities) -> str:
    """Parts as one text: those of an answer go on where the one before ended, others are paragraphs."""
    texts: list[str] = []
    for part in parts:
        told = _part(part, message, abilities)
        if "text" not in told:
            kind = type(part).__name__.lower()
            raise unsupported(f"{message.place}.content", f"this model takes no part of type {kind}", "send text instead")
        texts.append(told["text"])
    return ("" if message.role == "assistant" else _PARAGRAPH).join(texts)


def _as_parts(parts: Iterable[chat.Part], message: chat.Message, abilities: ChatAbilities) -> list[dict[str, str]]:
    return [_part(part, message, abilities) for part in parts]


def _part(part: chat.Part, message: chat.Message, abilities: ChatAbilities) -> dict[str, str]:
    match part:
        case chat.Text() | chat.Refusal():
            return {"text": part.text}
        case chat.Image() if abilities.images:
            return {"image": f"data:{part.media_type};base64,{part.data}" if part.data else part.url}
        case chat.Audio() if abilities.audio:
            return {"audio": f"data:audio/{part.format};base64,{part.data}"}
        case chat.Document(data="", url="", citations=False):
            return {"text": _PARAGRAPH.join(text for text in (part.title, part.context, part.text) if text)}
    kind = part.kind if isinstance(part, chat.Foreign) else type(part).__name__.lower()
    raise unsupported(f"{message.place}.content", f"this model takes no part of type {kind[:200]}", "send text instead")
