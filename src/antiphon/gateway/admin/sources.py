"""What the control plane asks of the rest of the server."""

from typing import Protocol

import msgspec

from antiphon.core.ports import EngineStats
from antiphon.observability.metrics import MetricsSnapshot


class ProcessError(msgspec.Struct, frozen=True):
    """Why a process ended last."""

    message: str
    code: str
    remedy: str = ""


class ProcessView(msgspec.Struct, frozen=True):
    """One of the server's processes."""

    name: str
    role: str
    """``worker``, ``control``, ``engine`` or ``compute``."""
    epoch: int
    """Rises by one with every accepted reload of the configuration."""
    state: str
    """``starting``, ``loading``, ``ready``, ``waiting``, ``draining`` or ``stopped``."""
    since: float
    """Unix time of the last change of state, seconds."""
    pid: int = 0
    """0 while there is no process."""
    restarts: int = 0
    """Times that it was started again after it had ended by itself."""
    detail: str = ""
    """What it is loading."""
    error: ProcessError | None = None
    model: str = ""
    """Engines: the model."""


class ServerView(msgspec.Struct, frozen=True):
    """All processes of the server."""

    pid: int
    """The supervisor."""
    epoch: int
    host: str
    port: int
    started_at: float
    """Unix time, seconds."""
    serving: bool
    """Every worker is ready and no engine is still loading for the first time."""
    processes: tuple[ProcessView, ...]
    reload_error: str = ""
    """Why the last reload changed nothing; empty after one that did."""


class EngineReport(EngineStats, frozen=True, kw_only=True):
    """An engine host's answer to ``GET /stats``."""

    model: str = ""


class ControlSources(Protocol):
    """The ports of the control plane. Every method raises an AntiphonError where there is no answer."""

    def server(self) -> ServerView:
        """The state of the processes, as the supervisor last wrote it."""

    async def worker_stats(self, process: str) -> MetricsSnapshot:
        """What the worker of that name counted."""

    async def engine_stats(self, process: str) -> EngineReport:
        """The load of the engine host of that name."""
