"""``python -m benchmarks [gateway|nesting|engine|ledger] [options]``: the gateway's benchmark unless another is named."""

import sys

from benchmarks import engine, ledger, nesting
from benchmarks.gateway import __main__ as gateway

BENCHMARKS = {"gateway": gateway.main, "nesting": nesting.main, "engine": engine.main, "ledger": ledger.main}


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names."""
    name = arguments[0] if arguments and arguments[0] in BENCHMARKS else ""
    return BENCHMARKS[name or "gateway"](arguments[1:] if name else arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
