"""One large read per connection and turn of the loop, so that a flood on a few connections holds up no other."""

import asyncio
from typing import Protocol

LARGE_READ = 65536
"""Bytes in one read after which other connections have their turn: libuv would read the same one up to 32 times in a row."""


class Reading(Protocol):
    """A connection that may be paused for other reasons too."""

    _paused: bool
    _transport: asyncio.Transport | None


def rest_a_turn(connection: Reading) -> None:
    """Read the connection's next piece after the others have had their turn."""
    if connection._transport is not None:
        connection._transport.pause_reading()
        asyncio.get_running_loop().call_soon(_read_on, connection)


def _read_on(connection: Reading) -> None:
    if not connection._paused and connection._transport is not None:
        connection._transport.resume_reading()
