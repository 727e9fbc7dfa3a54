"""Answers of OpenAI's chat completions and completions, streamed or in one piece."""

from typing import Any

import msgspec

from antiphon.testing.fidelity.outcome import Outcome, decoded
from antiphon.testing.fidelity.reading.events import shaped, succeeded, told, without_error
from antiphon.testing.fidelity.reading.reply import Called, Reply, Spoken, Thought


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Custom(msgspec.Struct):
    name: str | None = None
    input: str | None = None


class _CallDelta(msgspec.Struct):
    index: int
    id: str | None = None
    type: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_CallDelta] | None = None
    function_call: _Function | None = None


class _StreamedChoice(msgspec.Struct):
    index: int
    delta: _Delta | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None


class _Chunk(msgspec.Struct):
    choices: list[_StreamedChoice]
    usage: dict[str, Any] | None = None


class _Call(msgspec.Struct):
    id: str
    type: str = "function"
    function: _Function | None = None
    custom: _Custom | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _WholeChoice(msgspec.Struct):
    index: int
    finish_reason: str | None = None
    message: _Message | None = None
    text: str | None = None
    logprobs: dict[str, Any] | None = None


class _Whole(msgspec.Struct):
    choices: list[_WholeChoice]
    usage: dict[str, Any] | None = None


def read(outcome: Outcome) -> Reply:
    """The answer. Raises Miss where it is none."""
    body = succeeded(outcome)
    return _streamed(without_error(told(body))) if outcome.streamed else _whole(decoded(body, "the answer"))


def so_far(body: bytes) -> Reply:
    """What a stream told, whether it came to an end or not."""
    return _streamed([value for value in told(body) if not value.get("error")])


def _streamed(objects: list[dict[str, Any]]) -> Reply:
    reply = Reply(objects=objects)
    calls: dict[int, dict[int, Called]] = {}
    for value in objects:
        chunk = shaped(value, _Chunk, "an event")
        if chunk.usage is not None:
            reply.usage.append(chunk.usage)
        for choice in chunk.choices:
            spoken = reply.choice(choice.index)
            spoken.text += choice.text or ""
            spoken.finish = choice.finish_reason or spoken.finish
            spoken.logprobs += [choice.logprobs] if choice.logprobs else []
            if choice.delta is not None:
                _add(choice.delta, spoken, calls.setdefault(choice.index, {}))
    return reply


def _add(delta: _Delta, spoken: Spoken, calls: dict[int, Called]) -> None:
    spoken.text += delta.content or ""
    spoken.refusal += delta.refusal or ""
    _think(spoken, delta.reasoning_content or delta.reasoning)
    for piece in delta.tool_calls or ():
        call = calls.get(piece.index)
        if call is None:
            call = calls[piece.index] = Called(id=piece.id or "", type=piece.type or "function")
            spoken.calls = [calls[index] for index in sorted(calls)]
        named = piece.function or piece.custom
        call.name += (named.name or "") if named is not None else ""
        call.arguments += _words(piece.function, piece.custom)
    if delta.function_call is not None:
        call = calls.get(-1)
        if call is None:
            call = calls[-1] = Called(type="function_call")
            spoken.calls.append(call)
        call.name += delta.function_call.name or ""
        call.arguments += delta.function_call.arguments or ""


def _whole(value: Any) -> Reply:
    answer = shaped(value, _Whole, "the answer")
    reply = Reply(objects=[value], usage=[answer.usage] if answer.usage is not None else [])
    for choice, raw in zip(answer.choices, value["choices"], strict=True):
        spoken = reply.choice(choice.index)
        spoken.finish = choice.finish_reason
        spoken.logprobs += [choice.logprobs] if choice.logprobs else []
        spoken.text = choice.text or ""
        message = choice.message
        if message is None:
            continue
        spoken.raw = raw["message"]
        spoken.text += message.content or ""
        spoken.refusal = message.refusal or ""
        _think(spoken, message.reasoning_content or message.reasoning)
        for call in message.tool_calls or ():
            named = call.function or call.custom
            name = (named.name or "") if named is not None else ""
            spoken.calls.append(Called(name, call.id, _words(call.function, call.custom), call.type))
        if message.function_call is not None:
            called = message.function_call
            spoken.calls.append(Called(called.name or "", "", called.arguments or "", "function_call"))
    return reply


def _think(spoken: Spoken, text: str | None) -> None:
    if text:
        spoken.thoughts.append(Thought(text))


def _words(function: _Function | None, custom: _Custom | None) -> str:
    if function is not None:
        return function.arguments or ""
    return (custom.input or "") if custom is not None else ""
