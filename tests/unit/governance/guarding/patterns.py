"""Guardrails that find what a regular expression does, for tests."""

import re
from collections.abc import Sequence

from antiphon.core.guardrail import Finding
from antiphon.governance.guarding.rules import Mode, Rule


class Pattern:
    """Finds a bounded pattern. ``reach`` is its longest match and what it looks at around it."""

    def __init__(self, pattern: str, kind: str, reach: int | None) -> None:
        self._pattern = re.compile(pattern)
        self.kind = kind
        self.reach = reach

    def find(self, text: str) -> Sequence[Finding]:
        return [Finding(match.start(), match.end(), self.kind) for match in self._pattern.finditer(text)]


DIGITS = Pattern(r"(?<![0-9])[0-9]{3,5}(?![0-9])", "DIGITS", 5)
MAIL = Pattern(r"(?<![a-z@])[a-z]{1,6}@[a-z]{1,6}(?![a-z@])", "MAIL", 13)
LONG = Pattern(r"(?s).{40,}", "LONG", None)


def rule(guardrail: Pattern, mode: Mode = "mask", name: str = "") -> Rule:
    return Rule(name or guardrail.kind.lower(), guardrail, mode, input=True, output=True)
