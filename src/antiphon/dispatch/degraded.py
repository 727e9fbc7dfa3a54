"""What answers in place of a route's main model: a lighter model first or at once a fixed text, and callers are told."""

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import Call, Routing, Usage
from antiphon.dispatch.attempt import Attempt
from antiphon.scheduling.job import Degrade


class Ways:
    """The ways down of one route. The lighter model may be a route of its own, so it is known once all routes are."""

    def __init__(self, name: str, template: Model | None) -> None:
        self.name = name
        """Of the lighter model; empty where there is none."""
        self.model: Model | None = None
        self._template = template

    def start(self, decision: Degrade, call: Call, sink: Sink, routing: Routing) -> Handle:
        """Have it answered. Where the lighter model fails before its first content, the fixed text answers."""
        told = f"reason={decision.reason}; score={decision.score:.2f}"
        ways: list[tuple[str, Model]] = []
        if decision.way == "model" and self.model is not None:
            ways.append((f"model={self.name}; {told}", self.model))
        if self._template is not None and decision.job.takes_text:
            ways.append((f"answer=template; {told}", self._template))
        run = _Run(ways, call, sink, routing)
        run.go_on()
        return run


class _Run:
    """One call on its way down. It is the handle of the caller."""

    __slots__ = ("_attempt", "_call", "_over", "_paused", "_routing", "_sink", "_ways")

    def __init__(self, ways: list[tuple[str, Model]], call: Call, sink: Sink, routing: Routing) -> None:
        self._ways = ways
        self._call = call
        self._sink = sink
        self._routing = routing
        self._attempt: Attempt | None = None
        self._over = False
        self._paused = False

    def go_on(self) -> None:
        """Ask the next one."""
        self._routing.degraded, model = self._ways.pop(0)
        attempt = self._attempt = Attempt(self, 0)
        if self._paused:
            attempt.pause()
        attempt.start(model, self._call)

    # -- asker

    def began(self, attempt: Attempt) -> Sink | None:
        return None if self._over else self._sink

    def ended(self, attempt: Attempt, usage: Usage | None) -> None:
        self._close()
        self._sink.end(usage)

    def failed(self, attempt: Attempt, error: AntiphonError) -> None:
        if self._ways and not attempt.begun and not self._over:
            self.go_on()
            return
        self._close()
        self._sink.fail(error)

    def _close(self) -> Attempt | None:
        """It is over. What was asked holds this run, and this run it: let go."""
        self._over = True
        attempt, self._attempt = self._attempt, None
        return attempt

    # -- handle of the caller

    def cancel(self, reason: str) -> None:
        attempt = self._close()
        if attempt is not None:
            attempt.cancel(reason)

    def pause(self) -> None:
        self._paused = True
        if self._attempt is not None:
            self._attempt.pause()

    def resume(self) -> None:
        self._paused = False
        if self._attempt is not None:
            self._attempt.resume()
