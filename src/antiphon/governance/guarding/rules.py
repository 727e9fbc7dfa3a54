"""Guardrails as an operator has set them, and what they did to one call."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import msgspec

from antiphon.core.errors import ContentBlocked
from antiphon.core.guardrail import Finding, Guardrail

Mode = Literal["observe", "mask", "block"]
Side = Literal["input", "output"]


class Rule(msgspec.Struct, frozen=True):
    """A guardrail, and what is done about what it finds."""

    name: str
    guardrail: Guardrail
    mode: Mode
    input: bool
    output: bool
    microseconds: float = 0.0
    """What 1,000 characters take."""
    words_only: bool = False
    """Of what models say it looks only at the words of the answer: neither at thoughts nor at the arguments of calls."""
    key: str = ""
    """Names the guardrail with its options: where two processes have the same key, they find the same."""


class Act(NamedTuple):
    """What was done about findings of one kind."""

    rule: str
    mode: Mode
    kind: str
    side: Side


class Marked(NamedTuple):
    """A part of a text that is masked."""

    begin: int
    end: int
    kind: str


class Acts:
    """What was done to one call, and how often."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[Act, int] = {}

    def note(self, rule: Rule, kind: str, side: Side) -> None:
        """Count a finding. Raises ContentBlocked where the rule blocks."""
        act = Act(rule.name, rule.mode, kind, side)
        self.counts[act] = self.counts.get(act, 0) + 1
        if rule.mode == "block":
            raise ContentBlocked(rule.name, kind, side)

    def told(self) -> tuple[str, ...]:
        """One word for each: ``input.mask.personal.EMAIL_ADDRESS=2``."""
        return tuple(f"{act.side}.{act.mode}.{act.rule}.{act.kind}={count}" for act, count in self.counts.items())


ALONE: Final = 50_000.0
"""Microseconds that looking at texts may hold up a loop at most, when nobody else looks at them."""
Found = tuple[Rule, Finding]
Known = Mapping[str, Mapping[str, Sequence[Finding]]]
"""What was found in texts elsewhere: by text, and by the key of the rule."""


def look(rules: Sequence[Rule], text: str, known: Known = MappingProxyType({})) -> list[Found]:
    """What all rules find in a text, in order; of the same place, what an earlier rule finds comes first. Nothing says nothing."""
    if not text:
        return []
    elsewhere = known.get(text)
    if elsewhere is not None:
        found = [(rule, finding) for rule in rules for finding in elsewhere[rule.key]]
    else:
        found = [(rule, finding) for rule in rules for finding in rule.guardrail.find(text)]
    found.sort(key=lambda each: each[1].begin)
    return found


def microseconds(rules: Iterable[Rule], texts: Iterable[str]) -> float:
    """What looking at texts takes, about."""
    return sum(rule.microseconds for rule in rules) * sum(map(len, texts)) / 1000


def marks(found: Sequence[Found]) -> list[Marked]:
    """What is to be masked, as parts that do not overlap: those that do are one, of the kind of the longest."""
    parts: list[Marked] = []
    longest = 0
    for rule, finding in found:
        if rule.mode != "mask" or finding.begin >= finding.end:
            continue
        length = finding.end - finding.begin
        if parts and finding.begin < parts[-1].end:
            last = parts[-1]
            kind = finding.kind if length > longest else last.kind
            parts[-1] = Marked(last.begin, max(last.end, finding.end), kind)
            longest = max(longest, length)
        else:
            parts.append(Marked(finding.begin, finding.end, finding.kind))
            longest = length
    return parts
