"""What workers and the coordinator tell each other of the ledger.

Every number has one writer, who tells its absolute value. So a message may be repeated, and after a break each side just tells all.

``granted`` (the coordinator's) is what a worker was ever given of an account, ``drawn`` (the worker's) what it took of that, for
reservations or to give back; the difference is its escrow. ``Slot`` rows (the worker's) are what it has reserved and ever settled.
"""

import msgspec

from antiphon.dispatch.coordinator.party import Message

Slot = tuple[int, int, int]
"""Number of the slot, reserved, settled."""


class Report(msgspec.Struct, frozen=True, array_like=True):
    """How a worker's share of an account is now."""

    account: str
    window: str
    drawn: int
    slots: tuple[Slot, ...]
    """Those that changed."""
    retired: bool = False
    """The worker forgets this account, and has given back everything that it had of it."""
    charge: bool = False
    """What it reserved is charged if it is abandoned."""


class Want(msgspec.Struct, frozen=True, array_like=True):
    """What a worker wants of one account."""

    account: str
    window: str
    amount: int
    pledge: int
    """What it has in escrow and puts in; it is the coordinator's again from now on."""
    capacity: int
    usual: int = 0
    """What a call usually wants: the measure for what is given beyond the amount."""
    open: bool = False
    """The limit passes calls while the account cannot be kept."""


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """All wants or none."""

    id: int
    wants: tuple[Want, ...]


class Hello(Message, frozen=True, tag="hello"):
    """First message of a connection, with all that the worker has."""

    session: str
    reports: tuple[Report, ...]


class Told(Message, frozen=True, tag="told"):
    """A worker's news."""

    number: int
    reports: tuple[Report, ...] = ()
    asks: tuple[Ask, ...] = ()
    recalled: tuple[int, ...] = ()
    """Recalls that are answered by these reports."""


class Look(Message, frozen=True, tag="look"):
    """How does an account stand?"""

    id: int
    account: str
    window: str


class Bye(Message, frozen=True, tag="bye"):
    """The worker ends. What it still held is free, what it settled has been told."""


class Share(msgspec.Struct, frozen=True, array_like=True):
    """What a worker has been granted of one account."""

    account: str
    window: str
    granted: int
    tight: bool = False
    """The account is near its limit: nothing may lie idle with a worker."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """To an ``Ask``."""

    id: int
    shares: tuple[Share, ...]
    refused: int = -1
    """Which want has no room; -1 where all were granted."""
    retry_after: float | None = None
    unavailable: bool = False
    """The coordinator cannot keep accounts just now."""


class Recall(msgspec.Struct, frozen=True, array_like=True):
    """Give back what lies idle."""

    id: int
    account: str
    window: str


class Welcome(Message, frozen=True, tag="welcome"):
    """Answer to ``Hello``: what the worker's shares are from now on."""

    epoch: int
    """Rises with every start of the coordinator."""
    lease: float
    """Seconds of silence after which the coordinator takes everything back."""
    revived: bool
    """The lease had ended: no reservation counts any more."""
    shares: tuple[Share, ...]


class News(Message, frozen=True, tag="news"):
    """The coordinator's news."""

    acknowledged: int
    answers: tuple[Answer, ...] = ()
    recalls: tuple[Recall, ...] = ()


class Seen(Message, frozen=True, tag="seen"):
    """Answer to ``Look``."""

    id: int
    settled: int
    reserved: int
    escrowed: int


FromWorker = Hello | Told | Look | Bye
FromCoordinator = Welcome | News | Seen
