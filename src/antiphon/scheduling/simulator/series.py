"""How a run went over time."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from antiphon.scheduling.simulator.driver import Outcome, Run
from antiphon.scheduling.simulator.figures import percentile


class Series(msgspec.Struct, frozen=True):
    """Columns of equal length, a row for each stretch of time of ``every`` seconds. None where there was nothing to measure."""

    policy: str
    every: float
    at: tuple[float, ...]
    """Middle of the stretch, seconds after the first call of the trace."""
    waiting: tuple[float | None, ...]
    """Calls that waited at its end."""
    utilisation: tuple[float | None, ...]
    """Share of the replicas' time in which they computed."""
    occupancy: tuple[float | None, ...]
    """Share of the replicas' places in which a sequence ran."""
    ttft_p50: tuple[float | None, ...]
    """Seconds to the first token, of the calls that came in it."""
    ttft_p90: tuple[float | None, ...]
    missed: tuple[float | None, ...]
    """Share of the calls that came in it whose target was missed, the refused among them."""


def series_of(run: Run, policy: str, every: float) -> Series:
    """A run that was watched every so many seconds, over time."""
    stretches = [pair for pair in pairwise(run.samples) if pair[0].at <= run.ended]
    came: list[list[Outcome]] = [[] for _ in stretches]
    for outcome in run.outcomes.values():
        place = int(outcome.request.job.arrived / every)
        if place < len(came):
            came[place].append(outcome)
    replicas, places = len(run.replicas), sum(replica.spec.max_running for replica in run.replicas)
    waits = [_waits(outcomes) for outcomes in came]
    return Series(
        policy=policy,
        every=every,
        at=tuple((before.at + after.at) / 2 for before, after in stretches),
        waiting=tuple(float(after.waiting) for _, after in stretches),
        utilisation=tuple((after.busy - before.busy) / (replicas * every) for before, after in stretches),
        occupancy=tuple((after.occupied - before.occupied) / (places * every) for before, after in stretches),
        ttft_p50=tuple(percentile(each, 50) for each in waits),
        ttft_p90=tuple(percentile(each, 90) for each in waits),
        missed=tuple(_missed(outcomes) for outcomes in came),
    )


def _waits(outcomes: Iterable[Outcome]) -> list[float]:
    return sorted(outcome.first_token - outcome.request.job.arrived for outcome in outcomes if outcome.first_token)


def _missed(outcomes: Sequence[Outcome]) -> float | None:
    return 1 - sum(outcome.met for outcome in outcomes) / len(outcomes) if outcomes else None
