"""Puts a server under load: so many callers at once, each asking again as soon as it has its answer."""

import asyncio
import random
import secrets
import time

import msgspec

from antiphon.cli.bench_figures import Level, Tally
from antiphon.cli.chat_client import ChatRequest, Failure, Message, TokenCounts
from antiphon.core.errors import AntiphonError, UpstreamBroken, UpstreamTimeout
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool, ClientTimeouts, Exchange, Origin, Route
from antiphon.transport.sse import EventSplitter, parse

TIMEOUT = 30.0
"""Seconds that a call may take, unless told otherwise; one that takes longer is cut."""
MAX_BODY = 16 << 20
"""Bytes of an answer in one piece, or of an error."""
HOPELESS = 10
"""Failures after which a level ends, if no call has been answered by then."""
_TIMEOUTS = ClientTimeouts(connect=10.0, first_byte=600.0, idle=600.0)
_WORDS = (
    "river",
    "stone",
    "light",
    "paper",
    "garden",
    "window",
    "winter",
    "music",
    "bridge",
    "letter",
    "market",
    "forest",
    "engine",
)
"""A token each for most models."""


class Target(msgspec.Struct, frozen=True):
    """Whom to ask, and what."""

    origin: Origin
    path: str
    """Of the endpoint, such as ``/v1/chat/completions``."""
    headers: Headers
    model: str
    stream: bool
    prompt_tokens: int
    """Roughly: a common word counts as one token."""
    max_tokens: int
    route: Route = Route()


class Bounds(msgspec.Struct, frozen=True):
    """How much is asked at most, of each level."""

    requests: int
    seconds: float
    """After which no call is begun any more."""
    timeout: float = TIMEOUT
    """Seconds that a call may take, so that a level ends at most that much later."""


class _Text(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Text | None = None
    message: _Text | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] = []
    usage: TokenCounts | None = None
    error: Failure | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class Bench:
    """Asks one server. Make it on the running loop. ``stop`` ends what runs, and keeps what there is."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.stopped = False
        self._run = secrets.token_hex(4)
        self._asked = 0
        self._level: _LevelRun | None = None

    async def warm_up(self, patience: float = TIMEOUT) -> None:
        """One short call, which counts for nothing. Raises AntiphonError where it fails: then there is nothing to measure."""
        run = self._new(1, Bounds(1, patience, patience), msgspec.structs.replace(self.target, max_tokens=1))
        tally = await run.go()
        if run.last_error and not tally.calls:
            raise run.last_error
        if tally.unfinished and not self.stopped:
            what = f"{self.target.origin} did not answer a call of one token within {patience:g} s"
            raise UpstreamTimeout(what, remedy="see whether the server is stopped or busy, or give calls longer with --timeout")

    async def level(self, concurrency: int, bounds: Bounds) -> Level:
        """Ask with so many callers at once, until either bound is reached."""
        run = self._new(concurrency, bounds, self.target)
        began, cpu = time.perf_counter(), time.process_time()
        tally = await run.go()
        return tally.level(concurrency, time.perf_counter() - began, time.process_time() - cpu)

    def stop(self) -> None:
        """End at once."""
        self.stopped = True
        if self._level is not None:
            self._level.give_up()

    def _new(self, concurrency: int, bounds: Bounds, target: Target) -> "_LevelRun":
        self._level = _LevelRun(self, concurrency, bounds, target)
        return self._level

    def body(self, target: Target) -> bytes:
        """A request that no earlier one begins like, so that no cache of prompts makes it look faster than it is."""
        self._asked += 1
        words = random.Random(f"{self._run}{self._asked}").choices(_WORDS, k=max(1, target.prompt_tokens - 16))  # noqa: S311
        prompt = f"{self._run} {self._asked}. Write a long story with these words: {' '.join(words)}"
        request = ChatRequest(
            target.model,
            (Message("user", prompt),),
            stream=target.stream,
            stream_options={"include_usage": True} if target.stream else None,
            max_tokens=target.max_tokens,
        )
        return msgspec.json.encode(request)


class _LevelRun:
    """One level of load while it runs."""

    def __init__(self, bench: Bench, concurrency: int, bounds: Bounds, target: Target) -> None:
        self.target = target
        self.tally = Tally()
        self.last_error: AntiphonError | None = None
        self._bench = bench
        self._concurrency = concurrency
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._pool = ClientPool(target.origin, _TIMEOUTS, concurrency, route=target.route)
        self._head = self._pool.prepare("POST", target.path, target.headers)
        self._running: set[_Call] = set()
        self._started = 0
        self._closed = False
        self._done = asyncio.Event()

    async def go(self) -> Tally:
        """Run it to its end."""
        over = self._loop.call_later(self._bounds.seconds, self._close)
        for _ in range(min(self._concurrency, self._bounds.requests)):
            self._next()
        try:
            await self._done.wait()
        finally:
            over.cancel()
            await self._pool.close()
        return self.tally

    def give_up(self) -> None:
        """End now; what is under way counts as unfinished."""
        self._closed = True
        self.tally.unfinished += len(self._running)
        for call in self._running:
            call.cancel()
        self._running.clear()
        self._done.set()

    def cut(self, call: "_Call") -> None:
        """A call has taken too long."""
        call.cancel()
        self.tally.unfinished += 1
        self.ended(call, None)

    def ended(self, call: "_Call", error: AntiphonError | None) -> None:
        """A call is over."""
        if call not in self._running:
            return
        self._running.remove(call)
        if error is not None:
            self.last_error = error
            hopeless = not self.tally.calls and self.tally.errors.total() >= max(HOPELESS, self._concurrency)
            self._closed = self._closed or hopeless
        if self._may_start():
            self._loop.call_soon(self._next)
        elif not self._running:
            self._done.set()

    def _close(self) -> None:
        self._closed = True
        if not self._running:
            self._done.set()

    def _may_start(self) -> bool:
        return not self._closed and self._started < self._bounds.requests

    def _next(self) -> None:
        if not self._may_start():
            if not self._running:
                self._done.set()
            return
        self._started += 1
        body = self._bench.body(self.target)
        call = _Call(self)
        self._running.add(call)
        limit = self._loop.call_later(self._bounds.timeout, self.cut, call)
        call.start(self._pool.request_prepared(self._head, b"", body, call), limit)


class _Call:
    """One call, as its caller sees it."""

    def __init__(self, run: _LevelRun) -> None:
        self._run = run
        self._exchange: Exchange | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._began = self._last = time.perf_counter()
        self._status = 0
        self._body = bytearray()
        self._splitter = EventSplitter()
        self._pieces = 0
        self._usage: tuple[int, int] | None = None
        self._over = False

    def start(self, exchange: Exchange, limit: asyncio.TimerHandle) -> None:
        self._exchange = exchange
        self._limit = limit
        if self._over:
            limit.cancel()

    def cancel(self) -> None:
        self._end()
        if self._exchange is not None:
            self._exchange.cancel()

    def head(self, status: int, headers: Headers) -> None:
        self._status = status

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        if self._status == 200 and self._run.target.stream:
            self._take(chunk)
            return
        self._body += chunk
        if len(self._body) > MAX_BODY:
            self._fail(UpstreamBroken(f"an answer has more than {MAX_BODY >> 20} MiB"), "too large")

    def complete(self) -> None:
        if self._over:
            return
        if self._status != 200:
            self._refused()
        elif self._run.target.stream:
            self._fail(UpstreamBroken("a stream ended without [DONE]"), "stream without an end")
        else:
            answer = self._decoded(bytes(self._body))
            if answer is not None:
                self._note_usage(answer)
                self._finish()

    def broken(self, error: AntiphonError) -> None:
        if not self._over:
            self._fail(error, error.code)

    def _take(self, chunk: bytes) -> None:
        pieces, done = 0, False
        for event in parse(self._splitter.feed(chunk)):
            if event.data == "[DONE]":
                done = True
                break
            answer = self._decoded(event.data.encode())
            if answer is None:
                return
            self._note_usage(answer)
            pieces += any(_has_text(choice.delta) for choice in answer.choices)
        if pieces:
            self._note_pieces(pieces)
        if done:
            self._finish()

    def _note_pieces(self, pieces: int) -> None:
        now = time.perf_counter()
        if not self._pieces:
            self._run.tally.ttft.add(now - self._began)
        else:
            self._run.tally.between.add((now - self._last) / pieces, pieces)
        self._pieces += pieces
        self._last = now

    def _note_usage(self, answer: _Answer) -> None:
        if answer.usage is not None:
            self._usage = (answer.usage.prompt_tokens, answer.usage.completion_tokens)

    def _decoded(self, body: bytes) -> _Answer | None:
        try:
            answer = _decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._fail(UpstreamBroken("an answer is not of OpenAI's protocol"), "not OpenAI's protocol")
            return None
        if answer.error is not None:
            self._fail(
                UpstreamBroken(answer.error.fault, remedy=answer.error.remedy), f"error event {answer.error.code or ''}".strip()
            )
            return None
        return answer

    def _refused(self) -> None:
        try:
            failure = _decode(bytes(self._body)).error or Failure()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            failure = Failure()
        message = failure.fault or "the answer has no error object"
        remedy = _REMEDIES.get(self._status) or failure.remedy or "the server's log may have more"
        error = AntiphonError(f"{message} (status {self._status})", remedy=remedy)
        self._fail(error, f"status {self._status} {failure.code or ''}".strip())

    def _end(self) -> None:
        self._over = True
        if self._limit is not None:
            self._limit.cancel()

    def _finish(self) -> None:
        self._end()
        self._run.tally.answered(time.perf_counter() - self._began, self._pieces, self._usage)
        self._run.ended(self, None)

    def _fail(self, error: AntiphonError, kind: str) -> None:
        self.cancel()
        self._run.tally.failed(kind)
        self._run.ended(self, error)


_REMEDIES = {401: "set ANTIPHON_API_KEY, or give --api-key", 404: "name a model of the server with --model"}


def _has_text(text: _Text | None) -> bool:
    return text is not None and bool(text.content or text.reasoning_content)
