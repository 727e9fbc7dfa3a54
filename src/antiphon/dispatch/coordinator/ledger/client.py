"""A worker's ledger: reserves from what the coordinator has granted in advance, and asks it where that is not enough."""

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Final

from antiphon.core.ledger import (
    AGE,
    CLOSED,
    LOST,
    MAX_AMOUNT,
    OPEN,
    Hold,
    Outcome,
    Refusal,
    Reservation,
    Standing,
    Then,
    Window,
    check_amounts,
    check_holds,
)
from antiphon.core.open_reservations import OpenReservations, left_behind
from antiphon.core.ports import Clock
from antiphon.dispatch.coordinator.ledger.acknowledged import Acknowledged
from antiphon.dispatch.coordinator.ledger.escrow import Slice
from antiphon.dispatch.coordinator.ledger.messages import (
    Answer,
    Ask,
    Bye,
    Hello,
    Look,
    News,
    Seen,
    Told,
    Want,
    Welcome,
)
from antiphon.dispatch.coordinator.ledger.slices import Parts, Slices
from antiphon.dispatch.coordinator.ledger.stats import LedgerStats
from antiphon.dispatch.coordinator.party import Link, Message

HEARTBEAT: Final = 1.0
PATIENCE: Final = 2.0
"""Seconds after which an ask that nobody answered is decided as in an outage."""

MAX_WAITING: Final = 10_000
"""Asks under way; one more is refused."""

RETRY_AFTER: Final = 1.0
"""Seconds that a caller is told to wait while the coordinator cannot be asked."""

log = logging.getLogger(__name__)


class _Pending:
    """A call that waits for the coordinator."""

    __slots__ = ("holds", "sent_at", "slices", "then", "wants")

    def __init__(self, holds: Sequence[Hold], then: Then | None, slices: list[Slice], wants: tuple[Want, ...]) -> None:
        self.holds = holds
        self.then = then
        self.slices = slices
        self.wants = wants
        self.sent_at = 0.0


class CoordinatorLedger:
    """The ledger port for one worker. ``session`` names this life of it.

    While the coordinator is gone, what lies in escrow can be used until the lease ends, since nobody else can get it; beyond it a
    hold whose limit is ``closed`` is refused, and one whose limit is ``open`` passes and is charged later.
    """

    def __init__(self, clock: Clock, session: str, *, age: float = AGE) -> None:
        self._time = clock.time
        self._monotonic = clock.monotonic
        self._session = session
        self._link: Link | None = None
        self._connected = False
        self._epoch = 0
        self._acknowledged = Acknowledged()
        self._now = 0.0
        self._open = OpenReservations(age)
        self._age = age
        self._slices = Slices(self._wake)
        self._latest = self._slices.latest
        self._asks: list[Ask] = []
        self._recalled: list[int] = []
        self._pending: dict[int, _Pending] = {}
        self._looks: dict[int, Callable[[Standing | None], None]] = {}
        self._unsent_looks: list[Look] = []
        self._count = itertools.count(1).__next__
        self._beat_at = 0.0
        self._asked = self._unbacked = self._revived = 0
        self._begun = clock.monotonic()
        self._early: list[tuple[Sequence[Hold], Then]] = []
        """Calls that came before the coordinator was met for the first time; they wait for it, but not for longer than others."""

    # the port

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome | None:
        now = self._time()
        if now < self._now:
            now = self._now
        else:
            self._now = now
        mono = self._monotonic()
        if mono >= self._acknowledged.valid_until:
            if not self._epoch and mono < self._begun + PATIENCE and len(self._early) < MAX_WAITING:
                check_holds(holds)
                self._early.append((holds, then))
                return None
            return self._beyond(holds, idle=False)
        parts: Parts = []
        for hold in holds:
            limit, amount = hold.limit, hold.amount
            part = self._latest.get(hold.account)
            if part is None or part.limit is not limit:
                part = self._find(hold)
            if now >= part.until:
                part.roll(now)
            left = part.available - amount
            if (left < 0 and amount) or not 0 <= amount <= MAX_AMOUNT:
                return self._ask(parts, holds, then)
            part.available = left
            part.drawn += amount
            part.open += 1
            use = part.current
            use.reserved += amount
            part.changed.add(use.number)
            if not part.dirty:
                self._slices.mark(part, 0.0 if part.tight else part.drawn_within)
            parts.append((part, use, amount))
            if left < part.usual and not part.tight and not part.asking:
                self._ask_in_advance(part)
        identity = self._count()
        reservation = self._open.by_id[identity] = Reservation(identity, holds, parts, mono + self._age)
        return reservation

    def settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        check_amounts(amounts, len(reservation.holds))
        state, reservation.state = reservation.state, CLOSED
        if state == OPEN:
            del self._open.by_id[reservation.id]
            self._slices.settle(reservation.parts, amounts)
        elif state == LOST:
            again = zip(reservation.parts, left_behind(reservation), strict=True)
            self._slices.settle([(part, part.reopen(use, charged), charged) for (part, use, _), charged in again], amounts)

    def release(self, reservation: Reservation) -> None:
        self.settle(reservation, [0] * len(reservation.holds))

    def renew(self, reservation: Reservation) -> None:
        self._open.renew(reservation, self._monotonic())

    def look(self, account: str, window: Window, then: Callable[[Standing | None], None]) -> None:
        if not self._connected or self._link is None or len(self._looks) >= MAX_WAITING:
            then(None)
            return
        number = self._count()
        self._looks[number] = then
        self._unsent_looks.append(Look(number, account, window.code))
        self._link.wake(0.0)

    @property
    def idle(self) -> bool:
        """Nobody waits for it, and nothing is reserved."""
        return not (self._open.by_id or self._early or any(pending.then is not None for pending in self._pending.values()))

    def drain(self, then: Callable[[], None]) -> None:
        """Call ``then`` once the coordinator has everything that was settled until now; not before it is back, if it is gone."""
        self._acknowledged.drain(then)
        self._wake(0.0)

    # the link

    def attach(self, link: Link) -> None:
        """Say who carries the messages; before anything else."""
        self._link = link

    def connected(self) -> None:
        """A connection stands: tell the coordinator who this is and all that it has."""
        assert self._link is not None
        self._acknowledged.begin(self._monotonic())
        reports = self._slices.all()
        self._link.send(Hello(self._session, reports))

    def lost(self) -> None:
        """The connection is gone: nobody waits for it."""
        self._connected = False
        self._asks.clear()
        self._recalled.clear()
        self._acknowledged.lost()
        self._unsent_looks.clear()
        looks, self._looks = self._looks, {}
        for then in looks.values():
            then(None)
        waiting, self._pending = list(self._pending.values()), {}
        for pending in waiting:
            if pending.then is not None:
                pending.then(self._beyond(pending.holds, idle=True))

    def received(self, message: Message) -> None:
        """The coordinator's word."""
        if isinstance(message, News):
            self._news(message)
        elif isinstance(message, Seen):
            look = self._looks.pop(message.id, None)
            if look is not None:
                look(Standing(message.settled, message.reserved, message.escrowed))
        elif isinstance(message, Welcome):
            self._welcome(message)

    def flush(self) -> None:
        """Tell the coordinator what there is to tell. Called when ``wake`` asked for it."""
        if not self._connected or self._link is None:
            return
        mono = self._monotonic()
        reports = self._slices.news(mono)
        waited_for = self._acknowledged.wants_beat()
        asks = self._asks
        if reports or asks or self._recalled:
            self._tell(Told(self._count(), reports, tuple(asks), tuple(self._recalled)), mono, acknowledged=bool(asks))
            self._asks, self._recalled = [], []
        for look in self._unsent_looks:
            self._link.send(look)
        self._unsent_looks.clear()
        if waited_for:
            beat = self._count()
            self._tell(Told(beat), mono, acknowledged=True)
            self._acknowledged.beats(beat)

    def leave(self) -> None:
        """Tell that this worker ends; afterwards the ledger is of no more use."""
        if self._connected and self._link is not None:
            self.flush()
            self._link.send(Bye())

    def beat(self) -> None:
        """Called every ``HEARTBEAT`` seconds at least: stay alive for the coordinator, and give up what waits for too long."""
        mono = self._monotonic()
        for number, pending in list(self._pending.items()):
            if pending.then is not None and pending.sent_at + PATIENCE <= mono:
                then, pending.then = pending.then, None
                log.warning("the coordinator did not answer ask %d within %g s", number, PATIENCE)
                then(self._beyond(pending.holds, idle=True))
        if not self._epoch and mono >= self._begun + PATIENCE:
            self._begin_early()
        for reservation in self._open.abandoned(mono):
            reservation.state = LOST
            self._slices.settle(reservation.parts, left_behind(reservation))
        if self._connected:
            if mono < self._acknowledged.valid_until:  # else whether the coordinator has heard everything is not sure
                heard = self._slices.tidy(mono)
                if heard is not None:
                    self._acknowledged.drain(heard)
            self.flush()
            self._tell(Told(self._count()), mono, acknowledged=True)

    def stats(self) -> LedgerStats:
        """How this ledger is doing."""
        return LedgerStats(
            self._connected, self._epoch, len(self._slices.by_key), len(self._pending), self._session,
            self._asked, self._unbacked, self._revived,
        )  # fmt: skip

    # inside

    def _wake(self, delay: float) -> None:
        if self._link is not None:
            self._link.wake(delay)

    def _find(self, hold: Hold) -> Slice:
        return self._slices.find(hold.account, hold.limit, self._now, self._monotonic())

    def _made(self, holds: Sequence[Hold], parts: Parts) -> Reservation:
        reservation = Reservation(self._count(), holds, parts, self._monotonic() + self._age)
        self._open.by_id[reservation.id] = reservation
        return reservation

    def _ask(self, parts: Parts, holds: Sequence[Hold], then: Then) -> Outcome | None:
        """Put a reservation that the escrow does not cover to the coordinator."""
        self._slices.undo(parts)
        check_holds(holds)
        if not self._connected:
            return self._beyond(holds, idle=True)
        if len(self._pending) >= MAX_WAITING:
            return Refusal(holds[0].account, holds[0].limit, RETRY_AFTER, "unavailable")
        amounts: dict[Slice, int] = {}
        for hold in holds:
            part = self._find(hold)
            amounts[part] = amounts.get(part, 0) + hold.amount
        wants = []
        for part, amount in amounts.items():
            pledge = min(part.available, amount)
            part.available -= pledge
            part.pledged += pledge
            part.usual = amount or part.usual
            wants.append(self._want(part, amount, pledge))
        self._put(_Pending(holds, then, list(amounts), tuple(wants)))
        return None

    def _ask_in_advance(self, part: Slice) -> None:
        if self._connected:
            part.asking = True
            self._put(_Pending((), None, [part], (self._want(part, 0, 0),)))

    def _want(self, part: Slice, amount: int, pledge: int) -> Want:
        return Want(part.name, part.code, amount, pledge, part.capacity, part.usual)

    def _put(self, pending: _Pending) -> None:
        number = self._count()
        pending.sent_at = self._monotonic()
        self._pending[number] = pending
        self._asks.append(Ask(number, pending.wants))
        self._asked += 1
        self._wake(0.0)

    def _beyond(self, holds: Sequence[Hold], *, idle: bool) -> Outcome:
        """Decide while nobody can be asked; ``idle`` says whether what lies in escrow may be used."""
        check_holds(holds)
        parts: Parts = []
        unbacked = False
        for hold in holds:
            part = self._find(hold)
            amount = hold.amount
            if amount and not (idle and part.available >= amount):
                if hold.limit.outage == "closed":
                    self._slices.undo(parts)
                    return Refusal(hold.account, hold.limit, RETRY_AFTER, "unavailable")
                unbacked, amount = True, 0
            parts.append(self._slices.draw(part, amount, self._now))
        self._unbacked += unbacked
        return self._made(holds, parts)

    def _tell(self, message: Told, mono: float, *, acknowledged: bool) -> None:
        assert self._link is not None
        if acknowledged:
            self._acknowledged.sent(message.number, mono)
        self._link.send(message)

    def _news(self, news: News) -> None:
        if news.acknowledged:
            self._acknowledged.heard(news.acknowledged)
        for recall in news.recalls:
            part = self._slices.by_key.get((recall.account, Window.parse(recall.window)))
            if part is not None:
                part.tight = True
                part.give_back()
                self._slices.mark(part, 0.0)
            self._recalled.append(recall.id)
        if news.recalls:
            self.flush()
        for answer in news.answers:
            self._answered(answer)

    def _answered(self, answer: Answer) -> None:
        pending = self._pending.pop(answer.id, None)
        if pending is None:
            return
        self._now = max(self._now, self._time())
        for index, part in enumerate(pending.slices):
            pledge = pending.wants[index].pledge
            if answer.shares:
                part.take(answer.shares[index], pledge)
            else:
                part.pledged -= pledge
                part.available += pledge
            part.asking = False
        outcome: Outcome | None = None
        if answer.unavailable:
            outcome = self._beyond(pending.holds, idle=True) if pending.then is not None else None
        elif answer.refused >= 0:
            refused = pending.slices[answer.refused]
            hold = next(
                (hold for hold in pending.holds if hold.account == refused.name and hold.limit.window == refused.window), None
            )
            outcome = Refusal(hold.account, hold.limit, answer.retry_after) if hold is not None else None
        elif pending.then is not None:
            outcome = self._draw(pending.holds)
        for part in pending.slices:
            if part.tight and part.available:
                part.give_back()
                self._slices.mark(part, 0.0)
        if pending.then is not None and outcome is not None:
            pending.then(outcome)

    def _draw(self, holds: Sequence[Hold]) -> Reservation:
        """Reserve what has just been granted for it."""
        by_key = self._slices.by_key
        return self._made(
            holds, [self._slices.draw(by_key[hold.account, hold.limit.window], hold.amount, self._now) for hold in holds]
        )

    def _welcome(self, message: Welcome) -> None:
        if self._epoch and message.epoch != self._epoch:
            log.info("the coordinator is back, epoch %d", message.epoch)
        self._epoch = message.epoch
        self._acknowledged.welcomed(message.lease)
        self._connected = True
        if message.revived:
            self._revived += 1
            log.warning("the lease of this worker had ended: its reservations no longer count until they are settled")
        granted = {(share.account, share.window): share.granted for share in message.shares}
        for part in self._slices.by_key.values():
            part.begin_again(granted.get((part.name, part.code), part.drawn), revived=message.revived)
        self._begin_early()
        self._wake(0.0)

    def _begin_early(self) -> None:
        """Reserve what came before the coordinator was met, or decide it as in an outage."""
        early, self._early = self._early, []
        for holds, then in early:
            outcome = self.reserve(holds, then)
            if outcome is not None:
                then(outcome)
