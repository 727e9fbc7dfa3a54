"""Rules about what sentences say: words that call for a look, and patterns that are tried only where such a word stands."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from antiphon.governance.guardrails._words import Words

SENTENCE: Final = 240
"""Characters to either side of a word in which its sentence is looked at."""
_END: Final = re.compile(r"[.!?。！？\n](?=\s|$|[\u4e00-\u9fff\"'”’])|[。！？\n]")


class Rule(msgspec.Struct, frozen=True):
    """One thing that a sentence may say. All texts are folded."""

    kind: str
    pattern: str
    anchors: str
    """Words, with | between them. A sentence without any of them is not looked at."""
    unless: str = ""
    """A pattern that a sentence must not have."""
    given: str = ""
    """One that it must have as well, anywhere."""


class Rules:
    """Many rules at once. Time is in proportion to the text: every word calls for a bounded look."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._patterns = tuple(re.compile(rule.pattern) for rule in self._rules)
        self._unless = tuple(re.compile(rule.unless) if rule.unless else None for rule in self._rules)
        self._given = tuple(re.compile(rule.given) for rule in self._rules)
        anchors: dict[str, list[int]] = {}
        for index, rule in enumerate(self._rules):
            for anchor in dict.fromkeys(rule.anchors.split("|")):
                anchors.setdefault(anchor, []).append(index)
        self._anchored = tuple(tuple(rules) for rules in anchors.values())
        self._automaton = Words(anchors)

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """What rules find: begin, end, kind. They may overlap."""
        looked = [0] * len(self._rules)
        for index, begin, end in self._automaton.find(text):
            for rule in self._anchored[index]:
                if begin >= looked[rule]:
                    first, last = _sentence(text, begin, end)
                    looked[rule] = max(end, last)
                    yield from self._at(rule, text, first, last)

    def _at(self, rule: int, text: str, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        match = self._patterns[rule].search(text, first, last)
        if match and self._given[rule].search(text, first, last):
            unless = self._unless[rule]
            if unless is None or not unless.search(text, first, last):
                yield match.start(), match.end(), self._rules[rule].kind


def _sentence(text: str, begin: int, end: int) -> tuple[int, int]:
    """The sentence around a word, as far as it is looked at."""
    first = max(0, begin - SENTENCE)
    for border in _END.finditer(text, first, begin):
        first = border.end()
    border_behind = _END.search(text, end, end + SENTENCE)
    return first, border_behind.start() if border_behind else min(len(text), end + SENTENCE)
