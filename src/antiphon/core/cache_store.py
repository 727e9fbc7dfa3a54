"""The cache store: bytes by key for a while, apart for each tenant. What it cannot give is a miss, never an error.

**Namespaces.** A tenant sees its own entries only. Its ``version`` is a stamp that whoever changes something raises (a new model
behind a name, a purge): the store keeps the greatest that it has seen of each tenant, and from that moment on every entry, every
question and every late fill under a smaller one misses or is dropped. So a store that workers share forgets at once for all of
them, and stores that they do not share as soon as each worker has the new stamp. A stamp must never fall while the store lives;
where there is no counter that lasts as long, the time of the change in ms serves.

**Single flight.** Many like calls that miss at once would all go to the model. ``get`` with ``claim`` gives the first of them the
miss ``absent`` and, until it has put, deleted, or let the claim's seconds pass, all others, in any process, the miss ``busy``:
they may ask again or go on by themselves. This is the lease of R. Nishtala et al., Scaling Memcache at Facebook, NSDI 2013; it is
part of the port because only the store can decide it over processes, in the round trip that is made anyway.
"""

from collections.abc import Callable
from typing import Final, Literal, Protocol

import msgspec

MAX_KEY_BYTES: Final = 512
"""A longer key is never found and never stored; hash what may be longer."""


class Namespace(msgspec.Struct, frozen=True):
    """Whose entries, and under which stamp."""

    tenant: str
    version: int = 0


class Miss(msgspec.Struct, frozen=True):
    """Why there is nothing."""

    reason: Literal["absent", "busy", "old", "unavailable"]
    """``absent``: fill it; ``busy``: somebody else has claimed to; ``old``: the stamp is outdated; ``unavailable``: no answer in
    time."""


ABSENT: Final = Miss("absent")
BUSY: Final = Miss("busy")
OLD: Final = Miss("old")
UNAVAILABLE: Final = Miss("unavailable")

Found = bytes | Miss
Then = Callable[[Found], None]


class CacheStats(msgspec.Struct, frozen=True):
    """Counts since this process began; what is kept, where the store can tell without asking."""

    hits: int = 0
    misses: int = 0
    """Of every reason."""
    evictions: int = 0
    """Entries that made room for others before their time."""
    refused: int = 0
    """Values that were not stored: too large, or of an outdated stamp."""
    errors: int = 0
    """Operations that the store did not do, or not in time."""
    entries: int = 0
    bytes: int = 0


class CacheStore(Protocol):
    """Keeps bytes. One store belongs to one thread. No method blocks or raises."""

    def get(self, namespace: Namespace, key: bytes, then: Then, *, claim: float = 0.0) -> Found | None:
        """Look for an entry; with ``claim``, an absent one is this caller's to fill for so many seconds.

        Returns what was found if that is known at once; ``then`` is not called. Else returns None, and ``then`` is called with it
        later, exactly once, within the store's time-out.
        """

    def put(self, namespace: Namespace, key: bytes, value: bytes, ttl: float) -> None:
        """Keep a value for at most ``ttl`` seconds; others may make it leave sooner. Ends a claim."""

    def delete(self, namespace: Namespace, key: bytes) -> None:
        """Forget an entry, and end a claim: the filling failed."""

    def raise_version(self, namespace: Namespace) -> None:
        """Forget everything of this tenant under a smaller stamp."""

    def stats(self) -> CacheStats: ...
