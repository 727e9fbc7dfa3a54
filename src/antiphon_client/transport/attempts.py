"""One call from its first attempt to its last: the request that is sent, the time that is left, and what its failures mean.

Knows no sockets, so that the blocking and the async sender share it.
"""

import errno
import functools
import logging
import os
import random
import ssl
import time
import uuid
from importlib import metadata
from typing import Any

import httpcore2
import msgspec

from antiphon_client.address import Secret
from antiphon_client.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    CannotConnectError,
    ConfigurationError,
    DeadlineExceededError,
    Details,
    of_status,
)
from antiphon_client.network import Route
from antiphon_client.options import LONGEST
from antiphon_client.transport.ask import Ask, ResponseInfo
from antiphon_client.transport.body import encoded
from antiphon_client.transport.patience import Patience
from antiphon_client.transport.retries import asked_pause, pause, worth_retrying
from antiphon_client.transport.said_errors import SaidError

NETWORK_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
)
"""What the connections raise."""

LAST_BYTES = 0.25
"""Seconds to wait for the end of a body whose last event has come."""
CLOSE = 0.005
"""Seconds by which a time-out may come before the deadline that it was made of."""

_CREDENTIALS = ("authorization", "x-api-key", "proxy-authorization")
"""Headers of the caller's own that hold secrets."""

logger = logging.getLogger("antiphon_client")


def client_closed() -> ConfigurationError:
    """The error for a call with a client that was closed."""
    return ConfigurationError("this client is closed", Details(attempts=0, remedy="make another, or close it after its last call"))


class Attempts:
    """The attempts of one call. The deadline runs from here."""

    def __init__(self, ask: Ask[Any], route: Route, key: Secret) -> None:
        self._ask = ask
        self._route = route
        self._key = key
        own = (ask.options.headers.get(name, "").rpartition(" ")[2] for name in _CREDENTIALS)
        self._secrets = (key, route.secret, *map(Secret, own))
        self._number = 0
        self._begun = False
        options = ask.options
        self._ends_at = time.monotonic() + (LONGEST if options.deadline is None else options.deadline)
        self._silence = Patience(options.timeout, self._ends_at)
        self._request_id = options.request_id or f"req_{uuid.uuid4().hex}"
        self._url = httpcore2.URL(
            scheme=route.address.scheme, host=route.address.host, port=route.address.port, target=route.address.root + ask.path
        )
        self._body = None if ask.body is None else encoded(ask.body)
        self._headers = self._all_headers()

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._ends_at - time.monotonic()

    def request(self) -> httpcore2.Request:
        """The next attempt's request. Raises DeadlineExceededError."""
        if self.left <= 0:
            raise self._too_late()
        self._number += 1
        connect = Patience(min(self._route.network.connect_timeout, LONGEST), self._ends_at)
        silence = self._silence = Patience(self._ask.options.timeout, self._ends_at)
        timeouts = {"connect": connect, "read": silence, "write": silence, "pool": max(silence.left, 0.001)}
        return httpcore2.Request(
            self._ask.method, self._url, headers=self._headers, content=self._body, extensions={"timeout": timeouts}
        )

    def hurry(self, seconds: float) -> None:
        """Let the deadline be no later than in so many seconds."""
        self._ends_at = self._silence.ends_at = min(self._ends_at, time.monotonic() + seconds)

    def info(self, response: httpcore2.Response) -> ResponseInfo:
        """What is known of a response whose head has come. From here on nothing is tried again, unless its status is an error."""
        headers: dict[str, str] = {}
        for raw_name, raw_value in response.headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        self._begun = True
        self._request_id = headers.get("x-request-id") or self._request_id
        return ResponseInfo(response.status, headers, self._request_id, self._number)

    def is_answer(self, status: int) -> bool:
        """Whether a response of this status is no error."""
        return 200 <= status < 300 or status in self._ask.also

    def refused(self, info: ResponseInfo, body: bytes) -> APIError:
        """The error that a response tells of."""
        self._begun = False
        said = SaidError.of(body, info, self._url_shown)
        details = Details(
            remedy=said.remedy,
            request_id=said.request_id,
            status=info.status,
            code=said.code,
            type=said.type,
            param=said.param,
            retry_after=asked_pause(info.headers),
            body=body,
            worth_retrying={"true": True, "false": False}.get(info.headers.get("x-should-retry", "").lower()),
        )
        return self.known(of_status(info.status)(said.message, details))

    def broken(self, error: Exception) -> APIError:
        """What a failure of the network means."""
        if self.left <= CLOSE and isinstance(error, httpcore2.TimeoutException | TimeoutError):
            return self._too_late()
        if isinstance(error, httpcore2.PoolTimeout):
            most = self._route.network.max_connections
            return self._error(
                APITimeoutError,
                f"all {most} connections were in use for {self._ask.options.timeout:g} s",
                "make fewer calls at once, close streams that are done with, or raise Network.max_connections",
            )
        if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout | httpcore2.ProxyError):
            return self._unreachable(error)
        if isinstance(error, httpcore2.TimeoutException):
            return self._error(
                APITimeoutError,
                f"the server at {self._url_shown} was silent for {self._ask.options.timeout:g} s",
                f'see whether it is stopped or busy: "antiphon doctor --url {self._url_shown}"; or give a longer timeout',
            )
        if isinstance(error, httpcore2.ProtocolError) and error.args and isinstance(error.args[0], Exception) and not self._begun:
            return self._error(
                APIConnectionError,
                f"what answers at {self._url_shown} does not speak HTTP/1.1: {error}",
                "check the base URL and its port",
                worth_retrying=False,
            )
        secure = self._begun or self._route.tls is not None or bool(self._route.address.socket)
        how = "broke off its answer" if self._begun else "closed the connection before it answered"
        return self._error(
            APIConnectionError,
            f"the server at {self._url_shown} {how}",
            "try again; its log tells more"
            if secure
            else "if it speaks HTTPS, write the base URL with https; else its log tells more",
            worth_retrying=False if self._begun else None,
        )

    def pause_after(self, error: APIError) -> float:
        """Seconds to wait before the next attempt. Raises ``error`` where there is none."""
        if self._number > self._ask.options.max_retries or not worth_retrying(error, repeatable=self._repeatable):
            raise error
        seconds = pause(self._number, error.retry_after, random.random())  # noqa: S311 -- spreads retries, guards nothing
        if seconds is None or seconds >= self.left:
            raise error
        logger.info(
            "%s %s failed (%s), attempt %d of %d follows in %.1f s",
            self._ask.method, self._ask.path, error.message, self._number + 1, self._ask.options.max_retries + 1, seconds,
        )  # fmt: skip
        return seconds

    def known(self, error: APIError) -> APIError:
        """``error`` with the call's id and attempts, and without the secrets that were sent, whatever the server repeats."""
        said = error.details
        details = msgspec.structs.replace(
            said,
            remedy=self._redacted(said.remedy),
            request_id=self._redacted(said.request_id) or self._request_id,
            attempts=self._number,
            code=self._redacted(said.code),
            type=self._redacted(said.type),
            param=None if said.param is None else self._redacted(said.param),
            body=self._redacted(said.body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"),
        )
        return type(error)(self._redacted(error.message), details)

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = secret.redact(text)
        return text

    @property
    def _url_shown(self) -> str:
        return str(self._route.address)

    @property
    def _repeatable(self) -> bool:
        return self._ask.repeatable or bool(self._ask.options.idempotency_key)

    def _all_headers(self) -> list[tuple[bytes, bytes]]:
        options = self._ask.options
        headers = {
            "host": self._route.address.authority,
            "accept": self._ask.accept,
            "accept-encoding": "identity",
            "user-agent": _user_agent(),
            "x-request-id": self._request_id,
        }
        if self._key:
            headers["authorization"] = f"Bearer {self._key.reveal()}"
        if options.idempotency_key:
            headers["idempotency-key"] = options.idempotency_key
        if self._body is not None:
            headers |= {"content-type": "application/json", "content-length": str(len(self._body))}
        headers |= options.headers
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    def _too_late(self) -> APIError:
        allowed = self._ask.options.deadline or LONGEST
        words = f"the call took longer than its deadline of {allowed:g} s"
        return self._error(DeadlineExceededError, words, "give a longer deadline, or ask for less")

    def _unreachable(self, error: Exception) -> APIError:
        cause = _root(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            words = f"its certificate does not hold: {cause.verify_message}"
            remedy = "to trust it, give Network(ca_file=...) with its authority, or call it by the name that it is for"
            return self._error(CannotConnectError, f"{self._url_shown} cannot be talked to safely: {words}", remedy, False)
        if isinstance(cause, ssl.SSLError):
            words = (cause.reason or str(cause)).lower().replace("_", " ")
            remedy = "check the port, and whether the base URL begins with https or http"
            return self._error(CannotConnectError, f"TLS with {self._url_shown} failed: {words}", remedy, False)
        if isinstance(error, httpcore2.ProxyError):
            remedy = "check the proxy's address and its credentials"
            return self._error(CannotConnectError, f"the proxy did not let us through to {self._url_shown}: {error}", remedy, False)
        if isinstance(error, httpcore2.ConnectTimeout):
            words = f"no connection within {self._route.network.connect_timeout:g} s"
        else:
            words = _words(cause)
        remedy = 'start one with "antiphon serve", or name another with base_url or ANTIPHON_BASE_URL'
        return self._error(CannotConnectError, f"no server answers at {self._url_shown} ({words})", remedy)

    def _error(self, kind: type[APIError], message: str, remedy: str, worth_retrying: bool | None = None) -> APIError:
        return self.known(kind(message, Details(remedy=remedy, worth_retrying=worth_retrying)))


def _words(error: BaseException) -> str:
    """What the system calls it; asyncio has words of its own."""
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@functools.cache
def _user_agent() -> str:
    try:
        return f"antiphon-client/{metadata.version('antiphon')}"
    except metadata.PackageNotFoundError:  # used from the source tree
        return "antiphon-client"


def _root(error: BaseException) -> BaseException:
    """The exception of the operating system or of TLS that this one stands for."""
    seen = [error]
    while True:
        now = seen[-1]
        below = now.args[0] if now.args and isinstance(now.args[0], BaseException) else now.__cause__
        if isinstance(below, BaseExceptionGroup):
            below = below.exceptions[0]
        if below is None or below in seen:
            return now
        seen.append(below)
