"""The coordinator's accounts: each worker's share, and the sums over them."""

from collections.abc import Iterable
from typing import Any, TypeVar

from antiphon.core.ledger import Window
from antiphon.dispatch.coordinator.ledger.messages import Slot

Key = tuple[str, str]
"""Account and code of its window."""

SlotRow = TypeVar("SlotRow", Slot, tuple[int, int])


class Held:
    """A worker's share of an account."""

    __slots__ = ("charge", "drawn", "granted", "slots")

    def __init__(self) -> None:
        self.granted = 0
        self.drawn = 0
        self.charge = False
        """What is reserved is charged if it is abandoned."""
        self.slots: dict[int, tuple[int, int]] = {}

    @property
    def escrow(self) -> int:
        return max(0, self.granted - self.drawn)


class Account:
    """An account: all shares, and the sums over them."""

    __slots__ = ("escrowed", "held", "keeps", "key", "past", "sums", "until", "window")

    def __init__(self, key: Key, now: float) -> None:
        self.key = key
        self.window = Window.parse(key[1])
        self.keeps = self.window.keeps
        self.until = self.window.slot(now)[1]
        self.escrowed = 0
        self.held: dict[str, Held] = {}
        self.past: dict[int, int] = {}
        self.sums: dict[int, list[int]] = {}
        """Slot to reserved and settled, of all shares and the past."""

    def add(self, slot: int, reserved: int, settled: int) -> None:
        sums = self.sums.get(slot)
        if sums is None:
            self.sums[slot] = [reserved, settled]
        else:
            sums[0] += reserved
            sums[1] += settled

    def living(self, rows: Iterable[SlotRow], now: float) -> list[SlotRow]:
        """The rows, each beginning with its slot, of slots that still count."""
        oldest = self.window.slot(now)[0] - self.keeps
        return [row for row in rows if row[0] >= oldest]

    def roll(self, now: float) -> None:
        """Begin the slot of ``now``, and forget those that no longer count."""
        number, self.until = self.window.slot(now)
        oldest = number - self.keeps
        tables: list[dict[int, Any]] = [self.sums, self.past, *(held.slots for held in self.held.values())]
        for table in tables:
            for slot in [slot for slot in table if slot < oldest]:
                del table[slot]

    def used(self) -> int:
        return sum(reserved + settled for reserved, settled in self.sums.values())

    def grant(self, held: Held, amount: int) -> None:
        before = held.escrow
        held.granted += amount
        self.escrowed += held.escrow - before


class Session:
    """One worker's life."""

    __slots__ = ("accounts", "expired", "id", "lease_ends")

    def __init__(self, identity: str, lease_ends: float) -> None:
        self.id = identity
        self.lease_ends = lease_ends
        self.expired = False
        self.accounts: set[Key] = set()
