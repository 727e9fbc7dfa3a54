"""What every Ledger must keep to, as checks that can be run against your own.

Each check takes a function that makes a fresh ``LedgerBench``. A broken promise raises AssertionError. Time is the bench's: the
checks move it with ``advance`` and never wait for a clock.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from antiphon.core.ledger import FOREVER, MAX_AMOUNT, Hold, Ledger, Limit, Outcome, Refusal, Reservation, Standing, Window

MINUTE = Window("calendar", 60)
SLIDING = Window("sliding", 60)
WITHIN = 5.0
"""Seconds that a ledger has to answer."""


class LedgerBench(Protocol):
    """A ledger on a test's bench, at a minute's beginning."""

    lease: float
    """Seconds after which what a killed holder left behind has come back, or was charged."""
    age: float
    """Seconds after which what a living holder forgot has."""

    async def open(self) -> Ledger:
        """A further holder's ledger onto the same accounts, as another worker has it."""

    async def kill(self, ledger: Ledger) -> None:
        """End a holder as ``kill -9`` does."""

    async def advance(self, seconds: float) -> None:
        """Let time pass."""


MakeBench = Callable[[], AbstractAsyncContextManager[LedgerBench]]


async def check_ledger(make: MakeBench) -> None:
    """All checks."""
    for check in CHECKS:
        await check(make)


async def check_all_or_none(make: MakeBench) -> None:
    """A refusal leaves every account as it was, names the account that is full, and the same account twice counts twice."""
    async with make() as bench:
        ledger = await bench.open()
        wide, narrow = Limit(100), Limit(5)
        refusal = await refused(ledger, Hold("wide", 50, wide), Hold("narrow", 6, narrow))
        assert (refusal.account, refusal.limit) == ("narrow", narrow), refusal
        assert await total(ledger, "wide") == 0, "a refused call still holds something"
        await reserved(ledger, Hold("wide", 100, wide), Hold("narrow", 5, narrow))
        assert (await refused(ledger, Hold("wide", 1, wide), Hold("narrow", 1, narrow))).account == "wide"
        assert (await refused(ledger, Hold("twice", 3, narrow), Hold("twice", 3, narrow))).account == "twice"
        await reserved(ledger, Hold("twice", 2, narrow), Hold("twice", 3, narrow))


async def check_settle_and_release_once(make: MakeBench) -> None:
    """Only the first settling or release counts."""
    async with make() as bench:
        ledger = await bench.open()
        first = await reserved(ledger, Hold("a", 6, Limit(10)))
        second = await reserved(ledger, Hold("a", 4, Limit(10)))
        await refused(ledger, Hold("a", 1, Limit(10)))
        for _ in range(2):
            ledger.settle(first, [5])
        ledger.release(first)
        for _ in range(2):
            ledger.release(second)
        ledger.settle(second, [4])
        assert await settled(ledger, "a") == 5
        await reserved(ledger, Hold("a", 5, Limit(10)))
        await refused(ledger, Hold("a", 1, Limit(10)))


async def check_amounts(make: MakeBench) -> None:
    """Zero is never refused, negative and too large amounts raise and change nothing, the largest amount is counted exactly."""
    async with make() as bench:
        ledger = await bench.open()
        full, huge = Limit(0), Limit(MAX_AMOUNT)
        ledger.settle(await reserved(ledger, Hold("none", 0, full)), [0])
        await refused(ledger, Hold("none", 1, full))
        for wrong in (-1, MAX_AMOUNT + 1):
            assert raises(ledger.reserve, [Hold("huge", 7, huge), Hold("huge", wrong, huge)], ignore), wrong
        held = await reserved(ledger, Hold("huge", MAX_AMOUNT - 1, huge))
        for amounts in ([-1], [MAX_AMOUNT + 1], [1, 1], []):
            assert raises(ledger.settle, held, amounts), amounts
        await refused(ledger, Hold("huge", 2, huge))
        ledger.settle(held, [MAX_AMOUNT - 1])
        assert await settled(ledger, "huge") == MAX_AMOUNT - 1
        await reserved(ledger, Hold("huge", 1, huge))
        await refused(ledger, Hold("huge", 1, huge))


async def check_unknown_accounts(make: MakeBench) -> None:
    """An account that nobody used stands at nothing; names are taken as they are."""
    async with make() as bench:
        ledger = await bench.open()
        assert await standing(ledger, "nobody") == Standing()
        names = ["", " ", "a/b:c|d{e}", "键:甲/每分钟", "x" * 512, "a\x00b"]
        await reserved(ledger, *(Hold(name, 1, Limit(1)) for name in names))
        for name in names:
            assert (await refused(ledger, Hold(name, 1, Limit(1)))).account == name
        assert await standing(ledger, "nobody") == Standing()


async def check_calendar_window(make: MakeBench) -> None:
    """A calendar window ends at its border, with all that was reserved or settled in it; retry-after is exact."""
    async with make() as bench:
        ledger, limit = await bench.open(), Limit(100, MINUTE)
        kept = await reserved(ledger, Hold("a", 60, limit))
        await bench.advance(10)
        refusal = await refused(ledger, Hold("a", 60, limit))
        assert abs((refusal.retry_after or 0) - 50) < 1e-3, refusal
        assert (await refused(ledger, Hold("a", 101, limit))).retry_after is None, "more than the capacity never fits"
        ledger.settle(await reserved(ledger, Hold("a", 40, limit)), [40])
        await bench.advance(49.99)
        await refused(ledger, Hold("a", 1, limit))
        await bench.advance(0.02)
        await reserved(ledger, Hold("a", 100, limit))
        ledger.settle(kept, [60])
        assert await total(ledger, "a") == 100, "what belongs to a window that is over counts in the present one"


async def check_sliding_window(make: MakeBench) -> None:
    """A sliding window frees what was used once it is out of sight, in the order in which it was used."""
    async with make() as bench:
        ledger, limit = await bench.open(), Limit(100, SLIDING)
        ledger.settle(await reserved(ledger, Hold("a", 70, limit)), [30])
        await bench.advance(30)
        ledger.settle(await reserved(ledger, Hold("a", 70, limit)), [70])
        first = await refused(ledger, Hold("a", 30, limit))
        second = await refused(ledger, Hold("a", 31, limit))
        assert 30 <= (first.retry_after or 0) <= 31, first
        assert 60 <= (second.retry_after or 0) <= 61, second
        await bench.advance(29.9)
        await refused(ledger, Hold("a", 1, limit))
        await bench.advance((first.retry_after or 0) - 29.9 + 0.001)
        await reserved(ledger, Hold("a", 30, limit))
        await refused(ledger, Hold("a", 1, limit))


async def check_windows_are_accounts_of_their_own(make: MakeBench) -> None:
    """The same name within another window is another account."""
    async with make() as bench:
        ledger = await bench.open()
        for window in (FOREVER, MINUTE, SLIDING, Window("month"), MINUTE, FOREVER):
            limit = Limit(2, window)
            await reserved(ledger, Hold("a", 1, limit))
        for window, free in ((FOREVER, 0), (MINUTE, 0), (SLIDING, 1), (Window("month"), 1)):
            await reserved(ledger, Hold("a", free, Limit(2, window)))
            assert (await refused(ledger, Hold("a", 1, Limit(2, window)))).limit.window == window


async def check_changed_limits(make: MakeBench) -> None:
    """The capacity that a hold brings is the one that holds: raised at once, and lowered below what is used it refuses."""
    async with make() as bench:
        ledger = await bench.open()
        held = await reserved(ledger, Hold("a", 10, Limit(10)))
        await refused(ledger, Hold("a", 1, Limit(10)))
        more = await reserved(ledger, Hold("a", 5, Limit(15)))
        await refused(ledger, Hold("a", 1, Limit(8)))
        await reserved(ledger, Hold("a", 0, Limit(8)))
        ledger.release(held)
        await refused(ledger, Hold("a", 4, Limit(8)))
        await reserved(ledger, Hold("a", 3, Limit(8)))
        ledger.release(more)


async def check_concurrency(make: MakeBench) -> None:
    """A place that was settled as 0 is free again, for whoever holds it; waiting alone brings none."""
    async with make() as bench:
        one, two = await bench.open(), await bench.open()
        limit = Limit(2)
        first, second = await reserved(one, Hold("a", 1, limit)), await reserved(two, Hold("a", 1, limit))
        for ledger in (one, two):
            refusal = await refused(ledger, Hold("a", 1, limit))
            assert refusal.retry_after is None, refusal
            assert refusal.reason == "limit", refusal
        one.settle(first, [0])
        await eventually_reserved(two, Hold("a", 1, limit))
        await refused(one, Hold("a", 1, limit))
        two.release(second)
        await eventually_reserved(one, Hold("a", 1, limit))


async def check_balance(make: MakeBench) -> None:
    """Balance 1,000 and fifty calls of 100 at once from two holders: ten pass, and nothing is left."""
    async with make() as bench:
        ledgers = [await bench.open(), await bench.open()]
        outcomes = await asyncio.gather(*(outcome(ledgers[index % 2], Hold("a", 100, Limit(1000))) for index in range(50)))
        passed = [(index, got) for index, got in enumerate(outcomes) if isinstance(got, Reservation)]
        assert len(passed) == 10, f"{len(passed)} calls passed"
        for index, reservation in passed:
            ledgers[index % 2].settle(reservation, [100])
        await eventually(lambda: settled(ledgers[0], "a"), 1000)
        await refused(ledgers[1], Hold("a", 1, Limit(1000)))


async def check_lease(make: MakeBench) -> None:
    """What a killed holder left behind comes back when its lease ends, what it had settled stays."""
    async with make() as bench:
        victim = await bench.open()
        victim.settle(await reserved(victim, Hold("a", 4, Limit(10))), [3])
        await reserved(victim, Hold("a", 7, Limit(10)))
        await eventually(lambda: settled(victim, "a"), 3)
        await bench.kill(victim)
        heir = await bench.open()
        await refused(heir, Hold("a", 1, Limit(10)))
        await bench.advance(bench.lease + 1)
        await reserved(heir, Hold("a", 7, Limit(10)))
        await refused(heir, Hold("a", 1, Limit(10)))
        assert await settled(heir, "a") == 3


async def check_abandoned_money(make: MakeBench) -> None:
    """Where the limit says ``charge``, what a killed holder had reserved is charged in full, and stays so."""
    async with make() as bench:
        victim, money, places = await bench.open(), Limit(10, abandoned="charge"), Limit(10)
        kept = await reserved(victim, Hold("money", 3, money))
        victim.settle(kept, [1])
        await reserved(victim, Hold("money", 5, money), Hold("places", 5, places))
        await eventually(lambda: settled(victim, "money"), 1)
        await bench.kill(victim)
        heir = await bench.open()
        await bench.advance(bench.lease + 1)
        await refused(heir, Hold("money", 5, money))
        await reserved(heir, Hold("places", 10, places))
        assert await settled(heir, "money") == 6
        await reserved(heir, Hold("money", 4, money))
        await refused(heir, Hold("money", 1, money))


async def check_forgotten(make: MakeBench) -> None:
    """What a living holder forgot is released or charged once it is old enough; a renewed reservation is not forgotten."""
    async with make() as bench:
        ledger, other = await bench.open(), await bench.open()
        money, places = Limit(10, abandoned="charge"), Limit(10)
        holds = (Hold("money", 3, money), Hold("places", 3, places))
        forgotten, used = await reserved(ledger, *holds), await reserved(ledger, *holds)
        await bench.advance(bench.age / 2)
        ledger.renew(used)
        await bench.advance(bench.age / 2 + 2)
        await eventually(lambda: settled(ledger, "money"), 3)
        await eventually_reserved(other, Hold("places", 7, places))
        await refused(other, Hold("places", 1, places))
        ledger.settle(forgotten, [2, 0])
        await eventually(lambda: settled(ledger, "money"), 2)
        ledger.settle(used, [1, 0])
        await eventually(lambda: settled(ledger, "money"), 3)
        await eventually_reserved(other, Hold("places", 3, places))
        for reservation in (forgotten, used):
            ledger.settle(reservation, [3, 3])
            ledger.renew(reservation)
        await eventually(lambda: settled(other, "money"), 3)
        await reserved(other, Hold("money", 7, money))


CHECKS: Sequence[Callable[[MakeBench], Awaitable[None]]] = (
    check_all_or_none,
    check_settle_and_release_once,
    check_amounts,
    check_unknown_accounts,
    check_calendar_window,
    check_sliding_window,
    check_windows_are_accounts_of_their_own,
    check_changed_limits,
    check_concurrency,
    check_balance,
    check_lease,
    check_abandoned_money,
    check_forgotten,
)


async def outcome(ledger: Ledger, *holds: Hold) -> Outcome:
    """What a ledger says, however long it takes."""
    told: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    known = ledger.reserve(holds, told.set_result)
    return known if known is not None else await asyncio.wait_for(told, WITHIN)


async def reserved(ledger: Ledger, *holds: Hold) -> Reservation:
    """The reservation, which must be had."""
    got = await outcome(ledger, *holds)
    assert isinstance(got, Reservation), f"{holds} should have been reserved: {got}"
    return got


async def refused(ledger: Ledger, *holds: Hold) -> Refusal:
    """The refusal, which must come."""
    got = await outcome(ledger, *holds)
    assert isinstance(got, Refusal), f"{holds} should have been refused"
    return got


async def standing(ledger: Ledger, account: str, window: Window = FOREVER) -> Standing:
    """How an account stands."""
    told: asyncio.Future[Standing | None] = asyncio.get_running_loop().create_future()
    ledger.look(account, window, told.set_result)
    found = await asyncio.wait_for(told, WITHIN)
    assert found is not None, f"nobody could say how {account} stands"
    return found


async def settled(ledger: Ledger, account: str) -> int:
    """What was settled at an account without a window."""
    return (await standing(ledger, account)).settled


async def total(ledger: Ledger, account: str) -> int:
    """What counts at an account, in whichever window has something."""
    return max([(await standing(ledger, account, window)).total for window in (FOREVER, MINUTE, SLIDING)])


async def eventually_reserved(ledger: Ledger, *holds: Hold) -> Reservation:
    """The reservation, once another holder's word has arrived."""
    deadline = asyncio.get_running_loop().time() + WITHIN
    while True:
        got = await outcome(ledger, *holds)
        if isinstance(got, Reservation) or asyncio.get_running_loop().time() > deadline:
            assert isinstance(got, Reservation), got
            return got
        await asyncio.sleep(0.001)


async def eventually(look: Callable[[], Awaitable[int]], wanted: int) -> None:
    """Wait until what was told elsewhere has arrived."""
    deadline = asyncio.get_running_loop().time() + WITHIN
    while (found := await look()) != wanted:
        assert asyncio.get_running_loop().time() < deadline, f"{found} instead of {wanted}"
        await asyncio.sleep(0.001)


def raises(act: Callable[..., object], *arguments: object) -> bool:
    """Whether ValueError is raised."""
    try:
        act(*arguments)
    except ValueError:
        return True
    return False


def ignore(_: object) -> None:
    """Take an outcome that does not come."""
