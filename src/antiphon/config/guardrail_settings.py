"""What is looked for in what callers and models say, and what is done about it."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Words = Annotated[
    str,
    Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$", description="a name of letters, digits, '-' and '_', beginning with a letter"),
]
Owner = Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]{1,256}$", description="a name without blanks, of 1 to 256 characters")]
GuardMode = Annotated[str, Meta(pattern="^(|off|observe|mask|block)$", description='"off", "observe", "mask" or "block"')]


class GuardrailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A guardrail. All that hold for a call look at its texts, in the order of the rows."""

    kind: Words
    """What it looks for, by the name of the plugin: ``personal_data``, ``secrets``, ``prompt_injection``, ``banned_words``, ..."""
    name: Words | None = None
    """Name in headers, records and errors; left out, it is the ``kind``."""
    mode: GuardMode = ""
    """What is done about a finding: ``observe`` only tells of it, ``mask`` puts a placeholder in its place, ``block`` ends the call
    with an error, ``off`` looks for nothing. Left out, what is usual for the kind. What was masked in a request is put back where
    the answer names it."""
    input: bool | None = None
    """Looks at what callers say; left out, what is usual for the kind."""
    output: bool | None = None
    """Looks at what models say."""
    options: dict[str, Any] = {}
    """What can be set for this kind."""
    keys: tuple[Owner, ...] = ()
    """Only for calls with these keys, by their names; empty for all."""
    teams: tuple[Owner, ...] = ()
    """Only for calls of these teams."""
    applications: tuple[Owner, ...] = ()
    """Only for calls of these applications."""
    models: tuple[Owner, ...] = ()
    """Only for calls to these models, whichever of its names a caller uses."""

    @property
    def title(self) -> str:
        """Its name."""
        return self.name or self.kind
