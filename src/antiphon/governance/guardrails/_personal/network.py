"""E-mail addresses, addresses of pages and machines, and names of domains."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from antiphon.core.guardrail import Finding

LOCAL: Final = 64
DOMAIN: Final = 60
"""Characters of an e-mail address before and behind its @."""
IPV6: Final = 45
URL: Final = 112
"""Characters of a URL that are found; a longer one is found up to there."""

_LOCAL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._%+\-]*[A-Za-z0-9_%+\-])?\Z")
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?\.){1,4}(?:[A-Za-z]{2,12}|xn--[A-Za-z0-9-]{2,20})(?![A-Za-z0-9])"
)
_IN_LOCAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")
_URL = re.compile(r"(?:[hH][tT]{2}[pP][sS]?|[fF][tT][pP]|[wW][sS]{1,2})://(?=[^\s/])")
_IN_URL = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%|\\\u00a1-\u024f]+")
_WEB = re.compile(r"[wW]{3}\.")
_DOT = re.compile(r"\.[A-Za-z]{2,12}(?![A-Za-z0-9])")
_LABELS = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\Z")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]{6,}")
_ENDS = ".,;:!?'\"*"
_TLDS_TEXT: Final = """
com org net edu gov mil int info biz name io ai app dev cloud online site shop store tech xyz top club vip live news blog wiki
me tv cc co cn hk tw mo jp kr sg my th vn id ph in pk au nz uk ie fr de es pt it ch at be nl lu dk se no fi is ee lv lt pl cz sk
hu ro bg gr tr ru ua il ae sa eg za ng ke br ar cl mx ca us eu asia mobi
"""
_TLDS = frozenset(_TLDS_TEXT.split())


def emails(text: str) -> Iterator[Finding]:
    """E-mail addresses whose parts are not too long."""
    at = text.find("@")
    while at >= 0:
        if at and text[at - 1] in _IN_LOCAL:
            found = _email(text, at)
            if found:
                yield found
        at = text.find("@", at + 1)


def _email(text: str, at: int) -> Finding | None:
    begin = at
    while begin and at - begin <= LOCAL and text[begin - 1] in _IN_LOCAL:
        begin -= 1
    if at - begin > LOCAL or (begin and text[begin - 1] == "@"):
        return None
    while begin < at and text[begin] in "._%+-":
        begin += 1
    domain = _DOMAIN.match(text, at + 1, at + DOMAIN)
    if begin == at or not domain:
        return None
    return Finding(begin, domain.end(), "EMAIL_ADDRESS", 1.0)


def urls(text: str) -> Iterator[Finding]:
    """What begins with a scheme."""
    if "://" in text:
        for match in _URL.finditer(text):
            rest = _IN_URL.match(text, match.end(), match.start() + URL)
            if rest:
                yield Finding(match.start(), _trimmed(text, match.end(), rest.end()), "URL", 1.0)


def _trimmed(text: str, begin: int, end: int) -> int:
    """Where a URL ends: not with what ends a sentence, nor with a bracket that was opened before it."""
    while end > begin + 1:
        last = text[end - 1]
        if last not in _ENDS and not (last in ")]" and text.count("(["[last == "]"], begin, end) < text.count(last, begin, end)):
            break
        end -= 1
    return end


def domains(text: str) -> Iterator[Finding]:
    """Names of domains outside of e-mail addresses and URLs."""
    for dot in _DOT.finditer(text):
        if dot[0][1:].lower() not in _TLDS or text[dot.end() : dot.end() + 1] in ("@", "(", "_"):
            continue
        begin = dot.start()
        while begin and dot.start() - begin <= LOCAL and (text[begin - 1] in _IN_LOCAL and text[begin - 1] not in "_%+"):
            begin -= 1
        before = text[begin - 1 : begin]
        if dot.start() - begin > LOCAL or before in ("@", "_", "/", "\\") or text[dot.end() : dot.end() + 2].startswith("."):
            continue
        if _LABELS.match(text, begin, dot.start()):
            yield Finding(begin, dot.end(), "DOMAIN_NAME", 0.7)


def ipv6(text: str) -> Iterator[Finding]:
    """Addresses of version 6 with a digit and at least two groups."""
    if text.count(":") < 2:
        return
    for match in _IPV6.finditer(text):
        begin, end = match.start(), match.end()
        if end - begin > IPV6 or text.count(":", begin, end) < 2:
            continue
        while text[end - 1] in ".:" and text[end - 2 : end] != "::":
            end -= 1
        before, behind = text[begin - 1 : begin], text[end : end + 1]
        if (before.isascii() and before.isalnum()) or (behind.isascii() and behind.isalnum()):
            continue
        address = text[begin:end]
        if not _is_ipv6(address) and not address.replace(":", "").isdigit():  # a port may stand behind it
            address = address.rpartition(":")[0]
            end = begin + len(address)
        if len(address) >= 6 and any(map(str.isdigit, address)) and _is_ipv6(address):
            yield Finding(begin, end, "IP_ADDRESS", 0.9)


def _is_ipv6(address: str) -> bool:
    try:
        return not IPv6Address(address).is_loopback
    except AddressValueError:
        return False
