"""Recorded traffic through each router: one run of each policy at each load."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

import msgspec

from antiphon.scheduling.simulator.figures import percentile
from antiphon.scheduling.simulator.replica import ReplicaSpec
from benchmarks.processes import CpuTime, Process, Trouble, cpu_time
from benchmarks.scheduler.drills.calling import Caller
from benchmarks.scheduler.drills.load import Play, Played, recorded
from benchmarks.scheduler.drills.mocks import Mocks
from benchmarks.scheduler.drills.prompts import Prompt, shared_hit_rate
from benchmarks.scheduler.drills.replicas import Setting
from benchmarks.scheduler.drills.routers import Fleet, Router, Standing

WARM = 3
"""Calls for each replica before a run, so that connections stand."""
LONGEST = 900.0
"""Real seconds that a run may take."""


class Traffic(msgspec.Struct, frozen=True):
    """What is replayed, and what stands behind the routers."""

    trace: Path
    calls: int
    speed: float
    """Seconds of the replicas' time in a real one."""
    replicas: int
    spec: ReplicaSpec

    def shared_hit_rate(self) -> float:
        """Share of the tokens that one cache with the memory of the whole fleet would hold."""
        blocks = self.replicas * self.spec.kv_blocks
        return shared_hit_rate((prompt for _, prompt in recorded(self.trace, self.calls)), blocks)


class Row(msgspec.Struct, frozen=True):
    """What came of one run. Times are seconds of the replicas' time; a call that failed counts as infinitely late."""

    router: str
    version: str
    policy: str
    load: float
    """Times as fast as recorded."""
    calls: int
    failed: int
    error: str
    """Of the first that failed."""
    ttft_p50: float
    ttft_p90: float
    hit_rate: float
    """Share of the prompt tokens that were cached, as the replicas tell."""
    of_shared: float
    """The same as a share of what one shared cache would have had."""
    cpu_ms: float
    """Processor time of the router for a call, milliseconds of real time."""
    router_busy: float
    """Share of one core that the router used."""
    replicas_busy: float
    load_busy: float
    late_p99: float
    """How late the load was sent: the 99th percentile, in seconds of the replicas' time. It is in the times to first tokens."""
    by_replica: tuple[int, ...]
    """Calls that each replica was asked."""

    @property
    def name(self) -> str:
        return f"{self.router} {self.policy}"


def run(router: Router, program: str, policy: str, load: float, traffic: Traffic) -> Row:
    """One run with replicas and router of its own. Raises Trouble where something does not start or takes too long."""
    with tempfile.TemporaryDirectory(prefix="antiphon-drill-") as name:
        folder = Path(name)
        mocks = Mocks(traffic.replicas, folder)
        try:
            mocks.reset(Setting(traffic.spec, traffic.speed))
            fleet = Fleet(tuple(mocks.ports), traffic.speed, traffic.spec.max_running)
            standing = Standing(router, program, policy, fleet, folder / "router")
            try:
                standing.wait(answers)
                warm(standing, WARM * traffic.replicas)
                mocks.reset(Setting(traffic.spec, traffic.speed))
                pids, replicas = standing.process.pids(), mocks.process.pids()
                before = cpu_time(pids), cpu_time(replicas)
                played = _play(standing, load, traffic, folder)
                used = _since(before, (pids, replicas))
                asked = tuple(happened.asked for happened in mocks.state())
            finally:
                standing.stop()
        finally:
            mocks.stop()
    return _row(router, router.version(program), policy, load, traffic, played, used, asked)


def answers(standing: Standing) -> bool:
    """Whether a router answers a short call."""
    return bool(asyncio.run(_ask(standing, 1)))


def warm(standing: Standing, calls: int) -> None:
    """Short calls, one after the other."""
    asyncio.run(_ask(standing, calls))


async def _ask(standing: Standing, calls: int) -> bool:
    caller = Caller(standing.port, standing.headers)
    try:
        return all([(await caller.ask(Prompt(40, 2, (), number))).good for number in range(calls)])
    finally:
        await caller.close()


def _play(standing: Standing, load: float, traffic: Traffic, folder: Path) -> Played:
    what = Play(str(traffic.trace), traffic.calls, load * traffic.speed, standing.port, standing.headers)
    log = folder / "load.log"
    command = (sys.executable, "-m", "benchmarks.scheduler.drills.load", msgspec.json.encode(what).decode())
    process = Process("the load", command, log)
    try:
        process.wait_until(lambda: log.stat().st_size > 0 and log.read_bytes().endswith(b"}\n"), LONGEST)
        return msgspec.json.decode(log.read_bytes(), type=Played)
    finally:
        process.stop()


def _since(before: tuple[CpuTime, CpuTime], pids: tuple[frozenset[int], frozenset[int]]) -> tuple[float, float]:
    first, second = (cpu_time(each).since(was) for each, was in zip(pids, before, strict=True))
    return first, second


def _row(
    router: Router,
    version: str,
    policy: str,
    load: float,
    traffic: Traffic,
    played: Played,
    used: tuple[float, float],
    asked: tuple[int, ...],
) -> Row:
    speed, found = traffic.speed, played.answers
    good = [answer for answer in found if answer.good]
    waits = sorted(answer.first * speed if answer.good else inf for answer in found)
    hit = sum(answer.cached for answer in good) / max(1, sum(answer.tokens for answer in good))
    return Row(
        router=router.name,
        version=version,
        policy=policy,
        load=load,
        calls=len(found),
        failed=len(found) - len(good),
        error=next((f"{answer.status}: {answer.error}" for answer in found if not answer.good), ""),
        ttft_p50=percentile(waits, 50) or 0.0,
        ttft_p90=percentile(waits, 90) or 0.0,
        hit_rate=hit,
        of_shared=hit / (traffic.shared_hit_rate() or 1.0),
        cpu_ms=used[0] * 1000 / len(found),
        router_busy=used[0] / played.seconds,
        replicas_busy=used[1] / played.seconds,
        load_busy=played.cpu_seconds / played.seconds,
        late_p99=(percentile(sorted(answer.sent for answer in found), 99) or 0.0) * speed,
        by_replica=asked,
    )


def run_all(chosen: Sequence[tuple[Router, str]], loads: Sequence[float], traffic: Traffic) -> Iterator[Row]:
    """Every policy of every router, at one load after the other. Tells on stderr what could not be run."""
    for load in loads:
        for router, program in chosen:
            for policy in router.policies:
                try:
                    yield run(router, program, policy, load, traffic)
                except Trouble as trouble:
                    print(f"left out: {trouble}", file=sys.stderr)


def machine() -> str:
    """How busy the machine is before anything is measured."""
    return f"{len(os.sched_getaffinity(0))} cores, load average {os.getloadavg()[0]:.2f} before the run"
