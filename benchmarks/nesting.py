"""``python -m benchmarks.nesting``: what three nested models add to a call, over the bare model in the same run."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Model
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.dispatch.chain import Chain
from antiphon.testing import Body, Done, Event, FakeModel
from antiphon.testing.steps import ModelStep

PROMISE = 10.0
"""Microseconds that three nested models add to a call, at most."""
BATCH = 200
EVENTS = 64

TEXT = "Rayleigh scattering: air spreads short waves, blue ones, more than long ones."
ANSWER = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}}]}
CHUNK = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " blue"}}]}
WHOLE: Sequence[ModelStep] = (Body(json.dumps(ANSWER).encode()),)
STREAM: Sequence[ModelStep] = (*[Event(json.dumps(CHUNK))] * EVENTS, Done())


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
    nested: float
    added: float
    """Median of the differences, each between two batches in turn."""


def nest(model: Model) -> Model:
    """A chain of a chain of a chain of the model."""
    return Chain("outer", [Chain("middle", [Chain("inner", [model])])])


def compare(steps: Sequence[ModelStep], stream: bool, repeats: int) -> Added:
    """Time batches through the bare and the nested model, in turn."""
    fake = FakeModel("bare").script(*steps, times=None)
    nested = nest(fake)
    call = Call(id="benchmark", endpoint="chat/completions", model="bare", body=b"{}", stream=stream)
    _batch(fake, fake, call), _batch(nested, fake, call)
    pairs = [(_batch(fake, fake, call), _batch(nested, fake, call)) for _ in range(repeats)]
    return Added(
        bare=statistics.median(bare for bare, _ in pairs),
        nested=statistics.median(through for _, through in pairs),
        added=statistics.median(through - bare for bare, through in pairs),
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


def main(arguments: list[str]) -> int:
    """Print the table. Returns 1 where the promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nesting", description=__doc__)
    parser.add_argument("--repeats", type=int, default=101, help="pairs of batches of 200 calls")
    options = parser.parse_args(arguments)
    whole = compare(WHOLE, stream=False, repeats=options.repeats)
    stream = compare(STREAM, stream=True, repeats=options.repeats)
    print("us of processor time per call           bare    nested     added")
    for name, measured in (("a whole answer", whole), (f"a stream of {EVENTS} events", stream)):
        print(f"{name:35} {measured.bare:8.2f}  {measured.nested:8.2f}  {measured.added:8.2f}")
    print(f"three nested models add {stream.added / EVENTS:.3f} us to an event")
    kept = whole.added <= PROMISE
    print(f"promise: <= {PROMISE:g} us added to a call: {whole.added:.2f}, {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
