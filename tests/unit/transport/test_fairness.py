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
        loop.turn()
        assert transport.reading


def test_one_connection_reads_in_each_turn_however_many_are_flooded():
    with HandLoop() as loop:
        flooded = [answering(loop) for _ in range(30)]
        for connection, _ in flooded:
            connection.data_received(b"x" * LARGE_READ)
        for turn in range(90):
            loop.once()
            reading = [(connection, transport) for connection, transport in flooded if transport.reading]
            assert reading == [flooded[turn % 30]]
            reading[0][0].data_received(b"x" * LARGE_READ)


def test_callers_who_read_on_all_at_once_take_turns_too():
    with HandLoop() as loop:
        waiting = [answering(loop) for _ in range(3)]
        for connection, _ in waiting:
            connection.pause()
        for connection, _ in waiting:
            connection.resume()
        for turn in range(3):
            loop.once()
            assert [transport.reading for _, transport in waiting] == [place <= turn for place in range(3)]


def test_who_has_left_or_rests_for_another_reason_takes_no_turn():
    with HandLoop() as loop:
        gone, paused, last = (answering(loop) for _ in range(3))
        for connection, _ in (gone, paused, last):
            connection.data_received(b"x" * LARGE_READ)
        gone[1].end()
        paused[0].pause()
        loop.once()
        assert (paused[1].reading, last[1].reading) == (False, True)
