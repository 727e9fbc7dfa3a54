"""How responses of servers that speak the dialect themselves go on as they came."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.dialect import Passing
from antiphon.execution.wire.reading import NULL, UNREADABLE, Count, encode
from antiphon.execution.wire.responses import ids, thoughts
from antiphon.execution.wire.responses.request_reader import DIALECT
from antiphon.transport import sse

_BEFORE_CONTENT = frozenset(("", "response.created", "response.in_progress", "response.queued", "keepalive"))
"""Events of which a reader would see nothing; a comment has no name."""
_LAST = frozenset(("response.completed", "response.incomplete"))
_BROKEN = frozenset(("response.failed", "error"))
_READ = _LAST | _BROKEN
_STATUSES = {"rate_limit_exceeded": 429, "invalid_prompt": 400, "server_error": 500}
"""The status of each error that a response may have; 502 of any other."""
_OURS = re.compile(rb'_ap[0-9a-f]{32}|"antiphon\.')
"""Stands in every name of ours, and in every thought that was packed here."""


class _InputDetails(msgspec.Struct):
    cached_tokens: Count | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: Count | None = None


class _Usage(msgspec.Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Response(msgspec.Struct):
    usage: msgspec.Raw = NULL
    error: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    response: _Response | None = None
    message: Any = None
    code: Any = None
    param: Any = None
    error: Any = None


class _Item(msgspec.Struct):
    id: Any = None
    type: Any = None
    encrypted_content: Any = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_response = msgspec.json.Decoder(_Response).decode
_decode_usage = msgspec.json.Decoder(_Usage | None).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_item = msgspec.json.Decoder(_Item).decode


class Watch:
    """Watches a streamed response go by, which ends with one of three events; the last one tells what was used."""

    def __init__(self, hides_usage: bool) -> None:
        self.ended = False
        self.begun = False
        self.failure: UpstreamRefused | None = None
        self._usage: Usage | None = None

    def take(self, raw: bytes) -> bytes:
        """What is passed on: all, but for what follows the end or an error.

        That the response has failed goes on too, unless nothing of it was seen yet and another server may be asked.
        """
        if b"data" not in raw:
            return raw  # comments, of which a server may send any number
        length = 0
        for event, told in _each(raw):
            if told.type in _BROKEN:
                self.failure = _failure(told)
                passed = self.begun and told.type != "error"
                return raw[: length + len(event)] if passed else raw[:length]
            length += len(event)
            self.begun = self.begun or told.type not in _BEFORE_CONTENT
            if told.type in _LAST:
                self.ended = True
                self._usage = _used(told.response.usage) if told.response is not None else None
                return raw[:length]
        return raw

    def finish(self) -> bytes:
        """Nothing is left to be said. Raises UpstreamBroken where the response did not come to its end."""
        raise UpstreamBroken("the model's server ended its stream before the response was complete: the answer is cut off")

    def usage(self) -> Usage | None:
        """What was used, as far as the server told it."""
        return self._usage


def read_passed(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of a response in one piece, each None where it tells none. Raises one of ``UNREADABLE``."""
    response = _decode_response(body)
    return _used(response.usage), _told_error(response.error) if response.error is not None else None


def for_server(body: bytes) -> bytes:
    """A request without what only this gateway understands: its names of responses and items, and the thoughts that it packed.

    What it continues is in ``input`` already. A request that has nothing of it stays as it is.
    """
    if not _has_ours(body):
        return body
    fields = _decode_fields(body)
    previous, given = bytes(fields.get("previous_response_id", NULL)), bytes(fields.get("input", NULL))
    told: dict[str, Any] = dict(fields)
    if previous.startswith(b'"') and ids.is_ours(msgspec.json.decode(previous)):
        del told["previous_response_id"]
    items = _decode_items(given) if given.startswith(b"[") else []
    theirs = [item for raw in items for item in _for_server(raw)]
    if theirs != items:
        told["input"] = theirs
    return body if told == fields else encode(told)


def _has_ours(raw: bytes) -> bool:
    return (b"_ap" in raw or b'"antiphon.' in raw) and _OURS.search(raw) is not None  # the first look is by far the cheapest


def _for_server(raw: msgspec.Raw) -> list[Any]:
    """An item without its name; none for a thought that nobody but us can read."""
    if not _has_ours(bytes(raw)):
        return [raw]
    try:
        item = _decode_item(raw)
    except msgspec.ValidationError:  # no object: its server will say so
        return [raw]
    if item.type == "reasoning" and isinstance(item.encrypted_content, str) and thoughts.unpack(item.encrypted_content):
        return []
    if not (isinstance(item.id, str) and ids.response_of(item.id)):
        return [raw]
    return [{name: value for name, value in _decode_fields(raw).items() if name != "id"}]


def _each(raw: bytes) -> Iterator[tuple[bytes, _Event]]:
    """The events of a frame, each with what it tells. Its name stands before it, so mostly its data need not be read."""
    for event in sse.split(raw):
        name = event[6 : event.find(b"\n")].strip().decode("utf-8", "replace") if event.startswith(b"event:") else ""
        told = _Event(name)
        if b"data" in event and (not name or name in _READ):
            for parsed in sse.parse(event):
                try:
                    told = _decode_event(parsed.data.encode())
                except UNREADABLE:
                    told = _Event(parsed.event or "unreadable")
        yield event, told


def _failure(told: _Event) -> UpstreamRefused:
    if told.response is not None:
        return _told_error(told.response.error)
    error = told.error if told.error is not None else {"message": told.message, "code": told.code, "param": told.param}
    return _told_error(error)


def _told_error(error: Any) -> UpstreamRefused:
    """The error that a server told under a status of success, with the status that belongs to its code."""
    told = error if isinstance(error, dict) else {"message": error if isinstance(error, str) else None}
    code = told.get("code")
    status = _STATUSES.get(code, 502) if isinstance(code, str) else 502
    whole = {**told, "message": told.get("message") or "the model's server could not complete its response"}
    return UpstreamRefused(status, encode({"error": whole}), dialect=DIALECT)


def _used(raw: msgspec.Raw) -> Usage | None:
    try:
        usage = _decode_usage(raw)
    except msgspec.ValidationError:
        return None  # what is no count is not told on
    if usage is None:
        return None
    asked, answered = usage.input_tokens or 0, usage.output_tokens or 0
    cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details is not None else 0
    thought = usage.output_tokens_details.reasoning_tokens if usage.output_tokens_details is not None else 0
    return Usage(asked, answered, usage.total_tokens or asked + answered, cached or 0, thought or 0)


PASSING: Final = Passing(read_passed, Watch)
