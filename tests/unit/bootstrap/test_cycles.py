"""The collector of cycles runs when the memory has grown, and at no other time."""

import asyncio
import gc
from typing import Any

from antiphon.bootstrap.cycles import CycleWatch, resident
from antiphon.transport.deadlines import DeadlineWheel

MIB = 1 << 20


class Turning:
    """A watch of a process whose memory the test tells, 100 MiB at first, with a look for each growth by 10."""

    def __init__(self) -> None:
        self.memory = 100
        self.looks: list[int] = []
        self.frees = 0
        loop: Any = self
        self.watch = CycleWatch(DeadlineWheel(loop), 10 * MIB, lambda: self.memory * MIB, self._collect)

    def time(self) -> float:
        return 0.0

    def call_later(self, *_: object) -> None: ...

    def _collect(self) -> None:
        self.looks.append(self.memory)
        self.memory -= self.frees

    def grow(self, *memory: int) -> list[int]:
        for self.memory in memory:
            self.watch.expired()
        return self.looks


def test_a_look_for_each_growth() -> None:
    assert Turning().grow(105, 109, 110, 115, 119, 120, 125) == [110, 120]


def test_memory_that_comes_and_goes_is_measured_from_the_least() -> None:
    assert Turning().grow(109, 95, 104, 105, 100) == [105]


def test_what_was_freed_may_be_filled_again_before_the_next_look() -> None:
    turning = Turning()
    turning.frees = 30
    assert turning.grow(110, 85, 89) == [110]
    assert turning.grow(90) == [110, 90]


def test_it_goes_on_with_the_wheel() -> None:
    async def turn() -> None:
        wheel = DeadlineWheel(asyncio.get_running_loop())
        watch = CycleWatch(wheel)
        before = watch.deadline
        watch.expired()
        assert wheel.now < before <= watch.deadline < wheel.now + 2.0

    asyncio.run(turn())


def test_the_memory_is_that_of_this_process() -> None:
    gc.collect()
    before = resident()
    held = bytearray(b"x") * (64 * MIB)
    assert resident() - before > 32 * MIB
    assert len(held) == 64 * MIB
