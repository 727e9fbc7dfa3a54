"""Makes calls for coroutines."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from types import AsyncGeneratorType
from typing import Any, cast

import anyio
import httpcore2

from antiphon_client.address import Secret
from antiphon_client.errors import APIError
from antiphon_client.network import Route
from antiphon_client.transport.ask import Answer, Ask
from antiphon_client.transport.attempts import LAST_BYTES, NETWORK_ERRORS, Attempts, client_closed
from antiphon_client.transport.said_errors import MAX_BODY


class AsyncResponse:
    """A response whose head has come and whose body is still on its way."""

    def __init__(self, response: httpcore2.Response, attempts: Attempts) -> None:
        self._response = response
        self._attempts = attempts
        self._pieces = cast("AsyncGeneratorType[bytes, None]", self._pump())
        self.info = attempts.info(response)

    async def piece(self) -> bytes:
        """The next piece of the body, empty at its end. Raises APIConnectionError."""
        with _explained(self._attempts), anyio.fail_after(self._attempts.left):
            return await anext(self._pieces, b"")

    async def read(self) -> bytes:
        """All that is left of the body, and close it. Raises APIConnectionError."""
        pieces = []
        async with contextlib.aclosing(self):
            while piece := await self.piece():
                pieces.append(piece)
        return b"".join(pieces)

    async def finish(self) -> None:
        """Read what stands behind the last event, mostly nothing, so that the connection can be used again."""
        self._attempts.hurry(LAST_BYTES)
        with contextlib.suppress(APIError):
            while await self.piece():
                pass

    async def aclose(self) -> None:
        """Give the connection back; close it where the body is not over. Whoever waits for a piece stops waiting."""
        await cast("Any", self._response.stream).aclose()
        if not self._pieces.ag_running:
            await self._pieces.aclose()

    def known(self, error: APIError) -> APIError:
        """An error of what is inside the answer, with what is known of the call."""
        return self._attempts.known(error)

    async def _pump(self) -> AsyncGenerator[bytes]:
        """A generator, because the event loop closes one that was dropped half-way, and with it the connection."""
        try:
            async for piece in cast("AsyncIterable[bytes]", self._response.stream):
                yield piece
        finally:
            await cast("Any", self._response.stream).aclose()


class AsyncSender:
    """Connections to one server, all of one event loop."""

    def __init__(self, route: Route, key: Secret) -> None:
        self._route = route
        self._key = key
        self._closed = False
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=route.tls,
            proxy=route.proxy,
            max_connections=route.network.max_connections,
            keepalive_expiry=route.network.keep_alive,
            uds=route.address.socket or None,
        )

    async def whole(self, ask: Ask[Answer]) -> Answer:
        """The answer, once all of it has come. Raises APIError."""
        response = await self.open(ask)
        body = await response.read()
        try:
            return ask.decode(body, response.info)
        except APIError as error:
            raise response.known(error) from error.__cause__  # the error itself may repeat what we sent

    async def open(self, ask: Ask[Any]) -> AsyncResponse:
        """The response, once its head has come and tells of no error. Raises APIError."""
        attempts = Attempts(ask, self._route, self._key)
        while True:
            try:
                return await self._attempt(attempts)
            except APIError as error:
                await anyio.sleep(attempts.pause_after(error))

    async def aclose(self) -> None:
        """Close all connections; no call is made from then on."""
        self._closed = True
        await self._pool.aclose()

    async def _attempt(self, attempts: Attempts) -> AsyncResponse:
        if self._closed:
            raise client_closed()
        request = attempts.request()
        with _explained(attempts), anyio.fail_after(attempts.left):
            raw = await self._pool.handle_async_request(request)
        response = AsyncResponse(raw, attempts)
        if attempts.is_answer(response.info.status):
            return response
        raise attempts.refused(response.info, await _error_body(response))


@contextlib.contextmanager
def _explained(attempts: Attempts) -> Iterator[None]:
    """Failures of the network, and the deadline, as errors of ours."""
    try:
        yield
    except (*NETWORK_ERRORS, TimeoutError) as error:
        raise attempts.broken(error) from error


async def _error_body(response: AsyncResponse) -> bytes:
    """As much of the body as there is: an error that breaks off is still the error that its status says."""
    body = b""
    async with contextlib.aclosing(response):
        with contextlib.suppress(APIError):
            while len(body) < MAX_BODY and (piece := await response.piece()):
                body += piece
    return body
