"""Words that must not be said, and topics as lists of words.

Words are compared without case and width. One of letters that are set apart by spaces is found as a whole word, one in Chinese,
Japanese or Thai wherever it stands. All words are looked for at once (Aho and Corasick, 1975), so their number does not matter.

There are no patterns: Python's ``re`` may take time that grows with the power of a text's length, and a library that does not would
be needed for nothing else. What lists of words cannot say is a guardrail of its own, in a file of its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from antiphon.core.guardrail import Finding, Guardrail
from antiphon.governance.guardrails._candidates import settled
from antiphon.governance.guardrails._folding import Folded, fold
from antiphon.governance.guardrails._words import Words

LONGEST: Final = 64
"""Characters of a word, folded."""
_LABEL: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked for. Raises ValueError for an empty word, one that is too long, and a name that cannot be a kind."""

    words: tuple[str, ...] = ()
    """Words and phrases, of at most 64 characters each."""
    label: str = "BANNED_WORD"
    """The kind of what is found."""
    topics: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """More words, by what they are about: ``{"GAMBLING": ["casino", ...]}``. The topic is the kind of what is found."""

    def __post_init__(self) -> None:
        for label in (self.label, *self.topics):
            if not _LABEL.fullmatch(label):
                raise ValueError(f'"{label}" cannot be a kind; write it in upper case, like BANNED_WORD')
        for word, _ in self.labelled():
            if not fold(word).strip():
                raise ValueError("a word is empty; leave it out")
            if len(fold(word)) > LONGEST:
                raise ValueError(
                    f'the word "{word[:20]}..." is longer than {LONGEST} characters; give a part of it that tells enough'
                )

    def labelled(self) -> Iterator[tuple[str, str]]:
        """All words with their kinds."""
        yield from ((word, self.label) for word in self.words)
        yield from ((word, topic) for topic, words in self.topics.items() for word in words)


class BannedWords:
    """The guardrail. A word may have a mark on each letter, so what is found may be twice as long as the word."""

    def __init__(self, options: Options) -> None:
        kinds: dict[str, str] = {}
        for word, kind in options.labelled():
            kinds.setdefault(fold(word).strip(), kind)
        self._words = tuple(kinds)
        self._kinds = tuple(kinds.values())
        self._automaton = Words(kinds)
        self.reach: int | None = 2 * max(map(len, kinds), default=0) + 4

    def find(self, text: str) -> Sequence[Finding]:
        """The words that are in a text."""
        return settled(self._candidates(text)) if self._words else ()

    def _candidates(self, text: str) -> Iterator[Finding]:
        folded = Folded(text)
        for index, begin, end in self._automaton.find(folded.text):
            if _whole(folded.text, begin, end):
                yield Finding(*folded.span(begin, end), self._kinds[index])


def _whole(text: str, begin: int, end: int) -> bool:
    """Whether a word does not go on before or behind this part, in letters that are set apart by spaces."""
    return not (_spaced(text[begin]) and begin and _spaced(text[begin - 1])) and not (
        _spaced(text[end - 1]) and end < len(text) and _spaced(text[end])
    )


def _spaced(sign: str) -> bool:
    return sign.isalnum() and not _UNSPACED.match(sign)


class _Plugin:
    options = Options
    mode = "block"
    input = True
    output = True
    microseconds = 20.0

    def make(self, options: Options) -> Guardrail:
        return BannedWords(options)


plugin = _Plugin()
