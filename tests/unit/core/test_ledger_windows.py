from datetime import UTC, datetime

import pytest

from antiphon.core.ledger import FOREVER, Limit, Window, retry_after

NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("window", [FOREVER, Window("calendar", 60, -3600), Window("sliding", 1), Window("month")])
def test_a_code_names_its_window(window):
    assert Window.parse(window.code) == window


@pytest.mark.parametrize("code", ["", "week/1/0", "calendar/-1/0", "calendar/x/0"])
def test_what_is_no_code_is_refused(code):
    with pytest.raises(ValueError):  # noqa: PT011 - msgspec's and int's messages differ
        Window.parse(code)


@pytest.mark.parametrize(("window", "length"), [(Window("calendar", 60), 60.0), (Window("sliding", 60), 1.0)])
def test_slots_meet_at_their_borders(window, length):
    before, ends = window.slot(NEW_YEAR - 0.001)
    after, _ = window.slot(ends)
    assert (ends, after) == (NEW_YEAR, before + 1)
    assert window.slot(NEW_YEAR)[1] == NEW_YEAR + length


def test_months_are_those_of_the_calendar():
    december, ends = Window("month").slot(NEW_YEAR - 1)
    assert ends == NEW_YEAR == Window("month").leaves(december)
    assert Window("month").slot(NEW_YEAR)[0] == december + 1
    assert Window("month", offset=3600).slot(NEW_YEAR)[0] == december


def test_a_part_of_a_sliding_window_counts_for_one_window_and_at_most_one_part_more():
    window = Window("sliding", 60)
    slot, _ = window.slot(NEW_YEAR + 0.5)
    assert window.leaves(slot) == NEW_YEAR + 61
    assert window.slot(NEW_YEAR + 60.999)[0] - window.keeps == slot
    assert window.slot(NEW_YEAR + 61)[0] - window.keeps == slot + 1


def test_room_comes_when_enough_has_left():
    window = Window("sliding", 60)
    first, second = window.slot(NEW_YEAR)[0], window.slot(NEW_YEAR + 10)[0]
    used = [(first, 30), (second, 70)]
    limit = Limit(100, window)
    waits = [retry_after(limit, amount, used, 0, NEW_YEAR + 20) for amount in (30, 31, 100, 101)]
    assert waits == [41.0, 51.0, 51.0, None]
    assert retry_after(limit, 10, used, 95, NEW_YEAR + 20) is None
    assert retry_after(Limit(1), 1, [(0, 1)], 0, NEW_YEAR) is None
