"""A scripted server that speaks the OpenAI API over real HTTP, well or as badly as the test wants."""

import asyncio
import email.utils
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

import msgspec

from antiphon.testing import answers
from antiphon.testing.answers import MOCK_MODEL, Ask, TextAnswer
from antiphon.testing.playing import Play, compile_script
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import PLAIN, Script, Step, Wire
from antiphon.testing.upstream_connection import Board, UpstreamConnection

_ENDPOINTS = ("chat/completions", "completions", "embeddings")

Writer = Callable[[RecordedRequest], Sequence[Step] | Script]
"""Makes the answer to a request."""


class _Scripted(msgspec.Struct):
    """An answer that waits for its request."""

    make: Callable[[RecordedRequest], Play]
    times: int | None


class MockUpstream:
    """An OpenAI-compatible server on a free loopback port or the one given, or on a Unix socket, in a thread of its own.

    Scripts answer POST requests in the order in which they were given; without one left, the server echoes the last message.
    With ``tls`` it speaks HTTPS. ``with MockUpstream() as upstream:`` works in sync tests and inside coroutines.
    """

    def __init__(
        self, socket_path: str = "", models: tuple[str, ...] = (MOCK_MODEL,), tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self.socket_path = socket_path
        self.models = models
        """What ``GET /v1/models`` lists."""
        self.port = port
        self._tls = tls
        self.requests: list[RecordedRequest] = []
        """All requests so far, in order of arrival."""
        self._scripts: deque[_Scripted] = deque()
        self._pages: dict[str, Sequence[Step]] = {}
        self._arrived = threading.Condition()
        self._board = Board(self._answer)
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._run, name="mock-upstream", daemon=True)

    @property
    def url(self) -> str:
        """Base URL of the API, as a provider row takes it. With a Unix socket the host means nothing."""
        return "http://localhost/v1" if self.socket_path else f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:
        """Connections accepted so far."""
        return self._board.accepted

    @property
    def open_connections(self) -> int:
        return len(self._board.open)

    @property
    def in_flight(self) -> int:
        """Requests being answered."""
        return self._board.in_flight

    @property
    def max_in_flight(self) -> int:
        """The most requests that were being answered at one time."""
        return self._board.max_in_flight

    def chat(
        self,
        *deltas: str,
        finish: str | None = "stop",
        usage: bool | None = None,
        done: bool = True,
        times: int | None = 1,
        wire: Wire = PLAIN,
    ) -> Self:
        """Answer with this text: streamed delta by delta or whole, as the request asks; on /v1/completions in that shape.

        ``finish=None`` ends without a finish reason, ``done=False`` without [DONE]; ``usage`` None tells the usage if asked to.
        """
        spoken = TextAnswer(deltas, finish, usage, done)
        return self.script(lambda request: answers.speak(spoken, _ask(request)), times=times, wire=wire)

    def error(
        self, status: int, message: str = "", *, code: str = "", retry_after: float | datetime | None = None, times: int | None = 1
    ) -> Self:
        """Answer with an error in OpenAI's shape; ``retry_after`` in seconds or as a date."""
        if isinstance(retry_after, datetime):
            wait = email.utils.format_datetime(retry_after, usegmt=True)
        else:
            wait = "" if retry_after is None else f"{retry_after:g}"
        return self._add(answers.refuse(status, message or f"mock error {status}", code, wait), times, PLAIN)

    def script(self, *steps: Step | Writer, times: int | None = 1, wire: Wire = PLAIN) -> Self:
        """Answer with these steps, or with those that the one function given makes of the request; ``Script`` has its own wire.

        ``times``: requests that get this answer, None for all that follow.
        """
        if len(steps) == 1 and callable(steps[0]):
            return self._add(steps[0], times, wire)
        plain = [step for step in steps if not callable(step)]
        if len(plain) < len(steps):
            raise TypeError("a script is either steps or one function")
        return self._add(plain, times, wire)

    def page(self, path: str, *steps: Step) -> Self:
        """Answer every GET request of this path with these steps, from now on: such as a server's ``/metrics``."""
        self._pages[path] = steps
        return self

    def wait_requests(self, count: int, within: float = 5.0) -> bool:
        """Whether ``count`` requests have come within so many seconds."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self.requests) >= count, within)

    def wait_idle(self, within: float = 5.0) -> bool:
        """Whether nothing is being answered any more within so many seconds."""
        deadline = time.monotonic() + within
        while self._board.in_flight:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def cut_all(self) -> None:
        """Close all open connections, idle and busy."""
        self._loop.call_soon_threadsafe(self._abort_all)

    def start(self) -> Self:
        """Serve. Use ``with`` where you can. Raises OSError where the port or the socket cannot be had."""
        started = threading.Event()
        try:
            listener = self._listen()
        except OSError:
            self._loop.close()
            raise
        self._loop.call_soon(lambda: self._loop.create_task(self._serve(listener, started)))
        self._thread.start()
        started.wait()
        return self

    def stop(self) -> None:
        """Close everything and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _add(self, script: Sequence[Step] | Writer, times: int | None, wire: Wire) -> Self:
        if callable(script):
            self._scripts.append(_Scripted(lambda request: _call(script, request, wire), times))
        else:
            play = compile_script(script, wire)
            self._scripts.append(_Scripted(lambda _: play, times))
        return self

    def _listen(self) -> socket.socket:
        listener = self._socket()
        if self.socket_path:
            listener.bind(self.socket_path)
        else:
            if self.port:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a run may follow another at once
            try:
                listener.bind(("127.0.0.1", self.port))
            except OSError:
                listener.close()
                raise
            self.port = listener.getsockname()[1]
        listener.listen(1024)
        return listener

    def _socket(self) -> socket.socket:
        if self.socket_path:
            return socket.socket(socket.AF_UNIX)
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY on these only

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._abort_all()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()

    async def _serve(self, listener: socket.socket, started: threading.Event) -> None:
        server = await self._loop.create_server(lambda: UpstreamConnection(self._board), sock=listener, backlog=1024, ssl=self._tls)
        started.set()
        try:
            await server.serve_forever()
        finally:
            server.close()

    def _abort_all(self) -> None:
        for connection in list(self._board.open):
            connection.abort()

    def _answer(self, request: RecordedRequest) -> Play:
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        if request.method == "GET" and request.path in self._pages:
            return compile_script(self._pages[request.path])
        if request.method != "POST":
            known = request.method == "GET" and request.path == "/v1/models"
            return compile_script(answers.model_list(self.models) if known else _no_route(request))
        if self._scripts:
            return self._next_script().make(request)
        ask = _ask(request)
        if ask.endpoint not in _ENDPOINTS:
            return compile_script(_no_route(request))
        return _echo(ask)

    def _next_script(self) -> _Scripted:
        scripted = self._scripts[0]
        if scripted.times is not None:
            scripted.times -= 1
            if scripted.times <= 0:
                self._scripts.popleft()
        return scripted


def _call(write: Writer, request: RecordedRequest, wire: Wire) -> Play:
    """A script that is a test's own function may fail; whoever called must see that, not wait for ever."""
    try:
        script = write(request)
        return compile_script(script.steps, script.wire) if isinstance(script, Script) else compile_script(script, wire)
    except Exception as error:
        return compile_script(answers.refuse(500, f"the script of the mock upstream failed: {error!r}", "script_failed"))


def _echo(ask: Ask) -> Play:
    """What a request gets without a script. Nothing about it is checked but that it can be echoed."""
    try:
        if not ask.parse():
            return compile_script(answers.refuse(400, "the body is not a JSON object"))
        return compile_script(answers.echo(ask))
    except Exception as error:  # whatever is wrong with a request, its sender gets an answer
        return compile_script(answers.refuse(400, f"the mock upstream cannot echo this request: {error!r}"))


def _ask(request: RecordedRequest) -> Ask:
    return Ask(request.path.removeprefix("/v1/"), request.body)


def _no_route(request: RecordedRequest) -> Sequence[Step]:
    return answers.refuse(404, f"the mock upstream does not know {request.method} {request.path}", "unknown_url")
