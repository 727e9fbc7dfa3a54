"""A worker's ledger: reserves from what the coordinator has granted in advance, and asks it where that is not enough."""

import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from antiphon.core.ledger import (
    CLOSED,
    MAX_AMOUNT,
    Hold,
    Limit,
    Outcome,
    Refusal,
    Reservation,
    Standing,
    Then,
    Window,
    check_amounts,
    check_holds,
)
from antiphon.core.ports import Clock
from antiphon.dispatch.coordinator.escrow import Slice, Use
from antiphon.dispatch.coordinator.messages import (
    Answer,
    Ask,
    Bye,
    FromCoordinator,
    FromWorker,
    Hello,
    Look,
    News,
    Report,
    Seen,
    Told,
    Want,
    Welcome,
)

SETTLED_WITHIN: Final = 0.001
"""Seconds after which a settlement has been told to the coordinator."""

DRAWN_WITHIN: Final = 0.05
"""Seconds after which it has been told of a reservation that was taken from the escrow."""

HEARTBEAT: Final = 1.0
PATIENCE: Final = 2.0
"""Seconds after which an ask that nobody answered is decided as in an outage."""

MAX_WAITING: Final = 10_000
"""Asks under way; one more is refused."""

QUIET: Final = 30.0
"""Seconds after which what lies idle of an account that nobody uses goes back, and the account is forgotten."""

LOOKED_THROUGH: Final = 200
"""Accounts looked at in each heartbeat for that."""

RETRY_AFTER: Final = 1.0
"""Seconds that a caller is told to wait while the coordinator cannot be asked."""

log = logging.getLogger(__name__)


class Link(Protocol):
    """The way to the coordinator."""

    def send(self, message: FromWorker) -> None:
        """Pass a message on. Only called between ``connected`` and ``lost``."""

    def wake(self, delay: float) -> None:
        """Call ``flush`` after ``delay`` seconds, or sooner; 0 means once what runs now is over."""


class LedgerStats(msgspec.Struct, frozen=True):
    """How a worker's ledger is doing."""

    connected: bool
    epoch: int
    """Of the coordinator; 0 before the first connection."""
    slices: int
    """Accounts of which this worker has something."""
    waiting: int
    """Calls that wait for the coordinator's answer."""
    session: str = ""
    asked: int = 0
    """Round trips since the start."""
    unbacked: int = 0
    """Reservations let pass while nobody could be asked."""
    revived: int = 0
    """Times that the lease had ended."""


class _Pending:
    """A call that waits for the coordinator."""

    __slots__ = ("holds", "sent_at", "slices", "then", "wants")

    def __init__(self, holds: Sequence[Hold], then: Then | None, slices: list[Slice], wants: tuple[Want, ...]) -> None:
        self.holds = holds
        self.then = then
        self.slices = slices
        self.wants = wants
        self.sent_at = 0.0


_Parts = list[tuple[Slice, Use, int]]


class CoordinatorLedger:
    """The ledger port for one worker. ``session`` names this life of it.

    While the coordinator is gone, what lies in escrow can be used until the lease ends, since nobody else can get it; beyond it a
    hold whose limit is ``closed`` is refused, and one whose limit is ``open`` passes and is charged later.
    """

    def __init__(self, clock: Clock, session: str) -> None:
        self._time = clock.time
        self._monotonic = clock.monotonic
        self._session = session
        self._link: Link | None = None
        self._connected = False
        self._epoch = 0
        self._lease = 0.0
        self._valid_until = 0.0
        """Until when, on the monotonic clock, the coordinator keeps what lies in escrow here for this worker."""
        self._now = 0.0
        self._latest: dict[str, Slice] = {}
        self._slices: dict[tuple[str, Window], Slice] = {}
        self._dirty: list[Slice] = []
        self._retired: list[Report] = []
        self._asks: list[Ask] = []
        self._recalled: list[int] = []
        self._pending: dict[int, _Pending] = {}
        self._looks: dict[int, Callable[[Standing | None], None]] = {}
        self._unsent_looks: list[Look] = []
        self._count = itertools.count(1).__next__
        self._sent: deque[tuple[int, float]] = deque()
        """Messages that will be acknowledged, and when they were sent."""
        self._drains: list[tuple[int, Callable[[], None]]] = []
        self._beat_at = 0.0
        self._looking_through: list[Slice] = []
        self._asked = self._unbacked = self._revived = 0

    # the port

    def reserve(self, holds: Sequence[Hold], then: Then) -> Outcome | None:
        now = self._time()
        if now < self._now:
            now = self._now
        else:
            self._now = now
        if self._monotonic() >= self._valid_until:
            return self._beyond(holds, idle=False)
        parts: _Parts = []
        for hold in holds:
            limit, amount = hold.limit, hold.amount
            part = self._latest.get(hold.account)
            if part is None or part.limit is not limit:
                part = self._find(hold.account, limit, now)
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
                self._mark(part, 0.0 if part.tight else DRAWN_WITHIN)
            parts.append((part, use, amount))
            if left < part.usual and not part.tight and not part.asking:
                self._ask_in_advance(part)
        return Reservation(0, holds, parts)

    def settle(self, reservation: Reservation, amounts: Sequence[int]) -> None:
        check_amounts(amounts, len(reservation.holds))
        if reservation.state == CLOSED:
            return
        reservation.state = CLOSED
        for (part, use, reserved), amount in zip(reservation.parts, amounts, strict=True):
            part.settle(use, reserved, amount)
            if not part.dirty:
                part.dirty = True
                self._dirty.append(part)
        if self._link is not None:
            self._link.wake(SETTLED_WITHIN)

    def release(self, reservation: Reservation) -> None:
        self.settle(reservation, [0] * len(reservation.holds))

    def look(self, account: str, window: Window, then: Callable[[Standing | None], None]) -> None:
        if not self._connected or self._link is None or len(self._looks) >= MAX_WAITING:
            then(None)
            return
        number = self._count()
        self._looks[number] = then
        self._unsent_looks.append(Look(number, account, window.code))
        self._link.wake(0.0)

    def drain(self, then: Callable[[], None]) -> None:
        """Call ``then`` once the coordinator has everything that was settled until now; not before it is back, if it is gone."""
        self._drains.append((0, then))
        if self._link is not None:
            self._link.wake(0.0)

    # the link

    def attach(self, link: Link) -> None:
        """Say who carries the messages; before anything else."""
        self._link = link

    def connected(self) -> None:
        """A connection stands: tell the coordinator who this is and all that it has."""
        assert self._link is not None
        self._dirty.clear()
        self._retired.clear()
        self._sent.clear()
        self._sent.append((0, self._monotonic()))
        reports = tuple(part.report(whole=True) for part in self._slices.values())
        self._link.send(Hello(self._session, reports))

    def lost(self) -> None:
        """The connection is gone: nobody waits for it."""
        self._connected = False
        self._asks.clear()
        self._recalled.clear()
        self._drains = [(0, then) for _, then in self._drains]
        self._unsent_looks.clear()
        looks, self._looks = self._looks, {}
        for then in looks.values():
            then(None)
        waiting, self._pending = list(self._pending.values()), {}
        for pending in waiting:
            if pending.then is not None:
                pending.then(self._beyond(pending.holds, idle=True))

    def received(self, message: FromCoordinator) -> None:
        """The coordinator's word."""
        if isinstance(message, News):
            self._news(message)
        elif isinstance(message, Seen):
            look = self._looks.pop(message.id, None)
            if look is not None:
                look(Standing(message.settled, message.reserved, message.escrowed))
        else:
            self._welcome(message)

    def flush(self) -> None:
        """Tell the coordinator what there is to tell. Called when ``wake`` asked for it."""
        if not self._connected or self._link is None:
            return
        reports = (*self._retired, *(part.report() for part in self._dirty))
        mono = self._monotonic()
        waits = [index for index, (number, _) in enumerate(self._drains) if not number]
        asks = self._asks
        if reports or asks or self._recalled:
            self._tell(Told(self._count(), reports, tuple(asks), tuple(self._recalled)), mono, acknowledged=bool(asks))
            for part in self._dirty:
                part.quiet_since = mono
            self._dirty, self._retired, self._asks, self._recalled = [], [], [], []
        for look in self._unsent_looks:
            self._link.send(look)
        self._unsent_looks.clear()
        if waits:
            beat = self._count()
            self._tell(Told(beat), mono, acknowledged=True)
            for index in waits:
                self._drains[index] = (beat, self._drains[index][1])

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
        if self._connected:
            self._tidy(mono)
            self.flush()
            self._tell(Told(self._count()), mono, acknowledged=True)

    def stats(self) -> LedgerStats:
        """How this ledger is doing."""
        return LedgerStats(
            self._connected, self._epoch, len(self._slices), len(self._pending), self._session,
            self._asked, self._unbacked, self._revived,
        )  # fmt: skip

    # inside

    def _find(self, name: str, limit: Limit, now: float) -> Slice:
        part = self._slices.get((name, limit.window))
        if part is None:
            part = self._slices[name, limit.window] = Slice(name, limit, now)
            part.quiet_since = self._monotonic()
        elif part.capacity != limit.capacity:
            part.capacity = limit.capacity  # what was granted under another limit says nothing about this one
            part.give_back()
            self._mark(part, 0.0)
        part.limit = limit
        self._latest[name] = part
        return part

    def _mark(self, part: Slice, within: float) -> None:
        if not part.dirty:
            part.dirty = True
            self._dirty.append(part)
        if self._link is not None:
            self._link.wake(within)

    def _undo(self, parts: _Parts) -> None:
        for part, use, amount in parts:
            part.available += amount
            part.drawn -= amount
            part.open -= 1
            use.reserved -= amount

    def _ask(self, parts: _Parts, holds: Sequence[Hold], then: Then) -> Outcome | None:
        """Put a reservation that the escrow does not cover to the coordinator."""
        self._undo(parts)
        check_holds(holds)
        if not self._connected:
            return self._beyond(holds, idle=True)
        if len(self._pending) >= MAX_WAITING:
            return Refusal(holds[0].account, holds[0].limit, RETRY_AFTER, "unavailable")
        amounts: dict[Slice, int] = {}
        for hold in holds:
            part = self._find(hold.account, hold.limit, self._now)
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
        if self._link is not None:
            self._link.wake(0.0)

    def _beyond(self, holds: Sequence[Hold], *, idle: bool) -> Outcome:
        """Decide while nobody can be asked; ``idle`` says whether what lies in escrow may be used."""
        check_holds(holds)
        parts: _Parts = []
        unbacked = False
        for hold in holds:
            part = self._find(hold.account, hold.limit, self._now)
            if self._now >= part.until:
                part.roll(self._now)
            amount = hold.amount
            if amount and not (idle and part.available >= amount):
                if hold.limit.outage == "closed":
                    self._undo(parts)
                    return Refusal(hold.account, hold.limit, RETRY_AFTER, "unavailable")
                unbacked, amount = True, 0
            part.available -= amount
            part.drawn += amount
            part.open += 1
            part.current.reserved += amount
            part.changed.add(part.current.number)
            self._mark(part, DRAWN_WITHIN)
            parts.append((part, part.current, amount))
        self._unbacked += unbacked
        return Reservation(0, holds, parts)

    def _tell(self, message: Told, mono: float, *, acknowledged: bool) -> None:
        assert self._link is not None
        if acknowledged:
            self._sent.append((message.number, mono))
        self._link.send(message)

    def _news(self, news: News) -> None:
        if news.acknowledged:
            self._acknowledge(news.acknowledged)
        for recall in news.recalls:
            part = self._slices.get((recall.account, Window.parse(recall.window)))
            if part is not None:
                part.tight = True
                part.give_back()
                self._mark(part, 0.0)
            self._recalled.append(recall.id)
        if news.recalls:
            self.flush()
        for answer in news.answers:
            self._answered(answer)

    def _acknowledge(self, number: int) -> None:
        while self._sent and self._sent[0][0] <= number:
            self._valid_until = self._sent.popleft()[1] + self._lease
        due = [then for beat, then in self._drains if 0 < beat <= number]
        self._drains = [(beat, then) for beat, then in self._drains if not 0 < beat <= number]
        for then in due:
            then()

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
                self._mark(part, 0.0)
        if pending.then is not None and outcome is not None:
            pending.then(outcome)

    def _draw(self, holds: Sequence[Hold]) -> Reservation:
        """Reserve what has just been granted for it."""
        parts: _Parts = []
        for hold in holds:
            part = self._find_as_it_is(hold)
            if self._now >= part.until:
                part.roll(self._now)
            part.available -= hold.amount
            part.drawn += hold.amount
            part.open += 1
            part.current.reserved += hold.amount
            part.changed.add(part.current.number)
            self._mark(part, 0.0 if part.tight else DRAWN_WITHIN)
            parts.append((part, part.current, hold.amount))
        return Reservation(0, holds, parts)

    def _find_as_it_is(self, hold: Hold) -> Slice:
        return self._slices[hold.account, hold.limit.window]

    def _welcome(self, message: Welcome) -> None:
        if self._epoch and message.epoch != self._epoch:
            log.info("the coordinator is back, epoch %d", message.epoch)
        self._epoch, self._lease = message.epoch, message.lease
        self._valid_until = self._sent.popleft()[1] + message.lease
        self._connected = True
        if message.revived:
            self._revived += 1
            log.warning("the lease of this worker had ended: its reservations no longer count until they are settled")
        granted = {(share.account, share.window): share.granted for share in message.shares}
        for part in self._slices.values():
            part.begin_again(granted.get((part.name, part.code), part.drawn), revived=message.revived)
        if self._link is not None:
            self._link.wake(0.0)

    def _tidy(self, mono: float) -> None:
        """Give back what lies idle at accounts that nobody uses, and forget them."""
        if mono >= self._valid_until:
            return  # whether the coordinator has heard everything is not sure
        if not self._looking_through:
            self._looking_through = list(self._slices.values())
        for _ in range(min(LOOKED_THROUGH, len(self._looking_through))):
            part = self._looking_through.pop()
            if part.quiet_since + QUIET > mono or part.open or part.dirty or part.pledged or part.asking:
                continue
            if self._slices.pop((part.name, part.window), None) is not part:
                continue
            if self._latest.get(part.name) is part:
                del self._latest[part.name]
            part.give_back()
            self._retired.append(part.report(whole=True, retired=True))
