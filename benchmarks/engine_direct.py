"""Drives a model's engine inside this process, without HTTP: the barest that ``benchmarks.engine`` compares with.

``python -m benchmarks.engine_direct MODEL [CONFIG]`` writes ``ready`` once the model is loaded. Then each line of JSON on its
standard input asks for one measurement, and is answered by a line with its outcome.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from antiphon.bootstrap.engine import loader
from antiphon.bootstrap.models import fetch, resolve
from antiphon.cli.settings import load_settings
from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Engine, SamplingParams
from antiphon.core.types import Usage


class Job(msgspec.Struct, frozen=True):
    """One measurement: a closed loop of prompts."""

    prompt: str
    concurrency: int
    calls: int
    tokens: int
    """Tokens to generate per call; an end token does not end it."""
    seed: int


class Done(msgspec.Struct, frozen=True):
    """What came of it."""

    tokens: int
    seconds: float


class _Listener:
    """Counts the tokens of one call."""

    def __init__(self) -> None:
        self.over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._tokens = 0

    def tokens(self, index: int, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        self._tokens += len(ids)

    def finished(self, index: int, reason: str) -> None: ...

    def done(self, usage: Usage) -> None:
        self.over.set_result(self._tokens)

    def failed(self, error: AntiphonError) -> None:
        self.over.set_exception(error)


async def run(engine: Engine, job: Job) -> Done:
    """Keep ``concurrency`` prompts going until ``calls`` are answered."""
    prompt = engine.encode(job.prompt)
    left = job.calls

    async def caller() -> int:
        nonlocal left
        tokens = 0
        while left > 0:
            left -= 1
            listener = _Listener()
            engine.start(prompt, SamplingParams(max_tokens=job.tokens, seed=job.seed, ignore_eos=True), listener)
            tokens += await listener.over
        return tokens

    began = time.monotonic()
    tokens = sum(await asyncio.gather(*(caller() for _ in range(job.concurrency))))
    return Done(tokens, time.monotonic() - began)


def main(arguments: list[str]) -> int:
    """Serve jobs until the input ends."""
    settings = load_settings(Path(arguments[1]) if len(arguments) > 1 else None).settings
    model, _ = resolve(settings, arguments[0])
    engine = loader(model, str(fetch(settings, model).path), settings.cache_dir)()
    print("ready", flush=True)
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            done = runner.run(run(engine, msgspec.json.decode(line, type=Job)))
            print(msgspec.json.encode(done).decode(), flush=True)
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
