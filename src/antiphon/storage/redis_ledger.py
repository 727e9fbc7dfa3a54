"""The ledger of several machines: Redis or Valkey keeps the accounts, every operation is one script.

Operations that come together go out together, in one round trip. Needs the extra ``antiphon[redis]``.
"""

import asyncio
import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import redis.asyncio
from redis.exceptions import NoScriptError, RedisError

from antiphon.core.clock import SystemClock
from antiphon.core.ledger import (
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
from antiphon.core.ports import Clock
from antiphon.storage.redis_scripts import LOOK, RENEW, RESERVE, SETTLE

LEASE: Final = 15.0
"""Seconds after which what a holder that is gone left behind is free again."""

REMEMBERED: Final = 3600
"""Seconds for which a settlement is known, so that one that is repeated does not count twice."""

MAX_WAITING: Final = 10_000
"""Operations under way; a reservation beyond it is refused."""

TOGETHER: Final = 256
"""Operations in one round trip, at most."""

RETRY_AFTER: Final = 1.0
"""Seconds that a caller is told to wait while Redis cannot be asked."""

FIRST_PAUSE: Final = 0.05
LAST_PAUSE: Final = 1.0
"""Seconds between two tries while Redis cannot be asked."""

log = logging.getLogger(__name__)


class _Operation:
    """A script to run. ``then`` takes what it returned, or None where it could not be run."""

    __slots__ = ("arguments", "lasting", "script", "then")

    def __init__(self, script: str, arguments: list[Any], then: Callable[[Any], None], *, lasting: bool = False) -> None:
        self.script = script
        self.arguments = arguments
        self.then = then
        self.lasting = lasting
        """It is tried until it is done."""


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
        prefix: str = "antiphon:",
    ) -> None:
        self._client = client
        self._session = session
        self._own_clock = clock
        self._clock = clock or SystemClock()
        self._lease = lease
        self._prefix = prefix
        self._count = itertools.count(1).__next__
        self._queue: deque[_Operation] = deque()
        self._lasting: deque[_Operation] = deque()
        self._loaded: dict[str, str] = {}
        self._stir = asyncio.Event()
        self._closing = False
        self._holds_any = False
        loop = asyncio.get_running_loop()
        self._runner = loop.create_task(self._run(), name="redis-ledger")
        self._renewer = loop.create_task(self._renew(), name="redis-lease")

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome | None:
        check_holds(holds)
        if len(self._queue) >= MAX_WAITING:
            return self._beyond(holds)
        reservation = Reservation(self._count(), holds, None)
        arguments = self._head(reservation)
        for hold in holds:
            arguments += (*_named(hold), hold.amount, hold.limit.capacity)
        self._put(_Operation(RESERVE, arguments, lambda result: then(self._outcome(reservation, result))))
        return None

    def settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        check_amounts(amounts, len(reservation.holds))
        if reservation.state == CLOSED:
            return
        reservation.state = CLOSED
        arguments = self._head(reservation)
        for hold, amount, slot in zip(reservation.holds, amounts, reservation.parts, strict=True):
            arguments += (*_named(hold), amount, slot)
        self._put(_Operation(SETTLE, arguments, _done, lasting=True))

    def release(self, reservation: Reservation) -> None:
        self.settle(reservation, [0] * len(reservation.holds))

    def look(self, account: str, window: Window, then: Callable[[Standing | None], None]) -> None:
        def tell(result: Any) -> None:
            then(None if result is None else Standing(int(result[0]), int(result[1])))

        arguments = [self._now(), account, window.kind, window.seconds, window.offset, self._month(window)]
        self._put(_Operation(LOOK, arguments, tell))

    def renew(self, then: Callable[[Any], None]) -> None:
        """Put off the end of the lease. Happens by itself, three times in a lease."""
        self._put(_Operation(RENEW, [self._now(), self._session, self._lease], then))

    async def close(self) -> None:
        """Tell the last settlements, give back what is held. The client stays open."""
        self._renewer.cancel()
        self._put(_Operation(RENEW, [self._now(), self._session, 0], _done))
        self._closing = True
        self._stir.set()
        with contextlib.suppress(asyncio.CancelledError):
            await self._renewer
        await self._runner

    def abandon(self) -> None:
        """Stop at once and tell nobody, as a killed process does."""
        self._renewer.cancel()
        self._runner.cancel()

    @property
    def waiting(self) -> int:
        """Operations under way."""
        return len(self._queue) + len(self._lasting)

    def _head(self, reservation: Reservation) -> list[Any]:
        month = max([self._month(hold.limit.window) for hold in reservation.holds], default=0)
        return [self._now(), self._session, self._lease, f"{self._session}/{reservation.id}", REMEMBERED, month]

    def _now(self) -> float:
        return self._own_clock.time() if self._own_clock is not None else -1.0

    def _month(self, window: Window) -> int:
        return window.slot(self._clock.time())[0] if window.kind == "month" else 0

    def _put(self, operation: _Operation) -> None:
        (self._lasting if operation.lasting else self._queue).append(operation)
        self._stir.set()

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

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while not (self._closing and not self._queue and not self._lasting):
            await self._stir.wait()
            self._stir.clear()
            while self._queue or self._lasting:
                if await self._round_trip():
                    pause = FIRST_PAUSE
                    continue
                if self._closing:
                    log.error("%d settlements could not be told to Redis before the end", len(self._lasting))
                    return
                await asyncio.sleep(pause)
                pause = min(LAST_PAUSE, 2 * pause)

    async def _round_trip(self) -> bool:
        """Run what waits, settlements first; False where Redis could not be asked, and then only settlements go on waiting."""
        lasting = [self._lasting.popleft() for _ in range(min(TOGETHER, len(self._lasting)))]
        others = [self._queue.popleft() for _ in range(min(TOGETHER, len(self._queue)))]
        operations = lasting + others
        try:
            results = await self._execute(operations)
        except (RedisError, OSError) as error:
            log.warning("Redis cannot be asked: %s", error)
            self._lasting.extendleft(reversed(lasting))
            waiting = others + list(self._queue)
            self._queue.clear()
            for operation in waiting:
                operation.then(None)
            return False
        for operation, result in zip(operations, results, strict=True):
            if isinstance(result, Exception):
                log.error("the ledger's script failed in Redis: %s", result)
                operation.then(None)
            else:
                operation.then(result)
        return True

    async def _execute(self, operations: Sequence[_Operation]) -> list[Any]:
        for script in {operation.script for operation in operations} - self._loaded.keys():
            self._loaded[script] = await self._client.script_load(script)
        pipe = self._client.pipeline(transaction=False)
        for operation in operations:
            pipe.evalsha(self._loaded[operation.script], 1, self._prefix, *operation.arguments)
        results: list[Any] = await pipe.execute(raise_on_error=False)
        if any(isinstance(result, NoScriptError) for result in results):
            self._loaded.clear()  # it was started anew; what has run already is not run again
            missing = [index for index, result in enumerate(results) if isinstance(result, NoScriptError)]
            for index, result in zip(missing, await self._execute([operations[index] for index in missing]), strict=True):
                results[index] = result
        return results

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            if self._holds_any and not self._queue:
                self.renew(_done)


def _named(hold: Hold) -> tuple[str, str, int, int]:
    window = hold.limit.window
    return hold.account, window.kind, window.seconds, window.offset


def _done(_: Any) -> None:
    """Nobody waits for it."""
