"""Draws runs over time. Needs matplotlib."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from antiphon.scheduling.simulator.series import Series

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
"""Told apart by the colour-blind too (Okabe and Ito, 2008)."""
SMOOTHED = 5
"""Stretches of which shares are averaged."""


def draw(runs: Sequence[Series], title: str, file: Path) -> None:
    """Write a picture of the runs: queue, utilisation, time to first token and missed targets, below one another."""
    figure = Figure(figsize=(10, 11), dpi=110, layout="constrained")
    waiting, first_token, missed, busy = figure.subplots(4, 1, sharex=True)
    for run, colour in zip(runs, (COLOURS[number % len(COLOURS)] for number in range(len(runs))), strict=True):
        minutes = [at / 60 for at in run.at]
        waiting.plot(minutes, _drawn(run.waiting), color=colour, label=run.policy)
        first_token.plot(minutes, _drawn(run.ttft_p90), color=colour)
        first_token.plot(minutes, _drawn(run.ttft_p50), color=colour, linewidth=0.9, linestyle=":")
        missed.plot(minutes, _smooth(run.missed), color=colour)
        busy.plot(minutes, _smooth(run.utilisation), color=colour)
        busy.plot(minutes, _smooth(run.occupancy), color=colour, linewidth=0.9, linestyle=":")
    _tidy(waiting, "calls that wait")
    _tidy(first_token, "time to first token\nP90, dotted: P50")
    first_token.set_yscale("log")
    first_token.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g} s"))
    for axes, name in ((missed, "targets missed"), (busy, "utilisation\ndotted: places occupied")):
        _tidy(axes, name)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_ylim(-0.02, 1.02)
    waiting.set_ylim(bottom=0)
    waiting.set_title(title, loc="left", fontsize=11)
    busy.set_xlabel("minutes of the run")
    figure.legend(loc="outside upper right", ncols=len(runs), frameon=False)
    figure.savefig(file)


def _tidy(axes: Axes, name: str) -> None:
    axes.set_ylabel(name)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.margins(x=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _drawn(values: Sequence[float | None]) -> list[float]:
    """Where there is nothing, there is a gap."""
    return [float("nan") if value is None else value for value in values]


def _smooth(values: Sequence[float | None]) -> list[float]:
    """The mean of each value and its neighbours."""
    smooth = []
    for place in range(len(values)):
        near = [value for value in values[max(0, place - SMOOTHED // 2) : place + SMOOTHED // 2 + 1] if value is not None]
        smooth.append(sum(near) / len(near) if near else float("nan"))
    return smooth
