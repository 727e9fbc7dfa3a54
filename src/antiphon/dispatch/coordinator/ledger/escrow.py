"""A worker's share of the accounts that the coordinator keeps. Decides; knows no socket and no loop."""

from typing import Final

from antiphon.core.ledger import Limit, Window
from antiphon.dispatch.coordinator.ledger.messages import Report, Share

DRAWN_WITHIN: Final = 0.05
"""Seconds after which the coordinator has been told of a reservation that was taken from the escrow."""

CHARGED_WITHIN: Final = 0.001
"""The same where an abandoned reservation is charged: what the coordinator has not heard of it cannot charge."""

ALIVE: Final = 0
DEAD: Final = 1
"""The window has moved on: nothing in this slot counts any more."""
ORPHANED: Final = 2
"""The coordinator took back what was reserved here: what is settled of it is charged all the same."""


class Use:
    """What this worker reserved and settled within one slot."""

    __slots__ = ("number", "reserved", "settled", "state")

    def __init__(self, number: int, settled: int = 0) -> None:
        self.number = number
        self.reserved = 0
        self.settled = settled
        self.state = ALIVE


class Slice:
    """What this worker has of an account. ``available`` is granted - drawn - pledged."""

    __slots__ = (
        "asking", "available", "capacity", "changed", "charge", "code", "current", "dirty", "drawn", "drawn_within", "granted",
        "keeps", "limit", "name", "open", "pledged", "quiet_since", "tight", "until", "uses", "usual", "window",
    )  # fmt: skip

    def __init__(self, name: str, limit: Limit, now: float) -> None:
        self.name = name
        self.window: Window = limit.window
        self.code = limit.window.code
        self.capacity = limit.capacity
        self.keeps = limit.window.keeps
        self.granted = 0
        self.drawn = 0
        self.pledged = 0
        self.available = 0
        self.go_by(limit)
        number, self.until = limit.window.slot(now)
        self.current = Use(number)
        self.uses = {number: self.current}
        self.changed: set[int] = set()
        """Slots that the coordinator has not been told of as they are now."""
        self.dirty = False
        self.open = 0
        """Holds of reservations that are neither settled nor released."""
        self.usual = 1
        self.tight = True
        self.asking = False
        """A grant in advance is under way."""
        self.quiet_since = 0.0
        """When it was told last, on the monotonic clock."""

    def go_by(self, limit: Limit) -> None:
        """Take another limit of the same window; what it grants is another matter."""
        self.limit = limit
        self.charge = limit.abandoned == "charge"
        self.drawn_within = CHARGED_WITHIN if self.charge else DRAWN_WITHIN

    def roll(self, now: float) -> None:
        """Begin the slot of ``now``, and forget those that no longer count."""
        number, self.until = self.window.slot(now)
        oldest = number - self.keeps
        for slot in [slot for slot in self.uses if slot < oldest]:
            self.uses.pop(slot).state = DEAD
            self.changed.discard(slot)
        use = self.uses.get(number)
        if use is None:
            use = self.uses[number] = Use(number)
        self.current = use

    def settle(self, use: Use, reserved: int, amount: int) -> None:
        """Count ``amount`` in place of what was reserved in a slot."""
        self.open -= 1
        if use.state == DEAD:
            return
        if use.state == ORPHANED:
            living = self.uses.get(use.number)
            if living is None:
                return
            use, reserved = living, 0
        use.reserved -= reserved
        use.settled += amount
        self.changed.add(use.number)
        left = reserved - amount
        if left < 0:
            left = -min(-left, self.available)  # more than was reserved: take it from what lies idle, if there is any
        elif self.tight or self.window.kind != "none":
            return  # it goes back: in a slot that is over it could not be used again
        self.drawn -= left
        self.available += left

    def reopen(self, use: Use, charged: int) -> Use:
        """Take back what an abandoned reservation was charged, to settle it after all; the use to settle it in."""
        self.open += 1
        living = self.uses.get(use.number) if use.state == ORPHANED else use
        if living is None or living.state == DEAD:
            return use
        living.settled -= charged
        living.reserved += charged
        return living

    def give_back(self) -> None:
        """Keep nothing idle."""
        self.drawn += self.available
        self.available = 0

    def take(self, share: Share, pledge: int) -> None:
        """The coordinator's word: what is granted, after a pledge went back to it."""
        self.granted = share.granted
        self.pledged -= pledge
        self.tight = share.tight
        self.available = max(0, share.granted - self.drawn - self.pledged)

    def begin_again(self, granted: int, *, revived: bool) -> None:
        """What is granted in a new connection, where nothing is pledged.

        ``revived``: the lease had ended, and no reservation counts any more, unless it was charged.
        """
        self.granted, self.pledged, self.asking = granted, 0, False
        if revived and not self.charge:
            for number, use in self.uses.items():
                use.state = ORPHANED
                self.uses[number] = Use(number, use.settled)
            self.current = self.uses[self.current.number]
        self.available = max(0, granted - self.drawn)

    def take_in(self, earlier: "Slice") -> None:
        """Have what an earlier slice of the same account had, too, unless it is this one: nothing of it was reserved any more."""
        if earlier is self:
            return
        self.granted += earlier.granted
        self.drawn += earlier.drawn
        for number, use in earlier.uses.items():
            own = self.uses.setdefault(number, use)
            if own is not use:
                own.settled += use.settled

    def report(self, *, whole: bool = False, retired: bool = False) -> Report:
        """What the coordinator is told: what has changed, or all."""
        numbers = self.uses if whole else self.changed
        slots = tuple((use.number, use.reserved, use.settled) for number in numbers if (use := self.uses.get(number)) is not None)
        self.changed.clear()
        self.dirty = False
        return Report(self.name, self.code, self.drawn, slots, retired, self.charge)
