"""What counts as the same, and how a difference is told."""

import pytest

from antiphon.testing.fidelity.matching import ABSENT, difference, either


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": None}, {}),
        ({"a": ABSENT}, {"a": None}),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x", "c": 3}]}),
        ({"a": either("x", ["x"])}, {"a": ["x"]}),
        (("x", "y"), ["x", "y"]),
        ({}, {"a": 1}),
    ],
)
def test_these_are_the_same(expected, actual):
    assert difference(expected, actual) == ""


@pytest.mark.parametrize(
    ("expected", "actual", "told"),
    [
        ({"a": 1}, {}, "a is missing"),
        ({"a": 1}, {"a": 2}, "a is 2, not 1"),
        ({"a": 1}, {"a": True}, "a is true, not 1"),
        ({"a": True}, {"a": 1}, "a is 1, not true"),
        ({"a": "1"}, {"a": 1}, "a is 1, not 1"),
        ({"a": ABSENT}, {"a": 0}, "a is 0, and should not be there"),
        ({"a": None}, {"a": ""}, "a is , and should not be there"),
        ({"a": [1]}, {"a": [1, 2]}, "a has 2 items, not 1: [1,2]"),
        ({"a": [1, 2]}, {"a": [1]}, "a has 1 items, not 2: [1]"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "a[0] is 2, not 1"),
        ({"a": [1]}, {"a": "1"}, "a is 1, not a list"),
        ({"a": {"b": 1}}, {"a": [1]}, "a is [1], not an object"),
        ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 3}]}}, "a.b[0].c is 3, not 1"),
        ({"a": either(1, 2)}, {"a": 3}, "a is 3, not 1"),
    ],
)
def test_a_difference_is_told_with_its_place(expected, actual, told):
    assert difference(expected, actual) == told


def test_long_values_are_shortened():
    assert len(difference({"a": "x" * 10_000}, {"a": "y" * 10_000})) < 500
