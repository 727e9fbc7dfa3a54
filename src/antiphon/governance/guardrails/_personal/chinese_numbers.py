"""Numbers of Chinese papers: identity cards, companies, passports and permits.

Identity cards: GB 11643 (a region, a date of birth and a check digit by ISO 7064 MOD 11-2). Companies: GB 32100 (MOD 31).
"""

import re
from collections.abc import Iterator
from typing import Final

from stdnum import numdb
from stdnum.cn import ric, uscc
from stdnum.exceptions import InvalidComponent

from antiphon.core.guardrail import Finding

BEFORE: Final = 30
BEHIND: Final = 12

_IDENTITY = re.compile(
    r"[1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx](?![0-9A-Za-z])"
)
_IDENTITY_SPACED = re.compile(
    r"[1-9][0-9]{5}[ -](?:18|19|20)[0-9]{2}[ -]?(?:0[1-9]|1[0-2])[ -]?(?:0[1-9]|[12][0-9]|3[01])[ -][0-9]{3}[0-9Xx](?![0-9A-Za-z])"
)
_COMPANY = re.compile(r"(?:[159][1-9A-G]|N[1-9]|Y1|A1)[0-9]{6}[0-9A-HJ-NP-RTUWXY]{10}(?![0-9A-Za-z])")
_PASSPORT = re.compile(r"(?:E[0-9]{8}|E[A-HJ-NP-Z][0-9]{7}|[DGSP][0-9]{8}|(?:DE|SE|PE|MA|KJ)[0-9]{7}|1[45][0-9]{7})(?![0-9A-Za-z])")
_PERMIT = re.compile(r"(?:[HMC][0-9]{8}(?:[0-9]{2})?|C[A-Z][0-9]{7}|[TL][0-9]{8}|[0-9]{8}(?:[0-9]{2})?|83[0-9]{16})(?![0-9A-Za-z])")
_PASSPORT_WORDS = re.compile(r"护照|passport|通行证|旅行证|证件|出入境", re.IGNORECASE)
_PERMIT_WORDS = re.compile(r"通行证|回乡证|台胞证|居住证|往来|港澳|permit", re.IGNORECASE)

_REGIONS = numdb.get("cn/loc")


def at(text: str, begin: int, end: int) -> Iterator[Finding]:
    """The number to which the run of digits ``text[begin:end]`` belongs, if it does."""
    start = begin
    while start and begin - start < 2 and text[start - 1].isascii() and text[start - 1].isalpha():
        start -= 1
    if start and text[start - 1].isascii() and (text[start - 1].isalnum() or text[start - 1] in "_-."):
        return
    if start == begin and end - begin >= 17:
        match = _IDENTITY.match(text, begin)
        if match and _is_identity(match[0]):
            yield Finding(begin, match.end(), "CN_ID", 1.0)
    elif start == begin and end - begin == 6:
        match = _IDENTITY_SPACED.match(text, begin)
        if match and _is_identity(re.sub("[ -]", "", match[0])):
            yield Finding(begin, match.end(), "CN_ID", 1.0)
    match = _COMPANY.match(text, start)
    if match and uscc.is_valid(match[0]):
        yield Finding(start, match.end(), "CN_USCC", 1.0)
    if end - begin <= 18:
        yield from _papers(text, start)


def _papers(text: str, start: int) -> Iterator[Finding]:
    passport = _PASSPORT.match(text, start)
    if passport and _named(_PASSPORT_WORDS, text, start, passport.end()):
        yield Finding(start, passport.end(), "CN_PASSPORT", 0.9)
        return
    permit = _PERMIT.match(text, start)
    if permit and _named(_PERMIT_WORDS, text, start, permit.end()):
        yield Finding(start, permit.end(), "CN_PASSPORT", 0.8)


def _named(words: re.Pattern[str], text: str, begin: int, end: int) -> bool:
    return bool(words.search(text, max(0, begin - BEFORE), begin) or words.search(text, end, end + BEHIND))


def is_identity(digits: str) -> bool:
    """Whether these 18 digits are an identity card's, which may pass for a bank card's."""
    return len(digits) == 18 and bool(_IDENTITY.match(digits)) and _is_identity(digits)


def _is_identity(number: str) -> bool:
    """Whether check digit, date and region are right.

    The region need not have had its code at birth: it is that of the first card.
    """
    if ric.calc_check_digit(number) != number[-1].upper():
        return False
    try:
        ric.get_birth_date(number)
    except InvalidComponent:
        return False
    return any("county" in known for _, known in _REGIONS.info(number[:6]))
