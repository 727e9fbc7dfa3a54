"""A loop and a transport that are turned by hand: no sockets, no time, no waiting."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self

WRITTEN_AT_MOST = 1 << 20


class HandLoop:
    """Stands in for the event loop. ``turn`` runs what was left for later."""

    def __init__(self) -> None:
        self._soon: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._later: list[tuple[float, Callable[..., Any], tuple[Any, ...]]] = []
        self._now = 1000.0

    def time(self) -> float:
        return self._now

    def call_soon(self, callback: Callable[..., Any], *args: Any) -> None:
        self._soon.append((callback, args))

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> None:
        self._later.append((self._now + delay, callback, args))

    def create_task(self, work: Coroutine[Any, Any, Any]) -> Any:
        work.close()
        raise AssertionError("nothing under test may begin a task")

    def pass_time(self, seconds: float) -> None:
        """Let time go by, and do what is due when it is due: a leap would be a loop that was held up."""
        end = self._now + seconds
        while self._later and (first := min(timer[0] for timer in self._later)) <= end:
            self._now = max(self._now, first)
            due = [timer for timer in self._later if timer[0] <= self._now]
            self._later = [timer for timer in self._later if timer[0] > self._now]
            for _, callback, args in due:
                callback(*args)
            self.turn()
        self._now = end
        self.turn()

    def turn(self) -> None:
        """Run everything, and what that leaves, but not for ever."""
        for _ in range(100_000):
            if not self._soon:
                return
            self.once()
        raise AssertionError("the loop never comes to rest")

    def once(self) -> None:
        """Run what is there, and leave what that leaves for later."""
        ready, self._soon = self._soon, []
        for callback, args in ready:
            callback(*args)

    def __enter__(self) -> Self:
        asyncio._set_running_loop(self)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio._set_running_loop(None)


class HandTransport:
    """Stands in for a socket; what is written is kept."""

    def __init__(self, loop: HandLoop, protocol: Any) -> None:
        self._loop = loop
        self._protocol: Any = protocol
        self.written: list[bytes] = []
        self.closed = False
        self.half_closed = False
        self.reading = True
        self._told = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: bytes) -> None:
        assert not self.half_closed, "written behind the end"
        if not self.closed:
            self.written.append(data)

    def writelines(self, pieces: Any) -> None:
        for piece in pieces:
            self.write(piece)

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.half_closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.closed = True
        self._loop.call_soon(self._lost, None)

    abort = close

    def end(self, error: Exception | None = None) -> None:
        """The other side goes."""
        self.closed = True
        self._lost(error)

    def _lost(self, error: Exception | None) -> None:
        if not self._told:
            self._told = True
            protocol, self._protocol = self._protocol, None
            protocol.connection_lost(error)
