"""The wheel of deadlines, on a loop whose time the test moves."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

from antiphon.transport.deadlines import TICK, DeadlineWheel, Timed


class HandLoop:
    """Stands in for the event loop: time passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.due: list[tuple[float, Callable[[], Any]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], Any]) -> None:
        self.due.append((self.now + delay, callback))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.due and min(self.due)[0] <= end + 1e-9:
            self.due.sort(key=lambda entry: entry[0])
            due, callback = self.due.pop(0)
            self.now = max(self.now, due)
            callback()
        self.now = max(self.now, end)

    def hold_up(self, seconds: float) -> None:
        """Do something else, so that what is due comes late."""
        self.now += seconds


class Item(Timed):
    def __init__(self, loop: HandLoop) -> None:
        super().__init__()
        self.loop = loop
        self.at: list[float] = []

    def expired(self) -> None:
        self.at.append(self.loop.now)


def wheel_of(loop: HandLoop) -> DeadlineWheel:
    as_loop: asyncio.AbstractEventLoop = loop  # type: ignore[assignment]
    return DeadlineWheel(as_loop)


def test_expires_once_and_on_time() -> None:
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    wheel.set(item, 2.0)
    loop.run(1.9)
    assert item.at == []
    loop.run(10)
    assert len(item.at) == 1
    assert 1002.0 <= item.at[0] <= 1002.0 + 2 * TICK + 1e-6


def test_putting_off_moves_it() -> None:
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    for _ in range(50):
        wheel.set(item, 1.0)
        loop.run(0.5)
    assert item.at == []
    loop.run(2)
    assert len(item.at) == 1


def test_an_earlier_deadline_wins() -> None:
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    wheel.set(item, 60.0)
    wheel.set(item, 1.0)
    loop.run(1.5)
    assert len(item.at) == 1
    loop.run(100)
    assert len(item.at) == 1


def test_taken_away() -> None:
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    wheel.set(item, 1.0)
    item.deadline = math.inf
    loop.run(100)
    assert item.at == []
    assert loop.due == []


def test_comes_alive_again_after_a_rest() -> None:
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    wheel.set(item, 1.0)
    loop.run(5)
    loop.run(500)
    wheel.set(item, 1.0)
    loop.run(5)
    assert len(item.at) == 2


def test_what_comes_while_the_loop_is_held_up_is_no_silence() -> None:
    """A server that sends every half second: what it sent meanwhile is read before the next look, maybe late."""
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    for _ in range(20):
        wheel.set(item, 5.0)
        loop.run(0.5)
        loop.hold_up(9.0)
        loop.run(0.0)
    assert item.at == []


def test_a_loop_that_is_held_up_again_and_again_still_ends_what_is_silent() -> None:
    loop = HandLoop()
    wheel, item = wheel_of(loop), Item(loop)
    wheel.set(item, 5.0)
    for _ in range(30):
        loop.hold_up(1.0)
        loop.run(0.0)
    assert len(item.at) == 1


def test_a_deadline_that_is_set_behind_a_hold_up_is_as_long_as_any() -> None:
    loop = HandLoop()
    wheel, first, second = wheel_of(loop), Item(loop), Item(loop)
    wheel.set(first, 100.0)
    loop.run(1.0)
    loop.hold_up(50.0)
    began = loop.now
    wheel.set(second, 5.0)  # before the wheel has looked at the clock again
    loop.run(20.0)
    assert began + 5.0 - 2 * TICK <= second.at[0] <= began + 5.0 + 3 * TICK
