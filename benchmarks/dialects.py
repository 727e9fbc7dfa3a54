"""``python -m benchmarks dialects``: processor time of a streamed event between a caller of one dialect and a server of another.

A real server of ours stands in between; caller and upstream are processes and threads of others, and their time does not count.
Events come one by one, paced, so that each is read and written by itself. All pairs take turns, so that what disturbs the machine
disturbs them alike.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing import Delay, MockUpstream, Step
from antiphon.testing.matrix.callers import CALLERS
from antiphon.testing.matrix.cells import player_of
from antiphon.testing.matrix.telling import Answer, Ask
from antiphon.testing.steps import Body, Event
from benchmarks.processes import Process, cpu_time, free_port

SAME = 1.10
"""An event between caller and server of one dialect costs at most so many times what one of OpenAI's does."""
ACROSS = 60.0
"""Microseconds that an event may cost whose dialect changes."""
PROTOCOLS = ("openai", "anthropic", "ollama", "gemini", "dashscope", "bedrock")
PASSED = (("openai", "openai"), ("anthropic", "anthropic"), ("ollama", "ollama"))
EVENTS = 64
PACE = 0.01
"""Seconds between two events of a stream."""
STREAMS = 24
ROUNDS = 2
"""Streams that each connection asks for in a measurement."""


class Measured(msgspec.Struct, frozen=True):
    """One pair of dialects."""

    caller: str
    protocol: str
    per_event: float
    """Microseconds, the call's beginning and end shared among its events; median of the repeats."""


def measure(pairs: list[tuple[str, str]], repeats: int) -> list[Measured]:
    """All pairs in turn, ``repeats`` times, behind one run that warms up."""
    found: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    with MockUpstream() as upstream, _gateway(upstream) as (process, port):
        for repeat in range(repeats + 1):
            for pair in pairs:
                cost = _once(*pair, upstream, process, port)
                if repeat:
                    found[pair].append(cost)
    return [Measured(caller, protocol, statistics.median(costs)) for (caller, protocol), costs in found.items()]


@contextmanager
def _gateway(upstream: MockUpstream) -> Iterator[tuple[Process, int]]:
    root, port = upstream.url.removesuffix("/v1"), free_port()
    rows = [
        {**player_of(name).row(root), "protocol": name, "name": name, "models": [{"name": name, "upstream": "mock-model"}]}
        for name in PROTOCOLS
    ]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "antiphon.yaml")
        config.write_text(f"models: []\nembeddings: {{enabled: false}}\nserver: {{port: {port}}}\nproviders: {json.dumps(rows)}\n")
        environment = {**os.environ, "XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder}
        command = [sys.executable, "-m", "antiphon", "serve", "--config", str(config)]
        process = Process("antiphon", command, Path(folder, "log"), environment)
        try:
            process.wait_until(lambda: asyncio.run(_answers(port)), 60)
            yield process, port
        finally:
            process.stop()


async def _answers(port: int) -> bool:
    try:
        return (await _exchange(port, b"GET /ready HTTP/1.1\r\nhost: b\r\nconnection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


async def _exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read(-1)
    writer.close()
    return answer


def _once(caller: str, protocol: str, upstream: MockUpstream, process: Process, port: int) -> float:
    upstream.requests.clear()
    upstream.script(*_paced(protocol), times=STREAMS * ROUNDS)
    said = CALLERS.load(caller)
    body = json.dumps({**said.request(Ask(), stream=True), "model": protocol}).encode()
    path = ENDPOINTS[said.endpoint].path
    fields = f"host: b\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    request = f"POST {path} HTTP/1.1\r\n{fields}".encode() + body

    async def connection() -> None:
        for _ in range(ROUNDS):
            answer = await _exchange(port, request)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise AssertionError(answer[:500].decode(errors="replace"))

    async def load() -> None:
        await asyncio.gather(*(connection() for _ in range(STREAMS)))

    before = cpu_time(process.pids())
    asyncio.run(load())
    time.sleep(0.2)  # what is told behind the last byte
    return cpu_time(process.pids()).since(before) * 1e6 / (STREAMS * ROUNDS * EVENTS)


def _paced(protocol: str) -> list[Step]:
    steps = player_of(protocol).stream(Answer(texts=tuple(f" word {number}" for number in range(EVENTS))))
    assert steps is not None
    paced: list[Step] = []
    for step in steps:
        paced += [step, Delay(PACE)] if isinstance(step, Event | Body) else [step]
    return paced


def main(arguments: list[str]) -> int:
    """Print the table. Returns 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks dialects", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each pair")
    options = parser.parse_args(arguments)
    across = [(caller, protocol) for caller in CALLERS.names() for protocol in PROTOCOLS if caller != protocol]
    measured = {(one.caller, one.protocol): one.per_event for one in measure([*PASSED, *across], options.repeats)}
    print(f"{'us of processor time per event':32}" + "".join(f"{protocol:>12}" for protocol in PROTOCOLS))
    for caller in CALLERS.names():
        print(f"{'callers of ' + caller:32}" + "".join(f"{measured[caller, protocol]:12.1f}" for protocol in PROTOCOLS))
    base = measured["openai", "openai"]
    same = max(measured[pair] / base for pair in PASSED)
    most = max(measured[pair] for pair in across)
    kept = {True: "kept", False: "NOT KEPT"}
    print(f"promise: the same dialect costs <= {SAME:g} x OpenAI's: {same:.2f}, {kept[same <= SAME]}")
    print(f"promise: another dialect costs <= {ACROSS:g} us an event: {most:.1f}, {kept[most <= ACROSS]}")
    return 0 if same <= SAME and most <= ACROSS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
