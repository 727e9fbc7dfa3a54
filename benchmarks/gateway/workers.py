"""``python -m benchmarks workers``: calls a second with one, two and more workers on all cores of this machine."""

import argparse
import os
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import msgspec

from benchmarks.gateway.cases import PACED, SMALL, Case
from benchmarks.gateway.peers import OURS, READY, Launch, Site, antiphon
from benchmarks.gateway.report import machine
from benchmarks.processes import Process, Trouble, free_port, memory_mb
from benchmarks.traffic import Load, Outcome, Upstream, run_load

KEPT = 0.9
"""Share of the best throughput that every number of workers keeps, from one a core upwards."""
STREAMS = 1000
"""Paced streams open at once."""
DELAY_MS = 100.0
"""Delay of an event at which the 99th percentile is too late, milliseconds."""


class Standing(msgspec.Struct, frozen=True):
    """A server that runs."""

    workers: int
    launch: Launch
    port: int
    process: Process


def main(arguments: list[str]) -> int:
    """Run the benchmark. Returns 1 where a promise is not kept or an answer was wrong."""
    options = _parse(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="antiphon-benchmark-") as folder:
            return _run(Path(folder), options)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks workers", description=__doc__)
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers, by commas")
    parser.add_argument("--repeats", type=int, default=7, help="times that everything is measured")
    options = parser.parse_args(arguments)
    options.workers = [int(number) for number in options.workers.split(",")]
    return options


def _run(folder: Path, options: argparse.Namespace) -> int:
    bodies = {case.name: case.write(folder) for case in (SMALL, PACED)}
    upstream = Upstream(folder)
    servers: list[Standing] = []
    try:
        servers.extend(_start(folder, upstream.port, workers, bodies[SMALL.name]) for workers in options.workers)
        return _measure(servers, bodies, options.repeats)
    finally:
        for server in servers:
            server.process.stop()
        upstream.stop()


def _start(folder: Path, upstream: int, workers: int, body: Path) -> Standing:
    site = Site(free_port(), upstream, folder / str(workers))
    site.folder.mkdir()
    launch = antiphon("", site, workers)
    process = Process(f"{OURS.name} with {workers}", launch.command, site.folder / "log", launch.environment)
    server = Standing(workers, launch, site.port, process)
    try:
        process.wait_until(partial(_answers, server, body), READY)
    except Trouble:
        process.stop()
        raise
    return server


def _answers(server: Standing, body: Path) -> bool:
    return run_load(Load(server.port, body, connections=1, requests=1, headers=server.launch.headers, limit=10)).good == 1


def _measure(servers: list[Standing], bodies: dict[str, Path], repeats: int) -> int:
    rates: dict[int, list[float]] = {server.workers: [] for server in servers}
    streams: dict[int, list[Outcome]] = {server.workers: [] for server in servers}
    bad = 0
    for server in servers:
        _ask(server, SMALL, bodies, SMALL.connections * 50)
    for _ in range(repeats):
        for server in servers:
            outcome = _ask(server, SMALL, bodies, 20_000)
            rates[server.workers].append(outcome.good / outcome.seconds)
            bad += outcome.bad
    for server in servers:
        streams[server.workers].append(_ask(server, PACED, bodies, STREAMS, connections=STREAMS))
    return _tell(servers, rates, streams, bad)


def _ask(server: Standing, case: Case, bodies: dict[str, Path], requests: int, connections: int = 0) -> Outcome:
    return run_load(
        Load(
            server.port,
            bodies[case.name],
            connections=connections or case.connections,
            requests=requests,
            headers=server.launch.headers,
            stream=bool(case.events),
            events=case.events or -1,
            ramp_ms=case.events * case.pace_ms // 2,
            limit=60.0,
        )
    )


def _tell(servers: list[Standing], rates: dict[int, list[float]], streams: dict[int, list[Outcome]], bad: int) -> int:
    kept, cores = True, len(os.sched_getaffinity(0))
    best = [max(rates[server.workers][turn] for server in servers) for turn in range(len(rates[servers[0].workers]))]
    print(machine())
    print(f"\n| workers | calls/s | of the best | {STREAMS:,} paced streams | event P99 ms | MiB |")
    print("|--------:|--------:|------------:|---------------------:|-------------:|----:|")
    for server in servers:
        own = rates[server.workers]
        share = statistics.median(rate / top for rate, top in zip(own, best, strict=True))
        paced = streams[server.workers][0]
        bad += paced.bad
        late = paced.delay.p99 / 1000 > DELAY_MS
        kept = kept and not late and (share >= KEPT or server.workers < cores)
        print(
            f"| {server.workers:7} | {statistics.median(own):7.0f} | {share:11.2f} | {paced.good:13,} whole | "
            f"{paced.delay.p99 / 1000:12.1f} | {memory_mb(server.process.pids()):3.0f} |"
        )
    verdict = "kept" if kept else "NOT KEPT"
    print(f"\npromise: from {cores} workers upwards {KEPT:.0%} of the best, events come within {DELAY_MS:g} ms: {verdict}")
    print(f"{bad} answers were not whole and right" if bad else "every answer was whole and right")
    return 0 if kept and not bad else 1
