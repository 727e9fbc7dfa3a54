"""Runs inputs by their numbers, and watches for what only shows over many: hangs and leaks."""

import gc
import itertools
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from types import FrameType

import msgspec

from tests.fuzz.client import ClientTarget
from tests.fuzz.events import EventTarget
from tests.fuzz.fakes import HandLoop
from tests.fuzz.finding import Target
from tests.fuzz.mutate import Mutator, cuts
from tests.fuzz.proxy_headers import ProxyTarget
from tests.fuzz.server import ServerTarget

TARGETS: dict[str, Callable[[HandLoop], Target]] = {
    "server": ServerTarget,
    "client": ClientTarget,
    "events": EventTarget,
    "proxy": ProxyTarget,
}
HANG = 5.0
"""Seconds of processor time after which one input counts as a hang."""
Progress = Callable[[int, int], None]
BREATH = 500
LOOK = 5000
"""Inputs between two looks at memory."""
LEAK_BLOCKS = 400
"""Blocks of memory that may be added between two looks; caches of the interpreter breathe."""
ENOUGH = 20
"""Findings after which a campaign ends."""


class Report(msgspec.Struct, frozen=True):
    """What a campaign found."""

    target: str
    count: int
    seconds: float
    slowest_ms: float
    objects: int
    """Objects that the collector knows, more than after the first look."""
    blocks: int
    """Blocks of memory, likewise."""
    findings: list[str]


class Hang(Exception):
    """An input took too long."""


def run(name: str, count: int, seed: int, first: int = 0, tell: Progress = lambda done, found: None) -> Report:
    """Feed the inputs ``first`` to ``first + count`` of a seed to a target."""
    with HandLoop() as loop:
        target = TARGETS[name](loop)
        campaign = _Campaign(target, seed)
        begun = time.perf_counter()
        previous = signal.signal(signal.SIGVTALRM, _hang)
        try:
            for number in range(first, first + count):
                campaign.feed(number)
                done = number - first + 1
                if done % BREATH == 0:
                    loop.pass_time(400)  # what waits for a deadline is let go
                if done % LOOK == 0:
                    campaign.look()
                    tell(done, len(campaign.findings))
                if len(campaign.findings) >= ENOUGH:
                    break
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous)
        if target.left_over():
            campaign.findings.append(f"{target.left_over()} connections outlived their inputs")
        campaign.judge_memory()
        seconds = time.perf_counter() - begun
        return Report(name, done, seconds, campaign.slowest * 1e3, *campaign.growth(), campaign.findings)


def _hang(number: int, frame: FrameType | None) -> None:
    raise Hang(f"more than {HANG:g} s of processor time")


class _Campaign:
    def __init__(self, target: Target, seed: int) -> None:
        self.findings: list[str] = []
        self.slowest = 0.0
        self._target = target
        self._seed = seed
        self._mutator = Mutator(target.seeds, target.words)
        self._rng = random.Random()
        self._looks: list[tuple[int, int]] = []

    def feed(self, number: int) -> None:
        """One input. What it breaks is noted with how to see it again."""
        rng = self._rng
        rng.seed(self._seed * 1_000_003 + number)
        data = self._mutator.make(rng)
        pieces = cuts(rng, data)
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
        begun = time.perf_counter()
        try:
            self._target.run(data, pieces, rng)
        except Exception as error:
            self._note(number, data, error)
        self.slowest = max(self.slowest, time.perf_counter() - begun)

    def _note(self, number: int, data: bytes, error: Exception) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        again = f"--only {self._target.name} --seed {self._seed} --first {number} --count 1"
        self.findings.append(f"{type(error).__name__}: {error}\n  in {last.name}, line {last.lineno}\n  {data!r}\n  {again}")

    def look(self) -> None:
        """Count what is in memory."""
        gc.collect()
        self._looks.append((len(gc.get_objects()), sys.getallocatedblocks()))

    def growth(self) -> tuple[int, int]:
        """Objects and blocks that came since the first look."""
        if len(self._looks) < 2:
            return 0, 0
        return self._looks[-1][0] - self._looks[0][0], self._looks[-1][1] - self._looks[0][1]

    def judge_memory(self) -> None:
        """A leak shows as growth from look to look; a cache that fills does not go on."""
        if len(self._looks) < 4:
            return
        half = self._looks[len(self._looks) // 2 :]
        if half[-1][1] - half[0][1] > LEAK_BLOCKS and all(b[1] > a[1] for a, b in itertools.pairwise(half)):
            self.findings.append(f"memory grows: {[blocks for _, blocks in self._looks][-10:]} blocks")
