"""A request as the mock upstream saw it."""

import threading
import time
from typing import Any

import msgspec


class RecordedRequest:
    """One request, and what became of its connection. Times are ``time.monotonic()``, seconds."""

    def __init__(self, method: str, target: str, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.headers = headers
        """As they came, names in lower case."""
        self.body = body
        self.received_at = time.monotonic()
        self.connection = 0
        """Number of the connection, from 1; the same number again means that the connection was used again."""
        self.peer = ""
        """``address:port`` of the client; empty on a Unix socket."""
        self.answered_at: float | None = None
        """When the whole answer had been written; None for an answer that never got so far."""
        self.closed_at: float | None = None
        """When the client closed the connection."""
        self._answered = threading.Event()
        self._closed = threading.Event()

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)

    def header(self, name: str) -> str:
        """The first field of that name, empty if there is none."""
        return next((value for key, value in self.headers if key == name.lower()), "")

    def wait_closed(self, within: float = 5.0) -> bool:
        """Whether the client closes the connection within so many seconds.

        It blocks: from a coroutine call it by ``asyncio.to_thread``.
        """
        return self._closed.wait(within)

    def wait_answered(self, within: float = 5.0) -> bool:
        """Whether the whole answer is written within so many seconds."""
        return self._answered.wait(within)

    def mark_answered(self) -> None:
        """Called by the mock upstream."""
        self.answered_at = time.monotonic()
        self._answered.set()

    def mark_closed(self) -> None:
        """Called by the mock upstream."""
        if self.closed_at is None:
            self.closed_at = time.monotonic()
            self._closed.set()

    def __repr__(self) -> str:
        return f"<RecordedRequest {self.method} {self.path}, {len(self.body)} bytes>"
