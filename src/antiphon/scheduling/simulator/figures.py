"""What came of a run, in figures."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from antiphon.scheduling.fairness import cost
from antiphon.scheduling.job import TIERS
from antiphon.scheduling.simulator.driver import Outcome, Run


class Figures(msgspec.Struct, frozen=True):
    """Figures of one run. A share is 0 to 1; work is prompt tokens and twice the answer tokens, of what was recorded.

    Latencies are None where no call came so far. ``docs/reference/simulator.md`` defines each.
    """

    policy: str
    load: float
    """Times as fast as recorded."""
    seed: int
    calls: int
    seconds: float
    """From the first arrival to the end of the last call, in virtual time."""
    ttft_p50_ms: float | None
    ttft_p90_ms: float | None
    ttft_p95_ms: float | None
    ttft_p99_ms: float | None
    total_p50_ms: float | None
    total_p90_ms: float | None
    total_p95_ms: float | None
    total_p99_ms: float | None
    """Of calls that were answered to the end, in time or not."""
    targets_met: dict[str, float]
    """By tier, of all its calls."""
    all_met: float
    feasible: float
    """Share of the calls that an idle replica would have answered in time."""
    feasible_met: float
    """Share of these that were."""
    refused: float
    left: float
    """Share of the calls whose callers had no first token after their patience and left."""
    refused_work: float
    left_work: float
    refusals: dict[str, int]
    """Calls by why they were refused."""
    degraded: float
    """Share of the calls that something lighter answered: they have missed their target, for the main model did not answer them."""
    goodput: float
    """Calls answered in time, a second."""
    utilisation: float
    """Share of their time in which the replicas computed."""
    occupancy: float
    """Share of the replicas' places in which a sequence ran."""
    hit_rate: float
    """Share of the prompt tokens that were in a prefix cache."""
    fairness: float
    """Jain's index over tenants of the work each was served, as a share of what it asked for."""
    cost: float | None
    """Replica-seconds for a thousand calls answered in time."""
    events: int
    """What the scheduler was told."""
    cpu_us_per_event: float
    """Processor time of the scheduler for each, microseconds."""


def figures_of(run: Run, policy: str, load: float, seed: int) -> Figures:
    """The figures of a run that is over."""
    outcomes = list(run.outcomes.values())
    begin = min((outcome.request.job.arrived for outcome in outcomes), default=0.0)
    seconds = run.ended - begin
    waits = sorted(outcome.first_token - outcome.request.job.arrived for outcome in outcomes if outcome.first_token)
    totals = sorted(outcome.finished - outcome.request.job.arrived for outcome in outcomes if outcome.finished)
    met = sum(outcome.met for outcome in outcomes)
    feasible = [outcome for outcome in outcomes if outcome.request.feasible]
    work = sum(map(_work, outcomes))
    prefilled = [outcome for outcome in outcomes if outcome.first_token]
    places = sum(replica.spec.max_running for replica in run.replicas)
    return Figures(
        policy=policy,
        load=round(load, 6),
        seed=seed,
        calls=len(outcomes),
        seconds=round(seconds, 3),
        ttft_p50_ms=_ms(waits, 50),
        ttft_p90_ms=_ms(waits, 90),
        ttft_p95_ms=_ms(waits, 95),
        ttft_p99_ms=_ms(waits, 99),
        total_p50_ms=_ms(totals, 50),
        total_p90_ms=_ms(totals, 90),
        total_p95_ms=_ms(totals, 95),
        total_p99_ms=_ms(totals, 99),
        targets_met={f"P{tier}": _share_met(outcomes, tier) for tier in range(TIERS)},
        all_met=_ratio(met, len(outcomes)),
        feasible=_ratio(len(feasible), len(outcomes)),
        feasible_met=_ratio(sum(outcome.met for outcome in feasible), len(feasible)),
        refused=_ratio(sum(bool(outcome.refused) for outcome in outcomes), len(outcomes)),
        left=_ratio(sum(outcome.left for outcome in outcomes), len(outcomes)),
        refused_work=_ratio(sum(_work(outcome) for outcome in outcomes if outcome.refused), work),
        left_work=_ratio(sum(_work(outcome) for outcome in outcomes if outcome.left), work),
        refusals=_refusals(outcomes),
        degraded=_ratio(sum(bool(outcome.degraded) for outcome in outcomes), len(outcomes)),
        goodput=_ratio(met, seconds),
        utilisation=_ratio(sum(replica.busy(run.ended) for replica in run.replicas), seconds * len(run.replicas)),
        occupancy=_ratio(sum(replica.occupied(run.ended) for replica in run.replicas), seconds * places),
        hit_rate=_ratio(
            sum(outcome.cached_tokens for outcome in prefilled), sum(outcome.request.job.prompt_tokens for outcome in prefilled)
        ),
        fairness=_jain(_served(outcomes)),
        cost=_ratio(seconds * len(run.replicas) * 1000, met) or None,
        events=run.events,
        cpu_us_per_event=_ratio(run.seconds_deciding * 1e6, run.events),
    )


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """The smallest of the values that at least so many percent of them do not exceed (nearest rank); None where there are none."""
    return ordered[max(0, -int(-len(ordered) * percent // 100) - 1)] if ordered else None


def _ms(ordered: Sequence[float], percent: float) -> float | None:
    value = percentile(ordered, percent)
    return None if value is None else round(value * 1000, 3)


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 0.0


def _share_met(outcomes: Iterable[Outcome], tier: int) -> float:
    met = [outcome.met for outcome in outcomes if outcome.request.job.tier == tier]
    return _ratio(sum(met), len(met))


def _work(outcome: Outcome) -> float:
    return cost(outcome.request.job.prompt_tokens, outcome.request.output_tokens)


def _refusals(outcomes: Iterable[Outcome]) -> dict[str, int]:
    refusals: dict[str, int] = defaultdict(int)
    for outcome in outcomes:
        if outcome.refused:
            refusals[outcome.refused] += 1
    return dict(sorted(refusals.items()))


def _served(outcomes: Iterable[Outcome]) -> list[float]:
    """What each tenant was served of what it asked for."""
    asked: dict[str, float] = defaultdict(float)
    served: dict[str, float] = defaultdict(float)
    for outcome in outcomes:
        work, tenant = _work(outcome), outcome.request.job.tenant
        asked[tenant] += work
        served[tenant] += work if outcome.finished else 0.0
    return [served[tenant] / work for tenant, work in asked.items() if work]


def _jain(shares: Sequence[float]) -> float:
    """Jain, Chiu and Hawe, DEC-TR-301, 1984: 1 where all have the same, 1/n where one of n has everything."""
    squares = sum(share * share for share in shares)
    return round(sum(shares) ** 2 / (len(shares) * squares), 6) if squares else 1.0
