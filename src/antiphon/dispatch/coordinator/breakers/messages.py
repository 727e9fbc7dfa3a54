"""What workers and the coordinator tell each other of breakers. Clocks differ, so moments go as seconds from now."""

import msgspec

from antiphon.core.breaker_policy import BreakerPolicy, BreakerState
from antiphon.dispatch.coordinator.party import Message


class Count(msgspec.Struct, frozen=True, array_like=True):
    """Outcomes since the last message."""

    target: str
    policy: BreakerPolicy
    successes: int
    failures: int


class TrialWanted(msgspec.Struct, frozen=True, array_like=True):
    """A call would like to go to a target whose breaker is half open."""

    id: int
    target: str
    policy: BreakerPolicy


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """How a trial went; None gives it back."""

    target: str
    policy: BreakerPolicy
    trial: int
    ok: bool | None


class Trip(msgspec.Struct, frozen=True, array_like=True):
    """Open a breaker for so many seconds."""

    target: str
    policy: BreakerPolicy
    seconds: float


class Shown(msgspec.Struct, frozen=True, array_like=True):
    """How a breaker stands."""

    target: str
    state: BreakerState
    term: int
    remaining: float
    """Seconds until trials are let through."""


class BoardHello(Message, frozen=True, tag="board-hello"):
    """A worker's first message: the breakers that it does not know to be closed, and what it counted while it was alone."""

    shown: tuple[Shown, ...]
    counts: tuple[Count, ...]


class BoardTold(Message, frozen=True, tag="board-told"):
    """A worker's news."""

    counts: tuple[Count, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    trips: tuple[Trip, ...] = ()
    wanted: tuple[TrialWanted, ...] = ()


class TrialAnswer(msgspec.Struct, frozen=True, array_like=True):
    """To ``TrialWanted``."""

    id: int
    target: str
    trial: int
    """Number of the trial; 0 where there is none."""
    retry_after: float
    state: BreakerState


class BoardWelcome(Message, frozen=True, tag="board-welcome"):
    """Answer to ``BoardHello``: all breakers that are not closed."""

    workers: int
    """How many are connected."""
    shown: tuple[Shown, ...]


class BoardNews(Message, frozen=True, tag="board-news"):
    """The coordinator's news: breakers that have changed, and answers."""

    shown: tuple[Shown, ...] = ()
    answers: tuple[TrialAnswer, ...] = ()
    workers: int = 0
    """How many are connected; 0 where that is as before."""


FromWorker = BoardHello | BoardTold
FromCoordinator = BoardWelcome | BoardNews
