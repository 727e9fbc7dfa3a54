"""The keys that callers show."""

import hashlib
from collections.abc import Iterable

from antiphon.core.errors import Unauthenticated
from antiphon.core.types import ANONYMOUS, Principal

_MAX_REMEMBERED = 100_000
"""Headers remembered with their principal, so that a known key is hashed once."""


class KeyRing:
    """Knows whose key is whose, by hash alone. Without any key everybody may call."""

    def __init__(self, keys: Iterable[tuple[str, str]]) -> None:
        """``keys`` are pairs of owner and key."""
        self._owners = {hashlib.sha256(key.encode()).digest(): Principal(owner) for owner, key in keys}
        self._remembered: dict[bytes, Principal] = {}

    def __bool__(self) -> bool:
        return bool(self._owners)

    def principal(self, authorization: bytes) -> Principal:
        """Whose key an ``authorization`` header shows. Raises Unauthenticated, the same for a missing key and a wrong one."""
        if not self._owners:
            return ANONYMOUS
        principal = self._remembered.get(authorization)
        if principal is None:
            scheme, _, key = authorization.partition(b" ")
            principal = self._owners.get(hashlib.sha256(key.strip()).digest()) if scheme.lower() == b"bearer" else None
            if principal is None:
                raise Unauthenticated(
                    "the API key is missing or not known here",
                    remedy='send "Authorization: Bearer KEY" with a key that server.keys lists',
                )
            if len(self._remembered) < _MAX_REMEMBERED:
                self._remembered[authorization] = principal
        return principal
