"""The breaker board of several machines, kept by Redis or Valkey. Needs the extra ``antiphon[redis]``."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import redis.asyncio

from antiphon.core.breaker_board import Admission, Listener, Permit, Then
from antiphon.core.breaker_policy import BreakerPolicy, BreakerView
from antiphon.core.clock import SystemClock
from antiphon.core.ports import Clock
from antiphon.dispatch.coordinator.alarm import Alarm
from antiphon.dispatch.coordinator.breakers.messages import (
    BoardHello,
    BoardNews,
    BoardTold,
    BoardWelcome,
    Shown,
    TrialAnswer,
    TrialWanted,
)
from antiphon.dispatch.coordinator.breakers.worker_board import BoardStats, WorkerBoard
from antiphon.dispatch.coordinator.party import Message
from antiphon.storage.redis_board_scripts import POLL, STEP
from antiphon.storage.redis_operations import Operation, Operations

POLL_EVERY: Final = 0.1
"""Seconds between two looks for breakers that others have opened or closed."""

SILENCE: Final = 10.0
"""Seconds after which a process that was not heard of is not counted among those that share the trials."""

BEAT_EVERY: Final = 0.5

MAX_WAITING: Final = 10_000
"""Operations under way; beyond it outcomes are dropped."""


class RedisBreakerBoard:
    """The breaker board port for one process. ``session`` names this life of it. Make it on the running loop, and close it.

    Time is that of the Redis server, unless a ``clock`` is given.
    """

    def __init__(
        self, client: "redis.asyncio.Redis", session: str, *, clock: Clock | None = None, prefix: str = "antiphon:"
    ) -> None:
        self._own_clock = clock
        self._session = session
        self._board = WorkerBoard(clock or SystemClock())
        self._board.attach(self)
        self._operations = Operations(client, prefix, "breakers")
        self._alarm = Alarm(self._board.flush)
        self._up = False
        self._since = 0
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._poll_on(), name="redis-breakers-poll"), loop.create_task(self._beat())]

    # the port

    def admit(self, target: str, policy: BreakerPolicy, then: Then) -> Admission | None:
        return self._board.admit(target, policy, then)

    def report(self, permit: Permit, ok: bool | None) -> None:
        self._board.report(permit, ok)

    def trip(self, target: str, policy: BreakerPolicy, seconds: float) -> None:
        self._board.trip(target, policy, seconds)

    def view(self, target: str) -> BreakerView:
        return self._board.view(target)

    def opened(self) -> Mapping[str, BreakerView]:
        return self._board.opened()

    def watch(self, listener: Listener) -> None:
        self._board.watch(listener)

    def stats(self) -> BoardStats:
        """How this view of the board is doing."""
        return self._board.stats()

    async def poll(self) -> None:
        """Tell what waits to be told, and hear of what others have changed. Happens by itself, ten times a second."""
        self._board.flush()
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def tell(result: Any) -> None:
            if not told.done():  # nobody waits any more
                told.set_result(result)

        self._operations.put(Operation(POLL, [self._now(), self._session, self._since, SILENCE], tell))
        result = await told
        if result is None:
            self._down()
            return
        version = int(result[0])
        if not self._up or version < self._since:  # it is back, or lost what it knew
            self._since, self._up = 0, True
            self._board.connected()
            return
        self._since = version
        self._board.received(BoardNews(_shown(result[2:]), workers=int(result[1])))

    async def close(self) -> None:
        """Tell the last outcomes. The client stays open."""
        await self._stop()
        self._board.flush()
        await self._operations.close()

    async def abandon(self) -> None:
        """Stop at once and tell nobody, as a killed process does."""
        self._operations.abandon()
        await self._stop()

    # the board's Link

    def send(self, message: Message) -> None:
        if isinstance(message, BoardHello):
            for shown in message.shown:
                self._step("restore", shown.target, BreakerPolicy(), shown.state, shown.term, shown.remaining)
            for count in message.counts:
                self._step("count", count.target, count.policy, count.successes, count.failures)
            arguments = [self._now(), self._session, 0, SILENCE]
            self._operations.put(Operation(POLL, arguments, self._welcome))
        elif isinstance(message, BoardTold):
            self._told(message)

    def wake(self, delay: float) -> None:
        self._alarm.set(delay)

    # inside

    def _now(self) -> float:
        return self._own_clock.monotonic() if self._own_clock is not None else -1.0

    def _told(self, message: BoardTold) -> None:
        for verdict in message.verdicts:
            ok = "" if verdict.ok is None else int(verdict.ok)
            self._step("conclude", verdict.target, verdict.policy, verdict.trial, ok)
        for trip in message.trips:
            self._step("trip", trip.target, trip.policy, trip.seconds)
        if self._operations.queued < MAX_WAITING:
            for count in message.counts:
                self._step("count", count.target, count.policy, count.successes, count.failures)
        for wanted in message.wanted:
            self._ask(wanted)

    def _step(self, what: str, target: str, policy: BreakerPolicy, *arguments: Any) -> None:
        self._operations.put(Operation(STEP, [self._now(), what, target, *_numbers(policy), *arguments], self._hear(target)))

    def _ask(self, wanted: TrialWanted) -> None:
        def answer(result: Any) -> None:
            if result is None:
                self._down()
                return
            shown = _row(wanted.target, result)
            trial, wait = int(result[3]), float(result[4])
            self._board.received(BoardNews(answers=(TrialAnswer(wanted.id, wanted.target, trial, wait, shown.state),)))

        self._operations.put(Operation(STEP, [self._now(), "acquire", wanted.target, *_numbers(wanted.policy)], answer))

    def _hear(self, target: str) -> Any:
        def hear(result: Any) -> None:
            if result is None:
                self._down()
            elif self._up and (shown := _row(target, result)).term != self._board.view(target).term:
                self._board.received(BoardNews((shown,)))

        return hear

    def _welcome(self, result: Any) -> None:
        if result is None:
            self._down()
            return
        self._since = int(result[0])
        shown = tuple(one for one in _shown(result[2:]) if one.state != "closed")
        self._board.received(BoardWelcome(int(result[1]), shown))

    def _down(self) -> None:
        if self._up:
            self._up = False
            self._board.lost()

    async def _poll_on(self) -> None:
        while True:
            await self.poll()
            await asyncio.sleep(POLL_EVERY)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_EVERY)
            self._board.beat()

    async def _stop(self) -> None:
        self._alarm.cancel()
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _numbers(policy: BreakerPolicy) -> tuple[float, ...]:
    return (
        policy.window, policy.failure_rate, policy.minimum_calls, policy.open_for, policy.trials, policy.needed, policy.trial_lease,
    )  # fmt: skip


def _row(target: str, result: Sequence[bytes]) -> Shown:
    return Shown(target, result[0].decode(), int(result[1]), float(result[2]))  # type: ignore[arg-type]  # one of three words


def _shown(flat: Sequence[bytes]) -> tuple[Shown, ...]:
    return tuple(_row(flat[at + 3].decode(), flat[at : at + 3]) for at in range(0, len(flat), 4))
