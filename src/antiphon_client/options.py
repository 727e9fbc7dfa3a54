"""How a call is made, as opposed to what it asks: time-outs, retries, headers. Set for a client, or for one call."""

import math
from collections.abc import Mapping
from typing import Any, Self, TypedDict

import msgspec

from antiphon_client.errors import ConfigurationError, Details

TIMEOUT = 600.0
MAX_RETRIES = 2
LONGEST = 2_000_000.0
"""Seconds that stand for ever; about as much as a socket's time-out can hold."""
_MAX_ID = 128
_OUR_OWN = frozenset({"host", "content-length", "transfer-encoding", "connection"})


class ClientOptions(TypedDict, total=False):
    """What every call goes by unless it says otherwise."""

    timeout: float | None
    """Seconds that the server may be silent: until its answer begins, and between two pieces of it. None waits for ever."""
    deadline: float | None
    """Seconds for a whole call with its retries, their pauses and its stream. None sets no bound."""
    max_retries: int
    """Times that a call is tried again where that is safe."""
    headers: Mapping[str, str]
    """Further headers."""


class CallOptions(TypedDict, total=False):
    """What any call can be told beside what it asks."""

    timeout: float | None
    """Seconds that the server may be silent: until its answer begins, and between two pieces of it. None waits for ever."""
    deadline: float | None
    """Seconds for the whole call with its retries, their pauses and its stream. None sets no bound."""
    max_retries: int
    """Times that the call is tried again where that is safe."""
    extra_headers: Mapping[str, str]
    """Further headers; they go before those of the client."""
    request_id: str
    """Sent as ``x-request-id``, so that the server's log has the call under it; one is made up where none is given."""
    idempotency_key: str
    """Sent as ``idempotency-key``: a server that knows it does the same work once. Makes any call safe to be tried again."""


class BodyOptions(CallOptions, total=False):
    """What any call with a body can be told besides."""

    extra_body: Mapping[str, Any]
    """Fields that have no parameter here."""


class Options(msgspec.Struct, frozen=True):
    """How one call is made."""

    timeout: float = TIMEOUT
    """Seconds."""
    deadline: float | None = None
    """Seconds."""
    max_retries: int = MAX_RETRIES
    headers: dict[str, str] = {}
    """Names in lower case."""
    request_id: str = ""
    idempotency_key: str = ""

    def changed(self, told: Mapping[str, Any]) -> Self:
        """These options but for what ``told`` has. Raises ConfigurationError."""
        timeout = _seconds("timeout", told["timeout"], LONGEST) if "timeout" in told else self.timeout
        deadline = _seconds("deadline", told["deadline"], None) if "deadline" in told else self.deadline
        max_retries = told.get("max_retries", self.max_retries)
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise _wrong("max_retries", max_retries, "give a whole number, 0 for none")
        headers = self.headers | _headers(told.get("headers")) | _headers(told.get("extra_headers"))
        return type(self)(
            LONGEST if timeout is None else timeout,
            deadline,
            max_retries,
            headers,
            _name("request_id", told.get("request_id", self.request_id)),
            _name("idempotency_key", told.get("idempotency_key", self.idempotency_key)),
        )


def _seconds(name: str, value: Any, for_ever: float | None) -> float | None:
    if value is None:
        return for_ever
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0 or math.isnan(value):
        raise _wrong(name, value, "give seconds, more than 0, or None for no bound")
    return min(float(value), LONGEST)


def _headers(given: Mapping[str, Any] | None) -> dict[str, str]:
    headers = {}
    for name, value in (given or {}).items():
        lower = name.lower()
        if not _is_token(lower) or lower in _OUR_OWN:
            raise _wrong(
                "headers", name, "leave this header out" if lower in _OUR_OWN else "a header's name has letters, digits and -"
            )
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise ConfigurationError(
                f"the value of the header {lower!r} cannot be sent",
                Details(attempts=0, remedy="give a text of printable ASCII", param="headers"),
            )
        headers[lower] = value.strip()
    return headers


def _is_token(name: str) -> bool:
    return bool(name) and name.isascii() and all(sign.isalnum() or sign in "!#$%&'*+-.^_`|~" for sign in name)


def _name(what: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_ID or not (value.isascii() and value.isprintable()):
        raise _wrong(what, value, f"give at most {_MAX_ID} printable ASCII characters")
    return value


def _wrong(name: str, value: object, remedy: str) -> ConfigurationError:
    return ConfigurationError(f"{name} is {str(value)[:100]!r}", Details(attempts=0, remedy=remedy, param=name))
