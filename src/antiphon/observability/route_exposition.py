"""Metrics of routes, from what their schedulers tell."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from antiphon.core.breaker_policy import BreakerState
from antiphon.core.schedules import ReplicaState, RouteState
from antiphon.observability.samples import add

STATES: Final = get_args(BreakerState)


def families(routes: Sequence[RouteState]) -> Iterable[Metric]:
    """All metrics of routes. A route that was changed is there twice until its calls of before are over: both count."""
    replica = ("route", "replica")
    waiting = GaugeMetricFamily("antiphon_route_waiting", "Calls in the queue.", labels=("route",))
    health = GaugeMetricFamily("antiphon_route_health_score", "Share of the last calls that did well, 0 to 1.", labels=("route",))
    running = GaugeMetricFamily("antiphon_route_replica_running", "Calls at a replica.", labels=replica)
    others = GaugeMetricFamily(
        "antiphon_route_replica_others", "Calls at a replica that others sent, as it told last.", labels=replica
    )
    limit = GaugeMetricFamily("antiphon_route_replica_limit", "Calls that a replica may have at once, now.", labels=replica)
    breaker = GaugeMetricFamily(
        "antiphon_route_replica_breaker", "1 for the state in which a replica's breaker is.", labels=(*replica, "state")
    )
    refused = CounterMetricFamily("antiphon_route_refused", "Calls that the route refused.", labels=("route", "reason"))
    degraded = CounterMetricFamily(
        "antiphon_route_degraded", "Calls that something lighter was asked to answer.", labels=("route", "reason")
    )
    retries = CounterMetricFamily("antiphon_route_retries", "Times that a failed call was tried again.", labels=("route",))
    hedges = CounterMetricFamily("antiphon_route_hedges", "Calls that were asked of a second replica.", labels=("route",))
    for name, states in _by_name(routes).items():
        add(waiting, (name,), sum(state.waiting for state in states))
        add(health, (name,), states[-1].health)
        add(retries, (name,), sum(state.retries for state in states))
        add(hedges, (name,), sum(state.hedges for state in states))
        for family, counts in (
            (refused, _summed([state.refused for state in states])),
            (degraded, _summed([state.degraded for state in states])),
        ):
            for reason, count in sorted(counts.items()):
                add(family, (name, reason), count)
        for one, calls in _replicas(states):
            add(running, (name, one.name), calls)
            if one.others is not None:
                add(others, (name, one.name), one.others)
            add(limit, (name, one.name), one.limit)
            for state in STATES:
                add(breaker, (name, one.name, state), one.breaker == state)
    return (waiting, health, running, others, limit, breaker, refused, degraded, retries, hedges)


def _by_name(routes: Sequence[RouteState]) -> dict[str, list[RouteState]]:
    """The states of each route, the latest last."""
    named: dict[str, list[RouteState]] = {}
    for route in routes:
        named.setdefault(route.name, []).append(route)
    return named


def _summed(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total


def _replicas(states: Iterable[RouteState]) -> Iterable[tuple[ReplicaState, int]]:
    """Each replica as it is in the latest state that has it, and its calls in all of them."""
    latest: dict[str, ReplicaState] = {}
    calls: Counter[str] = Counter()
    for state in states:
        for replica in state.replicas:
            latest[replica.name] = replica
            calls[replica.name] += replica.calls
    return [(replica, calls[name]) for name, replica in latest.items()]
