"""What peers of a server may send, how long servers that are called may be silent."""

import msgspec


class ServerLimits(msgspec.Struct, frozen=True):
    """What a peer may send and how long it may take."""

    max_header_bytes: int = 32768
    max_body_bytes: int = 32 << 20
    header_timeout: float = 10.0
    """Seconds from the first byte of a request to the last of its head."""
    body_timeout: float = 60.0
    """Seconds without a byte of the body."""
    keep_alive: float = 75.0
    """Seconds that an idle connection is kept."""
    write_buffer: int = 262144
    """Bytes waiting for a slow peer at which its answer is paused."""
    write_timeout: float = 300.0
    """Seconds for which a peer may not read while there is something to write."""


class ClientTimeouts(msgspec.Struct, frozen=True):
    """How long a server may be silent, in seconds."""

    connect: float = 5.0
    first_byte: float = 120.0
    """From the request to the whole head of its answer."""
    idle: float = 60.0
    """Between two pieces of an answer."""
    keep_alive: float = 30.0
    """How long an idle connection is kept for the next call."""
    max_age: float = 300.0
    """How long a connection is used for new calls, so that a changed name is followed. A call under way is never cut."""
