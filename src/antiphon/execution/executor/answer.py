"""What every answer of a server goes through: its head, its error statuses, its failures, and the handle of its call."""

from email.utils import parsedate_to_datetime
from math import isfinite
from time import time
from typing import Final

from antiphon.core.errors import (
    AntiphonError,
    CapacityError,
    EngineFailed,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from antiphon.core.ports import Sink
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.execution.providers import Provider
from antiphon.execution.wire.said_errors import read_error
from antiphon.transport.client import Exchange

MAX_ANSWER: Final = 64 << 20
"""Bytes that an answer which is not streamed may have."""
MAX_ERROR: Final = 1 << 16
"""Bytes kept of an upstream's error body."""
MAX_RETRY_AFTER: Final = 86400.0
"""Longest wait, in seconds, that is passed on from a server."""


class Answer:
    """An answer on its way from the server to the sink. It is the receiver of an exchange, and the handle of its call."""

    def __init__(self, sink: Sink, provider: Provider, call: Call) -> None:
        self._sink = sink
        self._server = provider.server
        self._call = call
        self._status = 0
        self._headers: Headers = ()
        self._content_type = b""
        self._encoding = b""
        self._body: list[bytes] = []
        self._size = 0
        self._over = False
        self._dialect = provider.outbound.dialect
        self.exchange: Exchange | None = None

    def head(self, status: int, headers: Headers) -> None:
        raise NotImplementedError

    def data(self, chunk: bytes) -> None:
        raise NotImplementedError

    def complete(self) -> None:
        raise NotImplementedError

    def cancel(self, reason: str) -> None:
        self._over = True
        if self.exchange is not None:
            self.exchange.cancel()

    def pause(self) -> None:
        if self.exchange is not None:
            self.exchange.pause()

    def resume(self) -> None:
        if self.exchange is not None:
            self.exchange.resume()

    def broken(self, error: AntiphonError) -> None:
        if self._over:
            return
        if self._server.local and isinstance(error, UpstreamUnreachable | UpstreamBroken):
            error = _of_local_process(error)
        self._fail(error)

    def _tell(self, error: AntiphonError) -> None:
        """Tell the sink, and whoever runs the server where a provider is at fault."""
        if isinstance(error, UpstreamError) and not self._server.local:
            self._server.complaints.failed(error)
        self._sink.fail(error)

    def _deliver(self, headers: Headers, body: bytes, usage: Usage | None) -> None:
        """Hand on an answer in one piece."""
        self._over = True
        self._sink.head(200, headers)
        self._sink.frame(Frame(body, True, self._call.dialect))
        self._succeed(usage)

    def _succeed(self, usage: Usage | None) -> None:
        self._server.complaints.answered()
        self._sink.end(usage)

    def _fail(self, error: AntiphonError) -> None:
        """Tell the sink and want no more of the upstream."""
        self._over = True
        self._tell(error)
        if self.exchange is not None:
            self.exchange.cancel()

    def _gather(self, chunk: bytes, limit: int) -> None:
        self._size += len(chunk)
        if self._size <= limit:
            self._body.append(chunk)
        elif self._status < 400:
            self._fail(UpstreamBroken(f"the model's server sent an answer of more than {limit >> 20} MiB"))

    def _gathered(self) -> bytes:
        return self._body[0] if len(self._body) == 1 else b"".join(self._body)

    def _refused(self) -> UpstreamError:
        """The error behind a status that is not one of success."""
        if not 400 <= self._status < 600:
            return UpstreamBroken(f"the model's server answered with status {self._status}", remedy="check the provider's url")
        body = self._concealed(self._gathered())
        told = read_error(self._status, body)
        wait = _retry_after(self._headers)
        return UpstreamRefused(
            401 if self._status == 400 and told.status == 401 else self._status,
            body,
            server=self._server.name,
            content_type=self._content_type,
            retry_after=told.retry_after if wait is None else wait,
            dialect=self._dialect,
        )

    def _concealed(self, body: bytes) -> bytes:
        """What the server said of an error, without the credentials that it may quote."""
        for secret in self._server.secrets:
            body = body.replace(secret, b"***")
        return body

    def _inside(self, failure: UpstreamRefused) -> UpstreamRefused:
        """The error that a server told inside an answer."""
        failure.forget_origin()
        body, wait = self._concealed(failure.body), failure.retry_after
        return UpstreamRefused(failure.status, body, retry_after=wait, dialect=failure.dialect)

    def _no_stream(self) -> AntiphonError:
        """The error for a streamed call that was not answered by a stream."""
        if self._status != 200:
            return self._refused()
        return UpstreamBroken(
            f'the model\'s server answered a streamed call with "{self._content_type.decode("latin-1")}"',
            remedy="call it without stream, or mend the provider's url",
        )

    def _is_stream(self, content_type: bytes) -> bool:
        """Whether the head that was taken is that of a stream."""
        kind = self._content_type.partition(b";")[0].strip().lower()
        return self._status == 200 and kind == content_type and not self._encoding

    def _take_head(self, status: int, headers: Headers) -> None:
        self._status, self._headers = status, headers
        for name, value in headers:
            if name == b"content-type":
                self._content_type = value
            elif name == b"content-encoding" and value.lower() != b"identity":
                self._encoding = value


def _retry_after(headers: Headers) -> float | None:
    """Seconds of a ``retry-after`` header, which may also be a date (RFC 9110, section 10.2.3)."""
    for name, value in headers:
        if name == b"retry-after":
            text = value.decode("latin-1").strip()
            for read in (float, _seconds_until):
                try:
                    seconds = read(text)
                except (ValueError, OverflowError, TypeError):
                    continue
                return min(max(0.0, seconds), MAX_RETRY_AFTER) if isfinite(seconds) else None
    return None


def _seconds_until(date: str) -> float:
    return parsedate_to_datetime(date).timestamp() - time()


def _of_local_process(error: AntiphonError) -> AntiphonError:
    if isinstance(error.__cause__, FileNotFoundError):  # it makes its socket when it starts, and leaves it when it dies
        return CapacityError(
            "the local process that runs this model is still starting", remedy="try again in a few seconds", retry_after=2.0
        )
    return EngineFailed(
        "the local process that runs this model has ended", remedy="it is being restarted: try again", retry_after=2.0
    )
