"""Asks one replica: sends the call, watches the answer, and tells the sink what came of it."""

from email.utils import parsedate_to_datetime
from math import isfinite
from time import time

import msgspec

from antiphon.core.errors import (
    AntiphonError,
    CapacityError,
    EngineFailed,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from antiphon.core.ports import Handle, Sink
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.execution.providers import Provider
from antiphon.execution.translation import translated
from antiphon.execution.wire.openai import passthrough as wire
from antiphon.execution.wire.reading import UNREADABLE, encode
from antiphon.transport import sse
from antiphon.transport.client import Exchange
from antiphon.transport.sse import EventSplitter

MAX_ANSWER = 64 << 20
"""Bytes that an answer which is not streamed may have."""
MAX_ERROR = 1 << 16
"""Bytes kept of an upstream's error body."""
MAX_RETRY_AFTER = 86400.0
"""Longest wait, in seconds, that is passed on from a server."""
_TAIL = 2
"""Frames kept to look for the end and the usage once the stream is over: a server may send them in two pieces."""


class NoHandle:
    """Handle of a call that is over before it began."""

    __slots__ = ()

    def cancel(self, reason: str) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class Replica:
    """One model at one provider."""

    def __init__(self, provider: Provider, upstream: str) -> None:
        self._provider = provider
        self._upstream = upstream
        self._name = f"{provider.name}/{upstream}"

    @property
    def name(self) -> str:
        return self._name

    def start(self, call: Call, sink: Sink) -> Handle:
        call.trail.append(self._name)
        try:
            if call.dialect != self._provider.dialect:
                call, sink = translated(call, sink, self._provider.dialect, self._provider.chat)
            prepared = self._provider.prepare(call, self._upstream)
        except AntiphonError as error:
            sink.fail(error)
            return NoHandle()
        renamed = (self._upstream, call.model) if call.model != self._upstream else None
        provider = self._provider
        answer = (
            _StreamedAnswer(sink, provider, renamed, prepared.strips_usage)
            if call.stream
            else _WholeAnswer(sink, provider, renamed)
        )
        extra = b"x-request-id: %b\r\n" % call.id.encode("latin-1", "replace")
        answer.exchange = provider.pool.request_prepared(prepared.head, extra, prepared.body, answer)
        return answer


class _Answer:
    """The part that both kinds of answer share: the handle, the error statuses, the renaming."""

    __slots__ = (
        "_body",
        "_content_type",
        "_encoding",
        "_headers",
        "_over",
        "_provider",
        "_renamed",
        "_sink",
        "_size",
        "_status",
        "exchange",
    )

    def __init__(self, sink: Sink, provider: Provider, renamed: tuple[str, str] | None) -> None:
        self._sink = sink
        self._provider = provider
        self._encoding = b""
        self._renamed = _spellings(*renamed) if renamed else None
        self._status = 0
        self._headers: Headers = ()
        self._body: list[bytes] = []
        self._size = 0
        self._over = False
        self._content_type = b""
        self.exchange: Exchange | None = None

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
        if self._provider.local and isinstance(error, UpstreamUnreachable | UpstreamBroken):
            error = _of_local_process(error)
        self._fail(error)

    def _tell(self, error: AntiphonError) -> None:
        """Tell the sink, and whoever runs the server where a provider is at fault."""
        if isinstance(error, UpstreamError) and not self._provider.local:
            self._provider.complaints.failed(error)
        self._sink.fail(error)

    def _succeed(self, usage: Usage | None) -> None:
        self._provider.complaints.answered()
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

    def _refused(self) -> UpstreamError:
        """The error behind a status that is not one of success."""
        if not 400 <= self._status < 600:
            return UpstreamBroken(f"the model's server answered with status {self._status}", remedy="check the provider's url")
        body = self._concealed(b"".join(self._body))
        wait, server = _retry_after(self._headers), self._provider.name
        return UpstreamRefused(self._status, body, server=server, content_type=self._content_type, retry_after=wait)

    def _concealed(self, body: bytes) -> bytes:
        """What the server said of an error, without the credentials that it may quote."""
        for secret in self._provider.secrets:
            body = body.replace(secret, b"***")
        return body

    def _rename(self, raw: bytes) -> bytes:
        """Put the name that the caller used where the server put its own."""
        if self._renamed is not None:
            for old, new in self._renamed:
                if old in raw:
                    return raw.replace(old, new)
        return raw

    def _take_head(self, status: int, headers: Headers) -> None:
        self._status, self._headers = status, headers
        for name, value in headers:
            if name == b"content-type":
                self._content_type = value
            elif name == b"content-encoding" and value.lower() != b"identity":
                self._encoding = value


class _WholeAnswer(_Answer):
    """An answer in one piece. It is gathered before it is passed on, so a server that dies in the middle has said nothing yet."""

    __slots__ = ()

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)

    def data(self, chunk: bytes) -> None:
        self._gather(chunk, MAX_ANSWER if self._status < 400 else MAX_ERROR)

    def complete(self) -> None:
        if self._over:
            return
        self._over = True
        if self._status != 200:
            self._tell(self._refused())
            return
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        try:
            if self._encoding:
                raise msgspec.DecodeError(f"it is encoded as {self._encoding.decode('latin-1')}, which was not asked for")
            usage, error = wire.read_answer(body)
        except UNREADABLE as unreadable:
            self._tell(UpstreamBroken(f"the model's server sent what is not a whole JSON object: {unreadable}"))
            return
        if error:
            self._tell(wire.told_error(error, self._concealed(body)))
            return
        self._sink.head(200, self._headers)
        self._sink.frame(Frame(self._rename(body)))
        self._succeed(usage)


class _StreamedAnswer(_Answer):
    """An answer in events. Frames go on as they came; the stream must end in ``[DONE]`` or at least with a finish reason."""

    __slots__ = ("_begun", "_splitter", "_streams", "_strips_usage", "_tail", "_usage")

    def __init__(self, sink: Sink, provider: Provider, renamed: tuple[str, str] | None, strips_usage: bool) -> None:
        super().__init__(sink, provider, renamed)
        self._splitter = EventSplitter()
        self._streams = False
        self._begun = False
        self._strips_usage = strips_usage
        self._tail: tuple[bytes, ...] = ()
        self._usage: Usage | None = None

    def head(self, status: int, headers: Headers) -> None:
        self._take_head(status, headers)
        kind = self._content_type.partition(b";")[0].strip().lower()
        self._streams = status == 200 and kind == b"text/event-stream" and not self._encoding
        if self._streams:
            self._sink.head(status, headers)

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        if not self._streams:
            self._gather(chunk, MAX_ERROR)
            return
        try:
            raw = self._splitter.feed(chunk)
        except AntiphonError as error:
            self._fail(error)
            return
        if raw:
            self._take(raw)

    def _take(self, raw: bytes) -> bool:
        """Whole events: pass them on, up to ``[DONE]``, which ends the call. Gives back whether the call is over."""
        whole = wire.up_to_done(raw) if b"[DONE]" in raw else None
        self._pass_on(raw if whole is None else whole)
        if whole is not None and not self._over:
            self._end()
        return self._over

    def _end(self) -> None:
        """The stream is complete, whatever may still come. The connection is left to its pool, which sees how it ends."""
        self._over = True
        self._succeed(self._usage or wire.usage_of_stream(b"".join(self._tail)))

    def _pass_on(self, raw: bytes) -> None:
        if b'"error"' in raw and self._failed_inside(raw):
            return
        if self._strips_usage and b'"usage"' in raw:
            raw, usage = wire.without_usage_chunk(raw)
            self._usage = usage or self._usage
            if not raw:
                return
        self._tail = (*self._tail[1 - _TAIL :], raw)
        if self._renamed is not None:
            raw = self._rename(raw)
        if not self._begun:
            self._begun = wire.begins(raw)
        try:
            self._sink.frame(Frame(raw, self._begun, "openai", wire.chunks))
        except AntiphonError as error:  # a translation met what is none of the server's dialect
            self._fail(error)

    def _failed_inside(self, raw: bytes) -> bool:
        """The server told of an error inside the stream: what came before it is passed on, then the call fails."""
        before: list[bytes] = []
        for event in sse.split(raw):
            for chunk in wire.chunks(event):
                if chunk is not None and chunk.error:
                    if before:
                        self._pass_on(b"".join(before))
                    self._fail(wire.told_error(chunk.error, self._concealed(sse.parse(event)[0].data.encode())))
                    return True
            before.append(event)
        return False

    def complete(self) -> None:
        if self._over:
            return
        if not self._streams:
            self._over = True
            self._tell(
                self._refused()
                if self._status != 200
                else UpstreamBroken(
                    f'the model\'s server answered a streamed call with "{self._content_type.decode("latin-1")}"',
                    remedy="call it without stream, or mend the provider's url",
                )
            )
            return
        rest = self._splitter.rest()
        if rest.strip() and self._take(rest + b"\n\n"):
            return
        tail = b"".join(self._tail)
        if not any(choice.finish_reason for chunk in wire.chunks(tail) if chunk for choice in chunk.choices):
            self._fail(UpstreamBroken("the model's server ended its stream without a finish reason: the answer is cut off"))
            return
        self._sink.frame(Frame(wire.DONE, True, "openai", wire.chunks))
        self._end()


def _spellings(old: str, new: str) -> tuple[tuple[bytes, bytes], ...]:
    """The field ``model`` as servers write it, each with its replacement."""
    before, after = encode(old), encode(new)
    return ((b'"model":' + before, b'"model":' + after), (b'"model": ' + before, b'"model": ' + after))


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
