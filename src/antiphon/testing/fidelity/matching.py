"""Compares JSON values by what they mean: named fields must be there and equal, others may be there too."""

from typing import Any, Final

import msgspec

from antiphon.testing.fidelity.outcome import shown


class Either(msgspec.Struct, frozen=True):
    """Any of several values is right."""

    options: tuple[Any, ...]


class _Absent:
    """No value."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()
"""The field must not be there, or be null."""


def either(*options: Any) -> Either:
    """Any of these."""
    return Either(options)


def difference(expected: Any, actual: Any, place: str = "") -> str:
    """Where ``actual`` differs from what is expected, in words; empty where it does not."""
    if isinstance(expected, Either):
        faults = [difference(option, actual, place) for option in expected.options]
        return "" if "" in faults else faults[0]
    if expected is ABSENT or expected is None:
        return "" if actual is ABSENT or actual is None else f"{place} is {shown(actual)}, and should not be there"
    if actual is ABSENT:
        return f"{place} is missing"
    if isinstance(expected, dict):
        return _of_fields(expected, actual, place)
    if isinstance(expected, list | tuple):
        return _of_items(expected, actual, place)
    same = type(expected) is type(actual) or (_is_number(expected) and _is_number(actual))
    return "" if same and expected == actual else f"{place} is {shown(actual)}, not {shown(expected)}"


def _of_fields(expected: dict[str, Any], actual: Any, place: str) -> str:
    if not isinstance(actual, dict):
        return f"{place} is {shown(actual)}, not an object"
    dot = f"{place}." if place else ""
    for name, value in expected.items():
        if fault := difference(value, actual.get(name, ABSENT), f"{dot}{name}"):
            return fault
    return ""


def _of_items(expected: list[Any] | tuple[Any, ...], actual: Any, place: str) -> str:
    if not isinstance(actual, list | tuple):
        return f"{place} is {shown(actual)}, not a list"
    for at, (one, other) in enumerate(zip(expected, actual, strict=False)):
        if fault := difference(one, other, f"{place}[{at}]"):
            return fault
    return "" if len(expected) == len(actual) else f"{place} has {len(actual)} items, not {len(expected)}: {shown(actual)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
