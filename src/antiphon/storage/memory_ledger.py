"""The ledger of one process: exact, and gone with it."""

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from antiphon.core.clock import SystemClock
from antiphon.core.ledger import (
    AGE,
    CLOSED,
    LOST,
    MAX_AMOUNT,
    OPEN,
    Hold,
    Limit,
    Outcome,
    Refusal,
    Reservation,
    Standing,
    Then,
    Window,
    check_amounts,
    check_holds,
    retry_after,
)
from antiphon.core.open_reservations import OpenReservations, left_behind
from antiphon.core.ports import Clock

SWEEP_FROM: Final = 1024
"""Accounts from which on those that hold nothing are looked for and forgotten."""

SWEEP_ABANDONED: Final = 256
"""Reservations between two looks for abandoned ones; one that is refused looks too."""


class _Slot:
    """What was used within one slot of a window."""

    __slots__ = ("dead", "number", "reserved", "settled")

    def __init__(self, number: int) -> None:
        self.number = number
        self.reserved = 0
        self.settled = 0
        self.dead = False


class _Account:
    """One account. ``used`` is what its living slots hold."""

    __slots__ = ("current", "keeps", "name", "slots", "until", "used", "window")

    def __init__(self, name: str, window: Window, now: float) -> None:
        self.name = name
        self.window = window
        self.keeps = window.keeps
        self.used = 0
        number, self.until = window.slot(now)
        self.current = _Slot(number)
        self.slots = deque((self.current,))

    def roll(self, now: float) -> None:
        """Begin the slot of ``now``, and forget what no longer counts."""
        number, self.until = self.window.slot(now)
        oldest = number - self.keeps
        while self.slots and self.slots[0].number < oldest:
            slot = self.slots.popleft()
            slot.dead = True
            self.used -= slot.reserved + slot.settled
        self.current = _Slot(number)
        self.slots.append(self.current)

    def retry_after(self, limit: Limit, amount: int, now: float) -> float | None:
        return retry_after(limit, amount, [(slot.number, slot.reserved + slot.settled) for slot in self.slots], 0, now)


_Parts = list[tuple[_Account, _Slot, int]]


class MemoryLedger:
    """Keeps all accounts in this process's memory.

    A reservation that was neither settled, released nor renewed within ``age`` seconds is abandoned.
    Time that runs backwards stands still.
    """

    def __init__(self, clock: Clock | None = None, *, age: float = AGE) -> None:
        clock = clock or SystemClock()
        self._time = clock.time
        self._monotonic = clock.monotonic
        self._now = 0.0
        self._count = itertools.count(1).__next__
        self._latest: dict[str, _Account] = {}
        """By name alone, the one whose window was used last: names rarely have two windows."""
        self._accounts: dict[tuple[str, Window], _Account] = {}
        self._open = OpenReservations(age)
        self._age = age
        self._sweep_at = SWEEP_FROM

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome:
        now = self._time()
        if now < self._now:
            now = self._now
        else:
            self._now = now
        parts: _Parts = []
        for hold in holds:
            limit, amount = hold.limit, hold.amount
            account = self._latest.get(hold.account)
            if account is None or account.window is not limit.window:
                account = self._find(hold.account, limit.window, now)
            if now >= account.until:
                account.roll(now)
            used = account.used + amount
            if (used > limit.capacity and amount) or not 0 <= amount <= MAX_AMOUNT:
                return self._at_limit(parts, holds, hold, account)
            account.used = used
            slot = account.current
            slot.reserved += amount
            parts.append((account, slot, amount))
        identity = self._count()
        reservation = Reservation(identity, holds, parts, self._monotonic() + self._age)
        self._open.by_id[identity] = reservation
        if not identity % SWEEP_ABANDONED:
            self._end_abandoned()
        return reservation

    def settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        check_amounts(amounts, len(reservation.holds))
        state, reservation.state = reservation.state, CLOSED
        if state == CLOSED:
            return
        if state == LOST:
            self._charge(reservation, amounts)
            return
        del self._open.by_id[reservation.id]
        self._put(reservation.parts, amounts)

    def release(self, reservation: Reservation) -> None:
        if reservation.state == OPEN:
            del self._open.by_id[reservation.id]
            _give_back(reservation.parts)
        elif reservation.state == LOST:
            self._charge(reservation, [0] * len(reservation.holds))
        reservation.state = CLOSED

    def renew(self, reservation: Reservation) -> None:
        self._open.renew(reservation, self._monotonic())

    def look(self, account: str, window: Window, then: Callable[[Standing | None], None]) -> None:
        self._end_abandoned()
        self._now = max(self._now, self._time())
        found = self._accounts.get((account, window))
        if found is None:
            then(Standing())
            return
        if self._now >= found.until:
            found.roll(self._now)
        then(Standing(sum(slot.settled for slot in found.slots), sum(slot.reserved for slot in found.slots)))

    @property
    def accounts(self) -> int:
        """How many accounts are kept in memory."""
        return len(self._accounts)

    def _put(self, parts: _Parts, amounts: Sequence[int]) -> None:
        """Count amounts as settled in place of what was reserved."""
        for (account, slot, reserved), amount in zip(parts, amounts, strict=True):
            if not slot.dead:
                slot.reserved -= reserved
                slot.settled += amount
                account.used += amount - reserved

    def _find(self, name: str, window: Window, now: float) -> _Account:
        account = self._accounts.get((name, window))
        if account is None:
            if len(self._accounts) >= self._sweep_at:
                self._forget_idle(now)
            account = self._accounts[name, window] = _Account(name, window, now)
        else:
            account.window = window  # the same window; what is compared first is whether it is the same object
        self._latest[name] = account
        return account

    def _at_limit(self, parts: _Parts, holds: Sequence[Hold], hold: Hold, account: _Account) -> Outcome:
        _give_back(parts)
        check_holds(holds)
        if self._end_abandoned():
            return self.reserve(holds, _never)
        return Refusal(hold.account, hold.limit, account.retry_after(hold.limit, hold.amount, self._now))

    def _end_abandoned(self) -> bool:
        """Release or charge what nobody settled in time; whether there was any."""
        ended = self._open.abandoned(self._monotonic())
        for reservation in ended:
            reservation.state = LOST
            self._put(reservation.parts, left_behind(reservation))
        return bool(ended)

    def _charge(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        """Settle what was abandoned, in the window in which it was reserved, in place of what was charged for it then."""
        parts, charged = reservation.parts, left_behind(reservation)
        for hold, (_, slot, _), amount, before in zip(reservation.holds, parts, amounts, charged, strict=True):
            if slot.dead:
                continue
            account = self._find(hold.account, hold.limit.window, self._now)
            live = next((candidate for candidate in account.slots if candidate.number == slot.number), None)
            if live is not None:
                live.settled += amount - before
                account.used += amount - before

    def _forget_idle(self, now: float) -> None:
        held = {id(account) for reservation in self._open.by_id.values() for account, _, _ in reservation.parts}
        for key, account in list(self._accounts.items()):
            if now >= account.until:
                account.roll(now)
            if not account.used and id(account) not in held:
                del self._accounts[key]
                if self._latest.get(account.name) is account:
                    del self._latest[account.name]
        self._sweep_at = max(SWEEP_FROM, 2 * len(self._accounts))


def _give_back(parts: _Parts) -> None:
    for account, slot, amount in parts:
        if not slot.dead:
            slot.reserved -= amount
            account.used -= amount


def _never(outcome: Outcome) -> None:
    raise AssertionError(outcome)
