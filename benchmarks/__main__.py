"""``python -m benchmarks [NAME] [options]``, NAME one of the keys of ``BENCHMARKS``; that of the gateway unless one is given."""

import sys

from benchmarks import dialects, engine, ledger, nesting, refusals, snapshot
from benchmarks.gateway import __main__ as gateway
from benchmarks.gateway import workers
from benchmarks.guardrails import __main__ as guardrails
from benchmarks.reality import __main__ as reality
from benchmarks.reality import calibrate
from benchmarks.scheduler import __main__ as scheduler
from benchmarks.scheduler import trips
from benchmarks.scheduler.drills import __main__ as drills

BENCHMARKS = {
    "gateway": gateway.main,
    "workers": workers.main,
    "nesting": nesting.main,
    "dialects": dialects.main,
    "engine": engine.main,
    "ledger": ledger.main,
    "snapshot": snapshot.main,
    "refusals": refusals.main,
    "scheduler": scheduler.main,
    "trips": trips.main,
    "drills": drills.main,
    "calibrate": calibrate.main,
    "reality": reality.main,
    "guardrails": guardrails.main,
}


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names."""
    name = arguments[0] if arguments and arguments[0] in BENCHMARKS else ""
    return BENCHMARKS[name or "gateway"](arguments[1:] if name else arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
