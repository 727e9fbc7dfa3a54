"""What the coordinator's journal keeps: rows with absolute values, of which the last of a kind counts."""

import msgspec

from antiphon.dispatch.coordinator.ledger.messages import Slot


class ShareRow(msgspec.Struct, frozen=True, array_like=True, tag="share"):
    """A worker's share, to be kept; ``slots`` None where there is none any more."""

    session: str
    account: str
    window: str
    granted: int
    drawn: int
    slots: tuple[Slot, ...] | None
    charge: bool = False


class PastRow(msgspec.Struct, frozen=True, array_like=True, tag="past"):
    """What workers that are gone settled: (slot, amount)."""

    account: str
    window: str
    settled: tuple[tuple[int, int], ...]


class SessionRow(msgspec.Struct, frozen=True, array_like=True, tag="session"):
    """A worker's life: ``live``, ``expired`` or ``gone``."""

    session: str
    state: str


class EpochRow(msgspec.Struct, frozen=True, array_like=True, tag="epoch"):
    """The coordinator started for the ``epoch``-th time."""

    epoch: int


Row = ShareRow | PastRow | SessionRow | EpochRow
