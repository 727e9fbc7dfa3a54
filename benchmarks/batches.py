"""Times calls of a model, and of what stands in front of it, in batches that take turns."""

import statistics
import time
from collections.abc import Iterator

import msgspec

from antiphon.bootstrap.cycles import collect_seldom
from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Model
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.testing import FakeModel

BATCH = 200
"""Calls that are timed together."""


class Nothing:
    """A sink that only counts what is over."""

    def __init__(self) -> None:
        self.over = 0

    def head(self, status: int, headers: Headers) -> None: ...

    def frame(self, frame: Frame) -> None: ...

    def end(self, usage: Usage | None) -> None:
        self.over += 1

    def fail(self, error: AntiphonError) -> None:
        raise error


class Added(msgspec.Struct, frozen=True):
    """Processor time of a call, microseconds; medians of the repeats."""

    bare: float
    through: float
    """With what stands in front."""
    added: float
    """Median of the differences, each between two batches in turn."""


def pairs(fake: FakeModel, model: Model, call: Call, repeats: int) -> Iterator[tuple[float, float]]:
    """Microseconds of a call of the bare fake and through the model that asks it, ``repeats`` times, behind one that warms up."""
    collect_seldom()
    _batch(fake, fake, call), _batch(model, fake, call)
    for _ in range(repeats):
        yield _batch(fake, fake, call), _batch(model, fake, call)


def added(found: list[tuple[float, float]]) -> Added:
    """Medians of such pairs."""
    return Added(
        bare=statistics.median(bare for bare, _ in found),
        through=statistics.median(through for _, through in found),
        added=statistics.median(through - bare for bare, through in found),
    )


def _batch(model: Model, fake: FakeModel, call: Call) -> float:
    sink = Nothing()
    fake.calls.clear()
    before = time.thread_time_ns()
    for _ in range(BATCH):
        model.start(call, sink)
    used = time.thread_time_ns() - before
    if sink.over != BATCH:
        raise AssertionError(f"{BATCH - sink.over} of {BATCH} calls did not end")
    return used / 1000 / BATCH
