"""Made-up traffic on simulated replicas, for tests of the scheduler."""

from math import inf
from random import Random

from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Job
from antiphon.scheduling.settings import LimitSettings, SchedulerSettings
from antiphon.scheduling.simulator.driver import Request
from antiphon.scheduling.simulator.replica import ReplicaSpec
from antiphon.scheduling.simulator.troubles import TroubledRun

SPEC = ReplicaSpec(
    prefill_rate=20_000, step_base_ms=10, step_per_sequence_ms=0.1, step_per_kilotoken_ms=0.02, max_running=12, kv_blocks=400
)


def request(number, arrived, prompt=1000, output=100, *, target=inf, patience=inf, **more):
    job = Job(number, arrived, prompt, max(1000, output), deadline=arrived + target, **more)
    return Request(job, output, target, patience)


def chats(count, rate, *, seed=1, **more):
    """Calls of many sizes that come at random, ``rate`` a second on average."""
    rng, at = Random(seed), 0.0
    calls = []
    for number in range(count):
        at += rng.expovariate(rate)
        prompt, output = int(rng.lognormvariate(6.5, 0.9)), int(rng.lognormvariate(4.8, 0.8))
        calls.append(request(number, at, min(16_000, max(1, prompt)), min(1000, max(1, output)), **more))
    return calls


def run(requests, *, policy="balanced", replicas=8, specs=None, settings=None, troubles=(), poll_every=inf, seed=0):
    specs = specs or [SPEC] * replicas
    infos = [
        ReplicaInfo(f"r{place}", limits=LimitSettings(max_calls=spec.max_running), cache_blocks=spec.kv_blocks)
        for place, spec in enumerate(specs)
    ]
    done = TroubledRun(requests, specs, infos, ((policy, 1.0),), settings or SchedulerSettings(), seed=seed)
    done.set_troubles(troubles, poll_every=poll_every, seed=seed)
    done.go()
    assert all(outcome.finished or outcome.refused or outcome.left for outcome in done.outcomes.values())
    return done


def waits(done):
    """Seconds to the first token of each call that got one, in order."""
    return sorted(outcome.first_token - outcome.request.job.arrived for outcome in done.outcomes.values() if outcome.first_token)


def times(done, tenant=None):
    """Seconds to the whole answer of each call that got one, in order."""
    return sorted(
        outcome.finished - outcome.request.job.arrived
        for outcome in done.outcomes.values()
        if outcome.finished and (tenant is None or outcome.request.job.tenant == tenant)
    )


def at(share, values):
    return values[min(len(values) - 1, int(share * len(values)))]


def refused(done):
    return sum(bool(outcome.refused) for outcome in done.outcomes.values()) / len(done.outcomes)
