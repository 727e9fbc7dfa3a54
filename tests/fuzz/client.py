"""Bytes of servers into the client's protocol."""

import random
from typing import Any

from antiphon.core.errors import AntiphonError, UpstreamBroken, UpstreamTimeout
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool, Exchange, Origin, _Connection
from tests.fuzz import corpus, oracle
from tests.fuzz.fakes import HandLoop, HandTransport
from tests.fuzz.finding import Finding, same


class _Receiver:
    """Holds the client to the order of its callbacks."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: Headers = ()
        self.body: list[bytes] = []
        self.end: AntiphonError | str = ""

    def head(self, status: int, headers: Headers) -> None:
        if self.status is not None or self.end:
            raise Finding("a second head, or one behind the end")
        self.status, self.headers = status, headers

    def data(self, chunk: bytes) -> None:
        if self.status is None or self.end or not chunk:
            raise Finding("data before the head, behind the end, or none")
        self.body.append(chunk)

    def complete(self) -> None:
        self._ended("complete")

    def broken(self, error: AntiphonError) -> None:
        if not isinstance(error, UpstreamBroken | UpstreamTimeout):
            raise Finding(f"ended by {error!r}")
        self._ended(error)

    def _ended(self, how: AntiphonError | str) -> None:
        if self.end:
            raise Finding("a second end")
        self.end = how


class ClientTarget:
    """Whatever a server sends, the receiver hears of one answer, complete or broken, and an unclean connection is used no more."""

    name = "client"
    seeds = corpus.ANSWERS
    words = corpus.HTTP_WORDS

    def __init__(self, loop: HandLoop) -> None:
        self._loop = loop
        self._pool = ClientPool(Origin(host="server", port=80))

    def run(self, data: bytes, pieces: list[bytes], rng: random.Random) -> None:
        whole = self._play([data])
        same("an answer by how the bytes were cut", _told(whole), _told(self._play(pieces)))
        if whole.end == "complete":
            self._judge(data, whole)
        if rng.random() < 0.02:
            self._play(pieces, silent=True)

    def _judge(self, data: bytes, whole: _Receiver) -> None:
        read, _ = oracle.answer(data, ended=True)
        if read is not None:  # h11 takes fewer answers than llhttp; where both take one, it is the same
            same("status by two readings", whole.status, read.first)
            same("body by two readings", b"".join(whole.body), read.body)

    def _play(self, pieces: list[bytes], silent: bool = False) -> _Receiver:
        receiver = _Receiver()
        connection: Any = _Connection(self._pool)
        transport = HandTransport(self._loop, connection)
        connection.connection_made(transport)
        self._pool._all.add(connection)
        exchange = Exchange(self._pool, b"POST / HTTP/1.1\r\nhost: server\r\ncontent-length: 0\r\n\r\n", b"", receiver)
        connection.send(exchange)
        for piece in pieces:
            if transport.closed:
                break
            connection.data_received(piece)
            self._loop.turn()
        if silent:
            self._loop.pass_time(400)
            if not receiver.end:
                raise Finding("a silent server is waited for for ever")
        transport.end()
        self._loop.turn()
        if not receiver.end or exchange.receiver is not None or connection._exchange is not None:
            raise Finding("the connection has ended, and the exchange has not")
        return receiver

    def left_over(self) -> int:
        return len(self._pool._all) + len(self._pool._idle) + len(self._pool._waiting)


def _told(receiver: _Receiver) -> tuple[object, ...]:
    """What the receiver was told. Of a broken answer, not how much came before: llhttp tells what it read up to the fault."""
    if receiver.end == "complete":
        return receiver.status, receiver.headers, b"".join(receiver.body)
    return ("broken",)
