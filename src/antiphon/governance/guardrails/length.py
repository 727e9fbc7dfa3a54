"""Texts that are too long."""

from collections.abc import Sequence

import msgspec

from antiphon.core.guardrail import Finding, Guardrail


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a text may be. Raises ValueError where that is not positive."""

    characters: int = 1_000_000
    """Characters that a text has at most."""

    def __post_init__(self) -> None:
        if self.characters < 1:
            raise ValueError(f"characters is {self.characters}; a text needs at least 1")


class Length:
    """The guardrail. Where a text gets too long depends on its begin, so it needs the whole."""

    reach: int | None = None

    def __init__(self, options: Options) -> None:
        self._characters = options.characters

    def find(self, text: str) -> Sequence[Finding]:
        """What stands behind the last character that is allowed."""
        return [Finding(self._characters, len(text), "TOO_LONG")] if len(text) > self._characters else []


class _Plugin:
    options = Options
    mode = "block"
    input = True
    output = False
    microseconds = 1.0

    def make(self, options: Options) -> Guardrail:
        return Length(options)


plugin = _Plugin()
