"""All that a worker has of the coordinator's accounts, and what of it the coordinator has not been told."""

from collections.abc import Callable, Sequence
from typing import Final

from antiphon.core.ledger import Limit, Window
from antiphon.dispatch.coordinator.ledger.escrow import Slice, Use
from antiphon.dispatch.coordinator.ledger.messages import Report

SETTLED_WITHIN: Final = 0.001
"""Seconds after which a settlement has been told to the coordinator."""

QUIET: Final = 30.0
"""Seconds after which what lies idle of an account that nobody uses goes back, and the account is forgotten."""

LOOKED_THROUGH: Final = 200
"""Accounts looked at in each heartbeat for that."""

Parts = list[tuple[Slice, Use, int]]
"""What a reservation holds: the slice, the use within it, the amount."""


class Slices:
    """A worker's slices. ``wake`` asks for what is dirty to be told within so many seconds."""

    def __init__(self, wake: Callable[[float], None]) -> None:
        self.latest: dict[str, Slice] = {}
        """By name alone, the one whose limit was used last: names rarely have two windows."""
        self.by_key: dict[tuple[str, Window], Slice] = {}
        self._wake = wake
        self._dirty: list[Slice] = []
        self._retired: list[Report] = []
        self._retiring: list[Slice] = []
        """Forgotten here, which the coordinator may not have heard."""
        self._looking_through: list[Slice] = []

    def find(self, name: str, limit: Limit, now: float, mono: float) -> Slice:
        """The slice of an account within the limit's window, which goes by this limit from now on."""
        part = self.by_key.get((name, limit.window))
        if part is None:
            part = self.by_key[name, limit.window] = Slice(name, limit, now)
            part.quiet_since = mono
        elif part.capacity != limit.capacity:
            part.capacity = limit.capacity  # what was granted under another limit says nothing about this one
            part.give_back()
            self.mark(part, 0.0)
        part.go_by(limit)
        self.latest[name] = part
        return part

    def mark(self, part: Slice, within: float) -> None:
        """Tell of a slice within so many seconds."""
        if not part.dirty:
            part.dirty = True
            self._dirty.append(part)
        self._wake(within)

    def draw(self, part: Slice, amount: int, now: float) -> tuple[Slice, Use, int]:
        """Reserve from a slice, whatever it has."""
        if now >= part.until:
            part.roll(now)
        part.available -= amount
        part.drawn += amount
        part.open += 1
        part.current.reserved += amount
        part.changed.add(part.current.number)
        self.mark(part, 0.0 if part.tight else part.drawn_within)
        return part, part.current, amount

    def undo(self, parts: Parts) -> None:
        """Take back what was drawn a moment ago."""
        for part, use, amount in parts:
            part.available += amount
            part.drawn -= amount
            part.open -= 1
            use.reserved -= amount

    def settle(self, parts: Parts, amounts: Sequence[int]) -> None:
        """Count amounts in place of what was reserved."""
        for (part, use, reserved), amount in zip(parts, amounts, strict=True):
            part.settle(use, reserved, amount)
            if not part.dirty:
                part.dirty = True
                self._dirty.append(part)
        self._wake(SETTLED_WITHIN)

    def all(self) -> tuple[Report, ...]:
        """Reports of everything, for a new connection. What was forgotten, and may not have been heard of, is told again."""
        for part in self._retiring:
            self.by_key.setdefault((part.name, part.window), part).take_in(part)
        self._retiring.clear()
        self._dirty.clear()
        self._retired.clear()
        return tuple(part.report(whole=True) for part in self.by_key.values())

    def news(self, mono: float) -> tuple[Report, ...]:
        """Reports of what the coordinator has not been told."""
        reports = (*self._retired, *(part.report() for part in self._dirty))
        for part in self._dirty:
            part.quiet_since = mono
        self._dirty, self._retired = [], []
        return reports

    def tidy(self, mono: float) -> Callable[[], None] | None:
        """Give back what lies idle at accounts that nobody uses, and forget them; what to call once that was heard, if any."""
        found: list[Slice] = []
        if not self._looking_through:
            self._looking_through = list(self.by_key.values())
        for _ in range(min(LOOKED_THROUGH, len(self._looking_through))):
            part = self._looking_through.pop()
            if part.quiet_since + QUIET > mono or part.open or part.dirty or part.pledged or part.asking:
                continue
            if self.by_key.pop((part.name, part.window), None) is not part:
                continue
            if self.latest.get(part.name) is part:
                del self.latest[part.name]
            part.give_back()
            self._retired.append(part.report(whole=True, retired=True))
            found.append(part)
        if not found:
            return None
        self._retiring += found
        return lambda: self._heard(found)

    def _heard(self, parts: Sequence[Slice]) -> None:
        """The coordinator knows that these were forgotten."""
        self._retiring = [part for part in self._retiring if part not in parts]
