"""Turns measurements into figures, tables and JSON."""

import math
import os
import platform
import statistics
from collections.abc import Callable, Iterable

import msgspec

from antiphon.cli.version import is_compiled
from benchmarks.gateway.cases import BURST, CASES, LARGE, PACED, SMALL, STEADY
from benchmarks.gateway.measure import DIRECT, Gateway, Sample, Samples
from benchmarks.gateway.peers import LIMITED, OURS, ROUTED


class Ratio(msgspec.Struct, frozen=True):
    """Antiphon's figure by a peer's: median, least and most of the repeats, each with its own partner."""

    median: float
    least: float
    most: float


class Figures(msgspec.Struct, frozen=True):
    """Medians of one gateway. Times in microseconds of processor time unless said otherwise, NaN where too many calls were bad."""

    small_call: float
    large_call: float
    burst_event: float
    paced_event: float
    calls_per_second: float
    added_p50_ms: float
    """Of the time to a whole answer at 50 calls a second, over that of the mock alone."""
    added_p99_ms: float
    delay_p99_ms: float
    """Of a paced event on its way from the mock through the gateway to its reader."""
    idle_mb: float
    """MiB, proportional set size."""
    after_mb: float
    bad: int
    """Calls without a good answer, all repeats and cases together."""
    first_error: str


class Report(msgspec.Struct, frozen=True):
    """All of one run."""

    machine: str
    load_before: float
    """Load average over a minute when the run began: what else was running."""
    repeats: int
    figures: dict[str, Figures]
    ratios: dict[str, dict[str, Ratio]]
    """By peer and figure."""
    samples: Samples


Cost = Callable[[Sample], float]

COSTS: dict[str, tuple[str, Cost]] = {
    "small_call": (SMALL.name, lambda sample: sample.per_call),
    "large_call": (LARGE.name, lambda sample: sample.per_call),
    "burst_event": (BURST.name, lambda sample: sample.per_event),
    "paced_event": (PACED.name, lambda sample: sample.per_event),
}
"""What is compared as a ratio: figure -> case and cost."""

TOLERATED = 0.01
"""Share of bad calls above which a sample says nothing about the cost of a call."""

ADDS = {ROUTED.name: ("a route", 25.0), LIMITED.name: ("four limits and prices", 40.0)}
"""What Antiphon adds to a small call where it does more, in words, and the microseconds that it may."""

GOALS: dict[str, dict[str, float]] = {
    "nginx": {"small_call": 1.6, "large_call": 2.5, "paced_event": 1.5},
    **{name: {} for name in ADDS},
}
"""Ratios that Antiphon is meant to stay below."""
GOAL_OF_OTHERS = {"small_call": 0.6}
"""The same, beside every other peer."""


def machine() -> str:
    """The processor, and how many cores may be used."""
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
    system = f"Linux {platform.release().split('-')[0]}, Python {platform.python_version()}"
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {system}, Antiphon {'compiled' if is_compiled() else 'interpreted'}"


def make_report(gateways: list[Gateway], samples: Samples, load_before: float) -> Report:
    """The figures of a run that is over; the gateways still stand."""
    measured = [gateway for gateway in gateways if gateway.name != DIRECT]
    return Report(
        machine=machine(),
        load_before=load_before,
        repeats=len(samples[DIRECT][STEADY.name]),
        figures={gateway.name: _figures(gateway, samples) for gateway in measured},
        ratios={
            gateway.name: {figure: _ratio(samples, gateway.name, *COSTS[figure]) for figure in COSTS}
            for gateway in measured
            if gateway.name != OURS.name
        },
        samples=samples,
    )


def _figures(gateway: Gateway, samples: Samples) -> Figures:
    own = samples[gateway.name]
    costs = {figure: _median(cost(sample) for sample in own[case] if _sound(sample)) for figure, (case, cost) in COSTS.items()}
    pairs = list(zip(own[STEADY.name], samples[DIRECT][STEADY.name], strict=True))
    outcomes = [sample.outcome for case in CASES for sample in own[case.name]]
    return Figures(
        **costs,
        calls_per_second=statistics.median(sample.calls_per_second for sample in own[SMALL.name]),
        added_p50_ms=statistics.median((a.outcome.latency.p50 - b.outcome.latency.p50) / 1000 for a, b in pairs),
        added_p99_ms=statistics.median((a.outcome.latency.p99 - b.outcome.latency.p99) / 1000 for a, b in pairs),
        delay_p99_ms=statistics.median(sample.outcome.delay.p99 / 1000 for sample in own[PACED.name]),
        idle_mb=gateway.idle_mb,
        after_mb=gateway.memory(),
        bad=sum(outcome.bad for outcome in outcomes),
        first_error=next((outcome.first_error for outcome in outcomes if outcome.first_error), ""),
    )


def _ratio(samples: Samples, peer: str, case: str, cost: Cost) -> Ratio:
    pairs = zip(samples[OURS.name][case], samples[peer][case], strict=True)
    ratios = [cost(ours) / max(1e-9, cost(theirs)) for ours, theirs in pairs if _sound(ours) and _sound(theirs)]
    return Ratio(_median(ratios), min(ratios, default=math.nan), max(ratios, default=math.nan))


def _sound(sample: Sample) -> bool:
    return sample.outcome.bad <= sample.outcome.requests * TOLERATED


def _median(values: Iterable[float]) -> float:
    """The median, NaN of nothing."""
    found = list(values)
    return statistics.median(found) if found else math.nan


# -- as text


def render(report: Report) -> str:
    """The report for a terminal, in tables that Markdown reads too."""
    return "\n".join([*_heading(report), "", *_figures_table(report), "", *_ratio_table(report), "", *_verdicts(report)])


def _heading(report: Report) -> list[str]:
    lines = [f"{report.machine}; {report.repeats} repeats; load average {report.load_before:.2f} before the run"]
    if report.load_before > 1:
        lines.append("The machine was busy with other work: judge the ratios, not the absolute figures.")
    worst = max((sample.stolen for cases in report.samples.values() for series in cases.values() for sample in series), default=0)
    if worst > 0.05:
        lines.append(f"Up to {worst:.0%} of the machine's time went to other guests of its host.")
    return lines


def _figures_table(report: Report) -> list[str]:
    heading = ["one core", "us/call 1 KB", "us/call 100 KB", "us/event burst", "us/event paced", "calls/s"]
    rows = [[*heading, "added P50 ms", "added P99 ms", "event P99 ms", "MiB idle", "MiB after", "bad calls"]]
    for name, own in report.figures.items():
        calls = [own.small_call, own.large_call, own.burst_event, own.paced_event]
        costs = ["-" if math.isnan(cost) else f"{cost:.{digits}f}" for cost, digits in zip(calls, (0, 0, 1, 1), strict=True)]
        times = [f"{own.added_p50_ms:.2f}", f"{own.added_p99_ms:.2f}", f"{own.delay_p99_ms:.1f}"]
        rows.append(
            [name, *costs, f"{own.calls_per_second:.0f}", *times, f"{own.idle_mb:.0f}", f"{own.after_mb:.0f}", str(own.bad)]
        )
    return _table(rows)


def _ratio_table(report: Report) -> list[str]:
    if not report.ratios:
        return ["No peer was measured, so there is no ratio to judge by; see docs/reference/benchmarks.md for how to install them."]
    rows = [["antiphon by", "call 1 KB", "call 100 KB", "event burst", "event paced"]]
    rows += [[peer, *(_shown(ratios[figure]) for figure in COSTS)] for peer, ratios in report.ratios.items()]
    return _table(rows)


def _shown(ratio: Ratio) -> str:
    return "-" if math.isnan(ratio.median) else f"{ratio.median:.2f} ({ratio.least:.2f}-{ratio.most:.2f})"


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) if at == 0 else "-" * (width + 1) + ":" for at, width in enumerate(widths)) + "|"
    return [lines[0], rule, *lines[1:]]


def _verdicts(report: Report) -> list[str]:
    lines = []
    for peer, ratios in report.ratios.items():
        for figure, limit in GOALS.get(peer, GOAL_OF_OTHERS).items():
            verdict = "reached" if ratios[figure].median <= limit else "NOT REACHED"
            lines.append(f"goal: {figure.replace('_', ' ')} <= {limit} of {peer}: {ratios[figure].median:.2f}, {verdict}")
    for name, (what, limit) in ADDS.items():
        if name in report.samples:
            pairs = zip(report.samples[OURS.name][SMALL.name], report.samples[name][SMALL.name], strict=True)
            added = _median(more.per_call - plain.per_call for plain, more in pairs)
            verdict = "kept" if added <= limit else "NOT KEPT"
            lines.append(f"promise: {what}: <= {limit:g} us more for a call of 1 KB: {added:.1f}, {verdict}")
    wrong = {name: figures for name, figures in report.figures.items() if figures.bad}
    lines += [
        f"WRONG: {name}: {own.bad} calls without a good answer, the first: {own.first_error or 'not finished in time'}"
        for name, own in wrong.items()
    ]
    return lines if wrong else [*lines, "every answer of every gateway was whole and right"]
