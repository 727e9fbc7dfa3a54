"""What recorded traffic is replayed against: a fleet, what callers want of it, and how our policies queue."""

from collections.abc import Sequence
from random import Random
from typing import Annotated

import msgspec

from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import TIERS, Job
from antiphon.scheduling.settings import LimitSettings, SchedulerSettings
from antiphon.scheduling.simulator.driver import Request
from antiphon.scheduling.simulator.replica import ReplicaSpec

Count = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call as it was recorded."""

    arrived: float
    """Seconds after the first call of its trace."""
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()
    """Hashes of the prompt's full prefix blocks; each stands for all text up to its end, so none comes twice."""
    tenant: str = ""


class ReplicaGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replicas that are alike."""

    count: Count
    """How many."""
    replica: ReplicaSpec
    """Speed and memory of each."""


class Callers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What callers want, as far as traces do not tell."""

    target: Positive
    """Target of a call: times as long as it takes on an idle replica, to the end of its answer."""
    longest_target: NotNegative = 0.0
    """Seconds that no target exceeds; 0 means any. With it some calls are not feasible."""
    patience: Positive = 30.0
    """Seconds without a first token after which a caller leaves."""
    tiers: tuple[NotNegative, NotNegative, NotNegative] = (0.0, 1.0, 0.0)
    """Shares of the calls in tiers 0, 1 and 2, drawn by the seed."""
    tenants: Count = 1
    """Tenants among whom the calls of a trace that names none are dealt out, by the seed."""
    max_tokens: Count = 1024
    """Longest answer that a caller takes; that of a longer recorded answer is its length."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything of a run but its traffic and its policy."""

    fleet: Annotated[tuple[ReplicaGroup, ...], msgspec.Meta(min_length=1)]
    """The replicas."""
    callers: Callers
    """What callers want."""
    scheduler: SchedulerSettings = SchedulerSettings()
    """How policies with a queue of their own work. A plain queue in order of arrival and policies without one know none of it."""

    @property
    def specs(self) -> list[ReplicaSpec]:
        """Each replica's speed and memory."""
        return [group.replica for group in self.fleet for _ in range(group.count)]

    def infos(self, *, adaptive: bool) -> list[ReplicaInfo]:
        """What a scheduler knows of the replicas: how many calls and prefix blocks each holds, and nothing of their speed."""
        return [
            ReplicaInfo(
                f"replica-{index}",
                limits=LimitSettings(max_calls=spec.max_running, min_calls=min(4, spec.max_running), adaptive=adaptive),
                cache_blocks=spec.kv_blocks,
            )
            for index, spec in enumerate(self.specs)
        ]

    def idle_time(self, call: Call) -> float:
        """Seconds that a call takes on an idle replica, the quickest for it."""
        return min(group.replica.idle_time(call.prompt_tokens, call.output_tokens) for group in self.fleet)

    def requests(self, calls: Sequence[Call], load: float, seed: int) -> list[Request]:
        """The calls as they come when they come ``load`` times as fast. Tiers and tenants are the same at every load."""
        rng = Random(seed)  # noqa: S311 - a draw that can be repeated, and guards nothing
        return [self._request(number, call, load, rng) for number, call in enumerate(calls)]

    def _request(self, number: int, call: Call, load: float, rng: Random) -> Request:
        callers = self.callers
        tier = rng.choices(range(TIERS), callers.tiers)[0]
        dealt = f"tenant-{rng.randrange(callers.tenants)}"
        idle = self.idle_time(call)
        target = callers.target * idle
        if callers.longest_target:
            target = min(target, callers.longest_target)
        holds = any(group.replica.holds(call.prompt_tokens, call.output_tokens) for group in self.fleet)
        first = min(group.replica.idle_first_token(call.prompt_tokens) for group in self.fleet)
        arrived = call.arrived / load
        job = Job(
            id=number,
            arrived=arrived,
            prompt_tokens=call.prompt_tokens,
            max_tokens=max(callers.max_tokens, call.output_tokens),
            tier=tier,
            tenant=call.tenant or dealt,
            deadline=arrived + target,
            blocks=call.blocks,
        )
        feasible = holds and idle <= target and first <= callers.patience
        return Request(job, call.output_tokens, target, callers.patience, feasible)
