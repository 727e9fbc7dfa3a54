"""``python -m benchmarks reality``: the same load on a real engine and in the simulator, and how far both agree.

``antiphon serve`` runs a model on this machine behind a route with one replica, and is asked over HTTP. Its own call log is
replayed by ``antiphon simulate`` on a fleet file of ``python -m benchmarks calibrate``: as it is, and with the prefixes of which it
does not tell.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from antiphon.cli.simulate.fleet_file import read_fleet
from antiphon.core.errors import ConfigError
from antiphon.observability.call_record import CallRecord
from antiphon.scheduling.simulator.figures import Figures, percentile
from benchmarks.processes import Trouble
from benchmarks.reality.calibrate import BLOCK, DEFAULT_MODEL, calibrate, fleet, table
from benchmarks.reality.load import Blocks, Planned, load
from benchmarks.reality.machine import Others
from benchmarks.reality.server import served
from benchmarks.reality.streams import Ask, Heard, Place, ask

MIDDLE, TAIL = 0.15, 0.25
"""How far P50 and P95 of the simulator may be from those of the engine, as a share of these."""
RATE = 0.35
LOGGED = 10.0
"""Seconds in which the last call must be in the log."""
POLICY = "balanced"


class Percentiles(msgspec.Struct, frozen=True):
    """Of all calls, milliseconds."""

    ttft_p50_ms: float
    ttft_p95_ms: float
    total_p50_ms: float
    total_p95_ms: float

    def off(self, real: "Percentiles") -> dict[str, float]:
        """How far each is from the real one, as a share of that."""
        own, others = msgspec.structs.asdict(self), msgspec.structs.asdict(real)
        return {name: own[name] / others[name] - 1 for name in own}


class Report(msgspec.Struct, frozen=True):
    """All of one run."""

    model: str
    minutes: float
    calls_per_second: float
    seed: int
    calls: int
    failed: int
    """Calls of which the server answered none, or not all."""
    load_averages: tuple[float, float]
    """Of the machine over a minute, before and at the end; the engine itself is in the latter."""
    others: float
    """Cores that other programs kept busy meanwhile."""
    real: Percentiles
    simulated: Percentiles
    """With the prefixes of the prompts."""
    from_log: Percentiles
    """From the call log alone."""
    utilisation: float
    """Of the simulated replica."""
    hit_rate: float

    @property
    def agrees(self) -> bool:
        """Whether both agree as far as they must."""
        return all(abs(off) <= _bound(name) for name, off in self.simulated.off(self.real).items())


def _bound(name: str) -> float:
    return MIDDLE if "p50" in name else TAIL


async def play(place: Place, planned: Sequence[Planned]) -> list[Heard | None]:
    """Ask as planned, whatever becomes of earlier calls. None stands for a call that failed."""
    began = time.monotonic()

    async def later(call: Planned) -> Heard | None:
        await asyncio.sleep(began + call.at - time.monotonic())
        try:
            return await ask(place, call.ask)
        except Trouble as trouble:
            print(trouble, file=sys.stderr, flush=True)
            return None

    await ask(place, Ask([*range(100, 164)], 8))  # not of the load: warms up
    began = time.monotonic()
    return list(await asyncio.gather(*(later(call) for call in planned)))


def logged(log: Path, names: frozenset[str]) -> dict[str, CallRecord]:
    """What the server has logged of the calls of these names. Raises Trouble where one is missing."""
    decode = msgspec.json.Decoder(CallRecord).decode
    deadline = time.monotonic() + LOGGED
    while True:
        lines = [line for line in log.read_bytes().splitlines() if line.startswith(b'{"time"') and line.endswith(b"}")]
        records = {record.id: record for record in map(decode, lines) if record.id in names}
        if len(records) == len(names):
            return records
        if time.monotonic() > deadline:
            raise Trouble(f"{log} has {len(records)} of {len(names)} calls")
        time.sleep(0.1)


def simulate(trace: Path, fleet_file: Path) -> Figures:
    """What ``antiphon simulate`` makes of a trace. Raises Trouble where it cannot, or where it answers fewer calls."""
    command = [sys.executable, "-m", "antiphon", "simulate", "--trace", str(trace), "--fleet", str(fleet_file)]
    done = subprocess.run([*command, "--policy", POLICY, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Trouble(f"antiphon simulate failed: {done.stderr[-600:]}")
    run = msgspec.convert(msgspec.json.decode(done.stdout)["runs"][0], Figures)
    if run.refused or run.left:
        raise Trouble(f"the simulated scheduler refuses {run.refused:.1%} of the calls: lower --load")
    return run


def write_traces(folder: Path, records: dict[str, CallRecord], prompts: dict[str, Sequence[int]], block: int) -> tuple[Path, Path]:
    """The call log, and the same calls with their prefix blocks."""
    plain, with_blocks = folder / "calls.jsonl", folder / "prefixes.jsonl"
    ordered = sorted(records.values(), key=lambda record: record.time)
    plain.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in ordered))
    blocks = Blocks(block)
    rows = (
        {
            "timestamp": datetime.fromisoformat(record.time).timestamp() * 1000,
            "input_length": record.prompt_tokens,
            "output_length": record.completion_tokens,
            "hash_ids": blocks.of(list(prompts[record.id])),
            "block_tokens": block,
        }
        for record in ordered
    )
    with_blocks.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return plain, with_blocks


def compare(options: argparse.Namespace, folder: Path, fleet_file: Path) -> Report:
    """Run the load on both."""
    planned = load(options.load, options.minutes * 60, options.seed)
    before = os.getloadavg()[0]
    with served(options.model, folder, scheduled=True, file=options.file) as place:
        others = Others()
        heard = asyncio.run(play(place, planned))
        busy = others.cores()
        after = os.getloadavg()[0]
        answered = [(call, plan) for call, plan in zip(heard, planned, strict=True) if call is not None]
        records = logged(folder / "calls.log", frozenset(call.id for call, _ in answered))
    if not answered:
        raise Trouble("no call was answered")
    prompts = {call.id: plan.ask.prompt for call, plan in answered}
    block = read_fleet(fleet_file, 0).specs[0].block_tokens
    plain, with_blocks = write_traces(folder, records, prompts, block)
    run = simulate(with_blocks, fleet_file)
    return Report(
        options.model,
        options.minutes,
        options.load,
        options.seed,
        len(planned),
        len(planned) - len(answered),
        (before, after),
        busy,
        _percentiles([call for call, _ in answered]),
        _simulated(run),
        _simulated(simulate(plain, fleet_file)),
        run.utilisation,
        run.hit_rate,
    )


def _percentiles(heard: Sequence[Heard]) -> Percentiles:
    waits, totals = sorted(call.ttft * 1000 for call in heard), sorted(call.total * 1000 for call in heard)
    return Percentiles(*(percentile(times, percent) or 0.0 for times in (waits, totals) for percent in (50, 95)))


def _simulated(run: Figures) -> Percentiles:
    return Percentiles(run.ttft_p50_ms or 0.0, run.ttft_p95_ms or 0.0, run.total_p50_ms or 0.0, run.total_p95_ms or 0.0)


def render(report: Report) -> str:
    """The table."""
    before, after = report.load_averages
    asked = f"{report.calls} calls in {report.minutes:g} min, {report.calls_per_second:g} a second, seed {report.seed}"
    machine = f"load average {before:.2f} before and {after:.2f} at the end; others kept {report.others:.2f} cores busy"
    replica = f"computes {report.utilisation:.0%} of the time and finds {report.hit_rate:.1%} of the prompt tokens cached"
    lines = [
        f"{report.model}: {asked}; {report.failed} failed",
        machine,
        f"the simulated replica {replica}",
        "",
        "| ms | engine | simulator | off by | from the call log alone | off by | wanted |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *_rows(report),
        "",
        f"promise: P50 within {MIDDLE:.0%}, P95 within {TAIL:.0%}: {'kept' if report.agrees else 'NOT KEPT'}",
    ]
    return "\n".join(lines)


def _rows(report: Report) -> Iterator[str]:
    both = (report.simulated, report.from_log)
    offs = [each.off(report.real) for each in both]
    for name, real in msgspec.structs.asdict(report.real).items():
        kind, percent, _ = name.split("_")
        columns = [f"{getattr(each, name):.0f} | {off[name]:+.1%}" for each, off in zip(both, offs, strict=True)]
        shown = "first token" if kind == "ttft" else "whole answer"
        yield f"| {shown}, {percent.upper()} | {real:.0f} | {' | '.join(columns)} | {_bound(name):.0%} |"


def main(arguments: list[str]) -> int:
    """Run the benchmark. Returns 1 where it cannot be run, or where both do not agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reality", description=__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="a built-in model, or what to call that of --file")
    parser.add_argument("--file", type=Path, help="GGUF file of a model that is not built in")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--load", type=float, default=RATE, help="calls a second, on the mean")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same load")
    parser.add_argument("--fleet", type=Path, help="a fleet file of calibrate; otherwise it is calibrated first")
    parser.add_argument("--repeats", type=int, default=3, help="of the calibration")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report here too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave both traces and the fleet file in this folder")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    try:
        with tempfile.TemporaryDirectory(prefix="antiphon-benchmark-") as name:
            folder = options.keep or Path(name)
            folder.mkdir(parents=True, exist_ok=True)
            report = compare(options, folder, options.fleet or _calibrated(options, folder))
    except (Trouble, ConfigError) as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1
    print(render(report))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    return 0 if report.agrees else 1


def _calibrated(options: argparse.Namespace, folder: Path) -> Path:
    with served(options.model, folder, scheduled=False, file=options.file) as place:
        found = calibrate(place, options.repeats, block=BLOCK)
    print(table(found.points), file=sys.stderr)
    print(f"error of the model: {found.error:.1%} at the median, {abs(found.worst.error):.1%} at most", file=sys.stderr, flush=True)
    file = folder / "fleet.yaml"
    file.write_text(fleet(found, options.model))
    return file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
