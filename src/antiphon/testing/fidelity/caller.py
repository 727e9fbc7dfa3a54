"""The caller of all cases: it sends exact bytes and keeps the bytes that come."""

import asyncio
import os
from collections.abc import Callable

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Headers
from antiphon.testing.fidelity.case import ServerDialect
from antiphon.testing.fidelity.outcome import Answer
from antiphon.transport.client import ClientPool, ClientTimeouts, Exchange, Origin, Route
from antiphon.transport.proxies import from_environment
from antiphon.transport.tls import TlsOptions


class Gateway(msgspec.Struct, frozen=True):
    """The gateway that is looked at."""

    url: str
    """Its root, or its ``/v1``."""
    key: str = "sk-fidelity"
    model: str = "fidelity-openai"
    """Its name for the model whose server speaks OpenAI's protocol."""
    anthropic_model: str = "fidelity-anthropic"
    """Its name for the model whose server speaks Anthropic's."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of every request."""

    @property
    def origin(self) -> Origin:
        """Where it is. Raises ConfigError for what is no URL."""
        return Origin.parse(self.url)

    def model_of(self, server: ServerDialect) -> str:
        """Its name for the model behind a server that speaks this dialect."""
        return self.model if server == "openai" else self.anthropic_model

    def target(self, path: str) -> str:
        """The path of an endpoint, below the path of the URL."""
        below = self.url.split("://", 1)[-1].partition("/")[2].strip("/")
        below = below.removesuffix("v1").rstrip("/")
        return f"/{below}{path}" if below else path

    def fields(self, callers: str) -> Headers:
        """Headers of a request in a dialect."""
        own = [("content-type", "application/json"), ("authorization", f"Bearer {self.key}")]
        own += [("x-api-key", self.key)] if callers == "anthropic" else []
        return tuple((name.encode(), value.encode()) for name, value in (*own, *self.headers))


class Request(msgspec.Struct, frozen=True):
    """What is sent."""

    path: str
    headers: Headers
    body: bytes


class Call:
    """One request and its answer, on a connection of its own. Make it on the running loop."""

    def __init__(self, gateway: Gateway, request: Request, seen: Callable[[bytearray], None], limit: float) -> None:
        self.body = bytearray()
        self._seen = seen
        self._status = 0
        self._headers: Headers = ()
        self._fault = ""
        self._late = False
        self._over = asyncio.Event()
        self._come = asyncio.Event()
        origin = gateway.origin
        route = Route(TlsOptions(), from_environment(os.environ, origin))
        self._limit = limit
        self._rests_after = 0
        self._pool = ClientPool(origin, ClientTimeouts(connect=5.0, first_byte=limit, idle=limit), 1, route=route)
        self._exchange: Exchange = self._pool.request("POST", gateway.target(request.path), request.headers, request.body, self)

    async def end(self) -> Answer:
        """The whole answer, or what came of it within the limit."""
        try:
            async with asyncio.timeout(self._limit):
                await self._over.wait()
        except TimeoutError:
            self._fault, self._late = f"it was not complete within {self._limit:g} s", True
            self._exchange.cancel()
        await self.close()
        return Answer(self._status, self._headers, bytes(self.body), self._fault, late=self._late)

    async def until(self, enough: Callable[[bytearray], bool]) -> bool:
        """Whether so much of the answer comes within the limit."""
        try:
            async with asyncio.timeout(self._limit):
                while not enough(self.body) and not self._over.is_set():
                    self._come.clear()
                    await self._come.wait()
        except TimeoutError:
            pass
        return enough(self.body)

    def rest_after(self, size: int) -> None:
        """Read no more once so many bytes have come."""
        self._rests_after = size

    async def leave(self) -> Answer:
        """Go, and give back what had come."""
        self._exchange.cancel()
        await self.close()
        return Answer(self._status, self._headers, bytes(self.body), self._fault)

    async def close(self) -> None:
        """Let the connection go."""
        await self._pool.close()

    # -- receiver

    def head(self, status: int, headers: Headers) -> None:
        self._status, self._headers = status, headers

    def data(self, chunk: bytes) -> None:
        self.body += chunk
        self._seen(self.body)
        self._come.set()
        if self._rests_after and len(self.body) >= self._rests_after:
            self._exchange.pause()

    def complete(self) -> None:
        self._end()

    def broken(self, error: AntiphonError) -> None:
        self._fault = error.message
        self._end()

    def _end(self) -> None:
        self._over.set()
        self._come.set()
