"""``antiphon simulate``: what a scheduling policy would have made of recorded traffic."""

import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from antiphon.cli.options import takes
from antiphon.cli.output import print_json, tell
from antiphon.cli.simulate.fleet_file import read_fleet
from antiphon.cli.simulate.table import table
from antiphon.cli.simulate.traces import KINDS, Trace, read_trace
from antiphon.core.errors import ConfigError
from antiphon.scheduling.choice import POLICIES
from antiphon.scheduling.simulator.figures import Figures
from antiphon.scheduling.simulator.series import Series
from antiphon.scheduling.simulator.study import Policy, Study, written

app = typer.Typer()

PICTURES = (".svg", ".png", ".pdf")
AUTO = "auto:"


class SimulateOptions(msgspec.Struct, frozen=True):
    """Parameters of the command."""

    trace: Annotated[Path, typer.Option("--trace", help=f"Recorded traffic, may be gzipped: {KINDS}.")]
    policy: Annotated[str, typer.Option("--policy", help="Policy to try; several are weighed as in prefix:2+least-tokens:1.")]
    fleet: Annotated[
        Path | None, typer.Option("--fleet", help="Replicas, targets and queue, in YAML; without it those that are shipped.")
    ] = None
    against: Annotated[
        str, typer.Option("--against", help="Further policies to compare with, such as fifo,round-robin,least-conn.")
    ] = ""
    load: Annotated[
        str,
        typer.Option(
            "--load",
            help="Times as fast as recorded that calls come; auto:0.63 finds the load at which the first policy of --against"
            " meets 63% of the targets.",
        ),
    ] = "1"
    limit: Annotated[int, typer.Option("--limit", min=0, help="Replay only so many calls, the first; 0 means all.")] = 0
    seed: Annotated[int, typer.Option("--seed", min=0, help="What is drawn by chance is the same for the same seed.")] = 0
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the runs over time into this file: .svg, .png or .pdf.")] = None


class Report(msgspec.Struct, frozen=True):
    """What was replayed, and what came of it."""

    trace: str
    left_out: int
    """Recorded calls without a prompt or an answer."""
    replicas: int
    runs: tuple[Figures, ...]
    """That of ``--policy`` first."""


@app.command()
@takes(SimulateOptions)
def simulate(options: SimulateOptions) -> None:
    """Replay recorded traffic against simulated replicas, with the scheduler that the gateway runs, and compare policies.

    Nothing is sent anywhere: time is virtual, and an hour of traffic takes seconds. What the figures mean, and how far they can
    be trusted, is in the documentation under "Simulator".
    """
    policy, others = _policy(options.policy), [_policy(name) for name in options.against.split(",") if name.strip()]
    _check_load(options.load, others)
    if options.plot is not None:
        _check_picture(options.plot)
    trace = read_trace(options.trace)
    calls = trace.calls[: options.limit] if options.limit else trace.calls
    study = Study(calls, read_fleet(options.fleet, trace.block_tokens), options.seed, time.thread_time)
    load = _load(options, study, others)
    runs, series = _runs(study, [policy, *others], load, over_time=options.plot is not None, quiet=options.json)
    if options.plot is not None:
        _draw(series, _title(options.trace, study, runs[0]), options.plot)
    if options.json:
        print_json(Report(str(options.trace), trace.left_out, len(study.scenario.specs), tuple(runs)))
        return
    _show(options, trace, study, runs)


def _runs(
    study: Study, policies: Sequence[Policy], load: float, *, over_time: bool, quiet: bool
) -> tuple[list[Figures], list[Series]]:
    runs, series = [], []
    for policy in policies:
        if not quiet:
            tell(f"replaying {len(study.calls):,} calls with {written(policy)}")
        if over_time:
            figures, line = study.figures_and_series(policy, load)
            series.append(line)
        else:
            figures = study.figures(policy, load)
        runs.append(figures)
    return runs, series


def _policy(text: str) -> Policy:
    """A policy, or several with their weights. Raises ConfigError naming the known ones."""
    weights = []
    known = [name.replace("_", "-") for name in POLICIES.names()]
    for part in text.split("+"):
        name, colon, number = part.strip().partition(":")
        if name.replace("_", "-") not in known:
            raise ConfigError(f'there is no policy "{name}"', remedy=f"known: {', '.join(known)}", key="policy")
        weights.append((name.replace("_", "-"), _number(number, 0.0) if colon else 1.0))
        if weights[-1][1] <= 0:
            raise ConfigError(
                f'"{part.strip()}" has no weight above 0', remedy="write it as in prefix:2+least-tokens:1", key="policy"
            )
    return tuple(weights)


def _number(text: str, otherwise: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return otherwise
    return number if 0 < number < 1e9 else otherwise


def _check_load(text: str, others: Sequence[Policy]) -> None:
    remedy = "give a number above 0, or auto:0.63 with --against"
    if text.startswith(AUTO):
        if not 0 < _number(text.removeprefix(AUTO), 0.0) < 1:
            raise ConfigError(f"--load {text} names no share between 0 and 1", remedy=remedy, key="load")
        if not others:
            raise ConfigError(f"--load {text} needs a policy to go by", remedy="name it with --against, such as fifo", key="load")
    elif not _number(text, 0.0):
        raise ConfigError(f"--load {text} is no load", remedy=remedy, key="load")


def _load(options: SimulateOptions, study: Study, others: Sequence[Policy]) -> float:
    if not options.load.startswith(AUTO):
        return _number(options.load, 1.0)
    share, name = _number(options.load.removeprefix(AUTO), 0.0), written(others[0])
    if not options.json:
        tell(f"looking for the load at which {name} meets {share:.2%} of the targets")
    load = study.load_where(others[0], share)
    if load is None:
        what = f"{name} meets {share:.2%} of the targets at no load"
        raise ConfigError(what, remedy="name another share, or change the targets in the file of the fleet", key="load")
    return load


def _check_picture(file: Path) -> None:
    if file.suffix.lower() not in PICTURES:
        what = f"--plot {file} is of no known kind"
        raise ConfigError(what, remedy=f"give it one of the endings {', '.join(PICTURES)}", key="plot")
    if not file.parent.is_dir():
        raise ConfigError(f"--plot {file}: there is no folder {file.parent}", remedy="make it first", key="plot")
    if find_spec("matplotlib") is None:
        remedy = "install it with \"pip install 'antiphon[plot]'\", or leave out --plot"
        raise ConfigError("--plot needs matplotlib, which is not installed", remedy=remedy, key="plot")


def _draw(series: Sequence[Series], title: str, file: Path) -> None:
    from antiphon.cli.simulate.picture import draw

    try:
        draw(series, title, file)
    except OSError as error:
        what = f"{file} cannot be written: {error.strerror}"
        raise ConfigError(what, remedy="name another file with --plot", key="plot") from None


def _title(trace: Path, study: Study, run: Figures) -> str:
    return f"{trace.name}: {run.calls:,} calls, {run.load:.3g} times as fast, {len(study.scenario.specs)} replicas"


def _show(options: SimulateOptions, trace: Trace, study: Study, runs: Sequence[Figures]) -> None:
    recorded = study.calls[-1].arrived
    typer.echo(
        f"{len(study.calls):,} calls ({trace.kind}) recorded in {recorded / 60:,.1f} min, coming {runs[0].load:.4g} times as fast,"
        f" on {len(study.scenario.specs)} replicas; seed {options.seed}"
    )
    if trace.left_out:
        typer.echo(f"{trace.left_out:,} recorded calls have no prompt or no answer and were left out")
    if runs[0].feasible < 1:
        typer.echo(f"{1 - runs[0].feasible:.2%} of the calls are not feasible: not even an idle replica would be in time")
    typer.echo()
    Console(highlight=False).print(table(runs))
    if options.plot is not None:
        tell(f"drawn in {options.plot}")
