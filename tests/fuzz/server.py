"""Bytes of callers into the server's protocol."""

import random
import re
from typing import Any

from antiphon.transport.server import HttpServer, Request, Responder, _Connection
from tests.fuzz import corpus, oracle
from tests.fuzz.fakes import HandLoop, HandTransport
from tests.fuzz.finding import Finding, same

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n(?:x-number: (\d+)\r\n)?")
_MANY_ZEROS = re.compile(rb"0{16}")
"""In front of a length these are allowed, and more than h11 takes."""
_REFUSALS = frozenset((b"400", b"413", b"431"))


class ServerTarget:
    """Whatever a caller sends, the server answers each request that it takes, in order, and refuses the rest."""

    name = "server"
    seeds = (*corpus.VALID.values(), *corpus.DESYNC.values(), *corpus.TOLERATED.values())
    words = corpus.HTTP_WORDS

    def __init__(self, loop: HandLoop) -> None:
        self._loop = loop
        self._server = HttpServer(self._handle)
        self._seen: list[Request] = []
        self._later = self._silent = False

    def run(self, data: bytes, pieces: list[bytes], rng: random.Random) -> None:
        self._later = rng.random() < 0.5
        self._silent = rng.random() < 0.02
        seen, answers = self._play([data])
        again, answers_again = self._play(pieces)
        same("requests by how the bytes were cut", [_message(r) for r in seen], [_message(r) for r in again])
        same("answers by how the bytes were cut", answers, answers_again)
        self._judge(data, seen, answers)

    def _judge(self, data: bytes, seen: list[Request], answers: list[tuple[bytes, bytes]]) -> None:
        numbers = [number for status, number in answers if status == b"200"]
        same("numbers of the answers", numbers, [b"%d" % i for i in range(len(seen))])
        refusals = [status for status, _ in answers if status != b"200"]
        if len(refusals) > 1 or not _REFUSALS.issuperset(refusals) or (refusals and answers[-1][0] == b"200"):
            raise Finding(f"answers {answers}")
        read, why = oracle.requests(data) if seen else ([], "")
        for number, request in enumerate(seen):
            if number >= len(read) and _MANY_ZEROS.search(data):
                return
            if number >= len(read):
                raise Finding(f"{_message(request)} was taken, which h11 refuses: {why or 'not complete'}")
            same("a request by two readings", _message(request), read[number])

    def _play(self, pieces: list[bytes]) -> tuple[list[Request], list[tuple[bytes, bytes]]]:
        """The requests that the handler saw, and the status and number of each answer."""
        self._seen = []
        connection: Any = _Connection(self._server)
        transport = HandTransport(self._loop, connection)
        connection.connection_made(transport)
        for piece in pieces:
            if transport.closed:
                break
            connection.data_received(piece)
            self._loop.turn()
        sent = b"".join(transport.written)
        if self._silent:
            self._wait_until_closed(transport)
        transport.end()
        self._loop.turn()
        if connection._backlog or connection._body or connection._parser is not None:
            raise Finding("a connection that has ended keeps what it held")
        return self._seen, [(found[1], found[2]) for found in _STATUS.finditer(sent) if found[1] != b"100"]

    def _wait_until_closed(self, transport: HandTransport) -> None:
        """A peer that says nothing more is given up, whatever it has said."""
        for _ in range(3):  # an answer of 408 and the time to read it are two waits
            self._loop.pass_time(400)
        if not transport.closed:
            raise Finding("a silent peer is kept for ever")

    def _handle(self, request: Request, responder: Responder) -> None:
        number = len(self._seen)
        self._seen.append(request)
        if self._later and number % 3 != 2:
            self._loop.call_soon(self._answer, responder, number)
        else:
            self._answer(responder, number)

    def _answer(self, responder: Responder, number: int) -> None:
        fields = ((b"x-number", b"%d" % number),)
        if number % 2:
            responder.send(200, fields, b"ok")
        else:
            responder.start(200, fields, b"o")
            responder.end(b"k")

    def left_over(self) -> int:
        return len(self._server.connections)


def _message(request: Request) -> oracle.Message:
    return oracle.Message((request.method.encode(), request.target), oracle.fields_of(list(request.headers)), request.body)
