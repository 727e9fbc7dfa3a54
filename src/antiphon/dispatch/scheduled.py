"""The replicas of one deployment behind a scheduler, as one Model."""

from collections.abc import Callable, Sequence
from itertools import count

from antiphon.core.errors import AntiphonError, UpstreamUnreachable
from antiphon.core.ports import Clock, Handle, Model, Sink
from antiphon.core.types import Call, Headers, Routing, Usage
from antiphon.dispatch.attempt import Attempt
from antiphon.dispatch.chain import may_fall_back
from antiphon.dispatch.degraded import Ways
from antiphon.dispatch.desk import Desk
from antiphon.dispatch.unanswered import refusal, speaks_against
from antiphon.scheduling.job import Degrade, Dispatch, Job, Refuse

_numbers = count(1)

Describe = Callable[[Call, int, float], Job]
"""What the scheduler is told of a call: the call, its number, and the moment."""


class Scheduled:
    """A Model whose members do the same thing; which of them answers, and when, is decided at the desk.

    ``ways`` are what may answer in place of them, where the desk may decide that.
    """

    def __init__(
        self, name: str, members: Sequence[Model], desk: Desk, clock: Clock, describe: Describe, ways: Ways | None = None
    ) -> None:
        self._name = name
        self._members = tuple(members)
        self._clock = clock
        self._describe = describe
        self.names = [member.name for member in members]
        self.desk = desk
        self.ways = ways

    @property
    def name(self) -> str:
        return self._name

    @property
    def members(self) -> tuple[Model, ...]:
        return self._members

    def start(self, call: Call, sink: Sink) -> Handle:
        job = self._describe(call, next(_numbers), self._clock.monotonic())
        routing = Routing(self._name)
        call.routings.append(routing)
        run = _Run(self, job, call, sink, routing)
        self.desk.arrived(job, run)
        return run


class _Run:
    """One call between desk and replicas: it waits, asks, and passes on what the first that begins says."""

    __slots__ = (
        "_asked",
        "_attempts",
        "_call",
        "_chosen",
        "_desk",
        "_down",
        "_error",
        "_job",
        "_members",
        "_names",
        "_over",
        "_paused",
        "_routing",
        "_sink",
        "_ways",
    )

    def __init__(self, of: Scheduled, job: Job, call: Call, sink: Sink, routing: Routing) -> None:
        self._members = of.members
        self._names = of.names
        self._desk = of.desk
        self._ways = of.ways
        self._routing = routing
        self._job = job
        self._call = call
        self._sink = sink
        self._attempts: dict[int, Attempt] = {}
        self._chosen: Attempt | None = None
        self._asked: dict[int, tuple[Dispatch, float]] = {}
        self._error: AntiphonError | None = None
        self._down: Handle | None = None
        self._over = False
        self._paused = False

    # -- waiter at the desk

    def dispatch(self, decision: Dispatch, waited: float) -> None:
        if self._over:
            return
        attempt = self._attempts[decision.replica] = Attempt(self, decision.replica)
        self._asked[decision.replica] = (decision, waited)
        if decision.hedge:
            self._routing.hedged = True
        if self._paused:
            attempt.pause()
        attempt.start(self._members[decision.replica], self._call)

    def withdraw(self, replica: int) -> None:
        attempt = self._attempts.pop(replica, None)
        if attempt is not None:
            attempt.cancel("another one answers, or nobody asks any more")

    def refuse(self, decision: Refuse) -> None:
        if not self._over:
            error = self._error if decision.reason == "failed" and self._error is not None else refusal(decision)
            self._close()
            self._sink.fail(error)

    def degrade(self, decision: Degrade) -> None:
        if not self._over:
            assert self._ways is not None
            self._close()
            down = self._down = self._ways.start(decision, self._call, self._sink, self._routing)
            if self._paused:
                down.pause()

    # -- asker of the replicas

    def began(self, attempt: Attempt) -> Sink | None:
        if self._over or (self._chosen is not None and self._chosen is not attempt):
            return None
        self._chosen = attempt
        if self._call.stream:
            self._desk.first_token(self._job.id, attempt.number)
        decision, waited = self._asked[attempt.number]
        names, routing = self._names, self._routing
        routing.replica = names[attempt.number]
        routing.waited = waited
        reasons = decision.reasons
        if reasons.candidates:
            routing.candidates = {names[place]: total for place, total in zip(reasons.candidates, reasons.totals, strict=True)}
        return _Told(self._sink, self._explained(attempt))

    def ended(self, attempt: Attempt, usage: Usage | None) -> None:
        if self._over:
            return
        self._close()
        self._desk.finished(self._job.id, attempt.number, usage.completion_tokens if usage is not None else 0)
        self._sink.end(usage)

    def failed(self, attempt: Attempt, error: AntiphonError) -> None:
        if self._over:
            return
        self._attempts.pop(attempt.number, None)
        error.forget_origin()
        self._error = error
        committed = attempt is self._chosen
        if committed:
            self._close()
        self._desk.failed(
            self._job.id,
            attempt.number,
            retryable=not committed and may_fall_back(error),
            blame=speaks_against(error),
            unreachable=isinstance(error, UpstreamUnreachable),
            retry_after=error.retry_after or 0.0,
        )
        if committed:
            self._sink.fail(error)

    def _close(self) -> None:
        """It is over. What was asked holds this run, and this run it: let go."""
        self._over = True
        self._attempts.clear()
        self._chosen = None
        self._error = None

    def _explained(self, attempt: Attempt) -> str:
        """Why this replica, for whoever asks."""
        decision, waited = self._asked[attempt.number]
        name, tier, waited_ms = self._names[attempt.number], self._job.tier, int(1000 * waited + 0.5)
        words = f"{name}; tier={tier}; waited={waited_ms}ms; attempt={len(self._asked)}"
        if decision.hedge:
            words += "; hedge"
        for name, score in decision.reasons.scores:
            words += "; %s=%.4g" % (name, score)  # noqa: UP031 - a third of the time of an f-string, once it is compiled
        return words

    # -- handle of the caller

    def cancel(self, reason: str) -> None:
        if self._down is not None:
            self._down.cancel(reason)
        elif not self._over:
            self._desk.gone(self._job.id)
            attempts = list(self._attempts.values())
            self._close()
            for attempt in attempts:
                attempt.cancel("the caller left")

    def pause(self) -> None:
        self._paused = True
        if self._down is not None:
            self._down.pause()
        for attempt in self._attempts.values():
            attempt.pause()

    def resume(self) -> None:
        self._paused = False
        if self._down is not None:
            self._down.resume()
        for attempt in self._attempts.values():
            attempt.resume()


class _Told:
    """Passes on, and says in a header what was decided."""

    __slots__ = ("_explained", "_sink", "end", "fail", "frame")

    def __init__(self, sink: Sink, explained: str) -> None:
        self._sink = sink
        self._explained = explained
        self.frame = sink.frame
        self.end = sink.end
        self.fail = sink.fail

    def head(self, status: int, headers: Headers) -> None:
        self._sink.head(status, (*headers, (b"x-antiphon-route", self._explained.encode("ascii", "replace"))))
