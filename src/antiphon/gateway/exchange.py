"""One call at the door: it holds the caller's response open, and is the sink of whoever answers."""

import secrets
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from antiphon.core.errors import AntiphonError, ClientGone, UpstreamRefused
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import ANONYMOUS, Call, Frame, Headers, Principal, Usage
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.gateway import errors
from antiphon.gateway.metered import Metered
from antiphon.governance.guarding.rules import Acts
from antiphon.transport.server import Request, Responder

NO_USAGE: Final = Usage()
_NOT_PASSED_ON: Final = frozenset(
    (
        b"server",
        b"date",
        b"set-cookie",
        b"request-id",
        b"x-request-id",
        b"content-encoding",
        b"strict-transport-security",
        b"alt-svc",
        b"via",
    )
)
_FRAMED: Final = frozenset((b"text/event-stream", b"application/x-ndjson"))
_MAX_ID: Final = 128
_MAX_NAMES, _MAX_LINE = 100, 4000
"""Fields that were left out, and their characters, that a header tells by their names."""
_PREFIX: Final = f"req_{secrets.token_hex(8)}_"
"""Tells the ids of this process from those of all others; the rest of an id is a number that goes up."""
_numbers = count(1)
_OVER: Final = Request("", b"", {}, b"")
"""The request of a call that is over."""


def new_id() -> str:
    """An id that no other request has, in no process."""
    return _PREFIX + str(next(_numbers))


def request_id(request: Request) -> str:
    """The id that the caller gave in ``x-request-id`` where it is short and printable, else a new one."""
    given = request.header(b"x-request-id")
    if given and len(given) <= _MAX_ID and given.isascii() and given.decode().isprintable():
        return given.decode()
    return new_id()


def _nothing() -> None:
    """Goes on with a call that waits for nothing."""


def _list(names: list[str]) -> str:
    """Names in one line, the first of them where there are too many for a header."""
    line = ", ".join(names[:_MAX_NAMES])
    return f"{line[:_MAX_LINE]}, and more; {len(names)} in all" if len(names) > _MAX_NAMES or len(line) > _MAX_LINE else line


class Exchange:
    """A call from its request to its last byte. ``on_close`` runs exactly once, whatever happened."""

    __slots__ = (
        "_body",
        "_closed",
        "_head",
        "_last",
        "_on_close",
        "_started",
        "acts",
        "asked",
        "call",
        "cost",
        "dialect",
        "endpoint",
        "error",
        "estimated",
        "events",
        "first_at",
        "go_on",
        "handle",
        "id",
        "metered",
        "model",
        "principal",
        "request",
        "responder",
        "sink",
        "status",
        "t0",
        "usage",
    )

    def __init__(self, on_close: "Callable[[Exchange], None]", endpoint: str, request: Request, responder: Responder) -> None:
        self._on_close = on_close
        self.endpoint = endpoint
        self.dialect = ENDPOINTS[endpoint].caller.name
        self.request = request
        self.responder = responder
        self.id = request_id(request)
        self.t0 = time.monotonic()
        self.first_at = 0.0
        self.principal: Principal = ANONYMOUS
        self.call: Call | None = None
        self.model: Model | None = None
        self.handle: Handle | None = None
        self.status = 0
        self.error: AntiphonError | None = None
        self.usage = NO_USAGE
        self.metered: Metered | None = None
        self.asked: Any = None
        """What the caller says, while guardrails look at it: stage 4's own."""
        self.acts: Acts | None = None
        """What guardrails did; None where none holds."""
        self.sink: Sink | None = None
        """What guards the model's answer before it comes here."""
        self.events = 0
        self.cost = 0
        self.estimated = False
        self.go_on: Callable[[], None] = _nothing
        self._head: tuple[int, Headers] | None = None
        self._body: list[bytes] = []
        self._last = b""
        self._started = False
        self._closed = False

    # -- sink of the model

    def head(self, status: int, headers: Headers) -> None:
        kept = [field for field in headers if field[0] not in _NOT_PASSED_ON]
        kept += errors.id_headers(self.id, self.dialect)
        if self.call is not None and self.call.trail:
            kept.append((b"x-antiphon-model", self.call.target.encode("utf-8", "replace")))
        if self.call is not None and self.call.dropped:
            kept.append((b"x-antiphon-dropped", _list(self.call.dropped).encode("ascii", "replace")))
        kept += self._told()
        self._head = (status, tuple(kept))
        self.status = status

    def frame(self, frame: Frame) -> None:
        raw = self._last = frame.raw
        if self.metered is not None:
            self.events += raw.count(b"data:") or 1
        if self._started:
            self.responder.write(raw)
            return
        call = self.call
        if call is not None and call.stream and self._head is not None:
            self._started = True
            self.first_at = time.monotonic()
            self.responder.start(*self._head, raw)
        else:
            self._body.append(raw)

    def end(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage = usage
        if self._started:
            self.responder.end()
        elif self._head is not None:
            body = self._body
            self.responder.send(*self._head, body[0] if len(body) == 1 else b"".join(body))
        self.close()

    def fail(self, error: AntiphonError) -> None:
        """Tell the caller: as the whole response before the first byte, as an event behind it; sounds and the like are cut off."""
        error.forget_origin()
        self.error = error
        if not self._started:
            self.status = errors.refuse(self.responder, error, self.id, self.dialect, self._told())
        elif self._in_frames():
            self.responder.end(errors.event_of(error, self.id, self.dialect, self._last))
        else:
            self.responder.abort()
        self.close()

    def _told(self) -> Headers:
        """Fields that tell of an answer that is not the asked model's, and of what guardrails did."""
        told: list[tuple[bytes, bytes]] = []
        if self.call is not None and self.call.routings and (degraded := self.call.degraded):
            told.append((b"x-antiphon-degraded", degraded.encode("utf-8", "replace")))
        if self.acts is not None and self.acts.counts:
            told.append((b"x-antiphon-guardrails", _list(list(self.acts.told())).encode("ascii", "replace")))
        return tuple(told)

    def _in_frames(self) -> bool:
        """Whether what has begun is made of events, or lines of JSON, so that an error can be one more."""
        headers = self._head[1] if self._head is not None else ()
        kind = next((value for name, value in headers if name == b"content-type"), b"")
        return kind.partition(b";")[0].strip().lower() in _FRAMED

    def stop(self, error: AntiphonError) -> None:
        """Want no more of whoever answers, and tell the caller why."""
        if self.handle is not None:
            self.handle.cancel(error.code)
        self.fail(error)

    # -- listener of the caller's connection

    def gone(self) -> None:
        self.error = ClientGone()
        self.status = 499
        if self.handle is not None:
            self.handle.cancel("the caller left")
        self.close()

    def pause(self) -> None:
        if self.handle is not None:
            self.handle.pause()

    def resume(self) -> None:
        if self.handle is not None:
            self.handle.resume()

    # -- the end

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def received(self) -> int:
        """Bytes of an answer in one piece, as far as it has come."""
        return sum(map(len, self._body))

    @property
    def started(self) -> bool:
        """Something of the answer went to the caller."""
        return self._started

    @property
    def error_code(self) -> str:
        """Code of the error, with the status that a server answered where it was the server's; empty on success."""
        if self.error is None:
            return ""
        if isinstance(self.error, UpstreamRefused):
            return f"{self.error.code}_{self.error.status}"
        return self.error.code

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.responder.listener = None
            self._on_close(self)
            # Call and answer hold each other. Let go, so that all of it is freed at once, whoever else still holds this.
            self.handle = self.model = self.call = self._head = self.metered = self.acts = self.sink = self.asked = None
            self.go_on = _nothing
            self.request = _OVER
            self._body = []
            self._last = b""
