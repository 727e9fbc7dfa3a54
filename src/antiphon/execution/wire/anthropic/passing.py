"""How answers of servers that speak Anthropic's dialect go on as they came."""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire.anthropic.answer_reader import STATUSES
from antiphon.execution.wire.anthropic.request_reader import DIALECT
from antiphon.execution.wire.anthropic.usage import UsageReader
from antiphon.execution.wire.dialect import Passing
from antiphon.execution.wire.reading import NULL, UNREADABLE
from antiphon.transport import sse


class _Message(msgspec.Struct):
    usage: msgspec.Raw = NULL
    error: Any = None


class _Delta(msgspec.Struct):
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    delta: _Delta | None = None
    usage: msgspec.Raw = NULL
    error: Any = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_WATCHED = (b"message_", b"error")
"""What stands in the events that a watch must read."""
_CONTENT = (b"content_block_start", b"content_block_delta", b"message_delta")
"""What stands in the events that a reader sees something of."""


class Watch:
    """Watches a streamed answer go by: it must end in ``message_stop``."""

    def __init__(self, hides_usage: bool) -> None:
        self.ended = False
        self.begun = False
        self.failure: UpstreamRefused | None = None
        self._usage = UsageReader()
        self._reason = False

    def take(self, raw: bytes) -> bytes:
        """What of whole events is passed on, up to ``message_stop`` or an error."""
        self.begun = self.begun or any(word in raw for word in _CONTENT)
        if not any(word in raw for word in _WATCHED):
            return raw
        length = 0
        for event in sse.split(raw):
            if any(word in event for word in _WATCHED) and self._failed(event):
                return raw[:length]
            length += len(event)
            if self.ended:
                return raw[:length]
        return raw

    def finish(self) -> bytes:
        """``message_stop``, where the answer was complete without it. Raises UpstreamBroken where it was not."""
        if not self._reason:
            raise UpstreamBroken("the model's server ended its stream without a stop reason: the answer is cut off")
        return b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

    def usage(self) -> Usage | None:
        """What was used, as far as the server told it."""
        return self._usage.usage()

    def _failed(self, raw: bytes) -> bool:
        """Read what an event tells of the end and of the usage, and say whether it tells of an error."""
        for event in sse.parse(raw):
            data = event.data.encode()
            try:
                told = _decode_event(data)
            except UNREADABLE:
                continue  # none of ours to judge: it goes on as it came
            if told.type == "error" and told.error is not None:
                self.failure = told_error(told.error, data)
                return True
            if told.message is not None:
                self._usage.count(told.message.usage)
            self._usage.count(told.usage)
            self._reason = self._reason or bool(told.delta is not None and told.delta.stop_reason)
            self.ended = self.ended or told.type == "message_stop"
        return False


def read_passed(body: bytes) -> tuple[Usage | None, UpstreamRefused | None]:
    """Usage and failure of an answer in one piece. Raises one of ``UNREADABLE``."""
    message = _decode_message(body)
    usage = UsageReader()
    usage.count(message.usage)
    return usage.usage(), told_error(message.error, body) if message.error is not None else None


def told_error(error: Any, body: bytes) -> UpstreamRefused:
    """The error that a server told under a status of success, with the status that belongs to its type."""
    kind = error.get("type") if isinstance(error, dict) else None
    return UpstreamRefused(STATUSES.get(kind, 502) if isinstance(kind, str) else 502, body, dialect=DIALECT)


PASSING: Final = Passing(read_passed, Watch)
