"""What every BreakerBoard must keep to, as checks that can be run against your own.

Each check takes a function that makes a fresh ``BoardBench``. A broken promise raises AssertionError. Time is the bench's: the
checks move it with ``advance``, and wait only for what was told to arrive.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from antiphon.core.breaker_board import Admission, BreakerBoard, Permit, Refused
from antiphon.core.breaker_policy import BreakerPolicy, BreakerState

T = TypeVar("T")

POLICY = BreakerPolicy()
WITHIN = 5.0
"""Seconds that what was told has to arrive."""


class BoardBench(Protocol):
    """A breaker board on a test's bench."""

    async def open(self) -> BreakerBoard:
        """A further process's view of the same board, as another worker has it."""

    async def kill(self, board: BreakerBoard) -> None:
        """End a process as ``kill -9`` does."""

    async def advance(self, seconds: float) -> None:
        """Let time pass."""


MakeBench = Callable[[], AbstractAsyncContextManager[BoardBench]]


async def check_breaker_board(make: MakeBench) -> None:
    """All checks."""
    for check in CHECKS:
        await check(make)


async def check_closed(make: MakeBench) -> None:
    """A breaker that nobody has heard of is closed, and answers without a round trip; targets are taken as they are."""
    async with make() as bench:
        board = await bench.open()
        for name in ("", "a b", "供应商/模型", "a{b}:c", "x" * 300):
            assert isinstance(board.admit(name, POLICY, ignore), Permit), name
            assert board.view(name).state == "closed"
        assert not board.opened()


async def check_opens(make: MakeBench) -> None:
    """It opens at the failure rate and not before, for everybody, and refuses with the seconds to wait."""
    async with make() as bench:
        one, two = await bench.open(), await bench.open()
        await told(one, "few", [False] * (POLICY.minimum_calls - 1))
        await told(one, "half", [True, False] * 5)
        await told(two, "other", [True] * 6)
        await told(one, "a", [True] * 4 + [False] * 6)
        for board in (one, two):
            await until(board, "a", "open")
            for name in ("few", "half", "other"):
                assert board.view(name).state == "closed", name
            refusal = await refused(board, "a")
            assert refusal.state == "open"
            assert POLICY.open_for - 1 <= refusal.retry_after <= POLICY.open_for, refusal
            assert set(board.opened()) == {"a"}


async def check_sums_over_processes(make: MakeBench) -> None:
    """Outcomes of several processes are one sum."""
    async with make() as bench:
        boards = [await bench.open() for _ in range(4)]
        for board in boards:
            await told(board, "a", [False])
        for board in boards:
            await until(board, "a", "open")


async def check_window(make: MakeBench) -> None:
    """Outcomes leave the window."""
    async with make() as bench:
        board = await bench.open()
        await told(board, "a", [False] * 3)
        await bench.advance(POLICY.window + 0.1)
        await told(board, "a", [False] * 3)
        await bench.advance(1.0)
        assert board.view("a").state == "closed"
        await told(board, "a", [False])
        await until(board, "a", "open")


async def check_trials_are_shared(make: MakeBench) -> None:
    """Half open, all processes together have so many trials and no more; enough successes close it for everybody."""
    async with make() as bench:
        boards = [await bench.open() for _ in range(3)]
        await opened(boards[0], "a", boards)
        await bench.advance(POLICY.open_for)
        answers = await asyncio.gather(*(admitted(boards[index % 3], "a") for index in range(21)))
        permits = [(index, answer) for index, answer in enumerate(answers) if isinstance(answer, Permit)]
        assert len(permits) == POLICY.trials, f"{len(permits)} trials"
        for index, permit in permits[: POLICY.needed]:
            for _ in range(2):
                boards[index % 3].report(permit, True)
        for board in boards:
            await until(board, "a", "closed")
            assert isinstance(board.admit("a", POLICY, ignore), Permit)


async def check_failed_trials_open_again(make: MakeBench) -> None:
    """Once recovery can no longer be reached it is open again, for as long as the first time; a trial's second verdict is void."""
    async with make() as bench:
        one, two = await bench.open(), await bench.open()
        await opened(one, "a", (one, two))
        await bench.advance(POLICY.open_for)
        failing = POLICY.trials - POLICY.needed + 1
        permits = [await permitted(one, "a") for _ in range(failing)]
        for permit in permits:
            one.report(permit, False)
        await until(two, "a", "open")
        await until(one, "a", "open")
        assert (await refused(two, "a")).retry_after > POLICY.open_for - 1
        for permit in permits:
            one.report(permit, True)
        await bench.advance(POLICY.open_for)
        again = [await permitted(two, "a") for _ in range(POLICY.trials)]
        await refused(two, "a")
        for permit in again[: POLICY.needed]:
            two.report(permit, True)
        await until(one, "a", "closed")


async def check_trials_given_back(make: MakeBench) -> None:
    """A trial that says nothing of the target can be taken again; for a closed breaker None changes nothing."""
    async with make() as bench:
        board = await bench.open()
        for _ in range(20):
            board.report(await permitted(board, "a"), None)
        assert board.view("a").state == "closed"
        await opened(board, "a", (board,))
        await bench.advance(POLICY.open_for)
        for _ in range(2):
            permits = [await permitted(board, "a") for _ in range(POLICY.trials)]
            for permit in permits:
                board.report(permit, None)
        assert board.view("a").state == "half_open"


async def check_lease_of_trials(make: MakeBench) -> None:
    """Trials of a process that was killed come back when their lease ends, and not before."""
    async with make() as bench:
        victim, heir = await bench.open(), await bench.open()
        await opened(heir, "a", (victim, heir))
        await bench.advance(POLICY.open_for)
        for _ in range(POLICY.trials):
            await permitted(victim, "a")
        await bench.kill(victim)
        await bench.advance(POLICY.trial_lease / 2)
        await refused(heir, "a")
        await bench.advance(POLICY.trial_lease / 2 + 0.1)
        permits = [await permitted(heir, "a") for _ in range(POLICY.trials)]
        await refused(heir, "a")
        for permit in permits[: POLICY.needed]:
            heir.report(permit, True)
        await until(heir, "a", "closed")


async def check_late_outcomes(make: MakeBench) -> None:
    """Calls that began before the breaker last changed say nothing of the present."""
    async with make() as bench:
        board = await bench.open()
        late = [await permitted(board, "a") for _ in range(20)]
        await opened(board, "a", (board,))
        await bench.advance(POLICY.open_for)
        for permit in late[:10]:
            board.report(permit, False)
        for permit in [await permitted(board, "a") for _ in range(POLICY.needed)]:
            board.report(permit, True)
        await until(board, "a", "closed")
        for permit in late[10:]:
            board.report(permit, False)
        await bench.advance(1.0)
        assert board.view("a").state == "closed"


async def check_trip(make: MakeBench) -> None:
    """Whoever knows better opens a breaker for as long as it says, never for less than it is open already."""
    async with make() as bench:
        one, two = await bench.open(), await bench.open()
        one.trip("a", POLICY, 5.0)
        for board in (one, two):
            await until(board, "a", "open")
            assert 4 <= (await refused(board, "a")).retry_after <= 5
        ends = two.view("a").until
        one.trip("a", POLICY, 60.0)
        two.trip("a", POLICY, 1.0)
        await eventually(lambda: min(one.view("a").until, two.view("a").until), lambda until: until > ends + 50)
        await bench.advance(30.0)
        for board in (one, two):
            assert (await refused(board, "a")).state == "open"
        await bench.advance(30.0)
        await permitted(two, "a")


async def check_policy_changes(make: MakeBench) -> None:
    """The policy that a call brings is the one that holds."""
    async with make() as bench:
        board = await bench.open()
        careful = BreakerPolicy(minimum_calls=1, open_for=2.0, trials=1)
        await told(board, "a", [False] * 3)
        await told(board, "a", [False], careful)
        await until(board, "a", "open")
        assert (await refused(board, "a", careful)).retry_after <= 2.0
        await bench.advance(2.0)
        permit = await permitted(board, "a", careful)
        await refused(board, "a", careful)
        board.report(permit, True)
        await until(board, "a", "closed")


async def check_watch(make: MakeBench) -> None:
    """Whoever watches hears of each opening and each closing, also of those that others brought about."""
    async with make() as bench:
        one, two = await bench.open(), await bench.open()
        heard: list[tuple[str, BreakerState]] = []
        two.watch(lambda target, view: heard.append((target, view.state)))
        await opened(one, "a", (one, two))
        await eventually(lambda: list(heard), lambda now: ("a", "open") in now)
        await bench.advance(POLICY.open_for)
        for permit in [await permitted(one, "a") for _ in range(POLICY.needed)]:
            one.report(permit, True)
        await eventually(lambda: list(heard), lambda now: now[-1] == ("a", "closed"))
        assert [state for _, state in heard if state != "half_open"] == ["open", "closed"]


CHECKS: Sequence[Callable[[MakeBench], Awaitable[None]]] = (
    check_closed,
    check_opens,
    check_sums_over_processes,
    check_window,
    check_trials_are_shared,
    check_failed_trials_open_again,
    check_trials_given_back,
    check_lease_of_trials,
    check_late_outcomes,
    check_trip,
    check_policy_changes,
    check_watch,
)


async def admitted(board: BreakerBoard, target: str, policy: BreakerPolicy = POLICY) -> Admission:
    """What a board says, however long it takes."""
    answer: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
    known = board.admit(target, policy, answer.set_result)
    return known if known is not None else await asyncio.wait_for(answer, WITHIN)


async def permitted(board: BreakerBoard, target: str, policy: BreakerPolicy = POLICY) -> Permit:
    """The permit, which must be had once what was told has arrived."""
    deadline = asyncio.get_running_loop().time() + WITHIN
    while not isinstance(got := await admitted(board, target, policy), Permit):
        assert asyncio.get_running_loop().time() < deadline, got
        await asyncio.sleep(0.001)
    return got


async def refused(board: BreakerBoard, target: str, policy: BreakerPolicy = POLICY) -> Refused:
    """The refusal, which must come."""
    got = await admitted(board, target, policy)
    assert isinstance(got, Refused), f"a call to {target!r} should have been refused"
    return got


async def told(board: BreakerBoard, target: str, outcomes: Sequence[bool], policy: BreakerPolicy = POLICY) -> None:
    """Ordinary calls that go as ``outcomes`` say."""
    permits = [await permitted(board, target, policy) for _ in outcomes]
    for permit, ok in zip(permits, outcomes, strict=True):
        board.report(permit, ok)


async def opened(board: BreakerBoard, target: str, everybody: Sequence[BreakerBoard]) -> None:
    """Let calls fail until everybody sees the breaker open."""
    await told(board, target, [False] * POLICY.minimum_calls)
    for one in everybody:
        await until(one, target, "open")


async def until(board: BreakerBoard, target: str, state: BreakerState) -> None:
    """Wait until a board sees a breaker in a state."""
    await eventually(lambda: board.view(target).state, lambda now: now == state)


async def eventually(look: Callable[[], T], enough: Callable[[T], bool]) -> None:
    """Wait until what was told elsewhere has arrived."""
    deadline = asyncio.get_running_loop().time() + WITHIN
    while not enough(found := look()):
        assert asyncio.get_running_loop().time() < deadline, found
        await asyncio.sleep(0.001)


def ignore(_: object) -> None:
    """Take an answer that does not come."""
