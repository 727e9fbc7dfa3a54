"""What is known of the processes of a server."""

from typing import Literal

import msgspec

State = Literal["starting", "loading", "ready", "waiting", "draining", "stopped"]
"""``waiting``: it ended and is started again after a pause; ``error`` says why it ended."""


class ProcessError(msgspec.Struct, frozen=True):
    """Why a process ended last."""

    message: str
    code: str = "process_ended"
    remedy: str = ""
    setup: bool = False
    """The operator has to mend something; starting again alone will not help."""

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class ProcessState(msgspec.Struct, frozen=True):
    """One process."""

    name: str
    role: str
    epoch: int
    """Epoch of the settings that it goes by."""
    state: State
    since: float
    """Unix time of the last change of state, seconds."""
    pid: int = 0
    """0 while there is no process."""
    restarts: int = 0
    """Times that it was started again after it had ended by itself."""
    detail: str = ""
    """What it is loading."""
    error: ProcessError | None = None
    """Kept after a restart, so that one can see what happened."""
    model: str = ""
    """Engines: the model."""
    snapshot: str = ""
    """Workers: SHA-256 of the snapshot that they go by, in hexadecimal digits; where all agree, all go by the same."""


class ServerState(msgspec.Struct, frozen=True):
    """All processes of a server."""

    pid: int
    """The supervisor."""
    epoch: int
    host: str
    port: int
    started_at: float
    """Unix time, seconds."""
    serving: bool
    """Every worker is ready and no engine is still loading for the first time."""
    processes: tuple[ProcessState, ...]
    reload_error: str = ""
    """Why the last SIGHUP changed nothing; empty after one that did."""
