"""Personal data: numbers of cards, accounts, papers and phones, addresses of every sort, and names, in English and Chinese.

What has a check digit is checked. What has none is known by its shape, and where the shape says too little, by the words beside it.
Names and addresses are known by lists and words around them, not by a model of the language: they are found less surely.
"""

from collections.abc import Iterable, Sequence

import msgspec

from antiphon.core.guardrail import Finding, Guardrail
from antiphon.governance.guardrails._candidates import settled
from antiphon.governance.guardrails._personal import REACH, chinese, english, network, numbers

_KINDS_TEXT = """
ADDRESS CN_ID CN_PASSPORT CN_PLATE CN_USCC CREDIT_CARD DOMAIN_NAME EMAIL_ADDRESS IBAN_CODE IP_ADDRESS LOCATION PERSON PHONE_NUMBER
URL US_SSN
"""
KINDS = frozenset(_KINDS_TEXT.split())
USUAL = KINDS - {"DOMAIN_NAME", "LOCATION", "URL"}
_NUMBERS = frozenset(("CN_ID", "CN_PASSPORT", "CN_USCC", "CREDIT_CARD", "IBAN_CODE", "IP_ADDRESS", "PHONE_NUMBER", "US_SSN"))


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked for. Raises ValueError for a kind that is not known."""

    kinds: tuple[str, ...] = tuple(sorted(USUAL))
    """What to look for. URL, DOMAIN_NAME and LOCATION (a country or a city alone) are left out unless they are named: they seldom
    say who somebody is, and questions without them can often not be answered."""
    allow: tuple[str, ...] = ()
    """Texts that are left alone, upper and lower case alike: the address of one's own support, say."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.kinds) - KINDS)
        if unknown:
            raise ValueError(f'kind "{unknown[0]}" is not known; known: {", ".join(sorted(KINDS))}')


class PersonalData:
    """The guardrail."""

    reach: int | None = REACH

    def __init__(self, options: Options) -> None:
        self._kinds = frozenset(options.kinds)
        self._allow = frozenset(text.casefold() for text in options.allow)
        self._chinese = chinese.Chinese()
        self._names = english.Names()

    def find(self, text: str) -> Sequence[Finding]:
        """Personal data of the kinds asked for."""
        return settled(found for found in self._candidates(text) if self._wanted(text, found))

    def _wanted(self, text: str, found: Finding) -> bool:
        return found.kind in self._kinds and not (self._allow and text[found.begin : found.end].casefold() in self._allow)

    def _candidates(self, text: str) -> Iterable[Finding]:
        kinds = self._kinds
        if "EMAIL_ADDRESS" in kinds:
            yield from network.emails(text)
        if "URL" in kinds:
            yield from network.urls(text)
        if "DOMAIN_NAME" in kinds:
            yield from network.domains(text)
        if "IP_ADDRESS" in kinds:
            yield from network.ipv6(text)
        if kinds & _NUMBERS:
            yield from numbers.find(text)
        if "PERSON" in kinds or "LOCATION" in kinds:
            yield from self._names.find(text)
        if "ADDRESS" in kinds:
            yield from english.addresses(text)
        if text.isascii():
            return
        if "CN_PLATE" in kinds:
            yield from chinese.plates(text)
        if kinds & {"PERSON", "LOCATION", "ADDRESS"}:
            yield from self._chinese.find(text)


class _Plugin:
    options = Options
    mode = "mask"
    input = True
    output = True
    microseconds = 200.0

    def make(self, options: Options) -> Guardrail:
        return PersonalData(options)


plugin = _Plugin()
