"""Names, places and addresses in English and languages near it: known names and words around them, no model of the language."""

import re
from collections.abc import Iterator
from typing import Final

from antiphon.core.guardrail import Finding
from antiphon.governance.guardrails._personal.english_words import GIVEN, NOT_NAMES, PLACES
from antiphon.governance.guardrails._words import Words

NAME: Final = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’\-]{0,20}"
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]{0,24}(?![^\W\d_])")
_TITLED = re.compile(rf"\.? ({NAME}(?: (?:(?:de|da|van|von|der|del|la|bin|al)(?: |-))?{NAME}){{0,2}})")
_TITLES_TEXT: Final = "Mr Mrs Ms Miss Dr Prof Professor Herr Frau Mme Sir Señor Señora Monsieur Madame Mx"
_TITLES: Final = frozenset(_TITLES_TEXT.split())
_MORE = re.compile(rf"(?: (?:[A-Z]\.?(?!\w)|(?:de|da|van|von|der|del|la|bin|al)(?= [A-Z])|{NAME}(?!\w))){{1,3}}")
_INTRODUCED: Final = (
    "name is", "name's", "Name:", "name:", "Name :", "Name：", "named", "called", "Dear", "dear", "Contact", "contact",
    "Regards,", "regards,", "Sincerely,", "sincerely,", "Signed,", "Signed", "signed", "Customer", "customer", "Patient",
    "patient", "Attn:", "attn:", "C/O", "c/o", "name?", "ddress:", "Hi", "Hello", "Employee", "employee", "Manager",
    "manager", "Sender:", "Recipient:", "To:", "From:", "by",
)  # fmt: skip
_NAME = re.compile(rf"[ \t]*\n?[ \t]*({NAME}(?: (?:[A-Z]\.?(?= )|{NAME})){{0,2}})")
_BARE: Final = frozenset(("name is", "name's", "Name:", "name:", "Name :", "Name：", "Dear", "dear", "name?"))
"""Words behind which one word is a name; behind the others a first and a last name are wanted."""
_STREETS: Final = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Way|Terrace|Parkway|Pkwy|Highway"
    r"|Hwy|Crescent|Close|Trail|Circle)\b\.?"
)
_ADDRESS = re.compile(
    rf"[0-9]{{1,5}}[A-Za-z]?,? (?:[NSEW]\.? )?"
    rf"(?:[0-9]{{1,3}}(?:st|nd|rd|th) |(?:{NAME}\.? ){{1,4}}?){_STREETS}"
    r"(?:[, \n]{1,3}(?:Apt|Suite|Ste|Unit|Floor|Room|#)\.? ?[0-9A-Za-z]{1,5})?"
    rf"(?:, {NAME}(?: {NAME})?)?(?:,? [A-Z]{{2}})?(?:,? [0-9]{{5}}(?:-[0-9]{{4}})?)?(?![0-9A-Za-z])"
)
_BOX = re.compile(
    r"\b(?:P\.? ?O\.? Box|PSC [0-9]{1,5},? Box|Unit [0-9]{1,5} Box|Postfach) ?[0-9]{1,6}(?![0-9])"
    r"|\b(?:Apt|Suite)\.? [0-9]{1,4}(?![0-9])"
)
_NUMBER = re.compile(r"[0-9]{1,5}(?![0-9])")
_LONGEST: Final = 72


class Names:
    """Looks for names of persons and places."""

    def __init__(self) -> None:
        self._words = Words(_INTRODUCED)

    def find(self, text: str) -> Iterator[Finding]:
        """Candidates: PERSON and LOCATION."""
        for word in _CAPITAL.finditer(text):
            begin, end = word.span()
            if word[0] in PLACES and _begins(text, begin):
                yield Finding(begin, end, "LOCATION", 0.6)
            if word[0] in _TITLES:
                yield from _titled(text, end)
            elif word[0].lower() in GIVEN and _begins(text, begin):
                more = _MORE.match(text, end, end + 48)
                if more and _last(more[0]).lower() not in NOT_NAMES:
                    yield Finding(begin, more.end(), "PERSON", 0.7)
        for index, begin, end in self._words.find(text):
            if _begins(text, begin) or _INTRODUCED[index] == "ddress:":
                yield from _introduced(text, end, _INTRODUCED[index] in _BARE)


def _begins(text: str, begin: int) -> bool:
    return not begin or not (text[begin - 1].isalnum() or text[begin - 1] in "_@.")


def _introduced(text: str, end: int, bare: bool) -> Iterator[Finding]:
    match = _NAME.match(text, end, end + 64)
    if not match or match.start(1) == end:
        return
    name = match[1].split(" ")
    if (bare or len(name) > 1) and not any(word.lower() in NOT_NAMES for word in name) and not match[1].isupper():
        yield Finding(match.start(1), match.end(1), "PERSON", 0.6)


def _titled(text: str, end: int) -> Iterator[Finding]:
    match = _TITLED.match(text, end, end + 64)
    if match and match[1].split(" ")[0].lower() not in NOT_NAMES:
        yield Finding(match.start(1), match.end(1), "PERSON", 0.85)


def _last(words: str) -> str:
    return words.rpartition(" ")[2]


def addresses(text: str) -> Iterator[Finding]:
    """Candidates: streets with a number, and boxes."""
    for number in _NUMBER.finditer(text):
        begin = number.start()
        if begin and (text[begin - 1].isalnum() or text[begin - 1] in "$€£#.-"):
            continue
        match = _ADDRESS.match(text, begin, begin + _LONGEST)
        if match:
            yield Finding(begin, match.end(), "ADDRESS", 0.8)
    if "Box" in text or "Apt" in text or "Suite" in text:
        for box in _BOX.finditer(text):
            yield Finding(box.start(), box.end(), "ADDRESS", 0.6)
