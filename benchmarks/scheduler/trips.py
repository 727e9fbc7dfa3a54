"""``python -m benchmarks trips``: how long breakers take to open where one replica of every model fails at the same moment.

A real gateway stands before two servers that have all models. From one moment on one of them answers nothing but errors. It knows
from its own answers when each breaker has heard enough, and notes what still comes after that. Callers, servers and the clock are
one process, so that all moments can be compared.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.core.errors import AntiphonError
from antiphon.core.types import Headers
from antiphon.transport.client import ClientPool, ClientTimeouts
from antiphon.transport.fetching import fetch
from antiphon.transport.listeners import tcp_listener
from antiphon.transport.origin import Origin
from antiphon.transport.server import HttpServer, Request, Responder
from benchmarks.processes import Process, free_port

POLICY = BreakerPolicy()
PROMISES = {100: 120.0, 500: 210.0, 1000: 380.0}
"""Number of models to the milliseconds within which each breaker opens."""
AT_ONCE = 16
"""Models that are asked at the same time while their breakers open."""
CALLERS = 2
"""Of each of these models; each asks again as soon as it has an answer."""
GOES_ON = 0.45
"""Seconds for which a model is still asked so when its breaker should have opened."""
PATIENCE = 5.0
"""Seconds after which a breaker that was not heard of is taken for one that never opens."""
RATE = 300.0
"""Calls a second while it is measured how callers fare."""
SECONDS = 10.0
HEAD = (
    "workers",
    "models",
    "due to open",
    "late calls",
    "trip P50 ms",
    "at most",
    "P99 before",
    "P99 degraded",
    "calls",
    "failed",
)
JSON: Headers = ((b"content-type", b"application/json"),)
ANSWER = json.dumps(
    {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "blue"}}]}
).encode()
ERROR = b'{"error":{"message":"a drill","type":"server_error","code":"drill"}}'


class Found(msgspec.Struct, frozen=True):
    """What was seen with so many models. Times in milliseconds."""

    models: int
    due: int
    """Models whose breaker heard enough to open. A replica that fails is chosen less, so that some never do."""
    after: int
    """Calls that came to the failing server after it was due to be left alone."""
    trip_p50: float
    trip_most: float
    p99_before: float
    """Of calls while both servers were well."""
    p99_degraded: float
    calls: int
    """That were made since the failure began."""
    errors: int
    """Of them, those that callers saw fail."""


class Server:
    """One of the two. It speaks of each model's breaker as that must stand by now."""

    def __init__(self) -> None:
        self.failing = False
        self.port = free_port()
        self._server = HttpServer(self._handle)
        self._good: dict[str, list[float]] = defaultdict(list)
        self._bad: dict[str, int] = defaultdict(int)
        self.due: dict[str, float] = {}
        """When a model's breaker had heard enough."""
        self.last: dict[str, float] = {}
        """When the last call of a model came that should have gone elsewhere."""
        self.late = 0
        """Such calls."""

    async def listen(self) -> None:
        """Begin to answer."""
        await self._server.listen(tcp_listener("127.0.0.1", self.port))

    async def close(self) -> None:
        """End."""
        await self._server.close()

    def _handle(self, request: Request, responder: Responder) -> None:
        now = time.monotonic()
        model = str(json.loads(request.body)["model"])
        if not self.failing:
            self._good[model].append(now)
            responder.send(200, JSON, ANSWER)
            return
        if now - self.due.get(model, 0.0) <= GOES_ON:  # what comes long after is a trial
            self.late += 1
            self.last[model] = now
        responder.send(500, JSON, ERROR)
        self._bad[model] += 1
        good, bad = sum(1 for moment in self._good[model] if now - moment < POLICY.window), self._bad[model]
        if model not in self.due and good + bad >= POLICY.minimum_calls and bad >= POLICY.failure_rate * (good + bad):
            self.due[model] = self.last[model] = now


class Callers:
    """Everybody who calls the gateway."""

    def __init__(self, port: int) -> None:
        self._pool = ClientPool(Origin(host="127.0.0.1", port=port), ClientTimeouts(first_byte=60), max_connections=256)
        self.calls = 0
        self.errors = 0

    async def ask(self, model: str) -> float:
        """Ask that model, and give back the milliseconds that it took."""
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Why is the sky blue?"}]}).encode()
        began = time.monotonic()
        try:
            good = (await fetch(self._pool, "POST", "/v1/chat/completions", JSON, body)).status == 200
        except AntiphonError:
            good = False
        self.calls += 1
        self.errors += not good
        return (time.monotonic() - began) * 1000

    async def each(self, models: Sequence[str], ask: Callable[[str], Awaitable[object]]) -> None:
        """Do that with all of them, some at a time."""
        left = list(models)

        async def one() -> None:
            while left:
                await ask(left.pop())

        await asyncio.gather(*(one() for _ in range(AT_ONCE)))

    async def until_open(self, model: str, due: Mapping[str, float]) -> None:
        """Ask it again and again, until some time after its breaker should have opened."""
        began = time.monotonic()

        async def one() -> None:
            while time.monotonic() < due.get(model, began + PATIENCE) + GOES_ON:
                await self.ask(model)

        await asyncio.gather(*(one() for _ in range(CALLERS)))

    async def steadily(self, models: Sequence[str], seconds: float, rng: random.Random) -> list[float]:
        """Ask models by chance, each call at its own moment, and give back the milliseconds of each."""
        calls = []
        due = time.monotonic()
        for _ in range(round(RATE * seconds)):
            due += rng.expovariate(RATE)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            calls.append(asyncio.create_task(self.ask(rng.choice(models))))
        return list(await asyncio.gather(*calls))

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close()


async def measure(count: int, workers: int, seed: int) -> Found:
    """With so many models, each of which has a replica at both servers."""
    rng = random.Random(seed)
    models = [f"model-{number}" for number in range(count)]
    well, sick = Server(), Server()
    await well.listen()
    await sick.listen()
    with _gateway(models, (well.port, sick.port), workers) as (process, port):
        await asyncio.to_thread(process.wait_until, lambda: _answers(port), 120)
        callers = Callers(port)
        await callers.each(models, callers.ask)
        before = await callers.steadily(models, SECONDS, rng)
        sick.failing = True
        callers.calls = callers.errors = 0
        await callers.each(models, lambda model: callers.until_open(model, sick.due))
        degraded = await callers.steadily(models, SECONDS, rng)
        await callers.close()
    await well.close()
    await sick.close()
    took = sorted((sick.last[model] - due) * 1000 for model, due in sick.due.items()) or [0.0]
    return Found(
        count,
        len(sick.due),
        sick.late,
        took[len(took) // 2],
        took[-1],
        _p99(before),
        _p99(degraded),
        callers.calls,
        callers.errors,
    )


def _p99(values: list[float]) -> float:
    return sorted(values)[int(0.99 * len(values))]


@contextmanager
def _gateway(models: list[str], ports: tuple[int, int], workers: int) -> Iterator[tuple[Process, int]]:
    port = free_port()
    rows = [
        {"name": name, "url": f"http://127.0.0.1:{upstream}/v1", "models": models}
        for name, upstream in zip(("well", "sick"), ports, strict=True)
    ]
    routes = [{"name": model} for model in models]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "antiphon.yaml")
        config.write_text(
            f"models: []\nembeddings: {{enabled: false}}\nserver: {{port: {port}, workers: {workers}}}\n"
            f"providers: {json.dumps(rows)}\nroutes: {json.dumps(routes)}\ndata_dir: {folder}/data\ncache_dir: {folder}/cache\n"
        )
        process = Process("antiphon", [sys.executable, "-m", "antiphon", "serve", "--config", str(config)], Path(folder, "log"))
        try:
            yield process, port
        finally:
            process.stop()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    """Print the table. Returns 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks trips", description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=list(PROMISES), help="numbers of models")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="numbers of workers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(f"| {' | '.join(HEAD)} |\n|{'---:|' * len(HEAD)}")
    kept = True
    for workers in options.workers:
        for count in options.models:
            found = asyncio.run(measure(count, workers, options.seed))
            figures = (found.trip_p50, found.trip_most, found.p99_before, found.p99_degraded)
            counts = f"{workers} | {count} | {found.due} | {found.after}"
            print(
                f"| {counts} | {' | '.join(f'{figure:.1f}' for figure in figures)} | {found.calls} | {found.errors} |", flush=True
            )
            kept &= found.due > 0 and found.trip_most <= PROMISES.get(count, max(PROMISES.values()))
    print(f"promise: each breaker opens within {PROMISES} ms: {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
