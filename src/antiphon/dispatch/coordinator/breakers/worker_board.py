"""A worker's view of the breaker board: answers calls at once while a breaker is closed, and tells outcomes in batches."""

import itertools
from collections.abc import Mapping
from typing import Final

import msgspec

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_board import FAILURE_TOLD_WITHIN, TOLD_WITHIN, Admission, Listener, Permit, Refused, Then
from antiphon.core.breaker_policy import CLOSED_VIEW, BreakerPolicy, BreakerView
from antiphon.core.ports import Clock
from antiphon.dispatch.coordinator.breakers.messages import (
    BoardHello,
    BoardNews,
    BoardTold,
    BoardWelcome,
    Count,
    Shown,
    TrialAnswer,
    TrialWanted,
    Trip,
    Verdict,
)
from antiphon.dispatch.coordinator.party import Link, Message

PATIENCE: Final = 2.0
"""Seconds after which a call that waits for a trial is refused."""

ASK_AGAIN: Final = 0.05
"""Seconds between two questions for a trial of one target when there was none: no storm of questions while a few trials run."""

MAX_WAITING: Final = 10_000
"""Questions under way, and messages that wait for the coordinator to be back; what comes beyond is refused, or dropped."""

QUIET: Final = 60.0
"""Seconds after which a closed breaker that nobody uses is forgotten."""


class BoardStats(msgspec.Struct, frozen=True):
    """How a worker's view of the board is doing."""

    connected: bool
    targets: int
    opened: int
    """Breakers that are not closed."""
    waiting: int
    """Calls that wait for a trial."""
    asked: int = 0
    """Questions for a trial since the start."""


class _Entry:
    """A target as this worker sees it."""

    __slots__ = ("alone", "ask_after", "bad", "dirty", "good", "open", "permit", "used_at", "view")

    def __init__(self, target: str, policy: BreakerPolicy, now: float) -> None:
        self.permit = Permit(target, policy)
        """That of all ordinary calls since the breaker last changed."""
        self.view = CLOSED_VIEW
        self.open = False
        self.good = self.bad = 0
        """Outcomes that nobody has been told of."""
        self.dirty = False
        self.ask_after = 0.0
        self.alone: Breaker | None = None
        """Judges while nobody can be asked."""
        self.used_at = now

    def show(self, view: BreakerView) -> None:
        """Go over to another view: what was admitted before says nothing of it."""
        self.view = view
        self.open = view.state != "closed"
        self.good = self.bad = 0
        self.ask_after = 0.0
        self.permit = Permit(self.permit.target, self.permit.policy)


class _Waiting:
    """A call that waits for a trial."""

    __slots__ = ("entry", "since", "then")

    def __init__(self, entry: _Entry, then: Then, since: float) -> None:
        self.entry = entry
        self.then = then
        self.since = since


class WorkerBoard:
    """The breaker board port for one worker, over a link to whoever keeps the board.

    While the link is down it judges by this worker's own outcomes, and gives itself its part of the trials.
    """

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._link: Link | None = None
        self._connected = False
        self._workers = 1
        self._entries: dict[str, _Entry] = {}
        self._dirty: list[_Entry] = []
        self._verdicts: list[Verdict] = []
        self._trips: list[Trip] = []
        self._wanted: list[TrialWanted] = []
        self._waiting: dict[int, _Waiting] = {}
        self._listeners: list[Listener] = []
        self._count = itertools.count(1).__next__
        self._asked = 0

    # the port

    def admit(self, target: str, policy: BreakerPolicy, then: Then) -> Admission | None:
        entry = self._entries.get(target)
        if entry is None or entry.permit.policy is not policy:
            entry = self._entry(target, policy)
        return self._try(entry, then) if entry.open else entry.permit

    def report(self, permit: Permit, ok: bool | None) -> None:
        if permit.trial:
            self._conclude(permit, ok)
            return
        entry = self._entries.get(permit.target)
        if ok is None or entry is None or permit is not entry.permit:
            return
        if ok:
            entry.good += 1
        else:
            entry.bad += 1
        if not entry.dirty or entry.bad == 1:
            self._mark(entry, TOLD_WITHIN if ok else FAILURE_TOLD_WITHIN)

    def trip(self, target: str, policy: BreakerPolicy, seconds: float) -> None:
        entry = self._entry(target, policy)
        if self._connected:
            self._trips.append(Trip(target, policy, seconds))
            self._wake(0.0)
        else:
            alone = self._alone(entry)
            alone.trip(seconds, self._now())
            self._show(entry, alone.view(self._now()))

    def view(self, target: str) -> BreakerView:
        entry = self._entries.get(target)
        return self._seen(entry) if entry is not None else CLOSED_VIEW

    def opened(self) -> Mapping[str, BreakerView]:
        return {target: self._seen(entry) for target, entry in self._entries.items() if entry.open}

    def watch(self, listener: Listener) -> None:
        self._listeners.append(listener)

    # the link's party

    def attach(self, link: Link) -> None:
        self._link = link

    def connected(self) -> None:
        assert self._link is not None
        now = self._now()
        shown, counts = [], []
        for target, entry in self._entries.items():
            view = self._seen(entry)
            if entry.open:
                shown.append(Shown(target, view.state, view.term, max(0.0, view.until - now)))
                continue
            good, bad = entry.alone.recent(now) if entry.alone is not None else (0, 0)
            if good or bad:
                counts.append(Count(target, entry.permit.policy, good, bad))
        self._link.send(BoardHello(tuple(shown), tuple(counts)))

    def lost(self) -> None:
        self._connected = False
        self._wanted.clear()
        waiting, self._waiting = list(self._waiting.values()), {}
        for one in waiting:
            one.then(self._at_once(one.entry))
        self.flush()

    def received(self, message: Message) -> None:
        if isinstance(message, BoardNews):
            self._workers = message.workers or self._workers
            for shown in message.shown:
                self._heard(shown)
            for answer in message.answers:
                self._answered(answer)
        elif isinstance(message, BoardWelcome):
            self._welcome(message)

    def flush(self) -> None:
        dirty, self._dirty = self._dirty, []
        if not self._connected or self._link is None:
            for entry in dirty:
                self._judge(entry)
            return
        counts = []
        for entry in dirty:
            entry.dirty = False
            if entry.good or entry.bad:
                counts.append(Count(entry.permit.target, entry.permit.policy, entry.good, entry.bad))
                entry.good = entry.bad = 0
        if counts or self._verdicts or self._trips or self._wanted:
            told = BoardTold(tuple(counts), tuple(self._verdicts), tuple(self._trips), tuple(self._wanted))
            self._verdicts, self._trips, self._wanted = [], [], []
            self._link.send(told)

    def beat(self) -> None:
        now = self._now()
        for number in [number for number, one in self._waiting.items() if one.since + PATIENCE <= now]:
            one = self._waiting.pop(number)
            one.then(Refused(one.entry.permit.target, self._seen(one.entry).state, ASK_AGAIN))
        self.flush()
        for target, entry in list(self._entries.items()):
            if not entry.open and not entry.dirty and entry.used_at + QUIET <= now:
                del self._entries[target]

    def stats(self) -> BoardStats:
        """How this view is doing."""
        opened = sum(entry.open for entry in self._entries.values())
        return BoardStats(self._connected, len(self._entries), opened, len(self._waiting), self._asked)

    # inside

    def _entry(self, target: str, policy: BreakerPolicy) -> _Entry:
        entry = self._entries.get(target)
        if entry is None:
            entry = self._entries[target] = _Entry(target, policy, self._now())
        elif entry.permit.policy != policy:
            entry.permit = Permit(target, policy)
        return entry

    def _mark(self, entry: _Entry, within: float) -> None:
        if not entry.dirty:
            entry.dirty = True
            entry.used_at = self._now()
            self._dirty.append(entry)
        self._wake(within)

    def _wake(self, within: float) -> None:
        if self._link is not None:
            self._link.wake(within)

    def _seen(self, entry: _Entry) -> BreakerView:
        view, now = entry.view, self._now()
        if not self._connected and entry.open:
            return self._alone(entry).view(now)
        if view.state == "open" and now >= view.until:
            return BreakerView("half_open", view.term, view.until)
        return view

    def _try(self, entry: _Entry, then: Then) -> Admission | None:
        """Decide for a breaker that is not closed."""
        now, target = self._now(), entry.permit.target
        if entry.view.state == "open" and now < entry.view.until:
            return Refused(target, "open", entry.view.until - now)
        if not self._connected:
            return self._at_once(entry)
        if now < entry.ask_after or len(self._waiting) >= MAX_WAITING:
            return Refused(target, "half_open", max(ASK_AGAIN, entry.ask_after - now))
        number = self._count()
        self._waiting[number] = _Waiting(entry, then, now)
        self._wanted.append(TrialWanted(number, target, entry.permit.policy))
        self._asked += 1
        self._wake(0.0)
        return None

    def _at_once(self, entry: _Entry) -> Admission:
        """Decide while nobody can be asked. Trials of one's own have negative numbers."""
        if not entry.open:
            return entry.permit
        now, number, alone = self._now(), -self._count(), self._alone(entry)
        policy = self._own_part(entry.permit.policy)
        if alone.acquire(policy, number, now):
            return Permit(entry.permit.target, entry.permit.policy, number)
        return Refused(entry.permit.target, alone.view(now).state, alone.retry_after(now))

    def _own_part(self, policy: BreakerPolicy) -> BreakerPolicy:
        return msgspec.structs.replace(policy, trials=max(1, policy.trials // self._workers))

    def _alone(self, entry: _Entry) -> Breaker:
        if entry.alone is None:
            entry.alone = Breaker(entry.view)
        return entry.alone

    def _judge(self, entry: _Entry) -> None:
        """Count what nobody can be told of."""
        alone = self._alone(entry)
        alone.count(entry.permit.policy, entry.good, entry.bad, self._now())
        entry.good = entry.bad = 0
        entry.dirty = False
        self._show(entry, alone.view(self._now()))

    def _conclude(self, permit: Permit, ok: bool | None) -> None:
        entry = self._entry(permit.target, permit.policy)
        if permit.trial < 0:
            if entry.alone is not None:
                entry.alone.conclude(self._own_part(permit.policy), permit.trial, ok, self._now())
                self._show(entry, entry.alone.view(self._now()))
        elif len(self._verdicts) < MAX_WAITING:
            self._verdicts.append(Verdict(permit.target, permit.policy, permit.trial, ok))
            self._wake(0.0)

    def _show(self, entry: _Entry, view: BreakerView) -> None:
        if (view.state, view.term, view.until) == (entry.view.state, entry.view.term, entry.view.until):
            return
        entry.show(view)
        for listener in self._listeners:
            listener(entry.permit.target, view)

    def _heard(self, shown: Shown) -> None:
        entry = self._entries.get(shown.target)
        if entry is None:
            if shown.state == "closed":
                return
            entry = self._entry(shown.target, _UNKNOWN)
        entry.alone = None
        self._show(entry, BreakerView(shown.state, shown.term, self._now() + shown.remaining))

    def _answered(self, answer: TrialAnswer) -> None:
        one = self._waiting.pop(answer.id, None)
        if one is None:
            if answer.trial:  # it came too late
                self._conclude(Permit(answer.target, self._entry(answer.target, _UNKNOWN).permit.policy, answer.trial), None)
            return
        entry, now = one.entry, self._now()
        if answer.trial:
            one.then(Permit(answer.target, entry.permit.policy, answer.trial))
            return
        if answer.state == "closed" and entry.open:
            self._show(entry, BreakerView("closed", entry.view.term + 1))
        if not entry.open:
            one.then(entry.permit)
            return
        entry.ask_after = now + ASK_AGAIN
        one.then(Refused(answer.target, answer.state, max(ASK_AGAIN, answer.retry_after)))

    def _welcome(self, message: BoardWelcome) -> None:
        self._connected = True
        self._workers = max(1, message.workers)
        known = {shown.target for shown in message.shown}
        for target, entry in self._entries.items():
            entry.alone = None
            if entry.open and target not in known:
                self._show(entry, CLOSED_VIEW)
        for shown in message.shown:
            self._heard(shown)
        self._wake(0.0)


_UNKNOWN: Final = BreakerPolicy()
"""Stands for the policy of a target that this worker has only heard of."""
