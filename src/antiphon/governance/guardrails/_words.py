"""Many words looked for at once."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ahocorasick_rs import AhoCorasick, MatchKind

_LONE: Final = re.compile("[\ud800-\udfff]")


class Words:
    """Words in order of their numbers. Time does not depend on how many there are (Aho and Corasick, 1975)."""

    def __init__(self, words: Iterable[str]) -> None:
        self._automaton = AhoCorasick(list(words), matchkind=MatchKind.Standard)

    def find(self, text: str) -> Sequence[tuple[int, int, int]]:
        """Every place of every word, in order of the ends: the word's number, begin, end."""
        try:
            return self._automaton.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:
            # Half a surrogate pair is no text, but it must not hide what stands beside it.
            return self._automaton.find_matches_as_indexes(_LONE.sub("\ufffd", text), overlapping=True)
