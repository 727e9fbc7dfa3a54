"""The audit trail: how it is asked for, and told."""

from typing import Any, Final

import msgspec

CALL: Final = "call"
"""Kind of the record of a call; all others are acts, such as ``keys.revoke``."""


class Act(msgspec.Struct, frozen=True):
    """Something that somebody did to a server, other than calling a model."""

    kind: str
    """``server.start``, ``keys.revoke`` and so on."""
    facts: dict[str, Any] = {}
    """What there is to say of it, and names nobody."""
    actor: str = ""
    """The account of the operating system that did it."""
    key: str = ""
    """The name of the caller's key that it was done to."""


class AuditQuery(msgspec.Struct, frozen=True):
    """Which records. Empty texts and zeros ask for nothing."""

    since: float = 0.0
    """Unix time, seconds, from which on they were written."""
    until: float = 0.0
    """Unix time, seconds, before which they were written."""
    key: str = ""
    """Name of the caller's key."""
    user: str = ""
    model: str = ""
    """As the caller named it."""
    status: int = 0
    id: str = ""
    """The request id."""
    kind: str = ""
    after: str = ""
    """Only records behind this one, in the order in which they are told: ``chain/number``."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A record of the audit trail, as far as it may be seen."""

    chain: str
    """Each server writes a chain of its own."""
    number: int
    """Counts the records of the chain, from 1."""
    at: float
    """Unix time, seconds, at which it was written."""
    kind: str
    """``call``, or what was done: ``keys.revoke``, ``server.start`` and so on."""
    key: str | None = None
    """Name of the caller's key; none where there was none, or it was erased."""
    user: str | None = None
    client: str | None = None
    """Address of the caller."""
    actor: str | None = None
    """Acts: the account of the operating system that did it."""
    erased: tuple[str, ...] = ()
    """Which of the four above were erased."""
    facts: dict[str, Any] = {}
    """All else that is known, as it stands in the chain."""
    hash: str = ""
    """SHA-256 of the chain up to and with this record, in hexadecimal digits."""
