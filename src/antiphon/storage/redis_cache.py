"""The cache store of several machines, kept by Redis or Valkey. Needs the extra ``antiphon[redis]``."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import redis.asyncio

from antiphon.core.cache_store import ABSENT, BUSY, MAX_KEY_BYTES, OLD, UNAVAILABLE, CacheStats, Found, Namespace, Then
from antiphon.core.ports import Clock
from antiphon.storage.cache_lookups import MAX_WAITING, TIMEOUT, CacheCounts, Lookup, count
from antiphon.storage.redis_cache_scripts import DELETE, GET, PUT, RAISE
from antiphon.storage.redis_operations import Operation, Operations

MAX_BYTES: Final = 1 << 30

OVERHEAD: Final = 600
"""Bytes that an entry takes in Redis beside its key and its value, about."""

_MISSES: Final[dict[bytes, Found]] = {b"absent": ABSENT, b"busy": BUSY, b"old": OLD}


class RedisCacheStore:
    """Keeps at most ``max_bytes`` behind ``prefix``; what was not used for longest leaves first.

    Make it on the running loop, and close it. Time is that of the Redis server, unless a ``clock`` is given.
    """

    def __init__(
        self,
        client: "redis.asyncio.Redis",
        *,
        clock: Clock | None = None,
        max_bytes: int = MAX_BYTES,
        timeout: float = TIMEOUT,
        prefix: str = "antiphon:",
    ) -> None:
        self._own_clock = clock
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._counts = CacheCounts()
        self._operations = Operations(client, prefix, "cache")

    def get(self, namespace: Namespace, key: bytes, then: Then, *, claim: float = 0.0) -> Found | None:
        if self._operations.queued >= MAX_WAITING:
            return count(self._counts, UNAVAILABLE)
        lookup = Lookup(then, self._counts, self._timeout)
        self._operations.put(Operation(GET, [*self._head(namespace, key), claim], lambda result: lookup.answer(_found(result))))
        return None

    def put(self, namespace: Namespace, key: bytes, value: bytes, ttl: float) -> None:
        size = len(key) + len(value) + OVERHEAD
        if size > self._max_bytes or len(key) > MAX_KEY_BYTES:
            self._counts.refused += 1
        else:
            self._write(PUT, [*self._head(namespace, key), value, ttl, size, self._max_bytes])

    def delete(self, namespace: Namespace, key: bytes) -> None:
        self._write(DELETE, self._head(namespace, key))

    def raise_version(self, namespace: Namespace) -> None:
        self._write(RAISE, self._head(namespace, b""))

    def stats(self) -> CacheStats:
        return self._counts.stats()

    async def close(self) -> None:
        """Do what waits, if Redis can be asked. The client stays open."""
        await self._operations.close()

    def _head(self, namespace: Namespace, key: bytes) -> list[Any]:
        now = self._own_clock.time() if self._own_clock is not None else -1.0
        return [now, namespace.tenant, namespace.version, _place(namespace.tenant, key)]

    def _write(self, script: str, arguments: list[Any]) -> None:
        if self._operations.queued >= MAX_WAITING:
            self._counts.errors += 1
        else:
            self._operations.put(Operation(script, arguments, self._written))

    def _written(self, result: Sequence[bytes] | None) -> None:
        if result is None:
            self._counts.errors += 1
        elif result[0] == b"old":
            self._counts.refused += 1
        else:
            self._counts.evictions += int(result[0])


def _place(tenant: str, key: bytes) -> str:
    name = tenant.encode()
    return hashlib.sha256(b"%d:%b%b" % (len(name), name, key)).hexdigest()


def _found(result: Sequence[bytes] | None) -> Found:
    if result is None:
        return UNAVAILABLE
    return result[1] if result[0] == b"hit" else _MISSES[result[0]]
