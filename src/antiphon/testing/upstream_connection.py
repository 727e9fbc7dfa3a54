"""One connection of the mock upstream: reads requests, plays answers."""

import asyncio
from collections.abc import Callable

import httptools

from antiphon.testing.playing import Play, Player
from antiphon.testing.recorded_request import RecordedRequest

BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Board:
    """What the connections of one mock upstream share; touched by its own thread alone."""

    def __init__(self, answer: Callable[[RecordedRequest], Play]) -> None:
        self.answer = answer
        self.accepted = 0
        self.open: set[UpstreamConnection] = set()
        self.in_flight = 0
        self.max_in_flight = 0


class UpstreamConnection(asyncio.Protocol):
    """Plain HTTP/1.1 with keep-alive; requests that come early wait their turn."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: asyncio.Queue[tuple[RecordedRequest, bool]] = asyncio.Queue()
        self._requests: list[RecordedRequest] = []
        self._target = b""
        self._fields: list[tuple[str, str]] = []
        self._body = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._player = Player(transport)
        self._board.accepted += 1
        self._board.open.add(self)
        self._number = self._board.accepted
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass
        except httptools.HttpParserError:
            self._transport.write(BAD_REQUEST)
            self._transport.close()

    def eof_received(self) -> bool:
        self._peer_left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._peer_left()
        self._board.open.discard(self)
        self._task.cancel()

    def pause_writing(self) -> None:
        self._player.pause_writing()

    def resume_writing(self) -> None:
        self._player.resume_writing()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        if ("expect", "100-continue") in self._fields:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode()
        request = RecordedRequest(method, self._target.decode("latin-1"), tuple(self._fields), bytes(self._body))
        request.connection = self._number
        peer = self._transport.get_extra_info("peername")
        request.peer = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""
        self._requests.append(request)
        self._waiting.put_nowait((request, self._parser.should_keep_alive()))
        self._target, self._fields, self._body = b"", [], bytearray()

    def abort(self) -> None:
        self._transport.abort()

    def _peer_left(self) -> None:
        for request in self._requests:
            request.mark_closed()

    async def _serve(self) -> None:
        keep = True
        while keep:
            request, keep = await self._waiting.get()
            play = self._board.answer(request)
            self._board.in_flight += 1
            self._board.max_in_flight = max(self._board.max_in_flight, self._board.in_flight)
            try:
                if not await self._player.play(play):
                    return
            finally:
                self._board.in_flight -= 1
            request.mark_answered()
            keep = keep and not play.close
        self._transport.close()
