"""Large reads take turns, one in each turn of the loop, so that a flood on many connections holds up no other call."""

import asyncio
from collections import deque
from typing import Final, Protocol
from weakref import WeakKeyDictionary

LARGE_READ: Final = 65536
"""Bytes in one read after which other connections have their turn: libuv would read the same one up to 32 times in a row."""


class Reading(Protocol):
    """A connection that may be paused for other reasons too."""

    _paused: bool
    _transport: asyncio.Transport | None


_waiting: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, deque[Reading]]] = WeakKeyDictionary()
"""Who waits for a turn, on each loop."""


def rest_a_turn(connection: Reading) -> None:
    """Read the connection's next piece after the others have had their turn."""
    if connection._transport is not None:
        connection._transport.pause_reading()
        read_in_turn(connection)


def read_in_turn(connection: Reading) -> None:
    """Let a connection that does not read go on, behind those that wait for the same."""
    loop = asyncio.get_running_loop()
    waiting = _waiting.get(loop)
    if waiting is None:
        waiting = _waiting[loop] = deque()
    waiting.append(connection)
    if len(waiting) == 1:
        loop.call_soon(_next_reads, loop, waiting)


def _next_reads(loop: asyncio.AbstractEventLoop, waiting: deque[Reading]) -> None:
    while waiting:
        connection = waiting.popleft()
        if not connection._paused and connection._transport is not None:
            connection._transport.resume_reading()
            break
    if waiting:
        loop.call_soon(_next_reads, loop, waiting)
