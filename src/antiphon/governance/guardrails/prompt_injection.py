"""Prompt injection: attempts to replace instructions, to have them told, or to talk a model out of its rules. English, Chinese.

Rules look at what a sentence says, wherever it stands, so also inside of documents. They read the text as a model reads it:
without invisible signs, with look-alikes of other scripts as the letters they stand for, and again with digits for letters, with
letters set apart, and with what base64 hides. This finds what is worded like known attempts. It cannot find every attempt.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from antiphon.core.guardrail import Finding, Guardrail
from antiphon.governance.guardrails import _injections_chinese, _injections_english, _pretexts
from antiphon.governance.guardrails._candidates import settled
from antiphon.governance.guardrails._folding import Folded
from antiphon.governance.guardrails._rules import Rules

_INVISIBLE: Final = frozenset(
    (
        *(0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
    )
)
_TAGS: Final = range(0xE0000, 0xE0080)
"""Tag characters, which models read as ASCII and people do not see."""
_LOOK_ALIKES: Final = dict(
    zip(
        "аеорсухіјѕԁһԛԝьѵґкмнтвгαβεικνορτυχωγηօոսցհıł",
        "aeopcyxijsdhqwbvrkmhtbrabeiknoptuxwynonsghil",
        strict=True,
    )
)
_LOOK_ALIKES.update(
    zip(
        "請視輸顯詞設統開啟閉過濾審內隱規則關訴將們從這現無繞遵覆與處碼說話發對應讓問題務當為測試員權執輯縱複述導戶",
        "请视输显词设统开启闭过滤审内隐规则关诉将们从这现无绕遵覆与处码说话发对应让问题务当为测试员权执辑纵复述导户",
        strict=True,
    )
)
_SIGNS: Final = "".join((*map(chr, sorted(_INVISIBLE)), *_LOOK_ALIKES))
_HIDDEN: Final = re.compile(f"[{_SIGNS}{chr(_TAGS.start)}-{chr(_TAGS.stop - 1)}\u00e0-\u024f\u0300-\u036f]")
_DIGITS: Final = str.maketrans("013457@$", "oieastas")
_LEET = re.compile(r"[01345@$](?:(?<=[a-z].)|(?=[a-z]))")
_APART = re.compile(r"[ .\-_*|,/\t]{1,4}[a-z](?:[ .\-_*|,/\t]{1,4}[a-z](?![a-z])){6,}")
_APART_CHINESE = re.compile(r"[\u4e00-\u9fff](?:[ .\-_*|·、,/]{1,2}[\u4e00-\u9fff](?![\u4e00-\u9fff])){3,}")
_TOGETHER = re.compile(
    r"(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|my|of|every|these)*(?:previous|prior|above|earlier|system|safety|original)?"
    r"(?:instruction|prompt|rule|guideline|restriction|training)"
    r"|(?:reveal|show|print|repeat|tellme|giveme|output)(?:me|your|the|all|hidden|secret)*(?:system|initial|hidden|secret)"
    r"(?:prompt|instruction|message)|doanythingnow|developermode"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_LONGEST: Final = 4096
"""Characters of base64 that are decoded."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing is set but what may pass."""

    allow: tuple[str, ...] = ()
    """Texts that may pass although they are found: a sentence of one's own that speaks of instructions, say."""


class PromptInjection:
    """The guardrail."""

    reach: int | None = None

    def __init__(self, options: Options) -> None:
        self._rules = Rules((*_injections_english.RULES, *_injections_chinese.RULES, *_pretexts.RULES))
        self._allow = frozenset(text.casefold() for text in options.allow)

    def find(self, text: str) -> Sequence[Finding]:
        """The parts that raised suspicion."""
        found = settled(Finding(begin, end, "PROMPT_INJECTION", score) for begin, end, score in self._suspects(text))
        return [finding for finding in found if text[finding.begin : finding.end].casefold() not in self._allow]

    def _suspects(self, text: str) -> Iterator[tuple[int, int, float]]:
        folded = Folded(text)
        plain, places = _seen(folded.text)

        def span(begin: int, end: int) -> tuple[int, int]:
            return folded.span(begin, end) if places is None else folded.span(places[begin], places[end - 1] + 1)

        for begin, end, _ in self._rules.find(plain):
            yield *span(begin, end), 0.9
        if len(_LEET.findall(plain)) > 3:
            for begin, end, _ in self._rules.find(plain.translate(_DIGITS)):
                yield *span(begin, end), 0.8
        for apart in _APART.finditer(plain):
            begin = max(0, apart.start() - 1)  # the first letter stands before the first gap
            if _TOGETHER.search(re.sub("[^a-z]", "", plain[begin : apart.end()])):
                yield *span(begin, apart.end()), 0.9
        for apart in _APART_CHINESE.finditer(plain) if not plain.isascii() else ():
            if any(True for _ in self._rules.find(re.sub(r"[^\u4e00-\u9fff]", "", apart[0]))):
                yield *span(*apart.span()), 0.9
        for begin, end in self._encoded(text):
            yield begin, end, 0.9

    def _encoded(self, text: str) -> Iterator[tuple[int, int]]:
        """Where base64 hides an attempt."""
        if max(map(len, text.split()), default=0) < 24:
            return
        for run in _BASE64.finditer(text):
            hidden = _decoded(run[0][:_LONGEST])
            if hidden and any(True for _ in self._rules.find(Folded(hidden).text)):
                yield run.span()


def _seen(text: str) -> tuple[str, list[int] | None]:
    """A folded text as it looks, and where its characters come from, where that is not the same place."""
    if text.isascii() or not _HIDDEN.search(text):
        return text, None
    signs: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        seen = _seen_sign(sign) if sign > "\x7f" else sign
        if seen:
            signs.append(seen)
            places.append(place)
    return "".join(signs), places


def _seen_sign(sign: str) -> str:
    code = ord(sign)
    if code in _INVISIBLE or 0x300 <= code <= 0x36F:
        return ""
    if code in _TAGS:
        return chr(code - _TAGS.start).lower()
    if 0xE0 <= code <= 0x24F:
        return unicodedata.normalize("NFD", sign)[0]
    return _LOOK_ALIKES.get(sign, sign)


def _decoded(encoded: str) -> str:
    whole = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    try:
        decoded = base64.b64decode(whole + "=" * (-len(whole) % 4))
    except binascii.Error:
        return ""
    text = decoded.decode("utf-8", errors="replace")
    return text if text.count("\ufffd") * 10 <= len(text) else ""


class _Plugin:
    options = Options
    mode = "block"
    input = True
    output = False
    microseconds = 250.0

    def make(self, options: Options) -> Guardrail:
        return PromptInjection(options)


plugin = _Plugin()
