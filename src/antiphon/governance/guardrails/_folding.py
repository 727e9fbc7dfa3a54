"""Texts as they are compared: without case and width, and with the way back to the text itself.

A sign is folded by NFKC and case folding (UAX #15, UAX #31), together with one combining mark behind it and with nothing else
around it: so what a sign becomes depends on its neighbours alone.
"""

import re
import unicodedata
from typing import Final

_MARK: Final = re.compile(r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u0655\u0900-\u0903\u093c\u3099\u309a]")


class _Signs(dict[int, str]):
    """What each sign folds to, worked out when it is first seen."""

    def __missing__(self, sign: int) -> str:
        folded = fold_sign(chr(sign))
        self[sign] = folded
        return folded


def fold_sign(sign: str) -> str:
    """One sign, or one with a mark behind it, folded. Never empty."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", sign).casefold()) or sign


_SIGNS: Final = _Signs()


class Folded:
    """A folded text. ``places`` says for each of its characters where the one stands that it came from; None: at the same place."""

    def __init__(self, text: str) -> None:
        self.places: list[int] | None = None
        self._length = len(text)
        if text.isascii():
            self.text = text.lower()
            return
        self.text = text.translate(_SIGNS)
        # Folding a single sign never yields less than one: an equal length says that every sign became one.
        if len(self.text) != len(text) or _MARK.search(text):
            self.text, self.places = _with_places(text)

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Where a part of the folded text came from, whole signs of the text with the marks that belong to them."""
        if self.places is None:
            return begin, end
        last = self.places[end - 1]
        while end < len(self.places) and self.places[end] == last:
            end += 1
        return self.places[begin], self.places[end] if end < len(self.places) else self._length


def _with_places(text: str) -> tuple[str, list[int]]:
    folded: list[str] = []
    places: list[int] = []
    place = 0
    while place < len(text):
        # Only a mark right behind a sign that is none itself belongs to it.
        paired = place + 1 < len(text) and _MARK.match(text[place + 1]) and not _MARK.match(text[place])
        signs = fold_sign(text[place : place + 2]) if paired else _SIGNS[ord(text[place])]
        folded.append(signs)
        places.extend([place] * len(signs))
        place += 2 if paired else 1
    return "".join(folded), places


def fold(text: str) -> str:
    """A text folded."""
    return Folded(text).text
