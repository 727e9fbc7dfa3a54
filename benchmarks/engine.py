"""``python -m benchmarks.engine``: tokens a second of a local model, through the gateway and without it, in the same run.

Three ways to the same model, measured in turn: its engine driven inside a process without HTTP, ``antiphon engine`` over HTTP, and
``antiphon serve``. Each has a copy of the model in memory, and only one works at a time.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from benchmarks import engine_direct
from benchmarks.engine_direct import Job
from benchmarks.processes import Process, Trouble, free_port
from benchmarks.traffic import Load, run_load

DEFAULT_MODEL = "smollm2-135m-instruct"
PROMISE = 0.95
"""Share of the bare engine's tokens a second that reaches the callers of the gateway, at least."""
LOADING = 600.0
"""Seconds that a model gets to load; the first time it is fetched and converted."""
PROMPT = (
    "Once upon a time there was a lighthouse keeper who wrote down everything that the sea brought him. The first page reads:\n\n"
)
SEED = 7

DIRECT, HOST, GATEWAY = "engine in a process", "antiphon engine", "antiphon serve"

Way = Callable[[Job], float]
"""Runs a job, gives tokens a second."""


class Rates(msgspec.Struct, frozen=True):
    """Tokens a second of one way at one concurrency: one a repeat, and their median."""

    median: float
    repeats: list[float]


class Report(msgspec.Struct, frozen=True):
    """All of one run."""

    model: str
    load_before: float
    tokens_per_call: int
    rates: dict[str, dict[int, Rates]]
    """By way and concurrency."""


@contextlib.contextmanager
def direct(model: str, config: Path | None, folder: Path) -> Iterator[Way]:
    """The engine inside a process."""
    command = [sys.executable, "-m", engine_direct.__name__, model, *([str(config)] if config else [])]
    with (
        (folder / "direct.log").open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        source, sink = process.stdout, process.stdin

        def ask(job: Job) -> float:
            sink.write(msgspec.json.encode(job) + b"\n")
            sink.flush()
            done = msgspec.json.decode(read(), type=engine_direct.Done)
            return done.tokens / done.seconds

        def read() -> bytes:
            line = source.readline()
            if not line:
                raise Trouble(f"{DIRECT} failed: {(folder / 'direct.log').read_text(errors='replace')[-600:]}")
            return line

        read()
        try:
            yield ask
        finally:
            process.terminate()


@contextlib.contextmanager
def over_http(name: str, command: list[str], port: int, model: str, folder: Path) -> Iterator[Way]:
    """The model behind an HTTP endpoint, asked by the load generator in a process of its own."""
    process = Process(name, command, folder / f"{name.replace(' ', '-')}.log")

    def ask(job: Job) -> float:
        outcome = run_load(_load(job, port, model, folder))
        if outcome.bad or outcome.tokens != job.calls * job.tokens:
            raise Trouble(f"{name}: {outcome.bad} bad answers, {outcome.tokens} tokens: {outcome.first_error}")
        return outcome.tokens / outcome.seconds

    def answers() -> bool:
        return run_load(_load(Job(PROMPT, 1, 1, 1, SEED), port, model, folder)).good == 1

    try:
        process.wait_until(answers, LOADING)
        yield ask
    finally:
        process.stop(15.0)


def _load(job: Job, port: int, model: str, folder: Path) -> Load:
    body = folder / "body.json"
    request = {
        "model": model,
        "prompt": job.prompt,
        "max_tokens": job.tokens,
        "temperature": 1,
        "seed": job.seed,
        "ignore_eos": True,
    }
    body.write_text(json.dumps({**request, "stream": True, "stream_options": {"include_usage": True}}))
    return Load(port, body, job.concurrency, job.calls, path="/v1/completions", stream=True, limit=600.0)


def _calls(concurrency: int) -> int:
    """Enough for some seconds: a single caller asks three times, many ask once each."""
    return max(3, concurrency, min(2 * concurrency, 16))


def measure(ways: dict[str, Way], options: argparse.Namespace) -> dict[str, dict[int, Rates]]:
    """Every way at every concurrency, in turn, after a short one of each that warms up."""
    rates: dict[str, dict[int, list[float]]] = {name: {level: [] for level in options.concurrency} for name in ways}
    for level in options.concurrency:
        for way in ways.values():
            way(Job(PROMPT, level, level, 16, SEED))
    for repeat in range(options.repeats):
        for level in options.concurrency:
            for name, way in ways.items():
                rate = way(Job(PROMPT, level, _calls(level), options.tokens, SEED))
                rates[name][level].append(rate)
                print(
                    f"{repeat + 1}/{options.repeats} {level:3} at once {name:20} {rate:7.1f} tokens/s", file=sys.stderr, flush=True
                )
                time.sleep(0.5)
    return {
        name: {level: Rates(statistics.median(found), found) for level, found in by_level.items()}
        for name, by_level in rates.items()
    }


def render(report: Report) -> tuple[str, bool]:
    """The table, and whether the promise is kept."""
    lines = [f"{report.model}, {report.tokens_per_call} tokens a call; load average {report.load_before:.2f} before the run", ""]
    levels = list(report.rates[GATEWAY])
    lines.append("| tokens/s | " + " | ".join(f"{level} at once" for level in levels) + " |")
    lines.append("|---|" + "---:|" * len(levels))
    for name, by_level in report.rates.items():
        lines.append(f"| {name} | " + " | ".join(f"{by_level[level].median:.1f}" for level in levels) + " |")
    kept = True
    for bare in (name for name in report.rates if name != GATEWAY):
        ratios = [_ratio(report, bare, level) for level in levels]
        kept = kept and min(ratios) >= PROMISE
        lines.append(f"| serve by {bare} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |")
    return "\n".join([*lines, "", f"promise: serve >= {PROMISE} of the bare engine: {'kept' if kept else 'NOT KEPT'}"]), kept


def _ratio(report: Report, bare: str, level: int) -> float:
    """Median of the ratios of the repeats, each with its own partner."""
    pairs = zip(report.rates[GATEWAY][level].repeats, report.rates[bare][level].repeats, strict=True)
    return statistics.median(through / own for through, own in pairs)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="a local model of the configuration")
    parser.add_argument("--config", type=Path, help="configuration file; the default configuration otherwise")
    parser.add_argument("--concurrency", type=lambda text: [int(part) for part in text.split(",")], default=[1, 8, 32])
    parser.add_argument("--tokens", type=int, default=128, help="tokens per call")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured here too")
    parser.add_argument("--quick", action="store_true", help="a first look: one repeat of 32 tokens")
    options = parser.parse_args(arguments)
    if options.quick:
        options.repeats, options.tokens = 1, 32
    return options


def main(arguments: list[str]) -> int:
    """Run the benchmark. Returns 1 where it cannot be run or the promise is not kept."""
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    load_before = os.getloadavg()[0]
    config = ["--config", str(options.config)] if options.config else []
    host_port, gateway_port = free_port(), free_port()
    antiphon = [sys.executable, "-m", "antiphon"]
    host = [*antiphon, "engine", options.model, "--port", str(host_port), *config]
    serve = [*antiphon, "serve", "--port", str(gateway_port), *config]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="antiphon-benchmark-") as name,
            direct(options.model, options.config, Path(name)) as bare,
            over_http(HOST, host, host_port, options.model, Path(name)) as hosted,
            over_http(GATEWAY, serve, gateway_port, options.model, Path(name)) as served,
        ):
            rates = measure({DIRECT: bare, HOST: hosted, GATEWAY: served}, options)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1
    report = Report(options.model, load_before, options.tokens, rates)
    text, kept = render(report)
    print(text)
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
