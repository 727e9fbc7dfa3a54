"""What is wrong with a value in a request's JSON, in the words of its reader instead of those of the library that found it."""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from antiphon.core.errors import InvalidRequest

Decoded = TypeVar("Decoded")

_PARTS = re.compile(r"(?s)(.*?)(?: - at `(?:key in )?\$\.?(.*)`)?$")
_TYPES = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_BOUND = re.compile(r"Expected `([^`]*)` (.*)")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_WORDS = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}


class WrongValue(msgspec.Struct, frozen=True):
    """Where a body differs from what was expected, and how."""

    place: str
    """Path of the value, as ``messages[0].role``; empty for the whole body."""
    problem: str
    """What is wrong with it, to be read behind its name."""
    expected: str = ""
    """What should stand there; empty where that cannot be told."""
    missing: str = ""
    """Name of the field that is not there."""
    unknown: str = ""
    """Name of the field that nobody knows."""

    @classmethod
    def of(cls, error: msgspec.ValidationError) -> "WrongValue":
        """What a failed validation means."""
        found = _PARTS.fullmatch(str(error))
        assert found is not None
        text, place = found[1], found[2] or ""
        if types := _TYPES.fullmatch(text):
            expected = _in_words(types[1])
            return cls(place, f"must be {expected}, not {_in_words(types[2])}", expected)
        if bound := _BOUND.fullmatch(text):
            expected = f"{_in_words(bound[1])} {bound[2]}"
            return cls(place, f"must be {expected}", expected)
        if missing := _MISSING.fullmatch(text):
            return cls(place, f"lacks the field `{missing[1]}`", missing=missing[1])
        if unknown := _UNKNOWN.fullmatch(text):
            return cls(place, f"has the field `{unknown[1]}`, which is not known", unknown=unknown[1])
        return cls(place, f"is not valid: {text[:1].lower()}{text[1:]}")

    def below(self, name: str) -> str:
        """The path of a field of the object at this place."""
        return f"{self.place}.{name}" if self.place else name

    def error(self) -> InvalidRequest:
        """What the caller is told."""
        if self.missing:
            return missing(self.below(self.missing))
        if not self.place:
            return InvalidRequest(f"the request body {self.problem}", remedy='send one JSON object, such as {"model": "..."}')
        remedy = f"give {self.expected}" if self.expected else "correct it"
        return InvalidRequest(f"the field `{self.place}` {self.problem}", remedy=remedy, param=self.place)


def decode_at(decode: Callable[[msgspec.Raw], Decoded], raw: msgspec.Raw, place: str) -> Decoded:
    """What ``decode`` makes of a value cut out of a body that was valid JSON. Raises InvalidRequest with its whole path."""
    try:
        return decode(raw)
    except msgspec.ValidationError as error:
        wrong = WrongValue.of(error)
        joint = "" if not wrong.place or wrong.place.startswith("[") else "."
        raise msgspec.structs.replace(wrong, place=f"{place}{joint}{wrong.place}").error() from error


def missing(path: str) -> InvalidRequest:
    """The error for a field that must be there."""
    return InvalidRequest(f"the field `{path}` is missing", remedy="add it", param=path)


def one_of(path: str, told: str, known: str) -> InvalidRequest:
    """The error for a value that is none of the known ones."""
    return InvalidRequest(f'`{path}` is "{told[:200]}"', remedy=f"give one of {known}", param=path)


def is_object(text: str | msgspec.Raw) -> bool:
    """Whether this is the JSON text of an object."""
    try:
        _fields(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _in_words(types: str) -> str:
    """``str | array | null`` as a reader says it; null goes without saying where something else may stand there."""
    names = types.split(" | ")
    wanted = [name for name in names if name != "null"] or names
    return " or ".join(dict.fromkeys(_WORDS.get(name, name) for name in wanted))
