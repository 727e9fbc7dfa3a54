"""What a call asks, as the JSON that is sent; what JSON cannot say is refused before anything is sent, by its place."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from antiphon_client.errors import ConfigurationError, Details

_SIMPLE = (str, int, type(None))
"""Values that need no look of their own; ``bool`` is an ``int``."""


def encoded(body: Mapping[str, Any]) -> bytes:
    """The JSON of a body. Raises ConfigurationError for what JSON has no word for, such as NaN, which it would send as null."""
    try:
        _check_numbers(body, "")
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        place = _halved(body, "")
        raise _halved_text(place) from None
    except RecursionError:
        raise _refused("", "is nested too deeply", "send fewer levels") from None
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise _refused("", f"cannot be sent as JSON: {error}", "give texts, numbers, lists and dictionaries") from error


def in_path(name: str) -> str:
    """A name as it stands in a path. Raises ConfigurationError for one that is not Unicode."""
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        raise _halved_text("") from None


def _check_numbers(value: Any, place: str) -> None:
    if type(value) is float:
        if not math.isfinite(value):
            raise _refused(place, f"is {value}", "give a finite number: JSON has no other")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(item, _SIMPLE):
                _check_numbers(item, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            if not isinstance(item, _SIMPLE):
                _check_numbers(item, f"{place}[{at}]")
    elif not isinstance(value, bytes | bytearray | memoryview | msgspec.Raw):
        _check_numbers_of(value, place)


def _check_numbers_of(value: Any, place: str) -> None:
    """Those of a struct, a data class, a set: of what becomes a dictionary or a list on its way."""
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict | list | float):
        _check_numbers(plain, place)


def _halved(value: Any, place: str) -> str:
    """Place of the first text that holds half a character; empty where it cannot be told."""
    if isinstance(value, str):
        return place if _is_halved(value) else ""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(name, str) and _is_halved(name):
                return place
            if found := _halved(item, f"{place}.{name}" if place else str(name)):
                return found
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            if found := _halved(item, f"{place}[{at}]"):
                return found
    return ""


def _is_halved(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _halved_text(place: str) -> ConfigurationError:
    return _refused(
        place, "is not valid Unicode: it holds half of a character (a lone surrogate)", "remove it, or send both halves"
    )


def _refused(place: str, problem: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(f"{place or 'what is asked'} {problem}", Details(attempts=0, remedy=remedy, param=place or None))
