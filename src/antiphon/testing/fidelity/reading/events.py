"""The events of an answer, and the errors that it tells."""

from typing import Any, TypeVar

import msgspec

from antiphon.testing.fidelity.outcome import Outcome, decoded, miss, shown
from antiphon.transport.sse import Event, parse

Shape = TypeVar("Shape")


def succeeded(outcome: Outcome) -> bytes:
    """The body of an answer that came whole and with status 200. Raises Miss for any other."""
    if outcome.answer.status != 200:
        miss(f"the gateway answered {outcome.summary}")
    whole(outcome)
    return outcome.answer.body


def whole(outcome: Outcome) -> None:
    """Raises Miss where the answer broke off."""
    if outcome.answer.fault:
        miss(f"the answer broke off behind {len(outcome.answer.body)} bytes: {outcome.answer.fault}")


def events(body: bytes) -> list[Event]:
    """Server-sent events. One that the end of the stream cut off does not count. Raises Miss for what is not UTF-8."""
    found = parse(body)
    if found and not body.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")) and not _is_complete(found[-1]):
        found.pop()
    if any("\ufffd" in event.data for event in found):
        _must_be_utf8(body)
    return found


def _is_complete(event: Event) -> bool:
    try:
        msgspec.json.decode(event.data)
    except msgspec.DecodeError:
        return event.data.strip() == "[DONE]"
    return True


def _must_be_utf8(body: bytes) -> None:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        miss(f"the stream is not UTF-8: {error}")


def told(body: bytes) -> list[dict[str, Any]]:
    """The JSON objects of a stream up to ``[DONE]``. Raises Miss for an event that is none."""
    objects = []
    for event in events(body):
        if event.data.strip() == "[DONE]":
            break
        value = decoded(event.data.encode(), "an event")
        if not isinstance(value, dict):
            miss(f"an event is not an object: {shown(value)}")
        objects.append(value)
    return objects


def error_in(value: dict[str, Any]) -> Any:
    """The error that an event tells; None where it tells none."""
    return value.get("error") or (value if value.get("type") in ("error", "response.failed") else None)


def without_error(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same. Raises Miss where one of them tells an error."""
    for value in objects:
        if error := error_in(value):
            miss(f"the stream tells an error: {shown(error)}")
    return objects


def shaped(value: Any, shape: type[Shape], what: str) -> Shape:
    """A value as its documented shape. Raises Miss where it has another."""
    try:
        return msgspec.convert(value, type=shape)
    except msgspec.ValidationError as error:
        miss(f"{what} is not as documented: {error}; it is {shown(value)}")
