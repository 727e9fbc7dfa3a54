"""Requests for harm: violence, weapons, drugs, self-harm, fraud, malware, sexual content with minors, privacy and hate.

Rules ask that one sentence both asks for something and names a harm, with a person or a thing that is harmed where the words
alone may mean something else. What is asked about games, stories, history and the meaning of words passes. This is a first sieve
for plain requests; what is wrapped in hints and stories needs a model to be seen.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from antiphon.core.guardrail import Finding, Guardrail
from antiphon.governance.guardrails import _crimes_english, _harms_chinese, _harms_english, _hate_english
from antiphon.governance.guardrails._candidates import settled
from antiphon.governance.guardrails._folding import Folded
from antiphon.governance.guardrails._rules import Rules

_RULES: Final = (*_harms_english.RULES, *_crimes_english.RULES, *_hate_english.RULES, *_harms_chinese.RULES)
KINDS: Final = tuple(sorted({rule.kind for rule in _RULES}))
_IN_A_TITLE: Final = re.compile(
    r"\b(?:in|from|on) (?:the )?(?:[A-Z][\w']+|[A-Z]+)(?: (?:[A-Z0-9][\w']*|of|the|and|in|to))* ?[0-9]{0,3}\??\s*\Z"
)
_NO_TITLES: Final = """
Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October
November December English Chinese Spanish German French Python Java JavaScript Rust Germany France China Japan India Russia
America Europe Asia Africa Canada Mexico London Paris Berlin Tokyo Chicago Texas California Florida Instagram Facebook Twitter
Windows Linux Amazon Google I US USA UK United
"""
_PLACES: Final = re.compile(rf"\b(?:in|from|on) (?:the )?(?:New York|U\.S|(?:{'|'.join(_NO_TITLES.split())})\b)")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked for. Raises ValueError for a kind that is not known."""

    kinds: tuple[str, ...] = KINDS
    """Sorts of harm to look for."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.kinds) - set(KINDS))
        if unknown:
            raise ValueError(f'kind "{unknown[0]}" is not known; known: {", ".join(KINDS)}')


class UnsafeRequests:
    """The guardrail."""

    reach: int | None = None

    def __init__(self, options: Options) -> None:
        self._rules = Rules(rule for rule in _RULES if rule.kind in options.kinds)

    def find(self, text: str) -> Sequence[Finding]:
        """The parts that ask for harm."""
        return settled(self._candidates(text))

    def _candidates(self, text: str) -> Iterator[Finding]:
        folded = Folded(text)
        for begin, end, kind in self._rules.find(folded.text):
            first, last = folded.span(begin, end)
            if kind != "VIOLENCE" or not _in_a_work(text, last):
                yield Finding(first, last, kind, 0.8)


def _in_a_work(text: str, end: int) -> bool:
    """Whether what is asked about goes on in a work with a title: ``... someone in Call of Duty?``."""
    rest = text[end : end + 80].split("\n", maxsplit=1)[0]
    rest = re.split(r"[.?!](?:\s|$)", rest)[0]
    return bool(_IN_A_TITLE.search(rest)) and not _PLACES.search(rest)


class _Plugin:
    options = Options
    mode = "block"
    input = True
    output = False
    microseconds = 120.0

    def make(self, options: Options) -> Guardrail:
        return UnsafeRequests(options)


plugin = _Plugin()
