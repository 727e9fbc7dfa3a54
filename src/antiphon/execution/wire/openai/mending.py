"""Mends what servers of OpenAI's dialect tell as nobody should, in streams that go on as they came otherwise.

Calls of tools get the numbers 0, 1, 2 and an id each, whatever the server counted. Usage is told once, in an event without choices
before ``[DONE]``, to callers who asked for it and to nobody else: servers tell it with the last words, in every event, twice, in
fields of their own or never. Events that are as they should be keep their bytes.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from antiphon.core.types import Usage
from antiphon.execution.wire import reading
from antiphon.execution.wire.openai.call_counter import CallCounter, CallFunction, CallPiece
from antiphon.execution.wire.openai.fields import UsageFields
from antiphon.execution.wire.openai.passthrough import usage_from
from antiphon.execution.wire.reading import UNREADABLE
from antiphon.transport import sse

_HEAD: Final = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
_NOTHING: Final = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
"""What a caller who asked is told where the server tells nothing."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_decode_usage = msgspec.json.Decoder(UsageFields | None).decode


class Mender:
    """Mends one stream. ``usage`` is what the server told last."""

    def __init__(self, wants_usage: bool) -> None:
        self.usage: Usage | None = None
        self._wants_usage = wants_usage
        self._counters: dict[int, CallCounter] = {}
        self._told: set[tuple[int, int]] = set()
        """Calls that the caller has heard of, by choice and number."""
        self._held = b""
        """The event of usage that comes before ``[DONE]``, as the server wrote it."""
        self._counts: Any = None
        """What was used, where no such event told it."""

    def mended(self, raw: bytes) -> bytes:
        """Whole events, mended; the event of usage is held until the end. Those before the first that may need it are not read."""
        first = min(place for place in (raw.find(b'"tool_calls"'), raw.find(b'"usage"'), len(raw)) if place >= 0)
        begin = sse.beginning(raw, first)
        return raw[:begin] + b"".join(self._mended(event) for event in sse.split(raw[begin:]))

    def with_usage(self, raw: bytes, frames: bytes) -> bytes:
        """The last frame, its ``[DONE]`` behind the usage where that was asked for; ``frames`` are the last ones that came."""
        if not self._wants_usage:
            return raw
        held, self._held = self._held, b""
        if not held:
            head = _head_of(frames)
            usage = self._counts if self._counts is not None else _NOTHING
            held = sse.encode(reading.encode({**head, "choices": [], "usage": usage})) if head is not None else b""
        at = raw.rfind(b"data:", 0, raw.rfind(b"[DONE]"))
        return raw[:at] + held + raw[at:]

    def _mended(self, raw: bytes) -> bytes:
        if b'"usage"' not in raw and b'"tool_calls"' not in raw:
            return raw
        events = sse.parse(raw)
        if len(events) != 1 or events[0].data.strip() == "[DONE]":
            return raw
        try:
            chunk = _decode(events[0].data.encode())
        except UNREADABLE:
            return raw  # none of ours to judge
        choices = chunk.get("choices")
        choices = choices if isinstance(choices, list) else []
        for usage in _usages(chunk, choices):
            self._count(usage)
        changed = isinstance(chunk.get("usage"), dict)
        if changed and not choices:
            self._held, self._counts = raw, None
            return b""
        if changed:
            chunk["usage"] = None
        for place, choice in enumerate(choices):
            if isinstance(choice, dict):
                changed = self._mend_calls(choice, place) or changed
        return sse.encode(reading.encode(chunk)) if changed else raw

    def _count(self, usage: dict[str, Any]) -> None:
        try:
            told = usage_from(_decode_usage(reading.encode(usage)))
        except msgspec.ValidationError:
            return  # what is no count is not told on
        if told is not None:
            self.usage, self._counts, self._held = told, usage, b""

    def _mend_calls(self, choice: dict[str, Any], place: int) -> bool:
        """Number the calls of a choice anew. Gives back whether anything had to be changed."""
        delta, index = choice.get("delta"), choice.get("index")
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        number = index if isinstance(index, int) else place
        counter = self._counters.setdefault(number, CallCounter())
        changed = False
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                changed = self._mend_call(call, number, counter) or changed
        return changed

    def _mend_call(self, call: dict[str, Any], number: int, counter: CallCounter) -> bool:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments, index, identity = function.get("name"), function.get("arguments"), call.get("index"), call.get("id")
        piece = CallPiece(
            index if isinstance(index, int) else None,
            identity if isinstance(identity, str) and identity else None,
            CallFunction(name if isinstance(name, str) and name else None),
        )
        place = counter.place_of(piece)
        known = counter.calls[place]
        known.name = known.name or (piece.function.name if piece.function is not None else "") or ""
        changed = index != place
        call["index"] = place
        if arguments is not None and not isinstance(arguments, str):
            function["arguments"] = arguments = reading.encode(arguments).decode()
            changed = True
        if arguments:
            known.arguments.add(arguments)
        if (number, place) not in self._told:
            self._told.add((number, place))
            changed = changed or identity != known.id
            call["id"] = known.id
        elif identity is not None and identity != known.id:
            del call["id"]
            changed = True
        return changed


def _usages(chunk: dict[str, Any], choices: list[Any]) -> Iterator[dict[str, Any]]:
    """Wherever servers tell usage: at its place, with a choice as Moonshot does, or in Groq's own field."""
    groq = chunk.get("x_groq")
    for place in (*choices, groq, chunk):
        if isinstance(place, dict) and isinstance(place.get("usage"), dict):
            yield place["usage"]


def _head_of(frames: bytes) -> dict[str, Any] | None:
    """What the events of an answer begin with, from the last one that says something; None where none does."""
    for event in reversed(sse.parse(frames)):
        try:
            chunk = _decode(event.data.encode())
        except UNREADABLE:
            continue
        if isinstance(chunk.get("choices"), list):
            return {name: chunk[name] for name in _HEAD if name in chunk}
    return None
