"""``python -m benchmarks drills``: the scheduler beside the routers of model clusters, over real HTTP."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from antiphon.cli.simulate.fleet_file import read_fleet
from benchmarks.processes import Trouble
from benchmarks.scheduler.drills import report, trace
from benchmarks.scheduler.drills.faults import FAULTS, drill
from benchmarks.scheduler.drills.prompts import BLOCK_TOKENS
from benchmarks.scheduler.drills.routers import OURS, ROUTERS, Router

TRACES = ("mooncake_conversation.jsonl.gz", "conversation_trace.jsonl", "mooncake_trace.jsonl")
WHERE = "https://github.com/kvcache-ai/Mooncake has it: FAST25-release/traces/conversation_trace.jsonl"


def main(arguments: list[str]) -> int:
    """Run the drills. Returns 1 where a bar is missed or ours failed a call."""
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    try:
        chosen = _chosen(options)
        missed = _replay(options, chosen) if options.data else 0
        return _faults(options, chosen) or missed if options.faults is not None else missed
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks drills", description=__doc__)
    names = ", ".join(router.name for router in ROUTERS)
    parser.add_argument("--data", type=Path, help=f"replay Mooncake's trace of conversations, or its folder; {WHERE}")
    parser.add_argument("--calls", type=int, default=3000, help="the first so many calls of the trace")
    parser.add_argument("--loads", type=float, nargs="+", default=[1.0, 2.0], help="times as fast as recorded")
    parser.add_argument("--speed", type=float, default=8.0, help="seconds of the replicas' time in a real one")
    parser.add_argument("--faults", type=int, nargs="*", metavar="N", help="drill the ten faults, or those of these numbers")
    parser.add_argument("--fleet", type=Path, help="another fleet than the shipped one; its first group of replicas is played")
    parser.add_argument("--routers", default="", help=f"those to run, by commas; all that are found otherwise. Known: {names}")
    parser.add_argument("--policies", default="", help="policies to run, by commas; all of them otherwise")
    parser.add_argument("--peers", default="", metavar="DIR", help="folder with a virtual environment for each router, by its name")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PLACE",
        help="where a router is: its program or its virtual environment",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured here too")
    options = parser.parse_args(arguments)
    if any("=" not in place for place in options.peer):
        parser.error("--peer is NAME=PLACE")
    if options.data is None and options.faults is None:
        parser.error(f"say --data FILE, --faults, or both; the trace: {WHERE}")
    if unknown := set(options.faults or ()) - {fault.number for fault in FAULTS}:
        parser.error(f"there is no fault {min(unknown)}; known: {FAULTS[0].number} to {FAULTS[-1].number}")
    return options


def _chosen(options: argparse.Namespace) -> list[tuple[Router, str]]:
    """The routers and where their programs are. What is not installed is told of and left out."""
    places = dict(place.split("=", 1) for place in options.peer)
    known = {router.name: router for router in ROUTERS}
    named = [name for name in options.routers.split(",") if name]
    if unknown := [name for name in [*named, *places] if name not in known]:
        raise Trouble(f'router "{unknown[0]}" is not known; known: {", ".join(known)}')
    wanted = {policy for policy in options.policies.split(",") if policy}
    chosen = []
    for name in named or known:
        router = known[name]
        program = router.find(places, options.peers)
        if not program:
            print(f"left out: {name} is not installed; {router.how_to_install(options.peers)}", file=sys.stderr)
            continue
        policies = tuple(policy for policy in router.policies if not wanted or policy in wanted)
        chosen.append((msgspec.structs.replace(router, policies=policies), program))
    return chosen


def _replay(options: argparse.Namespace, chosen: list[tuple[Router, str]]) -> int:
    group = read_fleet(options.fleet, BLOCK_TOKENS).fleet[0]
    traffic = trace.Traffic(_trace(options.data), options.calls, options.speed, group.count, group.replica)
    print(f"{trace.machine()}; {traffic.calls} calls, time compressed {traffic.speed:g} times, {traffic.replicas} replicas")
    print(f"one shared cache of the fleet's memory would hit {traffic.shared_hit_rate():.2%} of the tokens\n{report.HEAD}")
    rows = []
    for row in trace.run_all(chosen, options.loads, traffic):
        print(report.line(row), flush=True)
        rows.append(row)
    print()
    held = True
    for text, good in report.verdicts(rows):
        print(f"bar: {text}, {'reached' if good else 'MISSED'}")
        held &= good
    for row in rows:
        if row.failed:
            print(f"failed: {row.name} at {row.load:g}: {row.failed} calls, the first with {row.error}")
    _write(options, "runs", rows)
    return int(not held or any(row.failed for row in rows if row.router == OURS.name))


def _faults(options: argparse.Namespace, chosen: list[tuple[Router, str]]) -> int:
    wanted = [fault for fault in FAULTS if not options.faults or fault.number in options.faults]
    print(trace.machine())
    found = []
    for router, program in chosen:
        for policy in router.drilled:
            for fault in wanted:
                try:
                    found.append(drill(fault, router, program, policy))
                except Trouble as trouble:
                    print(f"left out: {fault.number}: {trouble}", file=sys.stderr)
                    continue
                print(report.fault_line(fault, found[-1]), flush=True)
    print("\n".join(["", *report.fault_table(wanted, found)]))
    _write(options, "faults", found)
    return int(any(not each.passed for each in found if each.router == OURS.name))


def _write(options: argparse.Namespace, key: str, what: Sequence[msgspec.Struct]) -> None:
    """Add what was measured to the file that was asked for."""
    if options.json is None:
        return
    written = msgspec.json.decode(options.json.read_bytes(), type=dict[str, msgspec.Raw]) if options.json.exists() else {}
    written[key] = msgspec.Raw(msgspec.json.encode(what))
    options.json.write_bytes(msgspec.json.format(msgspec.json.encode(written), indent=1))


def _trace(place: Path) -> Path:
    found = place if place.is_file() else next((place / name for name in TRACES if (place / name).is_file()), None)
    if found is None:
        raise Trouble(f"{place} has none of {', '.join(TRACES)}; {WHERE}")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
