"""The coordinator's side of the breaker board. What it knows is not written down: workers tell it anew when it is back."""

import itertools
from typing import Final, Protocol

import msgspec

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_policy import BreakerView
from antiphon.core.ports import Clock
from antiphon.dispatch.coordinator.breakers.messages import (
    BoardHello,
    BoardNews,
    BoardTold,
    BoardWelcome,
    Count,
    FromCoordinator,
    FromWorker,
    Shown,
    TrialAnswer,
    TrialWanted,
)

LOOKED_THROUGH: Final = 500
"""Breakers that one call of ``tick`` looks at."""


class Peer(Protocol):
    """A worker's connection."""

    def send(self, message: FromCoordinator) -> None: ...


class BoardServiceStats(msgspec.Struct, frozen=True):
    """How the board is doing."""

    targets: int
    opened: int
    """Breakers that are not closed."""
    openings: int
    """Since the start."""
    trials: int
    """Given out since the start."""


class BoardService:
    """Takes what workers say and tells all of them what follows. ``tick`` is called several times a second.

    ``first`` is the first trial's number: greater than any that an earlier life of the coordinator gave out.
    """

    def __init__(self, clock: Clock, first: int = 1) -> None:
        self._now = clock.monotonic
        self._breakers: dict[str, Breaker] = {}
        self._terms: dict[str, int] = {}
        """Terms of the breakers that are not closed, as they were told last."""
        self._peers: list[Peer] = []
        self._count = itertools.count(first).__next__
        self._changed: dict[str, None] = {}
        self._tidying: list[str] = []
        self._openings = self._trials = 0

    def received(self, peer: Peer, message: FromWorker) -> None:
        """Take in a message."""
        now = self._now()
        if isinstance(message, BoardHello):
            self._welcome(peer, message, now)
        else:
            self._told(peer, message, now)

    def lost(self, peer: Peer) -> None:
        """A connection ended. The trials that it holds come back when their lease ends."""
        if peer in self._peers:
            self._peers.remove(peer)
            for other in list(self._peers):
                other.send(BoardNews(workers=len(self._peers)))

    def tick(self) -> None:
        """Forget breakers that say nothing: some of them, the others at the next calls."""
        now = self._now()
        if not self._tidying:
            self._tidying = list(self._breakers)
        forgotten = []
        for _ in range(min(LOOKED_THROUGH, len(self._tidying))):
            target = self._tidying.pop()
            breaker = self._breakers.get(target)
            if breaker is not None and breaker.idle(now):
                view = breaker.view(now)
                del self._breakers[target]
                if self._terms.pop(target, None) is not None:
                    forgotten.append(Shown(target, "closed", view.term + 1, 0.0))
        if forgotten:
            self._tell(tuple(forgotten))

    def view(self, target: str) -> BreakerView:
        """How a breaker stands."""
        breaker = self._breakers.get(target)
        return breaker.view(self._now()) if breaker is not None else BreakerView()

    def stats(self) -> BoardServiceStats:
        """How the board is doing."""
        return BoardServiceStats(len(self._breakers), len(self._terms), self._openings, self._trials)

    def _welcome(self, peer: Peer, message: BoardHello, now: float) -> None:
        self.lost(peer)
        for shown in message.shown:
            self._breaker(shown.target).restore(BreakerView(shown.state, shown.term, now + shown.remaining))
            self._look(shown.target, now)
        self._take(message.counts, now)
        self._publish(now)
        for other in list(self._peers):
            other.send(BoardNews(workers=len(self._peers) + 1))
        self._peers.append(peer)
        peer.send(BoardWelcome(len(self._peers), tuple(self._shown(target, now) for target in self._terms)))

    def _told(self, peer: Peer, message: BoardTold, now: float) -> None:
        self._take(message.counts, now)
        for verdict in message.verdicts:
            self._breaker(verdict.target).conclude(verdict.policy, verdict.trial, verdict.ok, now)
            self._look(verdict.target, now)
        for trip in message.trips:
            self._breaker(trip.target).trip(trip.seconds, now)
            self._look(trip.target, now)
        self._publish(now)
        if message.wanted:
            peer.send(BoardNews(answers=tuple(self._answer(wanted, now) for wanted in message.wanted)))

    def _take(self, counts: tuple[Count, ...], now: float) -> None:
        for count in counts:
            self._breaker(count.target).count(count.policy, count.successes, count.failures, now)
            self._look(count.target, now)

    def _answer(self, wanted: TrialWanted, now: float) -> TrialAnswer:
        breaker, number = self._breaker(wanted.target), self._count()
        got = breaker.acquire(wanted.policy, number, now)
        self._trials += got
        wait = 0.0 if got else breaker.retry_after(now)
        return TrialAnswer(wanted.id, wanted.target, number if got else 0, wait, breaker.view(now).state)

    def _breaker(self, target: str) -> Breaker:
        breaker = self._breakers.get(target)
        if breaker is None:
            breaker = self._breakers[target] = Breaker()
        return breaker

    def _look(self, target: str, now: float) -> None:
        """Note whether a breaker has changed."""
        view = self._breakers[target].view(now)
        before = self._terms.get(target)
        if view.state == "closed":
            if before is None:
                return
            del self._terms[target]
        else:
            if before == view.term:
                return
            self._openings += view.state == "open"
            self._terms[target] = view.term
        self._changed[target] = None

    def _publish(self, now: float) -> None:
        if self._changed:
            changed, self._changed = self._changed, {}
            self._tell(tuple(self._shown(target, now) for target in changed))

    def _tell(self, shown: tuple[Shown, ...]) -> None:
        for peer in list(self._peers):
            peer.send(BoardNews(shown))

    def _shown(self, target: str, now: float) -> Shown:
        view = self._breakers[target].view(now)
        return Shown(target, view.state, view.term, max(0.0, view.until - now))


def first_trial(epoch: int) -> int:
    """The first trial's number in the coordinator's ``epoch``-th life: each has 2**32 of its own."""
    return (epoch << 32) + 1
