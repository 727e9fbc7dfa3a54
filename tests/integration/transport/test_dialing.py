"""New connections: names that change, addresses that refuse, connections that have reached their age."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
import uvloop

from antiphon.core.errors import AntiphonError, UpstreamUnreachable
from antiphon.testing import Body, Gate, MockUpstream, Wire
from antiphon.transport.client import ClientPool, ClientTimeouts, Origin, Route
from antiphon.transport.dialing import AddressInfo
from antiphon.transport.fetching import fetch

POST = ("POST", "/v1/chat/completions", ((b"content-type", b"application/json"),), b'{"model":"m","messages":[]}')


class Names:
    """A resolver that knows what the test tells it."""

    def __init__(self, *addresses: tuple[str, int]) -> None:
        self.addresses: Sequence[tuple[str, int]] = addresses
        self.asked: list[tuple[str, int]] = []
        self.error: OSError | None = None
        self.wait: asyncio.Event | None = None

    async def __call__(self, host: str, port: int) -> Sequence[AddressInfo]:
        self.asked.append((host, port))
        if self.wait is not None:
            await self.wait.wait()
        if self.error is not None:
            raise self.error
        return [(_family(address), socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, to)) for address, to in self.addresses]


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return int(closed.getsockname()[1])


def run(
    names: Names, work: Callable[[ClientPool], Awaitable[None]], timeouts: ClientTimeouts | None = None, limit: int = 64
) -> None:
    async def main() -> None:
        pool = ClientPool(Origin("http", "models.example", 80), timeouts, limit, route=Route(resolve=names))
        try:
            await work(pool)
        finally:
            await pool.close()

    uvloop.run(main())


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


def test_the_next_address_is_tried_where_one_refuses() -> None:
    async def work(pool: ClientPool) -> None:
        assert (await fetch(pool, *POST)).status == 200
        assert upstream.requests[0].header("host") == "models.example"

    with MockUpstream() as upstream:
        names = Names(("127.0.0.1", closed_port()), ("::1", closed_port()), ("127.0.0.1", upstream.port))
        run(names, work)
        assert names.asked == [("models.example", 80)]


def test_all_addresses_refuse() -> None:
    async def work(pool: ClientPool) -> None:
        with pytest.raises(UpstreamUnreachable, match=r"http://models\.example cannot be reached: Connection refused"):
            await fetch(pool, *POST)

    run(Names(("127.0.0.1", closed_port()), ("127.0.0.1", closed_port())), work)


def test_a_name_that_is_not_known() -> None:
    async def work(pool: ClientPool) -> None:
        names.error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        with pytest.raises(UpstreamUnreachable, match=r'"models\.example" cannot be resolved: Name or service not known; check'):
            await fetch(pool, *POST)
        names.error = None
        with pytest.raises(UpstreamUnreachable, match=r'"models\.example" has no address'):
            await fetch(pool, *POST)

    names = Names()
    run(names, work)


def test_a_resolver_that_is_silent_is_not_waited_for_and_asked_once() -> None:
    async def work(pool: ClientPool) -> None:
        names.wait = asyncio.Event()
        calls = [fetch(pool, *POST) for _ in range(5)]
        for error in await asyncio.gather(*calls, return_exceptions=True):
            assert str(error).startswith('the name "models.example" was not resolved within 0.2 s; ')
        assert len(names.asked) == 1
        names.wait.set()

    names = Names()
    run(names, work, ClientTimeouts(connect=0.2))


def test_the_systems_resolver() -> None:
    async def main() -> None:
        pool = ClientPool(Origin("http", "localhost", upstream.port))
        assert (await fetch(pool, *POST)).status == 200
        await pool.close()
        unknown = ClientPool(Origin("http", "nowhere.invalid", 80), ClientTimeouts(connect=10))
        with pytest.raises(UpstreamUnreachable, match=r'the name "nowhere\.invalid"'):
            await fetch(unknown, *POST)

    with MockUpstream() as upstream:
        uvloop.run(main())


def test_a_changed_record_is_followed_once_the_connection_has_its_age() -> None:
    async def work(pool: ClientPool) -> None:
        await fetch(pool, *POST)
        names.addresses = [("127.0.0.1", second.port)]
        await fetch(pool, *POST)
        assert len(first.requests) == 2
        await until(lambda: first.open_connections == 0)
        await fetch(pool, *POST)
        assert len(second.requests) == 1

    with MockUpstream() as first, MockUpstream() as second:
        names = Names(("127.0.0.1", first.port))
        run(names, work, ClientTimeouts(max_age=0.5))


def test_age_cuts_no_stream_and_ends_the_connection_behind_it() -> None:
    async def work(pool: ClientPool) -> None:
        stream = asyncio.ensure_future(fetch(pool, *POST))
        await until(lambda: pool._all)
        connection = next(iter(pool._all))
        await until(lambda: connection._spent)
        gate.open()
        assert (await stream).body == b"first second"
        await fetch(pool, *POST)

    gate = Gate()
    with MockUpstream() as upstream:
        upstream.script(Body(b"first "), gate, Body(b"second"), wire=Wire(framing="chunked"))
        run(Names(("127.0.0.1", upstream.port)), work, ClientTimeouts(max_age=0.3))
        assert upstream.connections == 2


def test_connections_that_are_used_all_the_time_reach_their_age_too() -> None:
    async def work(pool: ClientPool) -> None:
        async with asyncio.timeout(5):
            while upstream.connections < 3:
                assert (await fetch(pool, *POST)).status == 200

    with MockUpstream() as upstream:
        run(Names(("127.0.0.1", upstream.port)), work, ClientTimeouts(max_age=0.2))


def test_calls_that_wait_for_a_connection_hear_that_there_is_none() -> None:
    async def work(pool: ClientPool) -> None:
        async with asyncio.timeout(10):
            errors = await asyncio.gather(*(fetch(pool, *POST) for _ in range(2)), return_exceptions=True)
        assert [type(error) for error in errors] == [UpstreamUnreachable] * 2

    run(Names(("127.0.0.1", closed_port())), work, limit=1)


def test_closing_the_pool_tells_those_who_still_connect() -> None:
    async def work(pool: ClientPool) -> None:
        names.wait = asyncio.Event()
        call = asyncio.ensure_future(fetch(pool, *POST))
        await until(lambda: names.asked)
        await pool.close()
        with pytest.raises(AntiphonError, match="are closed"):
            await asyncio.wait_for(call, 5)

    names = Names()
    run(names, work)


def test_a_server_that_closes_at_once_is_told() -> None:
    async def main() -> None:
        def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.transport.abort()

        server = await asyncio.start_server(slam, "127.0.0.1", 0)
        pool = ClientPool(Origin("http", "127.0.0.1", server.sockets[0].getsockname()[1]))
        for _ in range(50):
            with pytest.raises(AntiphonError, match="closed the connection before it answered"):
                await asyncio.wait_for(fetch(pool, *POST), 5)
        await pool.close()
        server.close()

    uvloop.run(main())


def test_failed_attempts_leave_no_descriptor_open() -> None:
    async def work(pool: ClientPool) -> None:
        async def attempts() -> None:
            for _ in range(20):
                with pytest.raises(UpstreamUnreachable):
                    await fetch(pool, *POST)

        await attempts()
        before = len(os.listdir("/proc/self/fd"))
        await attempts()
        assert len(os.listdir("/proc/self/fd")) <= before

    run(Names(("127.0.0.1", closed_port()), ("::1", closed_port())), work)


def test_the_kernel_watches_over_the_peer() -> None:
    async def work(pool: ClientPool) -> None:
        await fetch(pool, *POST)
        sock = next(iter(pool._all))._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    with MockUpstream() as upstream:
        run(Names(("127.0.0.1", upstream.port)), work)
