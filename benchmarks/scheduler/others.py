"""Fleets and callers other than the shipped ones: where the scheduler holds what it promises, and where it does not."""

from collections.abc import Sequence

import msgspec

from antiphon.scheduling.simulator.figures import Figures
from antiphon.scheduling.simulator.scenario import Call, Scenario
from antiphon.scheduling.simulator.study import Policy, Study

HEAD = (
    "| fleet and callers | load | P0 | feasible | P99, s | FIFO's P99, s | times better | work lost | FIFO's | utilisation |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def others(shipped: Scenario) -> dict[str, Scenario]:
    """Scenarios that differ from the shipped one in one thing each."""
    return {
        "as shipped": shipped,
        "targets 5 times as long as idle": _callers(shipped, target=5.0),
        "targets 10 times": _callers(shipped, target=10.0),
        "targets 15 times": _callers(shipped, target=15.0),
        "targets 40 times": _callers(shipped, target=40.0),
        "callers leave after 60 s": _callers(shipped, patience=60.0),
        "10 tenants": _callers(shipped, tenants=10),
        "one tier": _callers(shipped, tiers=(0.0, 1.0, 0.0)),
        "24 sequences at once": _fleet(shipped, max_running=24),
        "48 sequences at once": _fleet(shipped, max_running=48),
        "prefill twice as fast": _fleet(shipped, prefill_rate=40_000.0),
        "steps of 20 ms": _fleet(shipped, step_base_ms=20.0),
        "2 replicas": _sized(shipped, 2),
        "32 replicas": _sized(shipped, 32),
    }


def row(name: str, calls: Sequence[Call], scenario: Scenario, policy: Policy, fifo: Policy, share: float) -> str:
    """What came of a policy beside FIFO at the load at which FIFO meets this share: a row of the table, in Markdown."""
    study = Study(calls, scenario)
    load = study.load_where(fifo, share)
    if load is None:
        return f"| {name} | FIFO meets {share:.0%} at no load |" + " |" * 8
    ours, plain = study.figures(policy, load), study.figures(fifo, load)
    columns = (
        f"{load:.2f}",
        f"{ours.targets_met['P0']:.1%}",
        f"{ours.feasible_met:.1%}",
        f"{_seconds(ours):.1f}",
        f"{_seconds(plain):.1f}",
        f"{_seconds(plain) / max(1e-9, _seconds(ours)):.2f}",
        f"{ours.refused_work + ours.left_work:.2%}",
        f"{plain.refused_work + plain.left_work:.2%}",
        f"{ours.utilisation:.1%}",
    )
    return f"| {name} | {' | '.join(columns)} |"


def _seconds(run: Figures) -> float:
    return (run.total_p99_ms or 0.0) / 1000


def _callers(scenario: Scenario, **changes: object) -> Scenario:
    return msgspec.structs.replace(scenario, callers=msgspec.structs.replace(scenario.callers, **changes))


def _fleet(scenario: Scenario, **changes: object) -> Scenario:
    groups = (msgspec.structs.replace(group, replica=msgspec.structs.replace(group.replica, **changes)) for group in scenario.fleet)
    return msgspec.structs.replace(scenario, fleet=tuple(groups))


def _sized(scenario: Scenario, count: int) -> Scenario:
    return msgspec.structs.replace(scenario, fleet=(msgspec.structs.replace(scenario.fleet[0], count=count),))
