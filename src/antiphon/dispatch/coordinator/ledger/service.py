"""The coordinator's side of the ledger: who is connected, what waits for a recall, what must be kept before it is told."""

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from antiphon.core.ledger import AccountStanding
from antiphon.core.ports import Clock
from antiphon.dispatch.coordinator.ledger.accounts import Key
from antiphon.dispatch.coordinator.ledger.book import Book, Wanting
from antiphon.dispatch.coordinator.ledger.messages import (
    Answer,
    Ask,
    Bye,
    FromCoordinator,
    FromWorker,
    Hello,
    Look,
    News,
    Recall,
    Seen,
    Told,
    Welcome,
)
from antiphon.dispatch.coordinator.ledger.rows import Row

RECALL_PATIENCE: Final = 0.25
"""Seconds that a worker has to give back what lies idle, before the ask that needs it is decided without."""

LINGER: Final = 0.05
"""Seconds that an ask waits for what others have reserved, before it is refused: a call has ended for its caller a moment before
its place is free here, and the next one may come to another worker."""

MAX_LINGERING: Final = 1000
"""Asks that wait so; one more is refused at once."""

Later = Callable[[float, Callable[[], None]], object]
"""Calls back after so many seconds."""
Keep = Callable[[Sequence[Row]], bool]
"""Keeps rows so that they survive this process; False where it cannot now."""

log = logging.getLogger(__name__)


class Peer(Protocol):
    """A worker's connection."""

    def send(self, message: FromCoordinator) -> None: ...
    def close(self) -> None: ...


class LedgerServiceStats(msgspec.Struct, frozen=True):
    """How the ledger is doing at the coordinator."""

    epoch: int
    sessions: int
    """Workers whose lease runs."""
    connected: int
    accounts: int
    waiting: int
    """Asks that wait for what lies idle with other workers."""
    recalls: int
    """Recalls since the start."""
    refused: int
    granted: int
    unavailable: int
    """Asks refused because the journal could not be written."""


class _Waiting:
    """An ask, and the recalls that it waits for."""

    __slots__ = ("ask", "deadline", "recalls", "session")

    def __init__(self, session: str, ask: Ask, recalls: set[int], deadline: float) -> None:
        self.session = session
        self.ask = ask
        self.recalls = recalls
        self.deadline = deadline


class _Lingering:
    """An ask that finds no room yet."""

    __slots__ = ("ask", "deadline", "key", "session")

    def __init__(self, session: str, ask: Ask, key: Key, deadline: float) -> None:
        self.session = session
        self.ask = ask
        self.key = key
        self.deadline = deadline


class LedgerService:
    """Takes what workers say and tells them what follows. ``tick`` is called several times a second.

    Without ``later`` an ask that finds no room is refused at once.
    """

    def __init__(self, book: Book, clock: Clock, keep: Keep, later: Later | None = None) -> None:
        self._book = book
        self._clock = clock
        self._keep = keep
        self._peers: dict[str, Peer] = {}
        self._sessions: dict[Peer, str] = {}
        self._later = later
        self._waiting: list[_Waiting] = []
        self._lingering: list[_Lingering] = []
        self._recalls: dict[int, tuple[str, Key]] = {}
        self._recalling: dict[tuple[str, Key], int] = {}
        self._count = itertools.count(1).__next__
        self._answers: list[tuple[str, Ask, Answer, Sequence[int]]] = []
        self._out_recalls: dict[str, list[Recall]] = {}
        self._acknowledge: dict[str, int] = {}
        self._keeps = True
        self._counts = {"recalls": 0, "refused": 0, "granted": 0, "unavailable": 0}
        self._save()

    def received(self, peer: Peer, message: FromWorker) -> None:
        """Take in a message."""
        if isinstance(message, Hello):
            self._welcome(peer, message)
            return
        session = self._sessions.get(peer)
        if session is None or not self._book.renew(session, self._clock.monotonic()):
            peer.close()  # its lease has ended: it comes back with all that it has
            return
        if isinstance(message, Look):
            standing = self._book.standing((message.account, message.window), self._clock.time())
            peer.send(Seen(message.id, standing.settled, standing.reserved, standing.escrowed))
            return
        if isinstance(message, Bye):
            self.lost(peer)
            self._book.leave(session)
            peer.close()
        else:
            self._told(session, message)
        self._flush()

    def lost(self, peer: Peer) -> None:
        """A connection ended. Its session lives on until its lease ends."""
        session = self._sessions.pop(peer, None)
        if session is None or self._peers.get(session) is not peer:
            return
        del self._peers[session]
        self._book.attached = max(1, len(self._peers))
        self._waiting = [waiting for waiting in self._waiting if waiting.session != session]
        self._lingering = [each for each in self._lingering if each.session != session]
        self._settle_recalls({number for number, (holder, _) in self._recalls.items() if holder == session})
        self._flush()

    def tick(self) -> None:
        """End leases and waits that are due, and try again to keep what could not be kept."""
        now, mono = self._clock.time(), self._clock.monotonic()
        for session in self._book.expire(now, mono):
            log.warning("the lease of worker session %s ended: what it held is free again", session)
            if (peer := self._peers.get(session)) is not None:
                peer.close()
        self._book.tidy(now)
        overdue = {number for waiting in self._waiting if waiting.deadline <= mono for number in waiting.recalls}
        self._settle_recalls(overdue)
        self._flush()

    def standings(self) -> list[AccountStanding]:
        """How every account stands."""
        return self._book.standings(self._clock.time())

    def stats(self) -> LedgerServiceStats:
        """How the ledger is doing at the coordinator."""
        live = sum(not session.expired for session in self._book.sessions.values())
        return LedgerServiceStats(self._book.epoch, live, len(self._peers), self._book.accounts, len(self._waiting), **self._counts)

    def _welcome(self, peer: Peer, message: Hello) -> None:
        before = self._peers.get(message.session)
        if before is not None and before is not peer:
            self.lost(before)
            before.close()
        self._peers[message.session], self._sessions[peer] = peer, message.session
        self._book.attached = len(self._peers)
        revived, shares = self._book.welcome(message.session, message.reports, self._clock.time(), self._clock.monotonic())
        self._save()
        peer.send(Welcome(self._book.epoch, self._book.lease, revived, shares))

    def _told(self, session: str, message: Told) -> None:
        now = self._clock.time()
        self._book.tell(session, message.reports, now)
        if message.recalled:
            self._settle_recalls(set(message.recalled))
        if self._lingering and message.reports:
            self._look_again({(report.account, report.window) for report in message.reports})
        for ask in message.asks:
            self._ask(session, ask, now)
        if message.asks or not (message.reports or message.recalled):
            self._acknowledge[session] = message.number

    def _ask(self, session: str, ask: Ask, now: float) -> None:
        if not self._keeps and not self._save():
            self._counts["unavailable"] += 1
            self._answers.append((session, ask, Answer(ask.id, (), unavailable=True), ()))
            return
        self._book.surrender(session, ask, now)
        before = self._book.shares(session, ask)
        decided = self._book.decide(session, ask, now, final=False)
        if isinstance(decided, Wanting):
            recalls = {self._recall(holder, key) for key, holders in decided.recall for holder in holders if holder in self._peers}
            if recalls:
                self._waiting.append(_Waiting(session, ask, recalls, self._clock.monotonic() + RECALL_PATIENCE))
                return
            decided = self._book.decide(session, ask, now, final=True)
        assert isinstance(decided, Answer)
        if decided.refused < 0 or not self._linger(session, ask, decided.refused):
            self._answers.append((session, ask, decided, before))

    def _linger(self, session: str, ask: Ask, refused: int) -> bool:
        """Have an ask wait for what others may be about to give back; whether there is any sense in that."""
        key = self._book.awaits(session, ask, refused) if self._later is not None else None
        if key is None or self._later is None or len(self._lingering) >= MAX_LINGERING:
            return False
        if not self._lingering:
            self._later(LINGER, self._give_up)
        self._lingering.append(_Lingering(session, ask, key, self._clock.monotonic() + LINGER))
        return True

    def _decided(self, session: str, ask: Ask) -> tuple[str, Ask, Answer, Sequence[int]]:
        """Grant or refuse an ask that has waited, and what its worker had been granted before."""
        before = self._book.shares(session, ask)
        answer = self._book.decide(session, ask, self._clock.time(), final=True)
        assert isinstance(answer, Answer)
        return session, ask, answer, before

    def _look_again(self, changed: set[Key]) -> None:
        """Grant what finds room now, in the order in which it came."""
        still: list[_Lingering] = []
        for each in self._lingering:
            if each.key in changed:
                decided = self._decided(each.session, each.ask)
                if decided[2].refused < 0:
                    self._answers.append(decided)
                    continue
            still.append(each)
        self._lingering = still

    def _give_up(self) -> None:
        """Refuse what has waited for long enough."""
        mono = self._clock.monotonic()
        over = [each for each in self._lingering if each.deadline <= mono + 0.001]
        self._lingering = [each for each in self._lingering if each.deadline > mono + 0.001]
        self._answers += [self._decided(each.session, each.ask) for each in over]
        if self._lingering and self._later is not None:
            self._later(self._lingering[0].deadline - mono, self._give_up)
        if over:
            self._flush()

    def _recall(self, session: str, key: Key) -> int:
        number = self._recalling.get((session, key))
        if number is None:
            number = self._recalling[session, key] = self._count()
            self._recalls[number] = (session, key)
            self._out_recalls.setdefault(session, []).append(Recall(number, *key))
            self._counts["recalls"] += 1
        return number

    def _settle_recalls(self, numbers: set[int]) -> None:
        """These recalls are over, answered or not: decide what waited for them, in the order in which it came."""
        for number in numbers:
            if (recall := self._recalls.pop(number, None)) is not None:
                del self._recalling[recall]
        if not numbers:
            return
        still: list[_Waiting] = []
        for waiting in self._waiting:
            waiting.recalls -= numbers
            if waiting.recalls:
                still.append(waiting)
                continue
            self._answers.append(self._decided(waiting.session, waiting.ask))
        self._waiting = still

    def _flush(self) -> None:
        """Keep what has changed, and only then tell it."""
        kept = self._save()
        news: dict[str, list[Answer]] = {session: [] for session in (*self._acknowledge, *self._out_recalls)}
        answers, self._answers = self._answers, []
        for session, ask, decided, before in reversed(answers):
            answer = decided
            if not kept and answer.refused < 0 and not answer.unavailable:
                answer = self._book.revoke(session, ask, answer, before)
                self._counts["unavailable"] += 1
            elif not answer.unavailable:
                self._counts["granted" if answer.refused < 0 else "refused"] += 1
            news.setdefault(session, []).append(answer)
        recalls, self._out_recalls = self._out_recalls, {}
        acknowledged, self._acknowledge = self._acknowledge, {}
        for session, told in news.items():
            peer = self._peers.get(session)
            if peer is not None:
                peer.send(News(acknowledged.get(session, 0), tuple(reversed(told)), tuple(recalls.get(session, ()))))

    def _save(self) -> bool:
        rows = self._book.changes()
        if not rows:
            return self._keeps
        keeps = self._keep(rows)
        if keeps:
            self._book.saved()
        if keeps != self._keeps:
            if keeps:
                log.warning("the ledger's journal can be written again")
            else:
                log.error("the ledger's journal cannot be written: limits that fail closed refuse until it can")
        self._keeps = keeps
        return keeps
