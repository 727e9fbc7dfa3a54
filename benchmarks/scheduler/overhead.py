"""Processor time that a route adds to a call: a model behind a scheduler, over the bare model in the same run."""

import asyncio
import json
from collections.abc import Sequence

from antiphon.core.clock import SystemClock
from antiphon.core.ports import Model
from antiphon.core.types import Call
from antiphon.dispatch.alarms import Alarms
from antiphon.dispatch.describe import Describer
from antiphon.dispatch.desk import LocalDesk
from antiphon.dispatch.promise import Promise
from antiphon.dispatch.scheduled import Scheduled
from antiphon.scheduling.choice import named
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import SchedulerSettings
from antiphon.testing import Body, Done, Event, FakeModel
from antiphon.testing.steps import ModelStep
from benchmarks.batches import Added, added, pairs

PROMISE = 25.0
"""Microseconds that a route adds to a call, at most."""

TEXT = "Rayleigh scattering: air spreads short waves, blue ones, more than long ones. " * 12
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": TEXT}], "max_tokens": 64}).encode()
CHUNK = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " blue"}}]}
WHOLE: Sequence[ModelStep] = (Body(json.dumps({"choices": [{"message": {"content": "blue"}}]}).encode()),)
STREAM: Sequence[ModelStep] = (*[Event(json.dumps(CHUNK))] * 8, Done())


async def compare(policy: str, replicas: int, *, stream: bool, repeats: int) -> Added:
    """Time batches through the bare and the scheduled model, in turn."""
    fake = FakeModel("bare").script(*(STREAM if stream else WHOLE), times=None)
    routed = _routed(fake, policy, replicas)
    call = Call(id="benchmark", endpoint="chat/completions", model="m", body=BODY, stream=stream)
    found = []
    for pair in pairs(fake, routed, call, repeats):
        found.append(pair)
        await asyncio.sleep(0)  # alarms may ring
    return added(found)


def _routed(fake: FakeModel, policy: str, replicas: int) -> Model:
    clock = SystemClock()
    infos = [ReplicaInfo(f"replica-{number}") for number in range(replicas)]
    scheduler = Scheduler(infos, ((policy, 1.0),), SchedulerSettings(), now=clock.monotonic())
    desk = LocalDesk(scheduler, clock, Alarms(clock, asyncio.get_running_loop().call_later))
    describe = Describer(1, (Promise(),) * 3, {}, prefixes=named(policy).prefixes)
    return Scheduled("m", [fake] * replicas, desk, clock, describe)


def measure(policy: str, repeats: int) -> float:
    """Print what a route adds to calls, and give back the most."""
    most = 0.0
    for replicas in (1, 8):
        for stream in (False, True):
            taken = asyncio.run(compare(policy, replicas, stream=stream, repeats=repeats))
            kind = "a stream" if stream else "a whole answer"
            cost = f"{taken.bare:6.1f} bare, {taken.through:6.1f} routed, {taken.added:6.1f} added"
            print(f"{policy}, {replicas} replica{'s' * (replicas > 1)}, {kind:14}: {cost}")
            most = max(most, taken.added)
    return most
