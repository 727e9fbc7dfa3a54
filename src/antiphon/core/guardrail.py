"""What looks for something in what callers and models say: types, and the ports that plugins of ``antiphon.guardrails`` fill."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec


class Finding(msgspec.Struct, frozen=True, order=True, gc=False):
    """A part of a text, in characters (code points): ``text[begin:end]``."""

    begin: int
    end: int
    kind: str
    """What it is, in upper case: ``EMAIL_ADDRESS``. It stands in placeholders and in records."""
    score: float = 1.0
    """How sure this is, from 0 to 1."""


class Guardrail(Protocol):
    """Looks for one sort of thing. One object is used for all calls; it keeps nothing of any of them."""

    reach: int | None
    """Within a stream so many characters are held back. What is found that begins at ``b`` depends on
    ``text[b - reach : b + reach]`` alone, and lies within that. None: it depends on the whole text."""

    def find(self, text: str) -> Sequence[Finding]:
        """All that is in a text, in order, none overlapping another. Never raises; takes time in proportion to the length."""


class GuardrailPlugin(Protocol):
    """One sort of guardrail: a file that ends in ``plugin = ...``."""

    options: type[Any]
    """A msgspec struct of what may be set: documented, each field with a default. Raises ValueError for what cannot be."""
    mode: str
    """What is done about a finding where nothing else is said: ``observe``, ``mask``, ``block`` or ``review``."""
    input: bool
    """Looks at what callers say where nothing else is said."""
    output: bool
    """The same for what models say."""
    words_only: bool
    """Of what models say it looks only at the words of the answer: neither at thoughts nor at the arguments of calls."""
    microseconds: float
    """What 1,000 characters take on an ordinary processor: where a text would take too long, it is looked at elsewhere."""

    def make(self, options: Any) -> Guardrail:
        """A guardrail with these options."""
