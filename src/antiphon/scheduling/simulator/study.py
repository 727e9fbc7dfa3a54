"""Runs of several policies on the same traffic."""

from collections.abc import Callable, Sequence
from math import inf

import msgspec

from antiphon.scheduling.choice import named
from antiphon.scheduling.settings import QueueSettings, RetrySettings, SchedulerSettings
from antiphon.scheduling.simulator.driver import Run, Watch
from antiphon.scheduling.simulator.figures import Figures, figures_of
from antiphon.scheduling.simulator.scenario import Call, Scenario
from antiphon.scheduling.simulator.series import Series, series_of

STRETCHES = 200
"""Rows of a run over time, about."""
CLOSE = 0.0005
"""How near to the wanted share a load must come."""
TRIES = 14
"""Runs to find a load, at most, after it is known between which two it lies."""

PLAIN = SchedulerSettings(
    queue=QueueSettings(max_waiting=1_000_000_000, max_wait=(inf, inf, inf)), retries=RetrySettings(hedge_budget=0.0)
)
"""A plain queue: nobody is refused, and nobody is asked twice."""

Policy = tuple[tuple[str, float], ...]
"""Names of policies and their weights."""


class Study(msgspec.Struct, frozen=True):
    """Recorded traffic, and what it is replayed against."""

    calls: Sequence[Call]
    scenario: Scenario
    seed: int = 0
    clock: Callable[[], float] = Watch().clock
    """Processor time, to measure the scheduler with."""

    def run(self, policy: Policy, load: float, watch: Watch | None = None) -> Run:
        """One run, to its end."""
        scenario = self.scenario
        queued = named(max(policy, key=lambda entry: entry[1])[0]).queue == "deadline"
        run = Run(
            scenario.requests(self.calls, load, self.seed),
            scenario.specs,
            scenario.infos(adaptive=queued),
            policy,
            scenario.scheduler if queued else PLAIN,
            seed=self.seed,
            watch=watch or Watch(clock=self.clock),
        )
        run.go()
        return run

    def figures(self, policy: Policy, load: float) -> Figures:
        """What comes of a policy."""
        return figures_of(self.run(policy, load), written(policy), load, self.seed)

    def figures_and_series(self, policy: Policy, load: float) -> tuple[Figures, Series]:
        """What comes of a policy, also over time."""
        every = max(1e-3, self.calls[-1].arrived / load / STRETCHES)
        run = self.run(policy, load, Watch(every, self.clock))
        return figures_of(run, written(policy), load, self.seed), series_of(run, written(policy), every)

    def load_where(self, policy: Policy, share: float) -> float | None:
        """The load at which a policy meets this share of all targets, to ``CLOSE`` or as near as ``TRIES`` runs come.

        A bisection that looks first where a straight line between both ends meets the share. None where there is no such load.
        """
        ends = self._around(policy, share)
        if ends is None:
            return None
        (low, more), (high, fewer) = ends
        best = min((abs(met - share), load) for load, met in ends)
        for number in range(TRIES):
            if best[0] <= CLOSE:
                break
            part = (more - share) / (more - fewer) if number % 3 < 2 else 0.5  # now and then in the middle, lest one end stays
            middle = low * (high / low) ** min(0.95, max(0.05, part))
            met = self.figures(policy, middle).all_met
            best = min(best, (abs(met - share), middle))
            if met > share:
                low, more = middle, met
            else:
                high, fewer = middle, met
        return best[1]

    def _around(self, policy: Policy, share: float) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """A load at which more targets are met, and one at which fewer are, twice as high; with the share that is met."""
        load, met = 1.0, self.figures(policy, 1.0).all_met
        factor = 2.0 if met > share else 0.5
        while 1e-6 < load < 1e6:
            following = self.figures(policy, load * factor).all_met
            if (met > share) != (following > share):
                ends = (load, met), (load * factor, following)
                return ends if factor > 1 else (ends[1], ends[0])
            load, met = load * factor, following
        return None


def written(policy: Policy) -> str:
    """A policy as a user writes it."""
    alone = len(policy) == 1
    return "+".join(name if alone else f"{name}:{weight:g}" for name, weight in policy)
