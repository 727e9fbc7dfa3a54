"""``python -m benchmarks.nesting``: what three nested models add to a call, over the bare model in the same run."""

import argparse
import json
import sys
from collections.abc import Sequence

from antiphon.core.ports import Model
from antiphon.core.types import Call
from antiphon.dispatch.chain import Chain
from antiphon.testing import Body, Done, Event, FakeModel
from antiphon.testing.steps import ModelStep
from benchmarks.batches import Added, added, pairs

PROMISE = 10.0
"""Microseconds that three nested models add to a call, at most."""
EVENTS = 64

TEXT = "Rayleigh scattering: air spreads short waves, blue ones, more than long ones."
ANSWER = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}}]}
CHUNK = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " blue"}}]}
WHOLE: Sequence[ModelStep] = (Body(json.dumps(ANSWER).encode()),)
STREAM: Sequence[ModelStep] = (*[Event(json.dumps(CHUNK))] * EVENTS, Done())


def nest(model: Model) -> Model:
    """A chain of a chain of a chain of the model."""
    return Chain("outer", [Chain("middle", [Chain("inner", [model])])])


def compare(steps: Sequence[ModelStep], stream: bool, repeats: int) -> Added:
    """Time batches through the bare and the nested model, in turn."""
    fake = FakeModel("bare").script(*steps, times=None)
    nested = nest(fake)
    call = Call(id="benchmark", endpoint="chat/completions", model="bare", body=b"{}", stream=stream)
    return added(list(pairs(fake, nested, call, repeats)))


def main(arguments: list[str]) -> int:
    """Print the table. Returns 1 where the promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nesting", description=__doc__)
    parser.add_argument("--repeats", type=int, default=101, help="pairs of batches of 200 calls")
    options = parser.parse_args(arguments)
    whole = compare(WHOLE, stream=False, repeats=options.repeats)
    stream = compare(STREAM, stream=True, repeats=options.repeats)
    print("us of processor time per call           bare    nested     added")
    for name, measured in (("a whole answer", whole), (f"a stream of {EVENTS} events", stream)):
        print(f"{name:35} {measured.bare:8.2f}  {measured.through:8.2f}  {measured.added:8.2f}")
    print(f"three nested models add {stream.added / EVENTS:.3f} us to an event")
    kept = whole.added <= PROMISE
    print(f"promise: <= {PROMISE:g} us added to a call: {whole.added:.2f}, {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
