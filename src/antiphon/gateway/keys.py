"""The keys that callers show."""

import time
from collections.abc import Callable, Container

from antiphon.core.errors import Unauthenticated
from antiphon.core.types import ANONYMOUS, Principal
from antiphon.gateway.key_table import KeyIndex, KeyTable, digest_of, principal_of

MAX_REMEMBERED = 16_384
"""Headers remembered with their principal, so that a known key is hashed once; about 300 bytes each. One more, and all go."""


class KeyRing:
    """Knows whose key is whose, by hash alone. Without any key everybody may call.

    ``revoked`` holds the digests of keys that count no longer. Whoever adds to it calls ``forget``.
    """

    def __init__(
        self, table: KeyTable, revoked: Container[bytes] = frozenset(), unix_time: Callable[[], float] = time.time
    ) -> None:
        self._time = unix_time
        self._index = KeyIndex(table)
        self._revoked = revoked
        self.required = table.required
        """A caller must show a key."""
        self._remembered: dict[bytes, Principal] = {}

    def principal(self, authorization: bytes) -> Principal:
        """Whose key an ``authorization`` header shows.

        Raises Unauthenticated, the same for no key, a wrong one, a revoked one, and one whose time is over, after the same work.
        """
        if not self.required:
            return ANONYMOUS
        principal = self._remembered.get(authorization)
        if principal is None or (principal.expires and principal.expires <= self._time()):
            return self._recognise(authorization)
        return principal

    def forget(self) -> None:
        """Look at every key anew when it is shown next."""
        self._remembered.clear()

    def _recognise(self, authorization: bytes) -> Principal:
        scheme, _, key = authorization.partition(b" ")
        digest = digest_of(key.strip())
        known, owner = self._index.nearest(digest)
        principal = principal_of(owner)
        revoked = digest in self._revoked or scheme.lower() != b"bearer"
        over = 0.0 < principal.expires <= self._time()
        if not known or revoked or over:
            raise _unknown()
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[authorization] = principal
        return principal


def _unknown() -> Unauthenticated:
    return Unauthenticated(
        "the API key is missing or not known here",
        remedy='send "Authorization: Bearer KEY" with a key that server.keys or server.keys_file lists',
    )
