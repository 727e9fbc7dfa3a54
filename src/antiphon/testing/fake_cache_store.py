"""A cache store for tests."""

from antiphon.core.cache_store import ABSENT, BUSY, OLD, UNAVAILABLE, CacheStats, Found, Namespace, Then
from antiphon.testing.fake_clock import FakeClock


class FakeCacheStore:
    """Keeps everything until its time is over, under a clock that the test moves.

    While ``down`` is true everything misses and is counted as an error. While ``late`` is true, what was looked for comes only with
    ``answer``, as it does where the store is another process.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.down = False
        self.late = False
        self.entries: dict[tuple[str, bytes], tuple[int, bytes, float]] = {}
        """Tenant and key to version, value, and when it ends."""
        self._versions: dict[str, int] = {}
        self._claims: dict[tuple[str, bytes], float] = {}
        self._waiting: list[tuple[Namespace, bytes, Then, float]] = []
        self._hits = self._misses = self._refused = self._errors = 0

    def answer(self) -> None:
        """Answer what waits."""
        waiting, self._waiting = self._waiting, []
        for namespace, key, then, claim in waiting:
            then(self._find(namespace, key, claim))

    def get(self, namespace: Namespace, key: bytes, then: Then, *, claim: float = 0.0) -> Found | None:
        if self.late:
            self._waiting.append((namespace, key, then, claim))
            return None
        return self._find(namespace, key, claim)

    def put(self, namespace: Namespace, key: bytes, value: bytes, ttl: float) -> None:
        if self.down:
            self._errors += 1
        elif self._behind(namespace):
            self._refused += 1
        else:
            self._claims.pop((namespace.tenant, key), None)
            self.entries[namespace.tenant, key] = (namespace.version, value, self.clock.monotonic() + ttl)

    def delete(self, namespace: Namespace, key: bytes) -> None:
        if self.down:
            self._errors += 1
        elif not self._behind(namespace):
            self.entries.pop((namespace.tenant, key), None)
            self._claims.pop((namespace.tenant, key), None)

    def raise_version(self, namespace: Namespace) -> None:
        if self.down:
            self._errors += 1
        else:
            self._behind(namespace)

    def stats(self) -> CacheStats:
        size = sum(len(value) for _, value, _ in self.entries.values())
        return CacheStats(self._hits, self._misses, 0, self._refused, self._errors, len(self.entries), size)

    def _find(self, namespace: Namespace, key: bytes, claim: float) -> Found:
        found = self._look(namespace, key, claim)
        if isinstance(found, bytes):
            self._hits += 1
        else:
            self._misses += 1
            self._errors += found is UNAVAILABLE
        return found

    def _look(self, namespace: Namespace, key: bytes, claim: float) -> Found:
        if self.down:
            return UNAVAILABLE
        if self._behind(namespace):
            return OLD
        now, place = self.clock.monotonic(), (namespace.tenant, key)
        version, value, ends = self.entries.get(place, (namespace.version, b"", 0.0))
        if version == namespace.version and now < ends:
            return value
        if claim:
            if self._claims.get(place, 0.0) > now:
                return BUSY
            self._claims[place] = now + claim
        return ABSENT

    def _behind(self, namespace: Namespace) -> bool:
        """Whether a stamp is outdated; a newer one outdates what there is."""
        known = self._versions.get(namespace.tenant, namespace.version)
        if namespace.version > known:
            for place in [place for place in (*self.entries, *self._claims) if place[0] == namespace.tenant]:
                self.entries.pop(place, None)
                self._claims.pop(place, None)
        self._versions[namespace.tenant] = max(known, namespace.version)
        return namespace.version < known
