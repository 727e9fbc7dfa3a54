"""What a method of the client asks, and what is known of the response that answers it."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from antiphon_client.options import Options

Answer = TypeVar("Answer")


class ResponseInfo(msgspec.Struct, frozen=True):
    """The response that an answer came in."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    request_id: str
    """Id under which the server's log has the call."""
    attempts: int = 1
    """Times that the call was tried."""


class Ask(msgspec.Struct, Generic[Answer], frozen=True, kw_only=True):
    """One call of the API."""

    path: str
    """From the server's root, such as ``/v1/models``."""
    decode: Callable[[bytes, ResponseInfo], Answer]
    """Makes the answer of a response's body. Raises InvalidResponseError."""
    options: Options
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    """Becomes JSON."""
    repeatable: bool = True
    """Whether doing it twice changes nothing but what it costs."""
    also: tuple[int, ...] = ()
    """Error statuses that are answers here."""
    accept: str = "application/json"

    def of_events(self) -> "Ask[Answer]":
        """The same, to be answered by a stream."""
        return msgspec.structs.replace(self, accept="text/event-stream")
