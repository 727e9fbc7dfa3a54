"""``python -m benchmarks.gateway``: CPU per call on one core, Antiphon beside nginx and whichever of its peers are here."""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.gateway.measure import Bench, Cores, measure_in_turn
from benchmarks.gateway.peers import OURS, PEERS, Peer
from benchmarks.gateway.report import make_report, render
from benchmarks.processes import Trouble

QUICK = 0.3
"""Share of the usual time that a measurement takes with ``--quick``."""


def main(arguments: list[str]) -> int:
    """Run the benchmark. Returns 1 where Antiphon cannot be measured or some answer was wrong."""
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    try:
        cores = _cores()
        peers = _peers(options.peers, dict(place.split("=", 1) for place in options.peer))
        with tempfile.TemporaryDirectory(prefix="antiphon-benchmark-") as folder:
            return _run(Path(folder), cores, peers, options)
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    names = ", ".join(peer.name for peer in PEERS)
    parser.add_argument("--repeats", type=int, help="times that everything is measured; 7, or 1 with --quick")
    parser.add_argument(
        "--peers", default="", help=f"those to compare with, by commas; all that are found otherwise. Known: {names}"
    )
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PLACE", help="where a peer is: its program, or its virtual environment"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured here too")
    parser.add_argument("--quick", action="store_true", help="a first look: short measurements, once")
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (1 if options.quick else 7)
    if options.repeats < 1 or any("=" not in place for place in options.peer):
        parser.error("--repeats is at least 1, and --peer is NAME=PLACE")
    return options


def _cores() -> Cores:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise Trouble("two cores are needed: one for the gateway, one for its callers and its upstream")
    return Cores(usable[0], usable[1])


def _peers(wanted: str, places: dict[str, str]) -> list[tuple[Peer, str]]:
    """Peers and where their programs are. One that was named must be there."""
    known = {peer.name: peer for peer in PEERS}
    named = [name for name in wanted.split(",") if name]
    if unknown := [name for name in [*named, *places] if name not in known]:
        raise Trouble(f'peer "{unknown[0]}" is not known; known: {", ".join(known)}')
    found = []
    for name in named or known:
        program = known[name].find(places.get(name, ""))
        if program:
            found.append((known[name], program))
        elif name in named or name in places:
            raise Trouble(
                f"{name} is not at {places[name]}" if name in places else f"{name} is not on the PATH; say --peer {name}=..."
            )
    return found


def _run(folder: Path, cores: Cores, peers: list[tuple[Peer, str]], options: argparse.Namespace) -> int:
    load_before = os.getloadavg()[0]
    bench = Bench(folder, cores, QUICK if options.quick else 1.0)
    try:
        bench.start(OURS, "")
        for peer, program in peers:
            try:
                bench.start(peer, program)
            except Trouble as trouble:
                print(f"left out: {trouble}", file=sys.stderr)
        samples = measure_in_turn(bench, options.repeats)
        report = make_report(bench.gateways, samples, load_before)
    finally:
        bench.stop()
    print(render(report))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    return int(any(figures.bad for figures in report.figures.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
