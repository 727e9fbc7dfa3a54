"""Plays recorded calls to a router: ``python -m benchmarks.scheduler.drills.load PLAY``, PLAY a ``Play`` as JSON.

Calls are sent when they are due, whatever became of earlier ones. Prints a ``Played`` as one line of JSON.
"""

import asyncio
import gc
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from antiphon.cli.simulate.traces import read_trace
from benchmarks.scheduler.drills.calling import Answer, Caller
from benchmarks.scheduler.drills.prompts import Prompt

LEAD = 0.5
"""Seconds until the first call, in which the connections' first use is not measured."""


class Play(msgspec.Struct, frozen=True):
    """What is played, to whom, how fast."""

    trace: str
    calls: int
    """The first so many of the trace."""
    rate: float
    """Times as fast as recorded, in real time."""
    port: int
    headers: tuple[str, ...] = ()


class Played(msgspec.Struct, frozen=True):
    """What came of it."""

    answers: tuple[Answer, ...]
    seconds: float
    """From the first call to the end of the last answer."""
    cpu_seconds: float
    """Processor time of this process meanwhile."""


def recorded(trace: Path, calls: int) -> list[tuple[float, Prompt]]:
    """When each call came, in seconds after the first, and what it asked for."""
    return [
        (call.arrived, Prompt(call.prompt_tokens, call.output_tokens, call.blocks, number))
        for number, call in enumerate(read_trace(trace).calls[:calls])
    ]


async def play(what: Play) -> Played:
    """Send everything when it is due, and wait until all is answered."""
    caller = Caller(what.port, what.headers)
    calls = [(arrived / what.rate, prompt, prompt.body()) for arrived, prompt in recorded(Path(what.trace), what.calls)]
    began, used = time.monotonic() + LEAD, time.process_time()
    asked: list[asyncio.Task[Answer]] = []
    for after, prompt, body in calls:
        due = began + after
        wait = due - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        asked.append(asyncio.create_task(caller.ask(prompt, due, body=body)))
    answers = await asyncio.gather(*asked)
    seconds, used = time.monotonic() - began, time.process_time() - used
    await caller.close()
    return Played(tuple(answers), seconds, used)


if __name__ == "__main__":
    gc.disable()  # a run is short, and what it keeps is its result
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(msgspec.json.encode(runner.run(play(msgspec.json.decode(sys.argv[1], type=Play)))).decode())
