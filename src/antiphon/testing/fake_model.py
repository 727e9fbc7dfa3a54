"""A model in memory that does what its script says."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Self

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamBroken
from antiphon.core.ports import Handle, Sink
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.testing import answers
from antiphon.testing.answers import Ask, TextAnswer
from antiphon.testing.fake_clock import FakeClock
from antiphon.testing.steps import Body, Comment, Cut, Delay, Done, Event, Fail, Hang, Header, ModelStep, Status, payload

Script = Sequence[ModelStep] | Callable[[Call], Sequence[ModelStep]]


class _Scripted(msgspec.Struct):
    script: Script
    times: int | None


class FakeModel:
    """Implements ``core.ports.Model``.

    Scripts answer calls in the order in which they were given; without one left, the model echoes the last message. Nothing happens
    by itself: steps run inside ``start`` until a Delay, and go on inside ``advance``. Of a streamed answer each event is one frame.
    """

    def __init__(
        self, name: str = "fake-model", clock: FakeClock | None = None, decode: Callable[[bytes], Any] | None = None
    ) -> None:
        self.name = name
        self.clock = clock or FakeClock()
        self.calls: list[FakeCall] = []
        """All calls so far, in order."""
        self._decode = decode
        self._scripts: deque[_Scripted] = deque()

    @property
    def running(self) -> int:
        """Calls that are neither over nor cancelled."""
        return sum(1 for call in self.calls if call.running)

    def chat(
        self, *deltas: str, finish: str | None = "stop", usage: bool | None = None, done: bool = True, times: int | None = 1
    ) -> Self:
        """Answer with this text, streamed delta by delta or whole, as the call asks."""
        spoken = TextAnswer(deltas, finish, usage, done)
        return self.script(lambda call: answers.speak(spoken, Ask(call.endpoint, call.body)), times=times)

    def fail(self, error: AntiphonError, times: int | None = 1) -> Self:
        """Fail before the head."""
        return self.script(Fail(error), times=times)

    def script(self, *steps: ModelStep | Callable[[Call], Sequence[ModelStep]], times: int | None = 1) -> Self:
        """Answer with these steps, or with those that the one function given makes of the call.

        ``times``: calls that get this answer, None for all that follow.
        """
        if len(steps) == 1 and callable(steps[0]):
            self._scripts.append(_Scripted(steps[0], times))
            return self
        plain = [step for step in steps if not callable(step)]
        if len(plain) < len(steps):
            raise TypeError("a script is either steps or one function")
        self._scripts.append(_Scripted(plain, times))
        return self

    def advance(self, seconds: float) -> None:
        """Let time pass on the model's clock."""
        self.clock.advance(seconds)

    def start(self, call: Call, sink: Sink) -> Handle:
        steps = self._next_steps(call)
        running = FakeCall(call, sink, steps, self.clock, self._decode)
        self.calls.append(running)
        running.go_on()
        return running

    def _next_steps(self, call: Call) -> Sequence[ModelStep]:
        if not self._scripts:
            return answers.echo(Ask(call.endpoint, call.body))
        scripted = self._scripts[0]
        if scripted.times is not None:
            scripted.times -= 1
            if scripted.times <= 0:
                self._scripts.popleft()
        return scripted.script(call) if callable(scripted.script) else scripted.script


class FakeCall:
    """One call of a FakeModel; its handle, and the record of what was done with it."""

    def __init__(
        self, call: Call, sink: Sink, steps: Sequence[ModelStep], clock: FakeClock, decode: Callable[[bytes], Any] | None
    ) -> None:
        self.call = call
        self.cancelled: str | None = None
        """Reason of the first cancel that came while the call was running."""
        self.pauses = 0
        """How often the call was paused."""
        self.paused = False
        self.running = True
        self._sink = sink
        self._steps = deque(steps)
        self._clock = clock
        self._decode = decode
        self._answer = _Answer()
        self._waiting = False

    def cancel(self, reason: str) -> None:
        if self.running:
            self.running = False
            self.cancelled = reason

    def pause(self) -> None:
        self.pauses += 1
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self.go_on()

    def go_on(self) -> None:
        """Run the script as far as it goes. The sink may cancel or pause in the middle."""
        while self.running and not self.paused and not self._waiting:
            if self._steps:
                self._step(self._steps.popleft())
            else:
                self._finish()

    def _step(self, step: ModelStep) -> None:
        if isinstance(step, Status):
            self._answer.status = step.code
        elif isinstance(step, Header):
            self._answer.headers += ((step.name.lower().encode(), step.value.encode()),)
        elif isinstance(step, Body | Event | Comment | Done):
            self._frame(step)
        elif isinstance(step, Fail | Cut):
            self.running = False
            self._sink.fail(step.error if isinstance(step, Fail) else UpstreamBroken())
        else:
            self._wait(step)

    def _wait(self, step: Delay | Hang) -> None:
        self._waiting = True
        if isinstance(step, Delay):
            self._clock.call_later(step.seconds, self._wake)

    def _wake(self) -> None:
        self._waiting = False
        self.go_on()

    def _frame(self, step: Body | Event | Comment | Done) -> None:
        self._head(b"application/json" if isinstance(step, Body) else b"text/event-stream; charset=utf-8")
        raw = payload(step)
        self._answer.note_usage(step)
        if self.running:
            self._sink.frame(Frame(raw, decode=self._decode))

    def _finish(self) -> None:
        self._head(b"application/json")
        if self.running:
            self.running = False
            self._sink.end(self._answer.usage)

    def _head(self, content_type: bytes) -> None:
        if self._answer.head_sent:
            return
        self._answer.head_sent = True
        typed = any(name == b"content-type" for name, _ in self._answer.headers)
        self._sink.head(
            self._answer.status, self._answer.headers if typed else ((b"content-type", content_type), *self._answer.headers)
        )


class _Answer:
    """How far an answer has come."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: Headers = ()
        self.head_sent = False
        self.usage: Usage | None = None

    def note_usage(self, step: Body | Event | Comment | Done) -> None:
        """The usage that the script tells is the one that the call ends with."""
        told = step.data.get("usage") if isinstance(step, Body | Event) and isinstance(step.data, dict) else None
        if told:
            self.usage = msgspec.convert(told, Usage)
