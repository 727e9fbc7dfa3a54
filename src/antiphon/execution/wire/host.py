"""What every host of a model tells of itself, whatever it hosts."""

import enum

import msgspec


class HostState(enum.Enum):
    """Where in its life a host is."""

    LOADING = "loading"
    READY = "ok"
    DRAINING = "draining"
    FAILED = "failed"


class Health(msgspec.Struct, frozen=True):
    """Answer of ``GET /health``: status 200 when ready, else 503."""

    status: str
    model: str
    detail: str = ""
