"""Makes calls, blocking. Safe to be used by many threads."""

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import httpcore2

from antiphon_client.address import Secret
from antiphon_client.errors import APIError
from antiphon_client.network import Route
from antiphon_client.transport.ask import Answer, Ask
from antiphon_client.transport.attempts import LAST_BYTES, NETWORK_ERRORS, Attempts, client_closed
from antiphon_client.transport.patience import PatientBackend
from antiphon_client.transport.said_errors import MAX_BODY


class Response:
    """A response whose head has come and whose body is still on its way."""

    def __init__(self, response: httpcore2.Response, attempts: Attempts) -> None:
        self._response = response
        self._attempts = attempts
        self._pieces = cast("Iterator[bytes]", iter(cast("Any", response.stream)))
        self.info = attempts.info(response)

    def piece(self) -> bytes:
        """The next piece of the body, empty at its end. Raises APIConnectionError."""
        try:
            return next(self._pieces, b"")
        except NETWORK_ERRORS as error:
            raise self._attempts.broken(error) from error

    def read(self) -> bytes:
        """All that is left of the body, and close it. Raises APIConnectionError."""
        with contextlib.closing(self):
            return b"".join(iter(self.piece, b""))

    def finish(self) -> None:
        """Read what stands behind the last event, mostly nothing, so that the connection can be used again."""
        self._attempts.hurry(LAST_BYTES)
        with contextlib.suppress(APIError):
            while self.piece():
                pass

    def close(self) -> None:
        """Give the connection back; close it where the body is not over."""
        cast("Any", self._response.stream).close()

    def abort(self) -> None:
        """Cut the connection, so that a thread that waits for a piece stops waiting. From any thread."""
        sock = self._response.extensions["network_stream"].get_extra_info("socket")
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    def known(self, error: APIError) -> APIError:
        """An error of what is inside the answer, with what is known of the call."""
        return self._attempts.known(error)


class Sender:
    """Connections to one server."""

    def __init__(self, route: Route, key: Secret) -> None:
        self._route = route
        self._key = key
        self._closed = False
        self._pool = httpcore2.ConnectionPool(
            ssl_context=route.tls,
            proxy=route.proxy,
            max_connections=route.network.max_connections,
            keepalive_expiry=route.network.keep_alive,
            uds=route.address.socket or None,
            network_backend=PatientBackend(),
        )

    def whole(self, ask: Ask[Answer]) -> Answer:
        """The answer, once all of it has come. Raises APIError."""
        response = self.open(ask)
        body = response.read()
        try:
            return ask.decode(body, response.info)
        except APIError as error:
            raise response.known(error) from error.__cause__  # the error itself may repeat what we sent

    def open(self, ask: Ask[Any]) -> Response:
        """The response, once its head has come and tells of no error. Raises APIError."""
        attempts = Attempts(ask, self._route, self._key)
        while True:
            try:
                return self._attempt(attempts)
            except APIError as error:
                time.sleep(attempts.pause_after(error))

    def close(self) -> None:
        """Close all connections; no call is made from then on."""
        self._closed = True
        self._pool.close()

    def _attempt(self, attempts: Attempts) -> Response:
        if self._closed:
            raise client_closed()
        request = attempts.request()
        try:
            raw = self._pool.handle_request(request)
        except NETWORK_ERRORS as error:
            raise attempts.broken(error) from error
        response = Response(raw, attempts)
        if attempts.is_answer(response.info.status):
            return response
        raise attempts.refused(response.info, _error_body(response))


def _error_body(response: Response) -> bytes:
    """As much of the body as there is: an error that breaks off is still the error that its status says."""
    body = b""
    with contextlib.closing(response), contextlib.suppress(APIError):
        while len(body) < MAX_BODY and (piece := response.piece()):
            body += piece
    return body
