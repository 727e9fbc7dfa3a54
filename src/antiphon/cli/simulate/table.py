"""Shows runs side by side."""

from collections.abc import Callable, Sequence

from rich.table import Table

from antiphon.scheduling.job import TIERS
from antiphon.scheduling.simulator.figures import Figures

Show = Callable[[Figures], str]


def _share(value: float) -> str:
    return f"{value:.2%}"


def _time(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds / 1000:.2f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _tier(tier: int) -> Show:
    return lambda run: _share(run.targets_met[f"P{tier}"])


GROUPS: tuple[tuple[tuple[str, Show], ...], ...] = (
    (
        *((f"targets met, P{tier}", _tier(tier)) for tier in range(TIERS)),
        ("targets met, all calls", lambda run: _share(run.all_met)),
        ("targets met, feasible calls", lambda run: _share(run.feasible_met)),
    ),
    (
        ("first token, P50", lambda run: _time(run.ttft_p50_ms)),
        ("first token, P90", lambda run: _time(run.ttft_p90_ms)),
        ("first token, P99", lambda run: _time(run.ttft_p99_ms)),
        ("whole answer, P50", lambda run: _time(run.total_p50_ms)),
        ("whole answer, P99", lambda run: _time(run.total_p99_ms)),
    ),
    (
        ("refused, of the calls", lambda run: _share(run.refused)),
        ("refused, of the work", lambda run: _share(run.refused_work)),
        ("degraded, of the calls", lambda run: _share(run.degraded)),
        ("callers gave up, of the calls", lambda run: _share(run.left)),
        ("callers gave up, of the work", lambda run: _share(run.left_work)),
    ),
    (
        ("goodput, calls/s in time", lambda run: f"{run.goodput:.2f}"),
        ("cost, replica-s per 1,000 in time", lambda run: "-" if run.cost is None else f"{run.cost:,.1f}"),
        ("utilisation", lambda run: _share(run.utilisation)),
        ("places occupied", lambda run: _share(run.occupancy)),
        ("prefix cache hits, of the tokens", lambda run: _share(run.hit_rate)),
        ("fairness between tenants", lambda run: f"{run.fairness:.4f}"),
        ("scheduler, µs of CPU an event", lambda run: f"{run.cpu_us_per_event:.1f}"),
    ),
)
"""Rows, in groups."""


def table(runs: Sequence[Figures]) -> Table:
    """The figures of all runs, a column each."""
    shown = Table(show_edge=False, pad_edge=False)
    shown.add_column("")
    for run in runs:
        shown.add_column(run.policy, justify="right", overflow="fold")
    for group in GROUPS:
        for name, show in group:
            shown.add_row(name, *(show(run) for run in runs))
        shown.add_section()
    return shown
