"""Very large and very many events, slow callers and callers who leave: memory stays bounded, and others go on, in every dialect."""

import http.client
import socket
import statistics
import threading
import time
from typing import Self

import pytest

from antiphon.testing import MockUpstream, Wire
from tests.integration.gateway.data_plane import DataPlaneProcess
from tests.integration.matrix.streams import Streamed, streamed

MIB = 1 << 20
LARGE = "The quick brown fox 狐 jumps.\n" * 130_000
"""4 MB."""
TINY = tuple("ab c"[at % 4] for at in range(100_000))
FIVE_MIB = ("some words",) * (5 * MIB // 10)
SLOW = ("x" * 10_000,) * 6_000
"""60 MB, far more than the buffers of all sockets on its way hold."""
PATIENCE = 60.0
QUICK = 0.25
"""Seconds that half of all questions wait at most: the promise is 0.1, and this machine has more to do. A stall takes longer."""
LONGEST = 2.0
"""Seconds that no second one waits longer than: once, while thirty streams begin, the machine itself may be out of breath."""

every_stream = pytest.mark.parametrize("stream", streamed(), ids=str)


class Health:
    """Asks the gateway how it is, all the while: ``with Health(port) as health``."""

    def __init__(self, port: int) -> None:
        self.waits: list[float] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.close()

    def close(self) -> None:
        self._connection.close()

    def ask(self) -> None:
        began = time.monotonic()
        self._connection.request("GET", "/health")
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 200
        self.waits.append(time.monotonic() - began)

    def was_quick(self) -> bool:
        return statistics.median(self.waits) < QUICK and sum(wait > LONGEST for wait in self.waits) <= 1

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.ask()


class Memory:
    """The most memory that the worker needed since this was made, beyond what it had."""

    def __init__(self, process: DataPlaneProcess) -> None:
        self._pid = process.process.pid
        with open(f"/proc/{self._pid}/clear_refs", "w") as peaks:
            peaks.write("5")
        self._before = self._peak()

    def grew(self) -> int:
        """Bytes."""
        return self._peak() - self._before

    def _peak(self) -> int:
        with open(f"/proc/{self._pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def begin(process: DataPlaneProcess, stream: Streamed) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", process.port), timeout=PATIENCE)
    sock.sendall(stream.request)
    return sock


def ask(process: DataPlaneProcess, stream: Streamed) -> bytes:
    """The body of an answer that is read to its end."""
    with begin(process, stream) as sock, http.client.HTTPResponse(sock) as answer:
        answer.begin()
        assert answer.status == 200
        return answer.read()


@every_stream
def test_one_event_of_several_megabytes(stream: Streamed, data_plane: DataPlaneProcess, upstream: MockUpstream) -> None:
    upstream.script(*stream.play((LARGE,)), wire=Wire(write_size=100_000))
    memory = Memory(data_plane)
    with Health(data_plane.port) as health:
        assert stream.read(ask(data_plane, stream)) == LARGE
    assert health.was_quick(), health.waits
    assert memory.grew() < 30 * len(LARGE.encode())  # a response tells its text five times


@every_stream
def test_a_hundred_thousand_tiny_events(stream: Streamed, data_plane: DataPlaneProcess, upstream: MockUpstream) -> None:
    upstream.script(*stream.play(TINY))
    memory = Memory(data_plane)
    with Health(data_plane.port) as health:
        answer = ask(data_plane, stream)
    assert stream.read(answer) == "".join(TINY)
    assert health.was_quick(), health.waits
    assert memory.grew() < 40 * MIB


@every_stream
def test_a_caller_who_does_not_read_holds_the_server_back(
    stream: Streamed, data_plane: DataPlaneProcess, upstream: MockUpstream
) -> None:
    upstream.script(*stream.play(SLOW))
    memory = Memory(data_plane)
    with begin(data_plane, stream) as sock:
        assert sock.recv(1000).startswith(b"HTTP/1.1 200")
        health = Health(data_plane.port)
        for _ in range(50):
            health.ask()
        health.close()
        assert upstream.in_flight == 1
        assert memory.grew() < 40 * MIB
    assert upstream.wait_idle(10)


@every_stream
def test_thirty_streams_of_five_mebibytes_dropped_at_once(
    stream: Streamed, data_plane: DataPlaneProcess, upstream: MockUpstream
) -> None:
    before = len(upstream.requests)
    upstream.script(*stream.play(FIVE_MIB), times=30)
    with Health(data_plane.port) as health:
        socks = [begin(data_plane, stream) for _ in range(30)]
        for sock in socks:
            assert sock.recv(1000).startswith(b"HTTP/1.1 200")
        for sock in socks:
            sock.close()
        assert upstream.wait_idle(10)
    assert health.was_quick(), health.waits
    assert len(upstream.requests) == before + 30
