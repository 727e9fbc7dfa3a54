"""Ten faults that users of cluster routers reported, each as a drill that any router can be put through, with one figure."""

import asyncio
import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec

from antiphon.core.types import Headers
from antiphon.scheduling.simulator.replica import ReplicaSpec
from benchmarks.processes import cpu_time
from benchmarks.scheduler.drills.calling import Answer, Caller
from benchmarks.scheduler.drills.mocks import Mocks
from benchmarks.scheduler.drills.prompts import BLOCK_TOKENS, Prompt
from benchmarks.scheduler.drills.replicas import Happened, Setting, Trouble
from benchmarks.scheduler.drills.routers import GREEDY_KEY, Fleet, Router, Standing
from benchmarks.scheduler.drills.trace import answers, warm

LOST = 0.01
"""Share of the calls that may fail in a drill."""
PATIENCE = 30.0
"""Seconds until something is true that a drill waits for."""


class Setup(msgspec.Struct, frozen=True):
    """What stands behind the router, and how many of it there are."""

    replicas: int
    speed: float = 10.0
    max_running: int = 128
    route: str = ""
    """Settings of Antiphon's route, where the usual ones would hide what is drilled."""
    gateways: int = 1

    @property
    def spec(self) -> ReplicaSpec:
        """The speed of the simulator's shipped replica."""
        return ReplicaSpec(
            prefill_rate=20000, step_base_ms=10, step_per_sequence_ms=0.1, step_per_kilotoken_ms=0.02, max_running=self.max_running
        )


class Field:
    """A drill's ground: replicas, and one router or more in front of them."""

    def __init__(self, mocks: Mocks, gateways: Sequence[Standing], polls: float) -> None:
        self.mocks = mocks
        self.gateways = gateways
        self.polls = polls
        """Seconds in which the router has asked all replicas for their load."""
        self.callers: list[Caller] = []

    def caller(self, gateway: int = 0, key: str = "") -> Caller:
        """Calls one of the routers, with another key where one is named."""
        standing = self.gateways[gateway]
        caller = Caller(standing.port, (f"authorization: Bearer {key}",) if key else standing.headers)
        self.callers.append(caller)
        return caller

    async def state(self) -> list[Happened]:
        """What the replicas did so far."""
        return await asyncio.to_thread(self.mocks.state)

    async def arrived(self, calls: int) -> None:
        """Until so many calls have come to the replicas. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while sum(each.asked for each in await self.state()) < calls:  # noqa: ASYNC110 - it is another process's state
                await asyncio.sleep(0.02)

    async def befall(self, *troubles: Trouble) -> None:
        """Something is wrong with replicas from now on."""
        for trouble in troubles:
            await asyncio.to_thread(self.mocks.befall, trouble)


class Fault(msgspec.Struct, frozen=True):
    """A drill."""

    number: int
    name: str
    figure: str
    """What is measured."""
    limit: float
    setup: Setup
    play: Callable[[Field], Awaitable[float]]
    at_least: bool = False
    """The figure must not be below the limit; otherwise not above."""
    against: Setup | None = None
    """The drill is played on this ground too, and the figure is how many times as much it is on the first."""


class Found(msgspec.Struct, frozen=True):
    """What came of a drill."""

    number: int
    router: str
    version: str
    policy: str
    value: float
    passed: bool
    calls: int
    failed: int
    error: str = ""


def drill(fault: Fault, router: Router, program: str, policy: str) -> Found:
    """Put a router through a drill. Raises Trouble where something does not start."""
    values, callers = [], []
    for setup in (fault.setup, fault.against):
        if setup is not None:
            with _field(setup, router, program, policy) as field:
                values.append(asyncio.run(_played(fault, field)))
                callers += field.callers
    value = values[0] / values[1] if len(values) > 1 else values[0]
    calls, failed = sum(caller.asked for caller in callers), [answer for caller in callers for answer in caller.failed]
    passed = (value >= fault.limit if fault.at_least else value <= fault.limit) and len(failed) <= LOST * calls
    error = f"{failed[0].status}: {failed[0].error}" if failed else ""
    return Found(fault.number, router.name, router.version(program), policy, value, passed, calls, len(failed), error)


async def _played(fault: Fault, field: Field) -> float:
    try:
        return await fault.play(field)
    finally:
        for caller in field.callers:
            await caller.close()


@contextlib.contextmanager
def _field(setup: Setup, router: Router, program: str, policy: str) -> Iterator[Field]:
    with tempfile.TemporaryDirectory(prefix="antiphon-drill-") as name, contextlib.ExitStack() as stack:
        mocks = Mocks(setup.replicas, Path(name))
        stack.callback(mocks.stop)
        setting = Setting(setup.spec, setup.speed)
        mocks.reset(setting)
        fleet = Fleet(tuple(mocks.ports), setup.speed, setup.max_running, setup.route)
        gateways = []
        for number in range(setup.gateways):
            gateways.append(Standing(router, program, policy, fleet, Path(name) / str(number)))
            stack.callback(gateways[-1].stop)
        for gateway in gateways:
            gateway.wait(answers)
            warm(gateway, 2 * setup.replicas)
        mocks.reset(setting)
        yield Field(mocks, gateways, router.polls)


# -- the drills


def talk(root: int, blocks: int, answer: int = 2, tokens: int = 0) -> Prompt:
    """A turn of a conversation, of so many blocks: longer turns begin with shorter ones."""
    return Prompt(blocks * BLOCK_TOKENS + (tokens or 20), answer, tuple(root * 1000 + place for place in range(blocks)), root)


def fresh(number: int, tokens: int, answer: int) -> Prompt:
    """A prompt that nobody has seen."""
    return Prompt(tokens, answer, (), 1_000_000 + number)


async def at_once(caller: Caller, prompts: Sequence[Prompt], headers: Headers = ()) -> list[Answer]:
    """All of them at once, to the end."""
    return list(await asyncio.gather(*(caller.ask(prompt, headers=headers) for prompt in prompts)))


def busiest(found: Sequence[Answer]) -> float:
    """Share of the calls that the replica with most of them answered."""
    places = Counter(answer.replica for answer in found if answer.good)
    return max(places.values(), default=0) / max(1, len(found))


async def _misses(field: Field) -> float:
    """Three replicas know long prompts, the fourth none. Then come 40 short prompts that nobody knows, with long answers."""
    caller = field.caller()
    for root in range(1, 4):
        await caller.ask(talk(root, 60))
    return busiest(await at_once(caller, [fresh(number, 500, 600) for number in range(40)]))


async def _hot(field: Field) -> float:
    """Six conversations have their replicas. One gets a hundred calls at once; the others go on."""
    caller = field.caller()
    for blocks in (28, 29):
        for root in range(1, 7):
            await caller.ask(talk(root, blocks))
    hot = asyncio.create_task(at_once(caller, [talk(1, 29, 1000, 20 + number) for number in range(100)]))
    await field.arrived(12 + 70)
    turns: list[Answer] = []
    for blocks in range(30, 34):
        turns += await at_once(caller, [talk(root, blocks) for root in range(2, 7)])
    await hot
    known = sum(answer.cached for answer in turns)
    return known / sum(answer.tokens // BLOCK_TOKENS * BLOCK_TOKENS - BLOCK_TOKENS for answer in turns)


async def _long(field: Field) -> float:
    """One prompt of 100,000 tokens, and while it is computed six of 500. Four times, on two replicas."""
    caller = field.caller()
    beside = 0
    for turn in range(4):
        before = sum(each.asked for each in await field.state())
        long = asyncio.create_task(caller.ask(fresh(turn * 100, 100_000, 2)))
        await field.arrived(before + 1)
        short = await at_once(caller, [fresh(turn * 100 + number, 500, 200) for number in range(1, 7)])
        place = (await long).replica
        beside += sum(answer.replica == place for answer in short)
    return beside / 24


async def _halves(field: Field) -> float:
    """One gateway has given three of four replicas a very long prompt each; then another gateway gets eight short ones at once."""
    first, second = field.caller(0), field.caller(1)
    long = asyncio.create_task(at_once(first, [fresh(number, 120_000, 200) for number in range(3)]))
    await field.arrived(3)
    await asyncio.sleep(field.polls)
    taken = {place for place, each in enumerate(await field.state()) if each.asked}
    short = await at_once(second, [fresh(10 + number, 500, 50) for number in range(8)])
    await long
    return sum(answer.replica in taken for answer in short) / len(short)


async def _stale(field: Field) -> float:
    """One of five replicas says that it is idle, the others that they have 30 calls, and nobody says more. 50 calls come."""
    await field.befall(*(Trouble(place, said_running=0 if place == 2 else 30) for place in range(5)))
    await asyncio.sleep(field.polls)
    return busiest(await at_once(field.caller(), [fresh(number, 200, 100) for number in range(50)]))


async def _greedy(field: Field) -> float:
    """A tenant's calls one after the other, first alone, then while another tenant always has 80 of 50 times the tokens."""
    modest, greedy = field.caller(), field.caller(key=GREEDY_KEY)

    async def times(first: int, calls: int) -> float:
        found = [await modest.ask(fresh(first + number, 300, 10)) for number in range(calls)]
        return median(answer.ended for answer in found if answer.good)

    alone = await times(0, 15)

    async def flood(number: int) -> None:
        for turn in range(1000):
            await greedy.ask(fresh(1000 + number * 1000 + turn, 15_000, 10))

    floods = [asyncio.create_task(flood(number)) for number in range(80)]
    await field.arrived(15 + 20)
    beside = await times(100, 9)
    for each in floods:
        each.cancel()
    await asyncio.gather(*floods, return_exceptions=True)
    return beside / alone


async def _deadlines(field: Field) -> float:
    """Calls that are due in 3 s come without end, slightly more than one replica can do; every tenth has ten minutes."""
    tight, loose = field.caller(), field.caller()
    tight_due: Headers = ((b"x-antiphon-answer-within", b"3"),)
    loose_due: Headers = ((b"x-antiphon-answer-within", b"600"),)
    began, every, lasts = time.monotonic(), 0.05, 9.0
    calls: list[asyncio.Task[Answer]] = []
    patient: list[asyncio.Task[Answer]] = []
    number = 0
    while (now := time.monotonic() - began) < lasts:
        number += 1
        if number % 10 == 0:
            patient.append(asyncio.create_task(loose.ask(fresh(number, 1000, 100), headers=loose_due)))
        else:
            calls.append(asyncio.create_task(tight.ask(fresh(number, 1000, 100), headers=tight_due)))
        await asyncio.sleep(max(0.0, number * every - now))
    over = time.monotonic()
    await asyncio.gather(*calls)
    tight.failed.clear()  # more come than one replica can do: some of the tight ones must be refused
    early = [answer for answer in await asyncio.gather(*patient) if answer.due < began + lasts / 3]
    return sum(answer.good and answer.due + answer.first < over for answer in early) / max(1, len(early))


async def _errors(field: Field) -> float:
    """One of four replicas answers every second call with an error at once."""
    await field.befall(Trouble(1, status=500, share=0.5))
    caller = field.caller()

    async def one(first: int) -> None:
        for number in range(20):
            await caller.ask(fresh(first + number, 200, 40))

    await asyncio.gather(*(one(turn * 100) for turn in range(8)))
    state = await field.state()
    return state[1].asked / sum(each.asked for each in state)


async def _cooling(field: Field) -> float:
    """Two of three replicas ask for a minute's rest: a call falls back from the first to the second, which has none either.

    Sixty calls, six at a time: no more attempts than the first six make.
    """
    await field.befall(*(Trouble(place, status=429, retry_after=60) for place in (0, 1)))
    caller = field.caller()
    for turn in range(10):
        await at_once(caller, [fresh(turn * 10 + number, 200, 2) for number in range(6)])
    state = await field.state()
    return state[0].asked + state[1].asked


async def _work(field: Field) -> float:
    """Processor time of a call, milliseconds: 400 turns of 40 conversations."""
    caller, pids = field.caller(), field.gateways[0].process.pids()

    async def one(root: int) -> None:
        for turn in range(10):
            await caller.ask(talk(root, 4 + turn))

    before = cpu_time(pids)
    for first in range(0, 40, 8):
        await asyncio.gather(*(one(1 + first + place) for place in range(8)))
    return cpu_time(pids).since(before) * 1000 / 400


PATIENT_ROUTE = "max_calls: 1, adaptive: false, shed_from: 1, p0: {max_wait: 6}, p1: {max_wait: 6}, p2: {max_wait: 6}"
"""Deadlines count for six seconds at most, so the drill is over in ten."""

FAULTS = (
    Fault(31, "a miss goes to the smallest tree", "largest share of 40 new prompts at one of 4 replicas", 0.4, Setup(4), _misses),
    Fault(
        32,
        "one hot replica turns prefix routing off",
        "hits of the other conversations, of what could be",
        0.8,
        Setup(6, max_running=256),
        _hot,
        at_least=True,
    ),
    Fault(33, "calls are counted, not tokens", "share of short calls beside a long one, of 2 replicas", 0.2, Setup(2, 5), _long),
    Fault(
        34,
        "each gateway sees its own calls only",
        "share of a second gateway's calls on the 3 of 4 replicas that are taken",
        0.5,
        Setup(4, 1, gateways=2),
        _halves,
    ),
    Fault(35, "stale numbers make a herd", "share of a burst at the one of 5 that said it was idle", 0.4, Setup(5), _stale),
    Fault(
        36,
        "a tenant with long prompts takes all",
        "times as long as alone that a modest tenant's call takes",
        4,
        Setup(4, 5, 8),
        _greedy,
    ),
    Fault(
        37,
        "tight deadlines starve loose ones",
        "share of loose calls that are served while tight ones come",
        0.9,
        Setup(1, 25, 1, PATIENT_ROUTE),
        _deadlines,
        at_least=True,
    ),
    Fault(38, "fast errors draw calls", "share of all attempts at the one of 4 replicas that errs", 0.25, Setup(4), _errors),
    Fault(
        39,
        "who is fallen back to is never cooled",
        "attempts of 60 calls at two replicas that asked for rest",
        12,
        Setup(3),
        _cooling,
    ),
    Fault(
        40,
        "work grows with the fleet",
        "times the processor time of a call, 64 replicas to 4",
        1.5,
        Setup(64, 50),
        _work,
        against=Setup(4, 50),
    ),
)
