"""What became of the events of a process, in numbers."""

from typing import Final

import msgspec


class PipeReport(msgspec.Struct, frozen=True):
    """All but ``waiting_bytes`` rise for as long as the process lives. Reports of several processes can be added."""

    delivered: int = 0
    spilled: int = 0
    """Written to disk because the control plane was slow or down; this process or a later one delivers them."""
    lost: int = 0
    """Given up: too many waited, or the disk had no room."""
    waiting_bytes: int = 0
    """On disk, still to be delivered."""

    def __add__(self, other: "PipeReport") -> "PipeReport":
        return PipeReport(
            self.delivered + other.delivered,
            self.spilled + other.spilled,
            self.lost + other.lost,
            self.waiting_bytes + other.waiting_bytes,
        )


NOTHING_SENT: Final = PipeReport()
