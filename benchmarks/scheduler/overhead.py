"""Processor time that a route adds to a call: a model behind a scheduler, over the bare model in the same run."""

import asyncio
import json
import statistics
import time
from collections.abc import Sequence

import msgspec

from antiphon.core.clock import SystemClock
from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Model
from antiphon.core.types import Call, Frame, Headers, Usage
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

PROMISE = 25.0
"""Microseconds that a route adds to a call, at most."""
BATCH = 200

TEXT = "Rayleigh scattering: air spreads short waves, blue ones, more than long ones. " * 12
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": TEXT}], "max_tokens": 64}).encode()
CHUNK = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " blue"}}]}
WHOLE: Sequence[ModelStep] = (Body(json.dumps({"choices": [{"message": {"content": "blue"}}]}).encode()),)
STREAM: Sequence[ModelStep] = (*[Event(json.dumps(CHUNK))] * 8, Done())


class Nothing:
    """A sink that only counts what is over."""

    def __init__(self) -> None:
        self.over = 0

    def head(self, status: int, headers: Headers) -> None: ...

    def frame(self, frame: Frame) -> None: ...

    def end(self, usage: Usage | None) -> None:
        self.over += 1

    def fail(self, error: AntiphonError) -> None:
        raise error


class Added(msgspec.Struct, frozen=True):
    """Processor time of a call, microseconds; medians of the repeats."""

    bare: float
    routed: float
    added: float
    """Median of the differences, each between two batches in turn."""


async def compare(policy: str, replicas: int, *, stream: bool, repeats: int) -> Added:
    """Time batches through the bare and the scheduled model, in turn."""
    fake = FakeModel("bare").script(*(STREAM if stream else WHOLE), times=None)
    routed = _routed(fake, policy, replicas)
    call = Call(id="benchmark", endpoint="chat/completions", model="m", body=BODY, stream=stream)
    for _ in range(3):
        _batch(fake, fake, call), _batch(routed, fake, call)
    pairs = []
    for _ in range(repeats):
        pairs.append((_batch(fake, fake, call), _batch(routed, fake, call)))
        await asyncio.sleep(0)
    return Added(
        bare=statistics.median(bare for bare, _ in pairs),
        routed=statistics.median(through for _, through in pairs),
        added=statistics.median(through - bare for bare, through in pairs),
    )


def _routed(fake: FakeModel, policy: str, replicas: int) -> Model:
    clock = SystemClock()
    infos = [ReplicaInfo(f"replica-{number}") for number in range(replicas)]
    scheduler = Scheduler(infos, ((policy, 1.0),), SchedulerSettings(), now=clock.monotonic())
    desk = LocalDesk(scheduler, clock, Alarms(clock, asyncio.get_running_loop().call_later))
    describe = Describer(1, (Promise(),) * 3, {}, prefixes=named(policy).prefixes)
    return Scheduled("m", [fake] * replicas, desk, clock, describe)


def _batch(model: Model, fake: FakeModel, call: Call) -> float:
    sink = Nothing()
    fake.calls.clear()
    before = time.thread_time_ns()
    for _ in range(BATCH):
        model.start(call, sink)
    used = time.thread_time_ns() - before
    if sink.over != BATCH:
        raise AssertionError(f"{BATCH - sink.over} of {BATCH} calls did not end")
    return used / 1000 / BATCH


def measure(policy: str, repeats: int) -> float:
    """Print what a route adds to calls, and give back the most."""
    most = 0.0
    for replicas in (1, 8):
        for stream in (False, True):
            added = asyncio.run(compare(policy, replicas, stream=stream, repeats=repeats))
            kind = "a stream" if stream else "a whole answer"
            cost = f"{added.bare:6.1f} bare, {added.routed:6.1f} routed, {added.added:6.1f} added"
            print(f"{policy}, {replicas} replica{'s' * (replicas > 1)}, {kind:14}: {cost}")
            most = max(most, added.added)
    return most
