"""Calls a router and notes what came: when, from which replica, and how much of the prompt that replica had."""

import asyncio
import re
import time

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool, ClientTimeouts
from antiphon.transport.origin import Origin
from benchmarks.scheduler.drills.prompts import Prompt

PATIENT = ClientTimeouts(connect=20, first_byte=600, idle=600, keep_alive=20)
_FIRST = re.compile(rb'"content":\s*"r(\d+) ')
_CACHED = re.compile(rb'"cached_tokens":\s*(\d+)')


class Answer(msgspec.Struct, gc=False):
    """What became of a call. Times are real seconds after ``due``, -1 where it did not come so far."""

    tokens: int
    due: float
    """When it was to be sent, by the monotonic clock."""
    sent: float = -1.0
    first: float = -1.0
    ended: float = -1.0
    status: int = 0
    replica: int = -1
    """Who answered."""
    cached: int = 0
    """Tokens of the prompt that the replica had in its cache, as it tells."""
    error: str = ""

    @property
    def good(self) -> bool:
        """It came whole."""
        return self.status == 200 and self.ended >= 0 and self.replica >= 0


class _Listener:
    """Takes one answer."""

    def __init__(self, answer: Answer, over: "asyncio.Future[Answer]") -> None:
        self._answer = answer
        self._over = over
        self._text = b""

    def head(self, status: int, headers: Headers) -> None:
        self._answer.status = status

    def data(self, chunk: bytes) -> None:
        self._text += chunk
        if self._answer.first < 0 and (found := _FIRST.search(self._text)):
            self._answer.first = time.monotonic() - self._answer.due
            self._answer.replica = int(found[1])

    def complete(self) -> None:
        answer = self._answer
        answer.ended = time.monotonic() - answer.due
        if found := _CACHED.search(self._text):
            answer.cached = int(found[1])
        if answer.status != 200 or b"[DONE]" not in self._text:
            answer.error = self._text[-200:].decode(errors="replace") or "an empty answer"
            answer.status = answer.status if answer.status != 200 else 599
        self._end()

    def broken(self, error: AntiphonError) -> None:
        self._answer.error, self._answer.status = str(error), 599
        self._end()

    def _end(self) -> None:
        if not self._over.done():
            self._over.set_result(self._answer)


class Caller:
    """Calls one router. Create it on the running loop."""

    def __init__(self, port: int, headers: tuple[str, ...] = ()) -> None:
        fields = [tuple(part.strip().encode() for part in line.split(":", 1)) for line in headers]
        self._headers: Headers = ((b"content-type", b"application/json"), *((name, value) for name, value in fields))
        self.asked = 0
        self.failed: list[Answer] = []
        """Calls that did not come whole."""
        self._pool = ClientPool(Origin(host="127.0.0.1", port=port), PATIENT, max_connections=4096)

    async def ask(self, prompt: Prompt, due: float = 0.0, headers: Headers = (), body: bytes = b"") -> Answer:
        """Ask at once, and wait for the end. ``due`` is when it was to be asked, now if it is 0."""
        answer = Answer(prompt.tokens, due or time.monotonic())
        over: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.sent = time.monotonic() - answer.due
        listener = _Listener(answer, over)
        exchange = self._pool.request("POST", "/v1/chat/completions", (*self._headers, *headers), body or prompt.body(), listener)
        self.asked += 1
        try:
            await over
            if not answer.good:
                self.failed.append(answer)
            return answer
        except asyncio.CancelledError:
            exchange.cancel()
            raise

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close()
