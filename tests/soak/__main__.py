"""``python -m tests.soak``: a real server under many streams, many idle connections, many that leave; figures against promises."""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import Trouble
from tests.soak.gateway import Gateway
from tests.soak.parts import PARTS, Figure

QUICK = 0.1


def main(arguments: list[str]) -> int:
    """Run the parts. Returns 1 where a promise is not kept or cannot be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, for a first look")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    figures: list[Figure] = []
    try:
        with tempfile.TemporaryDirectory(prefix="antiphon-soak-") as folder, Gateway(Path(folder)) as gateway:
            _say(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            for name in options.only or PARTS:
                begun, waited = time.monotonic(), gateway.waited()
                found = PARTS[name](gateway, QUICK if options.quick else 1.0)
                share = (gateway.waited() - waited) / (time.monotonic() - begun)
                _say(f"{name}: {time.monotonic() - begun:.0f} s, in which the worker waited {share:.0%} of the time for a core")
                _say("\n".join(_line(figure) for figure in found))
                figures += found
    except Trouble as trouble:
        _say(f"error: {trouble}")
        return 1
    return int(not all(figure.kept for figure in figures))


def _line(figure: Figure) -> str:
    verdict = "kept" if figure.kept else "NOT KEPT"
    limit = f"at most {figure.limit:g}" if figure.limit else "none"
    return f"{verdict:8} {figure.what}: {figure.measured:g} {figure.unit}".rstrip() + f" (promised: {limit})"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
