"""Phone numbers: by their shape where that says enough, else by a word close by that says so.

The numbering plans of single countries are not asked for: people write numbers that lack a prefix, and a plan cannot tell
``467 3395`` from any other seven digits. The words around it can.
"""

import re
from collections.abc import Iterator
from typing import Final

from antiphon.core.guardrail import Finding

BEFORE: Final = 40
BEHIND: Final = 24

_EXTENSION = r"(?: ?(?:x|ext\.? ?|转|#) ?[0-9]{1,6})?"
_END = r"(?![0-9A-Za-z]|[-./:,][0-9])"
_INTERNATIONAL = re.compile(
    r"(?:\+ ?|(?<![0-9])00(?=[0-9]{0,3}[ .-]))[0-9]{1,3}"
    r"(?:[ .\-]?\([0-9]{1,4}\)|[ .\-]?[0-9]{1,4}){1,7}" + _EXTENSION + r"(?![0-9])"
)
_STRONG = re.compile(
    r"(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}([-.])(?=[0-9]{3}\1))[0-9]{3}[-. ][0-9]{4}" + _EXTENSION + _END
    + r"|\(0?[0-9]{1,4}\) ?[0-9]{3,4}[ -]?[0-9]{3,4}" + _END
    + r"|\(0[0-9]{2,3}\) ?[0-9]{7,8}" + _EXTENSION + _END
    + r"|0[0-9]{2,3}-[0-9]{7,8}(?:-[0-9]{1,6})?" + _EXTENSION + _END
    + r"|0[0-9]{1,4}(?:[ .\-][0-9]{2,4}){2,4}" + _END
    + r"|0[0-9]{3,4} [0-9]{6,7}" + _END
    + r"|(?:86[- ])?1[3-9][0-9]([- ]?)[0-9]{4}\2[0-9]{4}" + _END
    + r"|1-[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}" + _END
    + r"|[48]00[- ]?[0-9]{3}[- ][0-9]{4}" + _END
)  # fmt: skip
_WEAK = re.compile(
    r"(?:\([0-9]{2,5}\)[ /]?)?[0-9]{2,5}(?:[ .\-/][0-9]{2,8}){1,4}"
    + _EXTENSION
    + _END
    + r"|\([0-9]{2,5}\)[ /]{1,2}[0-9]{3,8}(?:-[0-9]{2,4})?"
    + _END
    + r"|[0-9]{7,12}"
    + _EXTENSION
    + _END
)
_WORDS = re.compile(
    r"phone|\btel\b|\bfax\b|mobile|\bcell\b|\bcall(?:ed|ing)?\b|\bdial|\bring\b|\bdesk\b|\boffice\b|\bsms\b|whatsapp|\btext me\b"
    r"|contact|answering|reach (?:me|him|her|us|them)|registered|messages? to|voicemail|hotline|helpline"
    r"|电话|手机|座机|联系方式|热线|致电|拨打|来电|传真|号码|短信|微信|联系|回电|分机|专线|客服",
    re.IGNORECASE,
)
_NOT_WORDS = re.compile(
    r"(?:order|invoice|tracking|serial|ticket|isbn|issn|card|license|passport|account|zip|reference|订单|单号|流水|编号|序列|条码|运单"
    r"|快递|发票|案号|金额|型号|批号|工号|学号|版本|编码|邮编|时间戳|QQ|卡号)[^,，。;；\n]{0,8}$"
    r"|[\u4e00-\u9fff](?<![机话真线信码系])号[:：为是 ]{0,2}$",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?:(?:19|20)[0-9]{2}([-./ ])(?:0?[1-9]|1[0-2])\1(?:[0-2]?[0-9]|3[01])"
    r"|(?:[0-2]?[0-9]|3[01])([-./ ])(?:[0-2]?[0-9]|3[01])\2(?:19|20)[0-9]{2})(?![0-9])"
    r"|(?:(?:19|20)[0-9]{2})[ /-](?:19|20)[0-9]{2}(?![0-9 /-])"
)
_ROUND = re.compile(r"[0-9]{1,3}(?:[ .]000)+(?![0-9])")
_DIGIT = re.compile(r"[0-9]")


def at(text: str, begin: int) -> Iterator[Finding]:
    """The phone number whose first digit stands there, if one does."""
    if _DATE.match(text, begin):
        return
    start = begin
    if begin and text[begin - 1] == "(":
        start -= 1
    if start and text[start - 1] == "+":
        start -= 1
    elif start > 1 and text[start - 1] == " " and text[start - 2] == "+":
        start -= 2
    if start and text[start - 1].isascii() and text[start - 1].isalnum():
        return
    match = _INTERNATIONAL.match(text, start)
    if match and 8 <= _count(match[0]) <= 21:
        yield Finding(start, match.end(), "PHONE_NUMBER", 0.95)
        return
    denied = _NOT_WORDS.search(text, max(0, start - BEFORE), start)
    match = _STRONG.match(text, start)
    if match and _count(match[0]) >= 9 and not denied:
        yield Finding(start, match.end(), "PHONE_NUMBER", 0.85)
        return
    if start > 1 and text[start - 1] == " " and text[start - 2].isdigit():
        return
    match = _WEAK.match(text, start)
    if match and 7 <= _count(match[0]) <= 16 and not denied and not _ROUND.match(text, start) and _named(text, start, match.end()):
        yield Finding(start, match.end(), "PHONE_NUMBER", 0.6)


def _count(number: str) -> int:
    return len(_DIGIT.findall(number))


def _named(text: str, begin: int, end: int) -> bool:
    return bool(_WORDS.search(text, max(0, begin - BEFORE), begin) or _WORDS.search(text, end, end + BEHIND))
