"""Texts in other languages than the allowed ones, known by their script, and English among the Latin ones by its small words.

Libraries that tell languages apart carry a model of some ten megabytes and take milliseconds for a text. The script alone tells
Chinese, Japanese, Korean, Russian, Arabic and more apart, in microseconds. What it cannot do is tell Ukrainian from Russian or
German from French: languages of one script go by the name of the script, and any of their codes may be given for all of them.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from antiphon.core.guardrail import Finding, Guardrail

_SCRIPTS: Final = {
    "latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "ja": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "ru": "\u0400-\u052f",
    "ar": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff",
    "he": "\u0590-\u05ff",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
}
_SAME_TEXT: Final = """
latin:latin de fr es it pt nl sv no nb da fi pl cs sk sl hr hu ro tr vi id ms et lv lt is ca eu gl sq sw af la
ru:ru uk be bg sr mk kk mn
ar:ar fa ur ps
hi:hi mr ne
he:he yi
"""
_CODES: Final = {
    **{script: script for script in _SCRIPTS},
    "en": "en",
    **{code: line.partition(":")[0] for line in _SAME_TEXT.split("\n") if line for code in line.partition(":")[2].split()},
}
_RUN: Final = re.compile("|".join(f"(?P<{script}>[{signs}]+)" for script, signs in _SCRIPTS.items()))
_ENGLISH_TEXT: Final = """
the of and to in is that it for was on are as with his they be at this have from or had by but what some we can out other were all
there when up your how said each she which do their time if will way about many then them would like so these her him has more could
my than been who its now did down only into you not an i me please help write explain tell give make want need does why where
"""
_OTHERS_TEXT: Final = """
der die das und ist nicht ich wie mit ein eine zu den von auf für sie es im dem auch bitte wir sind kann was oder über bei
le la les des et est une dans que qui pour pas sur au avec vous je nous ce cette comment mais sont mon ma mes du ou où
el los las y en es un una por con para no como pero su se lo del al más qué cómo mi este esta porque muy
il di che non per una con sono come gli della nel questo alla anche mi ho più perché
o os as um uma em não com por para mais como seu sua isso você
de het een van ik niet dat je op te voor zijn met hoe wat
och att det som en på är av för med till jag inte den hur
nie się na jest jak co czy to że i w z ve bir bu için ne da ile yang dan di untuk tidak ini itu
"""
_ENGLISH: Final = frozenset(_ENGLISH_TEXT.split())
_OTHERS: Final = frozenset(_OTHERS_TEXT.split())
_WORD: Final = re.compile("[a-z\u00df-\u024f]+")
_WORTH: Final = {"zh": 4, "ja": 2, "ko": 2}
"""Letters that say as much as one sign, so that a few names in letters do not outweigh a sentence in Chinese."""
ENOUGH: Final = 4000
"""Characters in which the small words of a Latin text are counted."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which languages are allowed. Raises ValueError for a code that is not known and a share that is none."""

    allowed: tuple[str, ...] = ()
    """Codes of ISO 639-1, or ``latin`` for all languages in Latin script other than English. Empty: all languages."""
    share: float = 0.3
    """So much of a text, from 0 to 1, may be in other languages: names, quotations, code."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.allowed) - set(_CODES))
        if unknown:
            raise ValueError(f'language "{unknown[0]}" is not known; known: {", ".join(sorted(_CODES))}')
        if not 0 <= self.share < 1:
            raise ValueError(f"share is {self.share}; give a number from 0 to below 1")


class Language:
    """The guardrail. What a text is written in shows in the whole."""

    reach: int | None = None

    def __init__(self, options: Options) -> None:
        self._allowed = frozenset(_CODES[code] for code in options.allowed)
        self._share = options.share

    def find(self, text: str) -> Sequence[Finding]:
        """The parts in other languages, where they are more than their share."""
        if not self._allowed:
            return []
        if text.isascii() and ("en" if _is_english(text) else "latin") in self._allowed:
            return []
        runs = [(run.start(), run.end(), str(run.lastgroup)) for run in _RUN.finditer(text)]
        letters: dict[str, int] = dict.fromkeys(_SCRIPTS, 0)
        for begin, end, script in runs:
            letters[script] += (end - begin) * _WORTH.get(script, 1)
        names = _names(text, letters)
        strange = {script for script in letters if not names[script] & self._allowed}
        if sum(letters[script] for script in strange) <= self._share * sum(letters.values()):
            return []
        return _joined(runs, strange)


def _names(text: str, letters: dict[str, int]) -> dict[str, set[str]]:
    """What each script may be here: Chinese signs are Japanese beside enough kana, and Korean beside more hangul."""
    names = {script: {script} for script in letters}
    if letters["ja"] * 8 > letters["zh"]:
        names["zh"] = {"ja"} if letters["ja"] else {"zh"}
    if letters["ko"] > letters["zh"] > 0:
        names["zh"] = {"ko", "zh"}
    if letters["latin"]:
        names["latin"] = {"en"} if _is_english(text) else {"latin"}
    return names


def _is_english(text: str) -> bool:
    """Whether small words of English are at least as many as those of others; names and code are no evidence against it."""
    words = _WORD.findall(text[:ENOUGH].lower())
    return sum(word in _ENGLISH for word in words) >= sum(word in _OTHERS for word in words)


def _joined(runs: Sequence[tuple[int, int, str]], strange: set[str]) -> list[Finding]:
    """Runs of strange scripts, each as far as the next run of an allowed one."""
    found: list[Finding] = []
    joins = False
    for begin, end, script in runs:
        if script in strange:
            found.append(Finding(found.pop().begin if joins else begin, end, "LANGUAGE", 0.8))
        joins = script in strange
    return found


class _Plugin:
    options = Options
    mode = "block"
    input = True
    output = False
    microseconds = 90.0

    def make(self, options: Options) -> Guardrail:
        return Language(options)


plugin = _Plugin()
