"""What a worker's ledger tells of itself."""

import msgspec


class LedgerStats(msgspec.Struct, frozen=True):
    """How a worker's ledger is doing."""

    connected: bool
    epoch: int
    """Of the coordinator; 0 before the first connection."""
    slices: int
    """Accounts of which this worker has something."""
    waiting: int
    """Calls that wait for the coordinator's answer."""
    session: str = ""
    asked: int = 0
    """Round trips since the start."""
    unbacked: int = 0
    """Reservations let pass while nobody could be asked."""
    revived: int = 0
    """Times that the lease had ended."""
