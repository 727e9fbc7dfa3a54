"""One alarm for each desk, and the earliest wish counts."""

from math import inf

from antiphon.dispatch.alarms import Alarms
from antiphon.testing import FakeClock
from tests.unit.dispatch.timers import Timer


class Sleeper:
    def __init__(self, clock):
        self.clock = clock
        self.woken = []

    def tick(self):
        self.woken.append(round(self.clock.monotonic() - 1000.0, 3))


def alarms(clock):
    def call_later(delay, ring):
        timer = Timer(ring)
        clock.call_later(delay, timer)
        return timer

    return Alarms(clock, call_later)


def test_the_earliest_wish_counts_and_each_rings_once():
    clock = FakeClock()
    ringing, sleeper = alarms(clock), Sleeper(clock)
    for when in (1005.0, 1002.0, 1009.0, inf):
        ringing.at(when, sleeper)
    clock.advance(20)
    assert sleeper.woken == [2.0]


def test_each_desk_has_its_own():
    clock = FakeClock()
    ringing, first, second = alarms(clock), Sleeper(clock), Sleeper(clock)
    ringing.at(1001.0, first)
    ringing.at(1003.0, second)
    clock.advance(20)
    assert (first.woken, second.woken) == ([1.0], [3.0])


def test_after_the_end_nobody_is_woken():
    clock = FakeClock()
    ringing, sleeper = alarms(clock), Sleeper(clock)
    ringing.at(1001.0, sleeper)
    ringing.close()
    clock.advance(20)
    assert sleeper.woken == []
