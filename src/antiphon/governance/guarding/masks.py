"""Placeholders in the place of what a model must not see, and the way back."""

import re
from typing import Final

PLACEHOLDER: Final = re.compile(r"\[[A-Z][A-Z0-9_]{0,47}_[0-9]{1,6}[a-z]{0,4}\]")
_WRITTEN: Final = re.compile(PLACEHOLDER.pattern.encode())
LONGEST: Final = 64
"""Characters of a placeholder, at most."""
_BEGUN: Final = re.compile(r"\[[A-Z0-9_a-z]{0,62}\Z")
"""What may become one: no further from the end than the longest is long."""


class Masks:
    """The placeholders of one call. The same text has the same one, numbered in the order in which texts first appear.

    So the beginning of a conversation is masked alike in each of its calls. ``suffix``, a few small letters, tells the placeholders
    of this call from those of another whose texts a model will see with them. Those in the text ``taken`` are not used.
    """

    __slots__ = ("_numbers", "_originals", "_placeholders", "_suffix", "_taken", "_text")

    def __init__(self, taken: bytes = b"", suffix: str = "") -> None:
        self._suffix = suffix
        self._text = taken
        self._taken: frozenset[bytes] | None = None
        self._placeholders: dict[tuple[str, str], str] = {}
        self._originals: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._originals)

    def hide(self, kind: str, text: str) -> str:
        """The placeholder of a text."""
        placeholder = self._placeholders.get((kind, text))
        if self._taken is None:
            self._taken, self._text = frozenset(_WRITTEN.findall(self._text)), b""
        while placeholder is None:
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            name = f"[{kind}_{number}{self._suffix}]"
            if name.encode() not in self._taken:
                placeholder = self._placeholders[kind, text] = name
                self._originals[name] = text
        return placeholder

    def restore(self, text: str) -> str:
        """A text with what placeholders stand for; those that are nobody's stay."""
        if not self._originals or "[" not in text:
            return text
        return PLACEHOLDER.sub(lambda match: self._originals.get(match[0], match[0]), text)

    def is_one(self, text: str, begin: int, end: int) -> bool:
        """Whether a part of a text lies within a placeholder of this call, which no guardrail need look at again."""
        if not self._originals:
            return False
        start = text.rfind("[", max(0, begin - LONGEST), begin + 1)
        match = PLACEHOLDER.match(text, start) if start >= 0 else None
        return match is not None and match[0] in self._originals and end <= match.end()


def gone(kind: str) -> str:
    """What stands in the place of a text that does not come back."""
    return f"[{kind}]"


def begun(text: str) -> int:
    """Where a placeholder may have begun that the end of the text cuts off; the text's length where none has."""
    place = text.rfind("[", max(0, len(text) - LONGEST))
    return place if place >= 0 and _BEGUN.match(text, place) else len(text)
