"""The cache store of one process: bounded bytes in memory, and gone with it."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from antiphon.core.cache_store import ABSENT, BUSY, MAX_KEY_BYTES, OLD, CacheStats, Found, Namespace, Then
from antiphon.core.clock import SystemClock
from antiphon.core.ports import Clock

MAX_BYTES: Final = 64 << 20

OVERHEAD: Final = 400
"""Bytes that an entry takes beside its key and its value, about."""

PROBATION: Final = 10
"""One such part of the bytes is for entries that nobody has asked for yet."""

MAX_TENANTS: Final = 100_000
"""Tenants whose stamp is remembered."""

MAX_CLAIMS: Final = 100_000

_Place = tuple[str, bytes]


class _Entry:
    """A value. ``uses`` counts up to 3."""

    __slots__ = ("ends", "size", "uses", "value", "version")

    def __init__(self, version: int, value: bytes, size: int, ends: float) -> None:
        self.version = version
        self.value = value
        self.size = size
        self.ends = ends
        self.uses = 0


class MemoryCacheStore:
    """Keeps at most ``max_bytes``, keys and overhead included, and answers at once: a look costs about a microsecond.

    What leaves first is decided by S3-FIFO (J. Yang et al., FIFO queues are all you need for cache eviction, SOSP 2023): an entry
    is on probation until it is used a second time, so that the many which are asked for once never drive out those that are asked
    for again.
    """

    def __init__(self, clock: Clock | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        self._now: Callable[[], float] = (clock or SystemClock()).monotonic
        self._max_bytes = max_bytes
        self._entries: dict[_Place, _Entry] = {}
        self._probation: OrderedDict[_Place, None] = OrderedDict()
        self._kept: OrderedDict[_Place, None] = OrderedDict()
        self._ghosts: OrderedDict[_Place, None] = OrderedDict()
        """Places of entries that left from probation lately: one that comes again is kept."""
        self._bytes = self._on_probation = 0
        self._versions: OrderedDict[str, int] = OrderedDict()
        self._claims: OrderedDict[_Place, tuple[int, float]] = OrderedDict()
        self._hits = self._misses = self._evictions = self._refused = 0

    def get(self, namespace: Namespace, key: bytes, then: Then, *, claim: float = 0.0) -> Found:
        if self._behind(namespace):
            self._misses += 1
            return OLD
        place = (namespace.tenant, key)
        entry = self._entries.get(place)
        if entry is not None:
            if entry.version == namespace.version and self._now() < entry.ends:
                self._hits += 1
                if entry.uses < 3:
                    entry.uses += 1
                return entry.value
            self._remove(place)
        self._misses += 1
        return self._claim(place, namespace.version, claim) if claim else ABSENT

    def put(self, namespace: Namespace, key: bytes, value: bytes, ttl: float) -> None:
        size = len(key) + len(value) + OVERHEAD
        if self._behind(namespace) or size > self._max_bytes or len(key) > MAX_KEY_BYTES:
            self._refused += 1
            return
        place = (namespace.tenant, key)
        self._claims.pop(place, None)
        self._remove(place)
        if ttl <= 0:
            return
        self._entries[place] = _Entry(namespace.version, value, size, self._now() + ttl)
        self._bytes += size
        if place in self._ghosts:
            del self._ghosts[place]
            self._kept[place] = None
        else:
            self._probation[place] = None
            self._on_probation += size
        while self._bytes > self._max_bytes:
            self._make_room(place)

    def delete(self, namespace: Namespace, key: bytes) -> None:
        if not self._behind(namespace):
            self._claims.pop((namespace.tenant, key), None)
            self._remove((namespace.tenant, key))

    def raise_version(self, namespace: Namespace) -> None:
        self._behind(namespace)

    def stats(self) -> CacheStats:
        return CacheStats(self._hits, self._misses, self._evictions, self._refused, 0, len(self._entries), self._bytes)

    def _behind(self, namespace: Namespace) -> bool:
        """Whether a stamp is outdated. What a greater one outdates leaves when it is met, or to make room."""
        known = self._versions.get(namespace.tenant)
        if known == namespace.version:
            return False
        if known is not None and known > namespace.version:
            return True
        self._versions[namespace.tenant] = namespace.version
        self._versions.move_to_end(namespace.tenant)
        if len(self._versions) > MAX_TENANTS:
            self._versions.popitem(last=False)
        return False

    def _claim(self, place: _Place, version: int, seconds: float) -> Found:
        now = self._now()
        claimed, ends = self._claims.get(place, (version, 0.0))
        if claimed == version and now < ends:
            return BUSY
        self._claims[place] = (version, now + seconds)
        if len(self._claims) > MAX_CLAIMS:
            self._claims.popitem(last=False)
        return ABSENT

    def _remove(self, place: _Place) -> None:
        entry = self._entries.pop(place, None)
        if entry is None:
            return
        self._bytes -= entry.size
        if place in self._kept:
            del self._kept[place]
        else:
            del self._probation[place]
            self._on_probation -= entry.size

    def _make_room(self, newest: _Place) -> None:
        """Take one step: let an entry leave, or give it another turn."""
        candidates = len(self._probation) - (newest in self._probation)
        if candidates and (self._on_probation * PROBATION > self._max_bytes or not self._kept):
            place = next(iter(self._probation))
            entry = self._entries[place]
            if entry.uses and self._living(place[0], entry):
                del self._probation[place]
                self._on_probation -= entry.size
                entry.uses = 0
                self._kept[place] = None
                return
            self._evict(place)
            self._ghosts[place] = None
            if len(self._ghosts) > len(self._entries):
                self._ghosts.popitem(last=False)
            return
        place = next(iter(self._kept))
        entry = self._entries[place]
        if (entry.uses and self._living(place[0], entry)) or place == newest:
            entry.uses = max(0, entry.uses - 1)
            self._kept.move_to_end(place)
        else:
            self._evict(place)

    def _living(self, tenant: str, entry: _Entry) -> bool:
        return entry.version == self._versions.get(tenant, entry.version) and self._now() < entry.ends

    def _evict(self, place: _Place) -> None:
        self._evictions += self._living(place[0], self._entries[place])
        self._remove(place)
