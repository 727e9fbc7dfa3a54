"""Where digits are: the numbers of cards, accounts, persons, companies, phones and machines.

One pass finds runs of digits; whatever has too few of them close together is left alone at once. Around the others one pattern
for each sort of number is tried, and what has a check digit is checked.
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from stdnum import luhn
from stdnum.iso7064 import mod_97_10

from antiphon.core.guardrail import Finding
from antiphon.governance.guardrails._personal import chinese_numbers, phones

DIGITS: Final = re.compile(r"[0-9]+")
FEWEST: Final = 7
"""Digits that the shortest number has: that of a phone."""
GAP: Final = 5
"""Characters between two runs of digits of one number, at most: the ``) (0)`` of some phones."""
BEFORE: Final = 40
BEHIND: Final = 16
"""Characters in which words that say what a number is are looked for."""

_CARD = re.compile(
    r"(?:[0-9]{12,19}"
    r"|[0-9]{4}([ \-\u2010-\u2013])[0-9]{4}\1[0-9]{4}\1(?:[0-9]{4}(?:\1[0-9]{3})?|[0-9]{1,3})"
    r"|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5})(?![0-9])"
)
_ISSUER = re.compile(
    r"3(?:4|7|0[0-5]|[689]|5[2-9]|528)|4|5[0-9]|2(?:2[2-9]|[3-6]|7[01]|720)|6|1800|2131|9558|95599|9[0-9]{3}(?=[0-9]{15}$)",
)
_ISSUED = re.compile(r"[3-6]|2[2-7]|1800|2131|9")
_CARD_LENGTHS: Final = {"3": {14, 15, 16}, "4": {13, 16, 19}, "1": {15}, "2": {15, 16}, "9": {16, 19}}
_CARD_WORDS = re.compile(
    r"\bcards?\b|\bcc\b|credit|debit|\blimit\b|\bblock(?:ed)?\b|expir|\bcvv|\bcvc|stolen|visa|master|maestro|amex|卡|账号|帐号|账户|开户|\bpan\b|银联|付款|还款|汇款|转账",
    re.IGNORECASE,
)
_OTHER_WORDS = re.compile(
    r"order|invoice|tracking|serial|reference|ticket|isbn|\bean\b|barcode|gtin|\bsku\b|\bid\b|hash|timestamp"
    r"|订单|单号|流水|编号|序列|条码|条形码|时间戳|批号|货号|型号|工单|快递|物流|运单|发票|案号|版本",
    re.IGNORECASE,
)
_SSN = re.compile(r"(?!000|666|9)[0-9]{3}([- ])(?!00)[0-9]{2}\1(?!0000)[0-9]{4}(?![0-9]|[-./][0-9])")
_SSN_PLAIN = re.compile(r"(?!000|666|9)[0-9]{3}(?!00)[0-9]{2}(?!0000)[0-9]{4}(?![0-9]|[-./][0-9])")
_SSN_WORDS = re.compile(r"\bssn\b|social[ -]security", re.IGNORECASE)
_IPV4 = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9]|\.[0-9])")
_VERSION = re.compile(r"(?:\bv|version|release|\bver\.?|build|版本|章|节|section|chapter)[ :号为是]{0,3}$", re.IGNORECASE)
_IBAN = re.compile(r"[A-Za-z]{2}[0-9]{2}(?:[A-Za-z0-9]{11,30}|(?: [A-Za-z0-9]{4}){2,7}(?: [A-Za-z0-9]{1,4})?)(?![A-Za-z0-9])")


def find(text: str) -> Iterator[Finding]:
    """All numbers of persons in a text, as candidates that may overlap."""
    runs = [(run.start(), run.end()) for run in DIGITS.finditer(text)]
    for place, (begin, end) in enumerate(runs):
        near = _near(runs, place)
        if near >= 4 and text[end : end + 1] == ".":
            yield from _ip(text, begin)
        if end - begin == 1 and text[end + 1 : end + 3].isdigit() is False and _letters_before(text, begin) is False:
            continue  # no number begins with a digit alone but where more of them follow at once
        if near < FEWEST and not (near >= 2 and end - begin >= 2 and _letters_before(text, begin)):
            continue
        if _starts_number(text, begin):
            yield from _card(text, begin)
            ssn = _ssn(text, begin)
            yield from (ssn,) if ssn else phones.at(text, begin)
        yield from _iban(text, begin)
        yield from chinese_numbers.at(text, begin, end)


def _near(runs: Sequence[tuple[int, int]], place: int) -> int:
    """Digits of this run and of those that follow it closely."""
    begin, end = runs[place]
    count = end - begin
    for later in range(place + 1, min(place + 8, len(runs))):
        if count >= FEWEST or runs[later][0] - end > GAP:
            break
        end = runs[later][1]
        count += end - runs[later][0]
    return count


def _letters_before(text: str, begin: int) -> bool:
    return begin >= 2 and text[begin - 1].isalpha() and text[begin - 2].isalpha()


def _starts_number(text: str, begin: int) -> bool:
    """Whether what stands before does not belong to the same number or word: ``1.5`` begins at its 1, ``a55`` nowhere."""
    if begin == 0:
        return True
    before = text[begin - 1]
    if before.isascii() and (before.isalnum() or before in "_$€£¥"):
        return False
    if begin == 1 or not text[begin - 2].isascii():
        return True
    return not (text[begin - 2].isalnum() if before in "-/" else text[begin - 2].isdigit() and before in ".,")


def said(words: re.Pattern[str], text: str, begin: int, end: int) -> bool:
    """Whether one of the words stands close to a number, on either side."""
    return bool(words.search(text, max(0, begin - BEFORE), begin) or words.search(text, end, end + BEHIND))


def _card(text: str, begin: int) -> Iterator[Finding]:
    match = _CARD.match(text, begin)
    behind = text[match.end() : match.end() + 1] if match else ""
    if not match or behind == "_" or (behind.isascii() and behind.isalpha()):
        return
    digits = "".join(DIGITS.findall(match[0]))
    lengths = _CARD_LENGTHS.get(digits[0])
    if (lengths and len(digits) not in lengths) or not luhn.is_valid(digits):
        return
    if chinese_numbers.is_identity(digits):
        return
    named = bool(_CARD_WORDS.search(text, max(0, begin - BEFORE), begin))
    if not (_ISSUED if named else _ISSUER).match(digits):
        return
    if not named and (len(digits) < 13 or _OTHER_WORDS.search(text, max(0, begin - 20), begin)):
        return
    yield Finding(begin, match.end(), "CREDIT_CARD", 0.99 if named else 0.9)


def _ssn(text: str, begin: int) -> Finding | None:
    match = _SSN.match(text, begin)
    if match:
        return Finding(begin, match.end(), "US_SSN", 0.9)
    match = _SSN_PLAIN.match(text, begin)
    if match and _SSN_WORDS.search(text, max(0, begin - BEFORE), begin):
        return Finding(begin, match.end(), "US_SSN", 0.85)
    return None


def _ip(text: str, begin: int) -> Iterator[Finding]:
    match = _IPV4.match(text, begin)
    if not match or not _starts_number(text, begin) or _VERSION.search(text, max(0, begin - 14), begin):
        return
    try:
        address = IPv4Address(match[0])
    except AddressValueError:
        return
    if not (address.is_loopback or address.is_unspecified):
        yield Finding(begin, match.end(), "IP_ADDRESS", 0.95)


def _iban(text: str, begin: int) -> Iterator[Finding]:
    start = begin - 2
    if start < 0 or not _letters_before(text, begin) or (start and text[start - 1].isascii() and (text[start - 1].isalnum())):
        return
    match = _IBAN.match(text, start)
    if not match:
        return
    # Words may follow an account that is written in groups: the longest part that is valid is the account.
    whole = match[0]
    while len(whole) >= 15:
        account = whole.replace(" ", "").upper()
        if mod_97_10.is_valid(account[4:] + account[:4]):
            yield Finding(start, start + len(whole), "IBAN_CODE", 1.0)
            return
        whole = whole.rpartition(" ")[0]
