"""How the processes are doing, as the supervisor sees it: a file in the run folder that any process may read."""

import os
from pathlib import Path

import msgspec

from antiphon.core.errors import InternalError
from antiphon.core.processes import ServerState

STATE_FILE = "state.json"


def write_state(run_dir: str, state: ServerState) -> None:
    """Replace the state file at one stroke: a reader sees the old state or the new one, never a mixture."""
    path = Path(run_dir) / STATE_FILE
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(state))
    os.replace(fresh, path)


def read_state(run_dir: str) -> ServerState:
    """The present state. Raises InternalError where there is none, as in a process that runs without a supervisor."""
    try:
        return msgspec.json.decode((Path(run_dir) / STATE_FILE).read_bytes(), type=ServerState)
    except (OSError, msgspec.MsgspecError) as error:
        raise InternalError(f"the state of the processes cannot be read: {error}") from error
