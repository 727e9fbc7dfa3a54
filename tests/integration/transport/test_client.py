"""The pooled client against scripted servers over real HTTP."""

import asyncio
import socket
from pathlib import Path

import pytest
import uvloop

from antiphon.core.errors import AntiphonError, QueueFull, UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from antiphon.core.types import Headers
from antiphon.testing import Body, Cut, Delay, Gate, Hang, Header, MockUpstream, Raw, Status, Wire
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin
from antiphon.transport.fetching import fetch

POST = ("POST", "/v1/chat/completions", ((b"content-type", b"application/json"),), b'{"model":"m","messages":[]}')


def pool_of(upstream: MockUpstream, timeouts: ClientTimeouts | None = None, max_connections: int = 64) -> ClientPool:
    return ClientPool(Origin(host="127.0.0.1", port=upstream.port), timeouts, max_connections)


class Receiving:
    """Receiver that remembers."""

    def __init__(self) -> None:
        self.status = 0
        self.chunks: list[bytes] = []
        self.ends: list[AntiphonError | None] = []
        self.done = asyncio.Event()
        self.first = asyncio.Event()

    def head(self, status: int, headers: Headers) -> None:
        self.status = status

    def data(self, chunk: bytes) -> None:
        self.chunks.append(chunk)
        self.first.set()

    def complete(self) -> None:
        self.ends.append(None)
        self.done.set()

    def broken(self, error: AntiphonError) -> None:
        self.ends.append(error)
        self.done.set()


def test_a_connection_is_used_again() -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        for _ in range(5):
            assert (await fetch(pool, *POST)).status == 200
        await pool.close()

    with MockUpstream() as upstream:
        uvloop.run(main())
        assert upstream.connections == 1


@pytest.mark.parametrize(
    "wire", [Wire(framing="length"), Wire(framing="chunked"), Wire(framing="close"), Wire(framing="chunked", write_size=1)]
)
def test_each_framing_gives_the_same_body(wire: Wire) -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        for _ in range(2):
            answer = await fetch(pool, *POST)
            assert (answer.status, answer.body) == (200, "Grüße 世界".encode())
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Body("Grüße 世界"), times=2, wire=wire)
        uvloop.run(main())


def test_a_stale_connection_is_replaced_unseen() -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        await fetch(pool, *POST)
        upstream.script(Cut())
        assert (await fetch(pool, *POST)).status == 200
        await pool.close()

    with MockUpstream() as upstream:
        uvloop.run(main())
        assert upstream.connections == 2


def test_a_fresh_connection_that_closes_is_an_error_and_not_tried_again() -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        with pytest.raises(UpstreamBroken, match="before it answered"):
            await fetch(pool, *POST)
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Cut())
        uvloop.run(main())
        assert len(upstream.requests) == 1


@pytest.mark.parametrize("reset", [False, True])
def test_a_cut_in_the_middle_is_told(reset: bool) -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        with pytest.raises(UpstreamBroken, match="in the middle"):
            await fetch(pool, *POST)
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Header("content-length", "100"), Body("half"), Delay(0.05), Cut(reset=reset))
        uvloop.run(main())


def test_nobody_listens() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        pool = ClientPool(Origin(host="127.0.0.1", port=port))
        with pytest.raises(UpstreamUnreachable, match=f"127.0.0.1:{port} cannot be reached"):
            await fetch(pool, *POST)

    uvloop.run(main())


def test_time_outs_before_and_inside_an_answer() -> None:
    async def main() -> None:
        pool = pool_of(upstream, ClientTimeouts(first_byte=0.3, idle=0.3))
        with pytest.raises(UpstreamTimeout, match="before its answer"):
            await fetch(pool, *POST)
        with pytest.raises(UpstreamTimeout, match="between two pieces"):
            await fetch(pool, *POST)
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Hang())
        upstream.script(Status(200), Body("half"), Hang(), wire=Wire(framing="chunked"))
        uvloop.run(main())


def test_cancel_closes_the_connection_and_silences_the_receiver() -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        receiver = Receiving()
        exchange = pool.request(*POST, receiver)
        await asyncio.wait_for(receiver.first.wait(), 5)
        exchange.cancel()
        exchange.cancel()
        assert await asyncio.to_thread(upstream.requests[0].wait_closed, 5)
        assert receiver.ends == []
        assert (await fetch(pool, *POST)).status == 200
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Body("half"), Hang(), wire=Wire(framing="chunked"))
        uvloop.run(main())


def test_pause_holds_the_server_back_and_resume_loses_nothing() -> None:
    size, count = 65536, 400

    async def main() -> None:
        pool = pool_of(upstream)
        receiver = Receiving()
        exchange = pool.request(*POST, receiver)
        await asyncio.wait_for(receiver.first.wait(), 5)
        exchange.pause()
        await asyncio.sleep(0)
        seen = sum(map(len, receiver.chunks))
        assert seen < size * count
        gate.open()
        exchange.resume()
        await asyncio.wait_for(receiver.done.wait(), 10)
        assert receiver.ends == [None]
        assert sum(map(len, receiver.chunks)) == size * count
        await pool.close()

    gate = Gate()
    with MockUpstream() as upstream:
        upstream.script(Body(b"x" * size), gate, *[Body(b"x" * size)] * (count - 1), wire=Wire(framing="chunked"))
        uvloop.run(main())


def test_connections_are_bounded_and_calls_wait_their_turn() -> None:
    async def main() -> None:
        pool = pool_of(upstream, max_connections=2)
        waiting = asyncio.gather(*(fetch(pool, *POST) for _ in range(4)))
        assert await asyncio.to_thread(upstream.wait_requests, 2)
        gate.open()
        assert [answer.status for answer in await waiting] == [200] * 4
        assert upstream.max_in_flight == 2
        receivers = [Receiving() for _ in range(5)]
        upstream.script(Hang(), times=None)
        for receiver in receivers:
            pool.request(*POST, receiver)
        await asyncio.wait_for(receivers[4].done.wait(), 5)
        assert isinstance(receivers[4].ends[0], QueueFull)
        await pool.close()

    gate = Gate()
    with MockUpstream() as upstream:
        upstream.script(gate, Body("ok"), times=4)
        uvloop.run(main())
        assert upstream.max_in_flight == 2


@pytest.mark.parametrize(
    "garbage", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 2"]
)
def test_what_is_not_http_is_an_error(garbage: bytes) -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        with pytest.raises(UpstreamBroken):
            await fetch(pool, *POST)
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Raw(garbage))
        uvloop.run(main())


def test_informational_answers_are_passed_over() -> None:
    async def main() -> None:
        pool = pool_of(upstream)
        answer = await fetch(pool, *POST)
        assert (answer.status, answer.body) == (200, b"ok")
        await pool.close()

    with MockUpstream() as upstream:
        upstream.script(Raw(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))
        uvloop.run(main())


def test_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "s.sock")

    async def main() -> None:
        pool = ClientPool(Origin(socket_path=path))
        assert (await fetch(pool, *POST)).status == 200
        await pool.close()

    with MockUpstream(socket_path=path):
        uvloop.run(main())
