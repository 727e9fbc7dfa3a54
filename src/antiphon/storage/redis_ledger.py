"""The ledger of several machines: Redis or Valkey keeps the accounts, every operation is one script.

Operations that come together go out together, in one round trip. Needs the extra ``antiphon[redis]``.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import redis.asyncio

from antiphon.core.clock import SystemClock
from antiphon.core.ledger import (
    AGE,
    CLOSED,
    LOST,
    Hold,
    Outcome,
    Refusal,
    Reservation,
    Standing,
    Then,
    Window,
    check_amounts,
    check_holds,
)
from antiphon.core.open_reservations import OpenReservations
from antiphon.core.ports import Clock
from antiphon.storage.redis_operations import Operation, Operations, nothing
from antiphon.storage.redis_scripts import ABANDON, LOOK, REMEMBERED, RENEW, RESERVE, SETTLE

LEASE: Final = 15.0
"""Seconds after which what a holder that is gone left behind is free again."""

MAX_WAITING: Final = 10_000
"""Operations under way; a reservation beyond it is refused."""

RETRY_AFTER: Final = 1.0
"""Seconds that a caller is told to wait while Redis cannot be asked."""


class RedisLedger:
    """The ledger port for one process. ``session`` names this life of it. Make it on the running loop, and close it.

    Time is that of the Redis server, unless a ``clock`` is given. While Redis is gone a hold whose limit is ``closed`` is refused,
    and one whose limit is ``open`` passes; what was settled meanwhile is told when it is back.
    """

    def __init__(
        self,
        client: "redis.asyncio.Redis",
        session: str,
        *,
        clock: Clock | None = None,
        lease: float = LEASE,
        age: float = AGE,
        prefix: str = "antiphon:",
    ) -> None:
        self._session = session
        self._own_clock = clock
        self._clock = clock or SystemClock()
        self._lease = lease
        self._open = OpenReservations(age)
        self._count = itertools.count(1).__next__
        self._holds_any = False
        self._operations = Operations(client, prefix, "ledger")
        self._renewer = asyncio.get_running_loop().create_task(self._renew(), name="redis-lease")

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome | None:
        check_holds(holds)
        if self._operations.queued >= MAX_WAITING:
            return self._beyond(holds)
        reservation = Reservation(self._count(), holds, None)
        arguments = self._head(reservation)
        for hold in holds:
            arguments += (*_named(hold), hold.amount, hold.limit.capacity, hold.limit.abandoned)
        self._operations.put(Operation(RESERVE, arguments, lambda result: then(self._outcome(reservation, result))))
        return None

    def settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        check_amounts(amounts, len(reservation.holds))
        state, reservation.state = reservation.state, CLOSED
        if state == CLOSED:
            return
        self._open.by_id.pop(reservation.id, None)
        self._settle(reservation, amounts)

    def renew(self, reservation: Reservation) -> None:
        self._open.renew(reservation, self._clock.monotonic())

    def _settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        arguments = self._head(reservation)
        for hold, amount, slot in zip(reservation.holds, amounts, reservation.parts, strict=True):
            arguments += (*_named(hold), amount, slot)
        self._operations.put(Operation(SETTLE, arguments, nothing, lasting=True))

    def release(self, reservation: Reservation) -> None:
        self.settle(reservation, [0] * len(reservation.holds))

    def look(self, account: str, window: Window, then: Callable[[Standing | None], None]) -> None:
        def tell(result: Any) -> None:
            then(None if result is None else Standing(int(result[0]), int(result[1])))

        arguments = [self._now(), account, window.kind, window.seconds, window.offset, self._month(window)]
        self._operations.put(Operation(LOOK, arguments, tell))

    def beat(self, then: Callable[[Any], None]) -> None:
        """Put off the end of the lease, and charge or release what was forgotten. Happens by itself, three times in a lease."""
        for reservation in self._open.abandoned(self._clock.monotonic()):
            reservation.state = LOST
            arguments = [self._now(), self._session, f"{self._session}/{reservation.id}"]
            self._operations.put(Operation(ABANDON, arguments, nothing, lasting=True))
        self._operations.put(Operation(RENEW, [self._now(), self._session, self._lease], then))

    async def close(self) -> None:
        """Tell the last settlements, give back what is held. The client stays open."""
        self._renewer.cancel()
        self._operations.put(Operation(RENEW, [self._now(), self._session, 0], nothing))
        with contextlib.suppress(asyncio.CancelledError):
            await self._renewer
        await self._operations.close()

    def abandon(self) -> None:
        """Stop at once and tell nobody, as a killed process does."""
        self._renewer.cancel()
        self._operations.abandon()

    @property
    def waiting(self) -> int:
        """Operations under way."""
        return self._operations.waiting

    def _head(self, reservation: Reservation) -> list[Any]:
        month = max([self._month(hold.limit.window) for hold in reservation.holds], default=0)
        return [self._now(), self._session, self._lease, f"{self._session}/{reservation.id}", REMEMBERED, month]

    def _now(self) -> float:
        return self._own_clock.time() if self._own_clock is not None else -1.0

    def _month(self, window: Window) -> int:
        return window.slot(self._clock.time())[0] if window.kind == "month" else 0

    def _outcome(self, reservation: Reservation, result: Any) -> Outcome:
        holds = reservation.holds
        if result is None or result[0] == b"gone":
            # it may have come about all the same: whatever it holds goes back
            slots = [hold.limit.window.slot(self._clock.time())[0] for hold in holds]
            void = Reservation(reservation.id, holds, slots)
            self.release(void)
            return self._beyond(holds)
        if result[0] == b"ok":
            self._holds_any = True
            reservation.parts = [int(slot) for slot in result[1:]]
            reservation.deadline = self._clock.monotonic() + self._open.age
            self._open.by_id[reservation.id] = reservation
            return reservation
        hold = holds[int(result[1])]
        wait = max(0.0, hold.limit.window.leaves(int(result[2])) - float(result[3])) if result[2] else None
        return Refusal(hold.account, hold.limit, wait)

    def _beyond(self, holds: Sequence[Hold]) -> Outcome:
        """Decide while Redis cannot be asked."""
        for hold in holds:
            if hold.amount and hold.limit.outage == "closed":
                return Refusal(hold.account, hold.limit, RETRY_AFTER, "unavailable")
        now = self._clock.time()
        reservation = Reservation(self._count(), holds, [hold.limit.window.slot(now)[0] for hold in holds])
        reservation.state = LOST
        return reservation

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            if self._holds_any and not self._operations.queued:
                self.beat(nothing)


def _named(hold: Hold) -> tuple[str, str, int, int]:
    window = hold.limit.window
    return hold.account, window.kind, window.seconds, window.offset
