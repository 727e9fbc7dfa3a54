"""Right outcomes made wrong in small ways, so that each check can be seen to notice.

An answer of another status or one that breaks off is not among them, since every check would notice that.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from antiphon.testing.fidelity.outcome import Answer, Outcome, Wait
from antiphon.transport.sse import Event, parse

LARGE = 200_000
"""Bytes of an answer from which only the cheap ways are tried."""
MANY = 400
"""Events of an answer from which the same holds."""
FOREIGN = msgspec.json.encode({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})


def spoilt(outcome: Outcome) -> Iterator[tuple[str, Outcome]]:
    """The outcome, spoilt, and how."""
    for how, answer in _answers(outcome):
        yield how, msgspec.structs.replace(outcome, answer=answer)
    for how, sent in _requests(outcome):
        yield how, msgspec.structs.replace(outcome, sent=sent)
    replace = msgspec.structs.replace
    yield "the server is asked twice", replace(outcome, asked=outcome.asked * 2)
    yield "the server is asked though it should not be", replace(outcome, asked=outcome.asked or (None,))
    yield "the server is held for long", replace(outcome, closed_after=9.0)
    yield "the server is held for ever", replace(outcome, closed_after=None)
    yield "text is held back", replace(outcome, held_back=True)
    yield "others wait", replace(outcome, waits=(Wait(0.1), Wait(9.0)))
    yield "others are refused", replace(outcome, waits=(Wait(0.1, "status 500"),))


def _answers(outcome: Outcome) -> Iterator[tuple[str, Answer]]:
    answer = outcome.answer
    replace = msgspec.structs.replace
    yield "without headers", replace(answer, headers=())
    yield "other headers", replace(answer, headers=tuple((name, b"3600") for name, _ in answer.headers))
    yield "taken for a whole stream", Answer(200, (), answer.body + b"data: [DONE]\n\n")
    yield "taken for a whole message", Answer(200, (), answer.body + b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
    yield "nothing behind what there is", replace(answer, status=200, fault="")
    for how, body in _bodies(outcome):
        yield how, replace(answer, body=body)


def _bodies(outcome: Outcome) -> Iterator[tuple[str, bytes]]:
    body = outcome.answer.body
    if outcome.streamed and outcome.answer.status < 400:
        objects, write = _lines(body) if outcome.callers == "ollama" else _events(body)
    else:
        objects, write = _whole(body)
    costly = len(body) < LARGE and len(objects) < MANY
    for at in range(min(len(objects), 40)) if costly else (0,):
        yield f"object {at} is lost", write(objects[:at] + objects[at + 1 :])
        yield f"object {at} comes twice", write(objects[: at + 1] + objects[at:])
    yield "all objects in one", write(objects[:1])
    yield "in another order", write(objects[::-1])
    yield "more behind the end", body + b"data: " + FOREIGN + b"\n\n"
    yield "the usage told once more", body.replace(b"data: [DONE]", b"data: " + FOREIGN + b"\n\ndata: [DONE]")
    for how, change in _changes(objects, costly=costly):
        yield how, write([change(copy.deepcopy(one)) for one in objects])


def _requests(outcome: Outcome) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    for body in outcome.sent[-1:]:
        try:
            value = msgspec.json.decode(body)
        except msgspec.DecodeError:
            continue
        if isinstance(value, dict):
            yield "the request has one field more", (msgspec.json.encode({**value, "a_field_more": 1}),)
        for how, change in _changes([value], costly=len(body) < LARGE):
            yield f"request: {how}", (msgspec.json.encode(change(copy.deepcopy(value))),)


# -- bodies as objects, and back


def _events(body: bytes) -> tuple[list[Any], Callable[[list[Any]], bytes]]:
    names: dict[int, str] = {}
    objects: list[Any] = []
    for event in parse(body):
        value = _decoded(event)
        names[id(value)] = event.event
        objects.append(value)

    def write(changed: list[Any]) -> bytes:
        return b"".join(_event(value) for value in changed)

    return objects, write


def _decoded(event: Event) -> Any:
    try:
        return msgspec.json.decode(event.data)
    except msgspec.DecodeError:
        return event.data


def _event(value: Any) -> bytes:
    if isinstance(value, str):
        return f"data: {value}\n\n".encode()
    kind = value.get("type") if isinstance(value, dict) else None
    name = f"event: {kind}\n".encode() if isinstance(kind, str) else b""
    return name + b"data: " + msgspec.json.encode(value) + b"\n\n"


def _lines(body: bytes) -> tuple[list[Any], Callable[[list[Any]], bytes]]:
    return [msgspec.json.decode(line) for line in body.splitlines() if line], lambda changed: b"\n".join(
        msgspec.json.encode(value) for value in changed
    )


def _whole(body: bytes) -> tuple[list[Any], Callable[[list[Any]], bytes]]:
    try:
        return [msgspec.json.decode(body)], lambda changed: b"".join(msgspec.json.encode(value) for value in changed)
    except msgspec.DecodeError:
        return [], lambda _: b""


# -- changes of JSON


def _changes(objects: list[Any], *, costly: bool) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    yield "every text is longer", _each(lambda value: value + "!" if isinstance(value, str) and value != "[DONE]" else value)
    yield "every number is larger", _each(lambda value: value + 1 if type(value) in (int, float) else value)
    yield "lists are turned", _each(lambda value: value[::-1] if isinstance(value, list) else value)
    yield "fields are turned", _each(lambda value: dict(reversed(value.items())) if isinstance(value, dict) else value)
    yield "lists lose their last", _each(lambda value: value[:-1] if isinstance(value, list) else value)
    if not costly:
        return
    for name in sorted({name for one in objects for name in _names(one)}):
        yield f"without `{name}`", _without(name)
        yield f"another `{name}`", _with_another(name)


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if isinstance(value, dict):
            value = {name: apply(inner) for name, inner in value.items()}
        elif isinstance(value, list):
            value = [apply(inner) for inner in value]
        return change(value)

    return apply


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _names(inner)


def _without(name: str) -> Callable[[Any], Any]:
    return _each(lambda value: {key: inner for key, inner in value.items() if key != name} if isinstance(value, dict) else value)


def _with_another(name: str) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if isinstance(value, dict) and name in value:
            return {**value, name: _another(value[name])}
        return value

    return _each(change)


def _another(value: Any) -> Any:
    match value:
        case bool() | None:
            return "another"
        case str():
            return f"{value}?"
        case int() | float():
            return value + 1
        case list():
            return [*value, *value]
    return {"another": True}
