"""What every CacheStore must keep to, as checks that can be run against your own.

Each check takes a function that makes a fresh ``CacheBench``. A broken promise raises AssertionError. Time is the bench's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from antiphon.core.cache_store import MAX_KEY_BYTES, CacheStore, Found, Miss, Namespace

A = Namespace("a", 1)
B = Namespace("b", 1)
HOUR = 3600.0
WITHIN = 5.0
"""Seconds that a store has to answer."""


class CacheBench(Protocol):
    """A cache store on a test's bench."""

    shared: bool
    """Whether the stores of several processes see the same entries."""
    max_bytes: int
    """What the store may hold; between 200,000 and 2,000,000."""

    async def open(self) -> CacheStore:
        """A store, as a further process has it."""

    async def advance(self, seconds: float) -> None:
        """Let time pass."""

    async def down(self) -> bool:
        """Take away what the store stands on; False where it stands on nothing."""

    async def up(self) -> None:
        """Give it back."""


MakeBench = Callable[[], AbstractAsyncContextManager[CacheBench]]


async def check_cache_store(make: MakeBench) -> None:
    """All checks."""
    for check in CHECKS:
        await check(make)


async def check_keeps_bytes(make: MakeBench) -> None:
    """What comes back is what was put last; any bytes are taken as they are."""
    async with make() as bench:
        store = await bench.open()
        assert await reason(store, A, b"k") == "absent"
        for key in (b"", b"k", b"\x00\xff'; --", "键".encode(), b"x" * MAX_KEY_BYTES):
            for value in (b"one", b"", bytes(range(256)) * 10):
                store.put(A, key, value, HOUR)
                assert await found(store, A, key) == value, key
        store.put(A, b"x" * (MAX_KEY_BYTES + 1), b"value", HOUR)
        assert await reason(store, A, b"x" * (MAX_KEY_BYTES + 1)) == "absent"
        store.delete(A, b"k")
        store.delete(A, b"never there")
        assert await reason(store, A, b"k") == "absent"
        assert await found(store, A, b"") == bytes(range(256)) * 10


async def check_tenants_are_apart(make: MakeBench) -> None:
    """Nothing of one tenant is seen, deleted or outdated by another, however names and keys are put together."""
    async with make() as bench:
        store = await bench.open()
        pairs = [("a", b"b:c"), ("a:b", b"c"), ("a:b:", b"c"), ("", b"a:b:c"), ("a", b"c"), ("a\x00", b"c"), ("租户", b"c")]
        for number, (tenant, key) in enumerate(pairs):
            assert await reason(store, Namespace(tenant, 1), key) == "absent", tenant
            store.put(Namespace(tenant, 1), key, b"%d" % number, HOUR)
        store.raise_version(Namespace("a:b", 2))
        store.delete(Namespace("", 1), b"c")
        for number, (tenant, key) in enumerate(pairs):
            if tenant != "a:b":
                assert await found(store, Namespace(tenant, 1), key) == b"%d" % number, tenant


async def check_time_to_live(make: MakeBench) -> None:
    """An entry is there until its time is over, and not longer."""
    async with make() as bench:
        store = await bench.open()
        store.put(A, b"short", b"1", 10.0)
        store.put(A, b"long", b"2", 100.0)
        store.put(A, b"none", b"3", 0.0)
        assert await reason(store, A, b"none") == "absent"
        await bench.advance(9.0)
        assert await found(store, A, b"short") == b"1"
        await bench.advance(1.5)
        assert await reason(store, A, b"short") == "absent"
        assert await found(store, A, b"long") == b"2"
        await bench.advance(100.0)
        assert await reason(store, A, b"long") == "absent"


async def check_version(make: MakeBench) -> None:
    """A raised stamp outdates everything before it at once, also what somebody who has not heard of it asks for or puts."""
    async with make() as bench:
        one = await bench.open()
        two = await bench.open() if bench.shared else one
        for key in (b"k", b"l"):
            one.put(A, key, b"before", HOUR)
            assert await found(one, A, key) == b"before"
        after = Namespace("a", 2)
        two.raise_version(after)
        assert await reason(two, after, b"k") == "absent"
        for store in (one, two):
            assert await reason(store, A, b"k") == "old"
        one.put(A, b"k", b"late fill", HOUR)
        assert await reason(one, A, b"k") == "old"
        assert await reason(two, after, b"k") == "absent"
        two.put(after, b"k", b"after", HOUR)
        assert await found(two, after, b"k") == b"after"
        one.delete(A, b"k")
        assert await reason(one, A, b"l") == "old"
        assert await found(one, after, b"k") == b"after"
        assert await reason(one, Namespace("a", 3), b"k") == "absent", "asking under a greater stamp raises it"
        assert await reason(two, after, b"k") == "old"


async def check_single_flight(make: MakeBench) -> None:
    """Of many who miss at once one is to fill; a value, a deletion or time ends its claim."""
    async with make() as bench:
        stores = [await bench.open() for _ in range(3)] if bench.shared else [await bench.open()] * 3
        first = await reasons(stores, 30.0)
        assert sorted(first) == ["absent"] + ["busy"] * 8, first
        for number in range(30):  # each time nobody knows of the tenant yet
            said = await reasons(stores, 30.0, Namespace(f"new-{number}", 1))
            assert sorted(said) == ["absent"] + ["busy"] * 8, said
        assert await reason(stores[0], B, b"k", 30.0) == "absent", "a claim is its tenant's"
        stores[0].put(A, b"k", b"filled", HOUR)
        assert await found(stores[0], A, b"k") == b"filled"
        assert await found(stores[2], A, b"k", 30.0) == b"filled"
        stores[0].delete(A, b"k")
        assert await reason(stores[0], A, b"k") == "absent"
        assert sorted(await reasons(stores, 30.0)) == ["absent"] + ["busy"] * 8
        stores[1].delete(A, b"k")
        assert await reason(stores[1], A, b"k", 30.0) == "absent"
        assert await reason(stores[1], A, b"k", 30.0) == "busy"
        await bench.advance(31.0)
        assert sorted(await reasons(stores, 30.0)) == ["absent"] + ["busy"] * 8
        assert await reason(stores[0], Namespace("a", 2), b"k", 30.0) == "absent", "a greater stamp ends claims"


async def check_bounded(make: MakeBench) -> None:
    """It never holds more than it may; what was put last is there; what is too large is refused."""
    async with make() as bench:
        store = await bench.open()
        size = 4000
        count = 3 * bench.max_bytes // size
        for number in range(count):
            store.put(A, b"%d" % number, b"%d" % number * 2 + b"x" * size, HOUR)
            if number % 50 == 0:
                await look(store, A, b"%d" % number)
        last = await found(store, A, b"%d" % (count - 1))
        assert last.startswith(b"%d" % (count - 1))
        kept = 0
        for number in range(count):
            kept += isinstance(await look(store, A, b"%d" % number), bytes)
        assert size * kept <= bench.max_bytes, f"{kept} entries of {size} bytes in {bench.max_bytes}"
        assert size * kept >= bench.max_bytes / 2, f"only {kept} entries of {size} bytes in {bench.max_bytes}"
        assert store.stats().evictions > 0
        before = store.stats().refused
        store.put(A, b"huge", b"x" * (bench.max_bytes + 1), HOUR)
        assert await reason(store, A, b"huge") == "absent"
        assert store.stats().refused == before + 1
        assert await found(store, A, b"%d" % (count - 1)) == last


async def check_counted(make: MakeBench) -> None:
    """Hits and misses are counted."""
    async with make() as bench:
        store = await bench.open()
        await look(store, A, b"k")
        store.put(A, b"k", b"v", HOUR)
        for _ in range(3):
            await look(store, A, b"k")
        await look(store, B, b"k")
        stats = store.stats()
        assert (stats.hits, stats.misses, stats.errors) == (3, 2, 0), stats


async def check_gone(make: MakeBench) -> None:
    """While what it stands on is gone everything misses, in time, and is counted; afterwards it works again by itself."""
    async with make() as bench:
        store = await bench.open()
        store.put(A, b"k", b"v", HOUR)
        assert await found(store, A, b"k") == b"v"
        if not await bench.down():
            return
        answers = await asyncio.gather(*(look(store, A, b"k", 30.0) for _ in range(20)))
        assert all(answer == Miss("unavailable") for answer in answers), answers
        store.put(A, b"k", b"w", HOUR)
        store.delete(A, b"k")
        store.raise_version(Namespace("a", 1))
        assert store.stats().errors >= 20
        await bench.up()
        deadline = asyncio.get_running_loop().time() + WITHIN
        while isinstance(answer := await look(store, A, b"k"), Miss) and answer.reason == "unavailable":
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.001)
        store.put(A, b"k", b"again", HOUR)
        assert await found(store, A, b"k") == b"again"


CHECKS: Sequence[Callable[[MakeBench], Awaitable[None]]] = (
    check_keeps_bytes,
    check_tenants_are_apart,
    check_time_to_live,
    check_version,
    check_single_flight,
    check_bounded,
    check_counted,
    check_gone,
)


async def look(store: CacheStore, namespace: Namespace, key: bytes, claim: float = 0.0) -> Found:
    """What a store says, however long it takes."""
    told: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
    known = store.get(namespace, key, told.set_result, claim=claim)
    return known if known is not None else await asyncio.wait_for(told, WITHIN)


async def found(store: CacheStore, namespace: Namespace, key: bytes, claim: float = 0.0) -> bytes:
    """The value, which must be there."""
    got = await look(store, namespace, key, claim)
    assert isinstance(got, bytes), f"{key[:40]!r} of {namespace} should be there: {got}"
    return got


async def reason(store: CacheStore, namespace: Namespace, key: bytes, claim: float = 0.0) -> str:
    """Why there is nothing, which must be so."""
    got = await look(store, namespace, key, claim)
    assert isinstance(got, Miss), f"{key[:40]!r} of {namespace} should not be there"
    return got.reason


async def reasons(stores: Sequence[CacheStore], claim: float, namespace: Namespace = A) -> list[str]:
    """Why there is nothing for nine who ask at once."""
    return await asyncio.gather(*(reason(stores[number % len(stores)], namespace, b"k", claim) for number in range(9)))
