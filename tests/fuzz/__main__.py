"""``python -m tests.fuzz``: mutated bytes into the HTTP server, the HTTP client, the readers of streams and of PROXY headers."""

import argparse
import sys
import time

from tests.fuzz import campaign


def main(arguments: list[str]) -> int:
    """Run the campaigns. Returns 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs for each target; a million by default")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other inputs, the same one the same")
    parser.add_argument("--first", type=int, default=0, help="number of the first input, to see a finding again")
    parser.add_argument("--only", choices=campaign.TARGETS, help="one target")
    options = parser.parse_args(arguments)
    found = 0
    for name in [options.only] if options.only else campaign.TARGETS:
        report = campaign.run(name, options.count, options.seed, options.first, _progress(name, options.count))
        found += len(report.findings)
        _say(
            f"\r{name:7} {report.count:,} inputs in {report.seconds:.0f} s ({report.seconds / report.count * 1e6:.0f} us each, "
            f"the slowest {report.slowest_ms:.0f} ms), {report.objects:+} objects, {report.blocks:+} blocks, "
            f"{len(report.findings)} findings\n"
        )
        for finding in report.findings:
            _say(f"\n{finding}\n")
    return int(found > 0)


def _progress(name: str, count: int) -> "campaign.Progress":
    shown = time.monotonic()

    def tell(done: int, found: int) -> None:
        nonlocal shown
        if sys.stdout.isatty() and time.monotonic() - shown > 1:
            shown = time.monotonic()
            _say(f"\r{name:7} {done:,} of {count:,} inputs, {found} findings ")

    return tell


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
