"""Names, addresses and number plates in Chinese.

No word is cut out of the text by a dictionary, which would cost more than all the rest: a name is a surname with characters that
given names are made of, beside a word that goes with names; an address begins with a region or behind a word that goes with
addresses, and has a number in it.
"""

import re
from collections.abc import Iterator
from typing import Final

from antiphon.core.guardrail import Finding
from antiphon.governance.guardrails._personal.chinese_words import (
    BEFORE_NAME,
    BEHIND_NAME,
    CITIES,
    COMMON,
    COMPOUND,
    GIVEN,
    NOT_GIVEN,
    NOT_NAMES,
    PLACES,
    PROVINCES,
    STRONG,
    SURNAMES,
)
from antiphon.governance.guardrails._words import Words

ADDRESS: Final = 72
"""Characters that an address has at most."""

_WORDS: Final = tuple(dict.fromkeys((*BEFORE_NAME, *BEHIND_NAME, *PROVINCES, *CITIES, *PLACES)))
_REGIONS: Final = frozenset((*PROVINCES, *CITIES))
_BEFORE: Final = frozenset(BEFORE_NAME)
_BEHIND: Final = frozenset(BEHIND_NAME)
_PLACES: Final = frozenset(PLACES)
_SURNAME: Final = frozenset(SURNAMES)
_COMPOUND: Final = frozenset(COMPOUND)
_GIVEN: Final = frozenset(GIVEN)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_FREE = re.compile(
    rf"(?:{'|'.join(COMPOUND)}|[{SURNAMES}])[{GIVEN}]{{1,2}}(?![\u4e00-\u9fff·])"
    rf"|[{SURNAMES}][{GIVEN}]{{2}}(?=[和与及跟向对给把将被在是说请已因的从到于来去也都住])"
)
_STRONG = re.compile(rf"(?:{'|'.join(COMPOUND)}|[{SURNAMES}])[{STRONG}]{{2}}")
_PAIR = re.compile(
    rf"(?:[{SURNAMES}][{STRONG}][和与及、](?=[{SURNAMES}][{STRONG}]))|(?<=[和与及、])[{SURNAMES}][{STRONG}](?=[都也一已还共在分没同])"
)
_RECEIVER = re.compile(rf"(?<=[给替帮请])[{SURNAMES}][{STRONG}](?=[写打发买做送办订转寄])")
_LINK: Final = frozenset("和与及、跟向对给找问请由被让同替为陪见")
_FILL = re.compile(r"(?:[:：\s\t|]|是|为|叫|在|于|址)*")
_PLATE = re.compile(
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使][A-HJ-NP-Z][·•．. \-]?"
    r"(?:[DF][A-HJ-NP-Z0-9][0-9]{4}|[0-9]{5}[DF]|[A-HJ-NP-Z0-9]{4}[A-HJ-NP-Z0-9挂学警港澳领使])(?![A-Za-z0-9])"
)
_NUMBER: Final = r"[0-9０-９一二三四五六七八九十甲乙丙丁A-Za-z]{1,6}(?:-[0-9]{1,5}){0,2}"
_UNIT: Final = r"(?:号院|号楼|号|弄|栋|幢|座|单元|室|层|楼|房|户|组|队)"
_STREET = re.compile(
    r"(?:[\u4e00-\u9fff]{0,24}?|[\u4e00-\u9fff0-9]{0,24}?)"
    rf"(?:路|街|道|巷|弄|胡同|村|镇|乡|里|区|园|苑|城|府|庄|湾|厦|场|小区|中心|大厦|广场|公寓|社区|学院"
    rf"|大学|[东南西北中]段)[ ]?{_NUMBER}{_UNIT}"
)
_REST = re.compile(rf"[ ]?[\u4e00-\u9fffA-Za-z]{{0,12}}?[（(]?{_NUMBER}{_UNIT}[）)]?")
_ROOM = re.compile(r"[ ]?[\u4e00-\u9fff]{0,8}?[A-Za-z]?[0-9]{2,5}(?:室|房)?(?![0-9A-Za-z\-./年月日元号路])")
_DIVISION = re.compile(r"(?:省|市|自治区|特别行政区|壮族自治区|回族自治区|维吾尔自治区)?")


class Chinese:
    """Looks for names and addresses. Cheap where no Chinese is."""

    def __init__(self) -> None:
        self._words = Words(_WORDS)

    def find(self, text: str) -> Iterator[Finding]:
        """Candidates: PERSON, ADDRESS and LOCATION."""
        for index, begin, end in self._words.find(text):
            word = _WORDS[index]
            if word in _BEFORE:
                yield from _name_at(text, end)
            if word in _BEHIND:
                yield from _name_before(text, begin)
            if word in _REGIONS:
                yield _region(text, begin, end)
            if word in _PLACES:
                filled = _FILL.match(text, end, end + 4)
                yield from _address(text, filled.end() if filled else end)
        for free in _FREE.finditer(text):
            begin = free.start()
            if _stands_alone(text, begin) and _is_name(free[0]) and any(sign in STRONG for sign in free[0][1:]):
                yield Finding(begin, free.end(), "PERSON", 0.6)
        for short in (*_PAIR.finditer(text), *_RECEIVER.finditer(text)):
            if short[0][:2] not in NOT_NAMES:
                yield Finding(short.start(), short.start() + 2, "PERSON", 0.5)
        for strong in _STRONG.finditer(text):
            if strong[0][0] not in COMMON and _is_name(strong[0]):
                yield Finding(strong.start(), strong.end(), "PERSON", 0.5)


def plates(text: str) -> Iterator[Finding]:
    """Number plates, those of cars with new energy too."""
    for match in _PLATE.finditer(text):
        if any(map(str.isdigit, match[0])):
            yield Finding(match.start(), match.end(), "CN_PLATE", 0.95)


def _stands_alone(text: str, begin: int) -> bool:
    before = text[begin - 1] if begin else "\n"
    return before in _LINK or not _HAN.match(before)


def _is_name(name: str) -> bool:
    """Whether a surname stands first and all behind it are characters of names."""
    if name[:2] in NOT_NAMES:
        return False
    surname = 2 if name[:2] in _COMPOUND else 1
    given = name[surname:]
    if surname == 2 and len(given) == 2 and NOT_GIVEN.isdisjoint(given) and all(map(_HAN.match, given)):
        return True
    return (surname == 2 or name[0] in _SURNAME) and 1 <= len(given) <= 2 and all(sign in _GIVEN for sign in given)


def _name_at(text: str, end: int) -> Iterator[Finding]:
    """The name behind a word that goes before names."""
    filled = _FILL.match(text, end, end + 4)
    begin = filled.end() if filled else end
    surname = 2 if text[begin : begin + 2] in _COMPOUND else 1
    if (surname == 1 and text[begin : begin + 1] not in _SURNAME) or text[begin : begin + 2] in NOT_NAMES:
        return
    given = text[begin + surname : begin + surname + 2]
    length = 0
    for sign in given:
        if not _HAN.match(sign) or sign in NOT_GIVEN:
            break
        length += 1
    if length == 2 and given[1] not in _GIVEN:
        length = 1
    clear = begin > end or begin + surname + length >= len(text) or not _HAN.match(text[begin + surname + length])
    if length and (given[0] in _GIVEN or clear):
        yield Finding(begin, begin + surname + length, "PERSON", 0.8)


def _name_before(text: str, end: int) -> Iterator[Finding]:
    """The name before a word that goes behind names; the longest that is made of characters of names."""
    for length in (4, 3, 2):
        name = text[max(0, end - length) : end]
        if len(name) == length and _is_name(name) and (length > 3) == (name[:2] in _COMPOUND and length == 4):
            yield Finding(end - length, end, "PERSON", 0.7)
            return
    if text[end : end + 2] in ("先生", "女士", "小姐", "老师", "医生", "教授", "经理", "主任", "师傅", "律师", "大夫", "总监"):
        name = text[max(0, end - 2) : end]
        length = 2 if name in _COMPOUND else 1
        if name[-length:] in _COMPOUND or (
            name[-1:] in _SURNAME and (len(name) == 1 or name[0] in _LINK or not _HAN.match(name[0]))
        ):
            yield Finding(end - length, end, "PERSON", 0.6)


def _region(text: str, begin: int, end: int) -> Finding:
    """An address that begins with this region, or else the region alone."""
    for found in _address(text, begin):
        return found
    division = _DIVISION.match(text, end)
    return Finding(begin, division.end() if division else end, "LOCATION", 0.7)


def _address(text: str, begin: int) -> Iterator[Finding]:
    limit = begin + ADDRESS
    street = _STREET.match(text, begin, limit)
    if not street:
        return
    end = street.end()
    while rest := _REST.match(text, end, limit):
        end = rest.end()
    if room := _ROOM.match(text, end, limit):
        end = room.end()
    yield Finding(begin, end, "ADDRESS", 0.85)
