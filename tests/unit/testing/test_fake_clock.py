import pytest

from antiphon.core.ports import Clock
from antiphon.testing import FakeClock


def test_time_passes_only_by_advance():
    clock = FakeClock(start=5.0, unix_time=1_000.0)
    port: Clock = clock
    assert (port.monotonic(), port.time()) == (5.0, 1_000.0)
    clock.advance(2.5)
    assert (clock.monotonic(), clock.time()) == (7.5, 1_002.5)


def test_timers_fire_in_order_each_at_its_own_moment():
    clock = FakeClock(start=0.0)
    fired: list[tuple[str, float]] = []
    clock.call_later(2.0, lambda: fired.append(("b", clock.monotonic())))
    clock.call_later(1.0, lambda: fired.append(("a", clock.monotonic())))
    clock.call_later(9.0, lambda: fired.append(("late", clock.monotonic())))
    clock.advance(3.0)
    assert fired == [("a", 1.0), ("b", 2.0)]
    assert clock.monotonic() == 3.0


def test_a_timer_may_set_another_one():
    clock = FakeClock(start=0.0)
    fired: list[float] = []
    clock.call_later(1.0, lambda: clock.call_later(1.0, lambda: fired.append(clock.monotonic())))
    clock.advance(5.0)
    assert fired == [2.0]


def test_time_never_runs_backwards():
    with pytest.raises(ValueError, match="backwards"):
        FakeClock().advance(-1.0)
