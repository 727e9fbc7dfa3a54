"""Small loads that show one trait of a server each. The real one and a simulated one can play them."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from random import Random

import msgspec

from antiphon.scheduling.simulator.replica import ReplicaSpec, SimulatedReplica
from benchmarks.reality.streams import FIRST_ID, LAST_ID, Ask, Heard, Place, ask

LONG = 1e6
"""Seconds after which everything of a scene is over."""


class Group(msgspec.Struct, frozen=True):
    """Calls that are alike."""

    name: str
    calls: int
    prompt: int
    """Tokens."""
    output: int
    """Tokens."""
    after: float = 0.0
    """Seconds after the beginning of the scene."""
    again: bool = False
    """The prompt was sent before, so that it is in the prefix cache; otherwise nobody has seen it."""


class Times(msgspec.Struct, frozen=True):
    """What a group of calls saw: medians of its calls, seconds."""

    ttft: float
    per_token: float
    """Between two tokens of an answer; 0 where it has only one."""


Scene = tuple[Group, ...]


def scenes(block: int) -> dict[str, Scene]:
    """Those that a replica is calibrated with. ``block``: tokens of a block of its prefix cache."""
    alone = {f"{prompt} prompt tokens, alone": (Group("call", 1, prompt, 12),) for prompt in (32, 128, 256, 512, 1024)}
    batches = {f"{calls} at once": (Group("calls", calls, 32, 24),) for calls in (2, 4, 8, 16)}
    return {
        "4 long ones at once": (Group("calls", 4, 512, 24),),
        **alone,
        "512 prompt tokens, known": (Group("call", 1, 16 * block, 12, again=True),),
        **batches,
        "a prompt comes to 4 answers": (Group("answers", 4, 32, 48), Group("newcomer", 1, 512, 8, after=1.0)),
        "prompts come to 8 answers": (
            Group("answers", 8, 32, 48),
            *(Group(f"newcomer {n}", 1, 128, 16, 1.0 + n) for n in (1, 2, 3)),
        ),
    }


async def play(place: Place, scene: Scene, seed: str) -> list[Times]:
    """What the groups of a scene see at a server."""
    asks = [_asks(group, f"{seed} {number}") for number, group in enumerate(scene)]
    for group, calls in zip(scene, asks, strict=True):
        if group.again:
            await asyncio.gather(*(ask(place, msgspec.structs.replace(call, output=1)) for call in calls))
    began = time.monotonic()

    async def later(call: Ask, at: float) -> Heard:
        await asyncio.sleep(began + at - time.monotonic())
        return await ask(place, call)

    heard = await asyncio.gather(
        *(asyncio.gather(*(later(call, group.after) for call in calls)) for group, calls in zip(scene, asks, strict=True))
    )
    return [
        Times(statistics.median(call.ttft for call in calls), statistics.median(call.per_token for call in calls))
        for calls in heard
    ]


def simulate(spec: ReplicaSpec, scene: Scene) -> list[Times]:
    """What they see at a simulated replica."""
    replica = SimulatedReplica(spec)
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    number, now = 0, 0.0
    for group in scene:
        if group.again:
            replica.submit(-1, group.prompt, 1, _blocks(group, spec, 0), now)
            now = LONG
            replica.advance(now)
    began = now
    members: list[list[int]] = []
    for group in sorted(scene, key=lambda each: each.after):
        _listen(replica, began + group.after, first, last)
        members.append(list(range(number, number + group.calls)))
        for _ in range(group.calls):
            replica.submit(number, group.prompt, group.output, _blocks(group, spec, number), began + group.after)
            number += 1
    _listen(replica, now + LONG, first, last)
    return [
        Times(
            statistics.median(first[call] - began - group.after for call in calls),
            statistics.median((last[call] - first[call]) / max(1, group.output - 1) for call in calls),
        )
        for group, calls in zip(scene, members, strict=True)
    ]


def _listen(replica: SimulatedReplica, until: float, first: dict[int, float], last: dict[int, float]) -> None:
    for word in replica.advance(until):
        (first if word.stage == "first_token" else last)[word.call] = word.at


def _blocks(group: Group, spec: ReplicaSpec, call: int) -> Sequence[int]:
    return [1 << 32 | place if group.again else call << 16 | place for place in range(group.prompt // spec.block_tokens)]


def _asks(group: Group, seed: str) -> list[Ask]:
    rng = Random(f"{seed} {group.name}")
    return [Ask([rng.randint(FIRST_ID, LAST_ID) for _ in range(group.prompt)], group.output) for _ in range(group.calls)]
