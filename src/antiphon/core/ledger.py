"""The ledger: what may be used, what is reserved, what is settled. Types, the arithmetic of windows, and the port.

An account is a name, such as ``key:abc/tokens/minute``; a limit is a capacity within a window. Before a call, an upper bound of
what it may use is reserved at every account that it touches, all or none. After it, the true amounts are settled. At every moment

    settled + reserved + escrowed <= capacity

for every account, as long as nobody settles more than was reserved. Amounts are whole numbers: requests, tokens, and money in
millionths of its unit.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import inf
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec

MAX_AMOUNT: Final = 2**53 - 1
"""The largest amount and capacity: what a double, and so Redis' scripts, can count one by one."""

SLIDING_PARTS: Final = 60
"""A sliding window moves on by this part of itself. What was used counts up to one part longer than the window, never shorter."""

WindowKind = Literal["none", "sliding", "calendar", "month"]


class Window(msgspec.Struct, frozen=True):
    """The time within which a capacity holds.

    ``none`` knows no time: what was settled stays (a balance) and what was settled as 0 is free again (concurrency). ``calendar``
    windows begin at whole multiples of ``seconds`` since 1970 UTC, shifted by ``offset`` seconds; ``month`` at a month's first day.
    A reservation counts in the window in which it was made, and leaves with it, settled or not.
    """

    kind: WindowKind = "none"
    seconds: Annotated[int, msgspec.Meta(ge=0)] = 0
    offset: int = 0

    @property
    def code(self) -> str:
        """The window as a short text, unique to it."""
        return f"{self.kind}/{self.seconds}/{self.offset}"

    @classmethod
    def parse(cls, code: str) -> "Window":
        """The window of a code. Raises ValueError for what is none."""
        kind, seconds, offset = code.split("/")
        return msgspec.convert({"kind": kind, "seconds": int(seconds), "offset": int(offset)}, cls)

    def slot(self, now: float) -> tuple[int, float]:
        """Number of the slot that the moment ``now`` (Unix time, s) lies in, and when the next one begins."""
        if self.kind == "none":
            return 0, inf
        if self.kind == "month":
            day = datetime.fromtimestamp(now - self.offset, UTC)
            number = day.year * 12 + day.month - 1
            return number, _month_begins(number + 1) + self.offset
        length = self.seconds / SLIDING_PARTS if self.kind == "sliding" else self.seconds
        number = int((now - self.offset) // length)
        return number, (number + 1) * length + self.offset

    @property
    def keeps(self) -> int:
        """How many slots before the present one still count."""
        return SLIDING_PARTS if self.kind == "sliding" else 0

    def leaves(self, slot: int) -> float:
        """When (Unix time, s) a slot no longer counts."""
        if self.kind == "none":
            return inf
        if self.kind == "month":
            return _month_begins(slot + 1) + self.offset
        if self.kind == "calendar":
            return float((slot + 1) * self.seconds + self.offset)
        return (slot + 1 + SLIDING_PARTS) * self.seconds / SLIDING_PARTS + self.offset


def _month_begins(number: int) -> float:
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC).timestamp()


FOREVER: Final = Window()
"""No window: balances and concurrency."""


class Limit(msgspec.Struct, frozen=True):
    """How much an account may hold within a window."""

    capacity: Annotated[int, msgspec.Meta(ge=0, le=MAX_AMOUNT)]
    window: Window = FOREVER
    outage: Literal["closed", "open"] = "closed"
    """While whoever keeps the account cannot be asked: ``closed`` refuses, as money must; ``open`` lets pass and charges later."""
    abandoned: Literal["release", "charge"] = "release"
    """What becomes of a reservation that nobody will settle, because its holder died or forgot it: ``release`` gives it back, as
    places and rates must; ``charge`` counts all that was reserved, as money must: the call may have been made and billed."""


class Hold(msgspec.Struct, frozen=True, gc=False):
    """What a call wants of one account. One of 0 is never refused."""

    account: str
    amount: int
    limit: Limit


class Refusal(msgspec.Struct, frozen=True):
    """Why nothing was reserved."""

    account: str
    """The first account, in the order of the holds, that has too little left."""
    limit: Limit
    retry_after: float | None
    """Seconds after which the same holds find room there if nobody else comes; None where waiting alone does not help."""
    reason: Literal["limit", "unavailable"] = "limit"
    """``unavailable``: whoever keeps the account could not be asked."""


class Reservation(msgspec.Struct, eq=False, gc=False):
    """What a call holds. All but ``holds`` is the ledger's own."""

    id: int
    holds: Sequence[Hold]
    parts: Any
    deadline: float = inf
    state: int = 0
    """OPEN, CLOSED or LOST."""


OPEN: Final = 0
"""State of a reservation that counts."""
CLOSED: Final = 1
"""It was settled or released; doing so again does nothing."""
LOST: Final = 2
"""It was abandoned (released or charged, as its limits say), or never backed; what is settled of it after all counts instead."""

AGE: Final = 3600.0
"""Seconds after which a reservation that nobody settled, released or renewed is abandoned, though its holder lives."""


class Standing(msgspec.Struct, frozen=True):
    """One account at one moment, within its present window."""

    settled: int = 0
    reserved: int = 0
    escrowed: int = 0
    """Set aside for single workers, to be reserved without asking."""

    @property
    def total(self) -> int:
        return self.settled + self.reserved + self.escrowed


class AccountStanding(Standing, frozen=True, kw_only=True):
    """One account by its name."""

    account: str
    window: str
    """Code of its window."""
    ends: float | None = None
    """When (Unix time, s) the present window ends; None for one that slides or never ends."""


class AccountStandings(msgspec.Struct, frozen=True):
    """Accounts in the order of their names."""

    accounts: tuple[AccountStanding, ...] = ()


Outcome = Reservation | Refusal
Then = Callable[[Outcome], None]


class Ledger(Protocol):
    """Keeps accounts. One ledger belongs to one thread. No method blocks; none raises but ValueError, for amounts that are none."""

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome | None:
        """Reserve all holds or none.

        Returns the outcome if it is known at once; ``then`` is not called. Else returns None, and ``then`` is called with it later,
        exactly once. Whoever no longer wants what ``then`` brings releases it.
        """

    def settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        """Count ``amounts``, in the order of the holds, in place of what was reserved. Only the first settling or release counts.

        An amount above the one reserved is counted in full, and may then exceed the capacity.
        """

    def release(self, reservation: Reservation) -> None:
        """Give back all that was reserved: the same as settling zeros."""

    def renew(self, reservation: Reservation) -> None:
        """Say that a reservation is still in use: whatever takes longer than ``AGE`` does so from time to time."""

    def look(self, account: str, window: Window, then: Callable[[Standing | None], None]) -> None:
        """Tell how an account stands, maybe before this returns; None where that cannot be known now."""


def check_amounts(amounts: Sequence[int], count: int) -> None:
    """Raise ValueError unless these are ``count`` amounts."""
    if len(amounts) != count:
        raise ValueError(f"{count} holds are settled by {count} amounts, not by {len(amounts)}")
    for amount in amounts:
        if not 0 <= amount <= MAX_AMOUNT:
            raise ValueError(f"an amount is a number from 0 to {MAX_AMOUNT}, not {amount}")


def check_holds(holds: Sequence[Hold]) -> None:
    """Raise ValueError unless every hold has an amount."""
    check_amounts([hold.amount for hold in holds], len(holds))


def retry_after(limit: Limit, amount: int, used: Sequence[tuple[int, int]], elsewhere: int, now: float) -> float | None:
    """Seconds until ``amount`` fits, or None where that is not a matter of time.

    ``used`` has the slots that count, as (slot, amount), oldest first; ``elsewhere`` is what counts in no slot (escrow).
    """
    if limit.window.kind == "none" or amount + elsewhere > limit.capacity:
        return None
    missing = sum(count for _, count in used) + elsewhere + amount - limit.capacity
    freed = 0
    for slot, count in used:
        freed += count
        if freed >= missing:
            return max(0.0, limit.window.leaves(slot) - now)
    return 0.0
