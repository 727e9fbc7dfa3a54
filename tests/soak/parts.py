"""What is done to the gateway, and what must come of it."""

import http.client
import re
import resource
import socket
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Self

import msgspec

from benchmarks.processes import Trouble
from tests.soak.gateway import AUTHORIZATION, Gateway, health, request

MIB = 1 << 20
SPARE_FILES = 500
FIVE_MIB = 20_000
"""Events of the mock that are more than 5 MiB."""


class Figure(msgspec.Struct, frozen=True):
    """One promise, and what was measured."""

    what: str
    measured: float
    unit: str
    limit: float
    """The promise: at most this."""

    @property
    def kept(self) -> bool:
        return self.measured <= self.limit


def streams(gateway: Gateway, share: float) -> list[Figure]:
    """50,000 streamed calls in batches; memory is looked at between them, since what is under way is not a leak."""
    batches, size = 25, int(2000 * share)
    seen: list[tuple[float, float]] = []
    bad = 0
    for _ in range(batches):
        bad += gateway.load(size, 64, 32).bad
        seen.append((time.monotonic() / 60, gateway.resident() / MIB))
    warm = seen[batches // 5 :]
    slope = statistics.linear_regression([when for when, _ in warm], [resident for _, resident in warm]).slope
    slope *= min(1.0, warm[-1][0] - warm[0][0])  # in less than a minute, what it grew by
    course = ", ".join(f"{resident:.1f}" for _, resident in seen[:: batches // 8])
    return [
        Figure(f"{batches * size:,} streams: without a good answer", bad, "", 0),
        Figure(f"the worker's memory ({course} MiB) grows", round(slope, 2), "MiB/min", 1),
    ]


def idle(gateway: Gateway, share: float) -> list[Figure]:
    """10,000 connections that have made a call each and wait for their next."""
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES
    count = min(int(10_000 * share), room)
    with ExitStack() as stack:
        _ask_each(gateway, stack, 100)
        before = gateway.settle()
        opened = _ask_each(gateway, stack, count)
        after = gateway.settle()
        closed = sum(_is_closed(peer) for peer in opened)
    return [
        Figure(f"{count:,} idle connections: closed by the server", closed, "", 0),
        Figure("an idle connection costs the worker", round((after - before) / count / 1024, 2), "KiB", 20_000 / 1024),
    ]


def _ask_each(gateway: Gateway, stack: ExitStack, count: int) -> list[socket.socket]:
    opened = []
    for _ in range(count):
        peer = stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port), timeout=30))
        peer.sendall(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
        if not peer.recv(4096).startswith(b"HTTP/1.1 200"):
            raise Trouble("/health does not answer")
        opened.append(peer)
    return opened


def _is_closed(peer: socket.socket) -> bool:
    peer.setblocking(False)
    try:
        return peer.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class _Watch:
    """Asks for /health every 5 ms, in a thread."""

    def __init__(self, gateway: Gateway) -> None:
        self.longest = 0.0
        self.count = 0
        self.trouble = ""
        self._gateway = gateway
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._gateway.port, timeout=10)
        try:
            while not self._stop.wait(0.005):
                self.longest = max(self.longest, health(connection))
                self.count += 1
        except (OSError, http.client.HTTPException, Trouble) as error:
            self.trouble = str(error) or type(error).__name__
        finally:
            connection.close()


def dropped(gateway: Gateway, share: float) -> list[Figure]:
    """Thirty streams of 5 MiB, dropped at once when they have begun, ten times over; health is asked for all the while."""
    body = request(FIVE_MIB, 0)
    fields = f"host: a\r\n{AUTHORIZATION}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    call = b"POST /v1/chat/completions HTTP/1.1\r\n" + fields.encode() + body
    with _Watch(gateway) as watch:
        for _ in range(max(1, int(10 * share))):
            with ExitStack() as stack:
                peers = [stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port), timeout=30)) for _ in range(30)]
                for peer in peers:
                    peer.sendall(call)
                for peer in peers:
                    if not peer.recv(65536).startswith(b"HTTP/1.1 200"):
                        raise Trouble("a stream did not begin")
            _until_idle(gateway)
    if watch.trouble:
        raise Trouble(f"/health: {watch.trouble}")
    return [Figure(f"thirty streams dropped at once: the slowest of {watch.count} /health", round(watch.longest * 1e3), "ms", 100)]


def _until_idle(gateway: Gateway) -> None:
    """Wait until no call is under way any more."""
    deadline = time.monotonic() + 10
    while _in_flight(gateway):
        if time.monotonic() > deadline:
            raise Trouble("calls whose callers have left are still under way after 10 s")
        time.sleep(0.02)


def _in_flight(gateway: Gateway) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    try:
        connection.request("GET", "/metrics", headers=dict([AUTHORIZATION.split(": ", 1)]))
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return sum(float(value) for value in re.findall(r"^antiphon_requests_in_flight(?:{[^}]*})? (\S+)$", text, re.MULTILINE))


def paced(gateway: Gateway, share: float) -> list[Figure]:
    """1,000 streams at once, an event every 100 ms in each."""
    count = int(1000 * share)
    outcome = gateway.load(count, count, 64, pace_ms=100, ramp_ms=1000)
    return [
        Figure(f"{count:,} paced streams: without every frame", outcome.bad, "", 0),
        Figure(f"delay of {outcome.events:,} events, P99", round(outcome.delay.p99 / 1e3, 1), "ms", 100),
    ]


PARTS: dict[str, Callable[[Gateway, float], list[Figure]]] = {
    "streams": streams,
    "idle": idle,
    "dropped": dropped,
    "paced": paced,
}
