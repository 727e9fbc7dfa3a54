"""Large reads take turns."""

import pytest

from antiphon.transport.client import ClientPool, Exchange, Origin
from antiphon.transport.client import _Connection as ClientConnection
from antiphon.transport.fairness import LARGE_READ
from antiphon.transport.server import HttpServer
from antiphon.transport.server import _Connection as ServerConnection
from tests.fuzz.fakes import HandLoop, HandTransport

UPLOAD = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9000000\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n"


class Taking:
    """Receiver that takes everything."""

    def head(self, status, headers): ...
    def data(self, chunk): ...
    def complete(self): ...
    def broken(self, error): ...


def uploading(loop):
    connection = ServerConnection(HttpServer(lambda request, responder: None))
    transport = HandTransport(loop, connection)
    connection.connection_made(transport)
    connection.data_received(UPLOAD)
    return connection, transport


def answering(loop):
    pool = ClientPool(Origin(host="a"))
    connection = ClientConnection(pool)
    transport = HandTransport(loop, connection)
    connection.connection_made(transport)
    connection.send(Exchange(pool, b"", b"", Taking()))
    connection.data_received(ANSWER)
    return connection, transport


@pytest.mark.parametrize("begun", [uploading, answering])
def test_a_large_read_is_followed_by_the_turn_of_others(begun):
    with HandLoop() as loop:
        connection, transport = begun(loop)
        connection.data_received(b"x" * (LARGE_READ - 1))
        assert transport.reading
        connection.data_received(b"x" * LARGE_READ)
        assert not transport.reading
        loop.turn()
        assert transport.reading
        connection.data_received(b"x" * LARGE_READ)
        transport.end()
        loop.turn()


def test_what_was_paused_for_another_reason_stays_so():
    with HandLoop() as loop:
        connection, transport = answering(loop)
        connection.data_received(b"x" * LARGE_READ)
        connection.pause()
        loop.turn()
        assert not transport.reading
        connection.resume()
        assert transport.reading
