"""Servers that are old, slow, verbose or broken: each answer is taken whole, or refused by reason, and nothing waits for ever."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from antiphon.core.errors import UpstreamBroken, UpstreamTimeout
from antiphon.transport.client import MAX_HEAD, ClientPool, ClientTimeouts, Origin
from antiphon.transport.fetching import Response, fetch

POST = ("POST", "/v1/chat/completions", ((b"content-type", b"application/json"),), b'{"model":"m","messages":[]}')
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(answer: Answer, work: Callable[[ClientPool, list[int]], Awaitable[None]], timeouts: ClientTimeouts | None = None) -> None:
    """``answer`` plays the server on each connection; ``work`` is told how many there have been."""

    async def main() -> None:
        connections: list[int] = []

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(1)
            try:
                await answer(reader, writer)
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        pool = ClientPool(Origin("http", "127.0.0.1", server.sockets[0].getsockname()[1]), timeouts)
        try:
            async with asyncio.timeout(20):
                await work(pool, connections)
        finally:
            await pool.close()
            server.close()

    uvloop.run(main())


async def request(reader: asyncio.StreamReader) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(len(POST[3]))


def saying(*pieces: bytes, keep: bool = True) -> Answer:
    """Answers each request with these pieces, each a write of its own; without ``keep`` it closes after one."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request(reader)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if not keep:
                return

    return answer


@pytest.mark.parametrize(
    ("said", "keep", "body", "connections"),
    [
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", False, b"ok", 3),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", True, b"ok", 3),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil it closes", False, b"until it closes", 3),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil it closes", False, b"until it closes", 3),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", True, b"ok", 3),
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok", True, b"ok", 1),
        (b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok", True, b"ok", 1),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True, b"", 1),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", True, b"", 1),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", True, b"", 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, True, b"ok", 1),
        (b"HTTP/1.1 102 Processing\r\nx: y\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + OK, True, b"ok", 1),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\n\r\n", True, b"ok", 1),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x\r\n\r\n2\r\nok\r\n0\r\nx: y\r\nz: 1\r\n\r\n",
            True,
            b"ok",
            1,
        ),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", True, b"ok", 1),
        (OK + OK, True, b"ok", 3),
        (OK + b"surplus", True, b"ok", 3),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_each_way_to_end_an_answer(said: bytes, keep: bool, body: bytes, connections: int, whole: bool) -> None:
    async def work(pool: ClientPool, made: list[int]) -> None:
        for _ in range(3):
            answer = await fetch(pool, *POST)
            assert answer.body == body
            assert not [name for name, _ in answer.headers if name in (b"x", b"link", b"transfer-encoding", b"trailer")]
        assert len(made) == connections

    pieces = [said] if whole else [said[i : i + 1] for i in range(len(said))]
    if not whole and said.startswith(OK):
        return  # surplus that comes later is the next test
    run(saying(*pieces, keep=keep), work)


def test_surplus_that_comes_later_ends_the_idle_connection() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(OK)
        await more.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison")
        await reader.read()

    async def work(pool: ClientPool, made: list[int]) -> None:
        assert (await fetch(pool, *POST)).body == b"ok"
        more.set()
        while pool._idle:
            await asyncio.sleep(0.01)
        assert (await fetch(pool, *POST)).body == b"ok"
        assert len(made) == 2

    more = asyncio.Event()
    run(answer, work)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", "is not HTTP/1.1"),
        (b"HTTP/2 200\r\n\r\n", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nok", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n", "is not HTTP/1.1"),
        (b"\x15\x03\x01\x00\x02\x02\x50", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", "in the middle of its answer"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", "in the middle of its answer"),
        (b"HTTP/1.1 200 OK\r\nx: y", "in the middle of its answer"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "in the middle of its answer"),
        (b"", "before it answered"),
    ],
)
def test_what_is_no_answer_is_an_error(said: bytes, reason: str) -> None:
    async def work(pool: ClientPool, made: list[int]) -> None:
        with pytest.raises(UpstreamBroken, match=reason):
            await fetch(pool, *POST)

    run(saying(said, keep=False), work)


@pytest.mark.parametrize(
    ("begin", "again", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", "a head of more than 256 KiB"),
        (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 100, "a head of more than 256 KiB"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", "a head of more than 256 KiB"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", b"x: y\r\n", "trailers of more than 256 KiB"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx: ", b"y" * 100, "trailers of more than 256 KiB"),
    ],
)
def test_what_has_no_end_is_refused(begin: bytes, again: bytes, reason: str) -> None:
    sent = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request(reader)
        writer.write(begin)
        for _ in itertools.count():
            writer.write(again * 100)
            sent += len(again) * 100
            await writer.drain()

    async def work(pool: ClientPool, made: list[int]) -> None:
        with pytest.raises(UpstreamBroken, match=reason):
            await fetch(pool, *POST)
        assert sent < MAX_HEAD + (16 << 20)  # what the kernel's buffers hold on both sides

    run(answer, work)


def dripping(head: bytes, again: bytes) -> Answer:
    """Sends a little now and then, for ever."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(head)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(0.05)

    return answer


@pytest.mark.parametrize("again", [b"x: y\r\n", b"y"])
def test_a_head_that_drips_is_given_no_more_time_than_a_silent_one(again: bytes) -> None:
    async def work(pool: ClientPool, made: list[int]) -> None:
        with pytest.raises(UpstreamTimeout, match=r"0\.5 s before its answer"):
            await fetch(pool, *POST)

    run(dripping(b"HTTP/1.1 200 OK\r\nx: ", again), work, ClientTimeouts(first_byte=0.5, idle=5))


def test_a_body_that_drips_is_taken_as_long_as_it_does() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n")
        for _ in range(12):
            await asyncio.sleep(0.1)
            writer.write(b"x")
        await reader.read()

    async def work(pool: ClientPool, made: list[int]) -> None:
        assert (await fetch(pool, *POST)).body == b"x" * 12

    run(answer, work, ClientTimeouts(first_byte=0.8, idle=0.8))


def test_a_server_that_answers_before_it_has_read_the_call() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        await asyncio.sleep(5)

    async def work(pool: ClientPool, made: list[int]) -> None:
        answers: list[Response] = [await fetch(pool, "POST", "/", (), b"x" * (16 << 20)) for _ in range(2)]
        assert [(answer.status, answer.body) for answer in answers] == [(413, b"big")] * 2
        assert len(made) == 2

    run(answer, work)


def test_many_stale_connections_at_once_are_each_replaced() -> None:
    """A server that restarts: what idled is gone, and calls that come in that moment find it back."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while True:
            await request(reader)
            if len(writers) <= 8:
                waiting.append(writer)
                if len(waiting) == 8:
                    for peer in waiting:
                        peer.write(OK)
            else:
                writer.write(OK)

    async def work(pool: ClientPool, made: list[int]) -> None:
        await asyncio.gather(*(fetch(pool, *POST) for _ in range(8)))
        for writer in writers:
            writer.transport.abort()
        answers = await asyncio.gather(*(fetch(pool, *POST) for _ in range(8)))
        assert [answer.body for answer in answers] == [b"ok"] * 8

    writers: list[asyncio.StreamWriter] = []
    waiting: list[asyncio.StreamWriter] = []
    run(answer, work)
