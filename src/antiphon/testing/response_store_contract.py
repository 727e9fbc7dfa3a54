"""What every ResponseStore must keep to, as checks that can be run against your own.

Each check takes a function that makes a fresh ``ResponseBench``. A broken promise raises AssertionError. Time is the bench's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from antiphon.core.errors import AntiphonError, CapacityError, InvalidRequest, PreviousResponseNotFound
from antiphon.core.response_store import MAX_TURNS, ResponseBounds, ResponseStore, StoredResponse

WITHIN = 5.0
"""Seconds that a store has to answer."""
BOUNDS = ResponseBounds(max_bytes=400_000, max_age=100.0, max_conversation=100_000)
"""Those of the store on the bench."""
ANY_TEXT = "'; drop table responses; -- \x00 模型 \U0001f600 %s {}"


class ResponseBench(Protocol):
    """A store of responses on a test's bench, within ``BOUNDS``."""

    shared: bool
    """Whether the stores of several processes see the same responses."""

    async def open(self) -> ResponseStore:
        """A store, as a further process has it."""

    async def advance(self, seconds: float) -> None:
        """Let time pass."""

    async def down(self) -> bool:
        """Take away what the store stands on; False where it stands on nothing."""

    async def up(self) -> None:
        """Give it back."""


MakeBench = Callable[[], AbstractAsyncContextManager[ResponseBench]]


async def check_response_store(make: MakeBench) -> None:
    """All checks."""
    for check in CHECKS:
        await check(make)


async def check_keeps_every_field(make: MakeBench) -> None:
    """What comes back is what was put last, whatever stands in it."""
    async with make() as bench:
        store = await bench.open()
        assert await find(store, "a", "x") == {}
        for response in (
            StoredResponse("x", b"{}"),
            StoredResponse("y", b"{}"),
            StoredResponse("x", b'{"a": "\\u0000"}', b"[1]", "y"),
            StoredResponse(ANY_TEXT, b"{}"),
            StoredResponse(ANY_TEXT, bytes(range(256)), bytes(range(256)), ANY_TEXT),
        ):
            await put(store, "a", response)
            assert await find(store, "a", response.id) == {response.id: response}
        assert set(await find(store, "a", "x", "never there", ANY_TEXT)) == {"x", ANY_TEXT}
        assert store.stats().kept == 5


async def check_tenants_are_apart(make: MakeBench) -> None:
    """Nothing of one tenant is seen, continued or deleted by another, however names are put together."""
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("x", b"of a"))
        await put(store, "a:", StoredResponse("x", b"of a:"))
        refused = await tried(store, ANY_TEXT, StoredResponse("y", b"other", previous="x"))
        assert isinstance(refused, PreviousResponseNotFound), refused
        assert (await find(store, "a", "x"))["x"].response == b"of a"
        assert (await find(store, "a:", "x"))["x"].response == b"of a:"
        assert await find(store, "b", "x") == {}
        assert not await delete(store, "b", "x")
        assert isinstance(await conversation(store, "b", "x"), PreviousResponseNotFound)
        assert await find(store, ANY_TEXT, "x", "y") == {}
        assert await delete(store, "a", "x")
        assert (await find(store, "a:", "x"))["x"].response == b"of a:"


async def check_conversation(make: MakeBench) -> None:
    """A conversation comes from its first response to the one that was asked for, in each of its branches."""
    async with make() as bench:
        store = await bench.open()
        for name, previous in (("1", ""), ("2", "1"), ("3", "2"), ("other", "1")):
            await put(store, "a", StoredResponse(name, name.encode(), previous=previous))
        assert await names(store, "a", "3") == ["1", "2", "3"]
        assert await names(store, "a", "other") == ["1", "other"]
        assert await names(store, "a", "1") == ["1"]


async def check_no_holes(make: MakeBench) -> None:
    """A conversation of which a response is gone cannot be continued; what is before that one can."""
    async with make() as bench:
        store = await bench.open()
        for name, previous in (("1", ""), ("2", "1"), ("3", "2")):
            await put(store, "a", StoredResponse(name, b"{}", previous=previous))
        assert await delete(store, "a", "2")
        assert not await delete(store, "a", "2")
        error = await conversation(store, "a", "3")
        assert isinstance(error, PreviousResponseNotFound), error
        assert "'2'" in error.message
        assert "'3'" in error.message
        assert await names(store, "a", "1") == ["1"]
        assert "3" in await find(store, "a", "3")
        refused = await tried(store, "a", StoredResponse("4", b"{}", previous="3"))
        assert isinstance(refused, PreviousResponseNotFound), "what cannot be continued is not kept"
        assert await find(store, "a", "4") == {}


async def check_long_conversations(make: MakeBench) -> None:
    """One that is longer than may be read is refused, whether by its bytes or by its turns, also where it goes in a circle."""
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("1", b"x" * 60_000))
        await put(store, "a", StoredResponse("2", b"x" * 60_000, previous="1"))
        assert await names(store, "a", "1") == ["1"]
        await put(store, "a", StoredResponse("circle", b"{}"))
        await put(store, "a", StoredResponse("circle", b"{}", previous="circle"))
        for name in ("2", "circle"):
            error = await conversation(store, "a", name)
            assert isinstance(error, InvalidRequest), error
            assert error.param == "previous_response_id"
            assert str(MAX_TURNS) in error.message


async def check_grows_old(make: MakeBench) -> None:
    """What nobody uses for long is gone; to use a conversation keeps all of it."""
    async with make() as bench:
        store = await bench.open()
        for name, previous in (("1", ""), ("2", "1"), ("lonely", "")):
            await put(store, "a", StoredResponse(name, b"{}", previous=previous))
        await bench.advance(BOUNDS.max_age * 0.9)
        assert await names(store, "a", "2") == ["1", "2"]
        await bench.advance(BOUNDS.max_age * 0.2)
        assert await find(store, "a", "lonely") == {}
        assert not await delete(store, "a", "lonely")
        await put(store, "a", StoredResponse("3", b"{}", previous="2"))
        assert await names(store, "a", "3") == ["1", "2", "3"]
        await bench.advance(BOUNDS.max_age * 1.1)
        assert isinstance(await conversation(store, "a", "3"), PreviousResponseNotFound)


async def check_bounded(make: MakeBench) -> None:
    """The store stays within its bytes: what was not used for longest leaves first, and what cannot fit is refused."""
    async with make() as bench:
        store = await bench.open()
        size, count = 10_000, 100
        await put(store, "a", StoredResponse("used", b"x" * size))
        for number in range(count):
            await bench.advance(0.1)
            await put(store, "a", StoredResponse(str(number), b"x" * size))
            assert "used" in await find(store, "a", "used"), "what is used again and again stays"
        there = [number for number in range(count) if await find(store, "a", str(number))]
        assert there == list(range(count - len(there), count)), there
        assert size * len(there) <= BOUNDS.max_bytes
        assert size * len(there) >= BOUNDS.max_bytes / 3
        assert store.stats().evictions >= count + 1 - BOUNDS.max_bytes // size
        assert isinstance(await tried(store, "a", StoredResponse("huge", b"x" * (BOUNDS.max_bytes + 1))), CapacityError)
        assert await find(store, "a", "huge") == {}
        assert await find(store, "a", str(count - 1))


async def check_no_conversation_eats_itself(make: MakeBench) -> None:
    """A conversation that goes on takes the room of others, not its own; once it fills the store its next response is refused."""
    async with make() as bench:
        store = await bench.open()
        for number in range(10):
            await put(store, "a", StoredResponse(f"other {number}", b"x" * 30_000))
        await bench.advance(0.1)
        kept: list[str] = []
        error = None
        while error is None:
            assert len(kept) * 30_000 < BOUNDS.max_bytes
            error = await tried(store, "a", StoredResponse(str(len(kept)), b"x" * 30_000, previous=kept[-1] if kept else ""))
            if error is None:
                kept.append(str(len(kept)))
                assert set(await find(store, "a", kept[0])) == {kept[0]}, "it would be of no use any more"
        assert isinstance(error, CapacityError), error
        assert "max_mb" in error.remedy
        assert len(kept) >= 10
        for one in kept:
            assert await find(store, "a", one), one
        await put(store, "a", StoredResponse("new", b"x" * 30_000))


async def check_shared(make: MakeBench) -> None:
    """What one process was told is kept, all others find at once; what one deletes is gone for all."""
    async with make() as bench:
        if not bench.shared:
            return
        stores = [await bench.open() for _ in range(3)]
        for number in range(20):
            previous = str(number - 1) if number else ""
            await put(stores[number % 3], "a", StoredResponse(str(number), b"{}", previous=previous))
            assert await names(stores[(number + 1) % 3], "a", str(number)) == [str(one) for one in range(number + 1)]
        await asyncio.gather(*(put(stores[number % 3], "b", StoredResponse(str(number), b"{}")) for number in range(60)))
        assert len(await find(stores[0], "b", *map(str, range(60)))) == 60
        assert await delete(stores[0], "a", "7")
        assert isinstance(await conversation(stores[1], "a", "19"), PreviousResponseNotFound)


async def check_gone(make: MakeBench) -> None:
    """While what it stands on is gone everything fails, in time, and is counted; afterwards it works again by itself."""
    async with make() as bench:
        store = await bench.open()
        await put(store, "a", StoredResponse("x", b"{}"))
        if not await bench.down():
            return
        outcomes = await asyncio.gather(
            *(tried(store, "a", StoredResponse(str(number), b"{}")) for number in range(20)),
            ask(lambda then: store.find("a", ("x",), then)),
            ask(lambda then: store.conversation("a", "x", then)),
            ask(lambda then: store.delete("a", "x", then)),
        )
        assert all(isinstance(outcome, CapacityError) for outcome in outcomes), outcomes
        assert store.stats().errors >= len(outcomes)
        await bench.up()
        deadline = asyncio.get_running_loop().time() + WITHIN
        while await tried(store, "a", StoredResponse("again", b"{}")) is not None:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.001)
        assert set(await find(store, "a", "x", "again")) == {"x", "again"}
        assert await find(store, "a", *map(str, range(20))) == {}, "nobody who was told that it is not kept finds it later"


CHECKS: Sequence[Callable[[MakeBench], Awaitable[None]]] = (
    check_keeps_every_field,
    check_tenants_are_apart,
    check_conversation,
    check_no_holes,
    check_long_conversations,
    check_grows_old,
    check_bounded,
    check_no_conversation_eats_itself,
    check_shared,
    check_gone,
)


async def ask(begin: Callable[[Callable[[Any], None]], None]) -> Any:
    """What a store answers, however long it takes; it must answer once."""
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    begin(told.set_result)
    return await asyncio.wait_for(told, WITHIN)


async def tried(store: ResponseStore, tenant: str, response: StoredResponse) -> AntiphonError | None:
    """What comes of putting a response: None where it is kept."""
    error: AntiphonError | None = await ask(lambda then: store.put(tenant, response, then))
    return error


async def put(store: ResponseStore, tenant: str, response: StoredResponse) -> None:
    """Keep a response, which must work."""
    error = await tried(store, tenant, response)
    assert error is None, error


async def find(store: ResponseStore, tenant: str, *ids: str) -> Mapping[str, StoredResponse]:
    """Those of these responses that are there."""
    found = await ask(lambda then: store.find(tenant, ids, then))
    assert isinstance(found, Mapping), found
    return found


async def delete(store: ResponseStore, tenant: str, response: str) -> bool:
    """Forget a response, and say whether it was there."""
    deleted = await ask(lambda then: store.delete(tenant, response, then))
    assert isinstance(deleted, bool), deleted
    return deleted


async def conversation(store: ResponseStore, tenant: str, response: str) -> Any:
    """A conversation, or the error."""
    return await ask(lambda then: store.conversation(tenant, response, then))


async def names(store: ResponseStore, tenant: str, response: str) -> list[str]:
    """The ids of a conversation, which must be there."""
    turns = await conversation(store, tenant, response)
    assert not isinstance(turns, AntiphonError), turns
    return [turn.id for turn in turns]
