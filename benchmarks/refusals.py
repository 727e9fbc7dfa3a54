"""``python -m benchmarks refusals``: whether the time of a refusal tells if a key is unknown, expired or revoked.

Calls with the three sorts of keys go to a real server in random order over one connection. Mann and Whitney's test (1947), with the
normal approximation, says how likely such times are if all come from one distribution.
"""

import argparse
import contextlib
import http.client
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.processes import free_port

CALLS = 2000
"""Of each sort."""
LIKELY = 0.01
"""A chance below this says that the times differ."""
SORTS = ("unknown", "expired", "revoked")
_BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]})


def mann_whitney(one: Sequence[float], other: Sequence[float]) -> float:
    """Chance, two-sided, of a rank sum as far from the middle as this one."""
    both = np.concatenate((np.asarray(one), np.asarray(other)))
    _, places, counts = np.unique(both, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[places]  # equal times share the mean of their ranks
    n, m = len(one), len(other)
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    ties = float((counts**3 - counts).sum()) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties))
    return math.erfc(abs(u - n * m / 2) / deviation / math.sqrt(2))


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[int]:
    """A server with an expired and a revoked key, and its port."""
    port = free_port()
    keys = ", ".join(f"{{name: k{number}, key: key-{number:04}}}" for number in range(200))
    (folder / "antiphon.yaml").write_text(
        f"models: []\nembeddings: {{enabled: false}}\ndata_dir: {folder / 'data'}\nserver:\n  port: {port}\n  workers: 1\n"
        f"  keys: [{keys}, {{name: old, key: key-over, expires: 2020-01-01}}, {{name: gone, key: key-gone}}]\n"
    )
    command = [sys.executable, "-m", "antiphon"]
    config = ["--config", str(folder / "antiphon.yaml")]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([*command, "serve", *config], stderr=log, stdin=subprocess.DEVNULL) as server,
    ):
        try:
            deadline = time.monotonic() + 60
            while "serving" not in (folder / "log").read_text():
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit((folder / "log").read_text())
                time.sleep(0.1)
            subprocess.run([*command, "keys", "revoke", "gone", *config], check=True, stdout=subprocess.DEVNULL)
            yield port
        finally:
            server.terminate()


def measure(port: int, calls: int) -> dict[str, list[float]]:
    """Microseconds until each refusal, by sort of key. Raises SystemExit where answers differ in anything but their id."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    shown = {"unknown": "key-none", "expired": "key-over", "revoked": "key-gone"}
    times: dict[str, list[float]] = {sort: [] for sort in SORTS}
    answers = set()
    order = [sort for sort in SORTS for _ in range(calls + calls // 10)]
    random.shuffle(order)
    for sort in order:
        headers = {"authorization": f"Bearer {shown[sort]}", "content-type": "application/json", "x-request-id": "same"}
        began = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", _BODY, headers)
        answer = connection.getresponse()
        body = answer.read()
        times[sort].append((time.perf_counter() - began) * 1e6)
        answers.add((answer.status, body))
    if len(answers) != 1:
        raise SystemExit(f"the answers differ: {answers}")
    return {sort: taken[-calls:] for sort, taken in times.items()}


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks refusals", description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of each sort")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder)) as port:
        times = measure(port, options.calls)
    medians = {sort: statistics.median(taken) for sort, taken in times.items()}
    chances = {f"{one} or {other}": mann_whitney(times[one], times[other]) for one, other in combinations(SORTS, 2)}
    if options.json:
        print(json.dumps({"microseconds": medians, "chance": chances}))
    else:
        for sort, median in medians.items():
            print(f"{sort:10} {median:8.1f} us (median of {options.calls})")
        for pair, chance in chances.items():
            print(f"{pair:20} {chance:6.3f}  {'cannot be told apart' if chance >= LIKELY else 'CAN BE TOLD APART'}")
    return 0 if min(chances.values()) >= LIKELY else 1
