"""``python -m benchmarks calibrate``: measures a server, and writes a fleet file for ``antiphon simulate`` that tells its error.

Without ``--port`` it starts ``antiphon serve`` with a model of its own. With it, any server on this machine is measured that speaks
OpenAI's protocol, takes prompts as token ids and knows ``ignore_eos``.
"""

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from math import ceil
from pathlib import Path

import msgspec

from antiphon.scheduling.job import TIERS
from antiphon.scheduling.simulator.replica import ReplicaSpec
from benchmarks.processes import Trouble
from benchmarks.reality.fit import Point, compare, fit, middle
from benchmarks.reality.scenes import Scene, Times, play, scenes
from benchmarks.reality.server import MAX_RUNNING, MAX_WAIT, cache_usage, served
from benchmarks.reality.streams import Place

DEFAULT_MODEL = "smollm2-135m-instruct"
CHUNK, BLOCK = 256, 32
"""Of the built-in engine: prompt tokens of a step, and tokens of a KV block."""


class Calibration(msgspec.Struct, frozen=True):
    """A replica model and what it was fitted to."""

    spec: ReplicaSpec
    points: list[Point]
    repeats: int
    load_before: float
    load_after: float
    """Load averages of the machine over a minute."""

    @property
    def error(self) -> float:
        """Median of the points' errors, by size."""
        return statistics.median(abs(point.error) for point in self.points)

    @property
    def worst(self) -> Point:
        """The point where the model is farthest off."""
        return max(self.points, key=lambda point: abs(point.error))


async def measure(place: Place, found: dict[str, Scene], repeats: int) -> tuple[dict[str, list[Times]], float]:
    """Play each scene so many times. Gives the medians, and the share of the KV memory that the first scene took."""
    usage = 0.0
    name, first = next(iter(found.items()))
    playing = asyncio.ensure_future(play(place, first, "usage"))
    while not playing.done():
        await asyncio.wait([playing], timeout=0.5)
        usage = max(usage, await asyncio.to_thread(cache_usage, place))
    await playing
    heard: dict[str, list[list[Times]]] = {name: [] for name in found}
    for repeat in range(repeats):
        for name, scene in found.items():
            heard[name].append(await play(place, scene, f"{name} {repeat}"))
            print(f"{repeat + 1}/{repeats} {name}", file=sys.stderr, flush=True)
    return {name: middle(times) for name, times in heard.items()}, usage


def calibrate(place: Place, repeats: int, *, chunk: int = CHUNK, block: int = BLOCK, max_running: int = MAX_RUNNING) -> Calibration:
    """Measure a server and fit a replica to it."""
    found = scenes(block)
    before = os.getloadavg()[0]
    measured, usage = asyncio.run(measure(place, found, repeats))
    held = sum(group.calls * ceil((group.prompt + group.output) / block) for group in next(iter(found.values())))
    fixed = ReplicaSpec(1.0, 1.0, 0.0, chunk=chunk, max_running=max_running, block_tokens=block)
    if usage:
        fixed = msgspec.structs.replace(fixed, kv_blocks=round(held / usage))
    spec = fit(fixed, found, measured)
    return Calibration(spec, compare(spec, found, measured), repeats, before, os.getloadavg()[0])


def fleet(calibration: Calibration, model: str) -> str:
    """The file for ``antiphon simulate --fleet``."""
    spec, worst = calibration.spec, calibration.worst
    longest = ", ".join([f"{MAX_WAIT:g}"] * TIERS)
    lines = [
        f"# {model}, as measured by python -m benchmarks calibrate: medians of {calibration.repeats} repeats.",
        f"# Load average of the machine: {calibration.load_before:.2f} before, {calibration.load_after:.2f} at the end.",
        f"# Error of the model over {len(calibration.points)} measured times: {calibration.error:.1%} at the median,",
        f"# {abs(worst.error):.1%} at most ({worst.scene}: {worst.group}, {worst.what}).",
        "fleet:",
        "  - count: 1",
        "    replica:",
        *(f"      {name}: {_number(value)}" for name, value in msgspec.structs.asdict(spec).items()),
        "# Callers who wait for whatever comes: nothing is refused for being late.",
        "callers: {target: 10000, patience: 86400, max_tokens: 1}",
        f"scheduler: {{block_tokens: {spec.block_tokens}, queue: {{max_wait: [{longest}], patience: {MAX_WAIT:g}}}}}",
    ]
    return "\n".join(lines) + "\n"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).lower()


def table(points: Sequence[Point]) -> str:
    """The points, in Markdown."""
    lines = ["| scene | calls | time | measured, ms | model, ms | error |", "|---|---|---|---:|---:|---:|"]
    for point in points:
        times = f"{point.measured * 1000:.1f} | {point.model * 1000:.1f}"
        lines.append(f"| {point.scene} | {point.group} | {point.what} | {times} | {point.error:+.1%} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run the benchmark. Returns 1 where it cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks calibrate", description=__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="name of the model")
    parser.add_argument("--file", type=Path, help="GGUF file of a model that is not built in")
    parser.add_argument("--port", type=int, help="port of a server that runs on this machine; otherwise one is started")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the fleet file here instead of printing it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--chunk", type=int, default=CHUNK, help="prompt tokens of one step, at most")
    parser.add_argument("--block", type=int, default=BLOCK, help="tokens of a block of the prefix cache")
    parser.add_argument("--max-running", type=int, default=MAX_RUNNING, help="sequences at once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every point here too")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    sizes = {"chunk": options.chunk, "block": options.block, "max_running": options.max_running}
    try:
        if options.port:
            found = calibrate(Place(options.port, options.model), options.repeats, **sizes)
        else:
            with (
                tempfile.TemporaryDirectory(prefix="antiphon-benchmark-") as folder,
                served(options.model, Path(folder), scheduled=False, file=options.file) as place,
            ):
                found = calibrate(place, options.repeats, **sizes)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1
    print(table(found.points), end="\n\n")
    print(f"error of the model: {found.error:.1%} at the median, {abs(found.worst.error):.1%} at most ({found.worst.scene})")
    text = fleet(found, options.model)
    if options.out:
        options.out.write_text(text)
    else:
        print(f"\n{text}", end="")
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
