"""The breaker board of one process."""

import itertools
from collections.abc import Mapping
from typing import Final

from antiphon.core.breaker import Breaker
from antiphon.core.breaker_board import Admission, Listener, Permit, Refused, Then
from antiphon.core.breaker_policy import CLOSED_VIEW, BreakerPolicy, BreakerView
from antiphon.core.clock import SystemClock
from antiphon.core.ports import Clock

SWEEP_FROM: Final = 1024
"""Breakers from which on those that say nothing are looked for and forgotten."""


class _Entry:
    """A target: its breaker, the permit that its ordinary calls share, and the policy brought last."""

    __slots__ = ("breaker", "permit", "shown")

    def __init__(self, target: str, policy: BreakerPolicy) -> None:
        self.breaker = Breaker()
        self.permit = Permit(target, policy)
        self.shown = CLOSED_VIEW


class MemoryBreakerBoard:
    """Keeps all breakers in this process's memory; its views are never stale."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._now = (clock or SystemClock()).monotonic
        self._entries: dict[str, _Entry] = {}
        self._count = itertools.count(1).__next__
        self._listeners: list[Listener] = []
        self._sweep_at = SWEEP_FROM

    def admit(self, target: str, policy: BreakerPolicy, then: Then) -> Admission:
        entry = self._entry(target, policy)
        if entry.shown.state == "closed":
            return entry.permit
        now, number = self._now(), self._count()
        if entry.breaker.acquire(policy, number, now):
            return Permit(target, policy, number)
        return Refused(target, entry.breaker.view(now).state, entry.breaker.retry_after(now))

    def report(self, permit: Permit, ok: bool | None) -> None:
        entry = self._entries.get(permit.target)
        if entry is None:
            return
        if permit.trial:
            entry.breaker.conclude(entry.permit.policy, permit.trial, ok, self._now())
        elif ok is not None and permit is entry.permit:
            entry.breaker.count(permit.policy, ok, not ok, self._now())
            if ok:
                return  # it changes no state
        else:
            return
        self._show(permit.target, entry)

    def trip(self, target: str, policy: BreakerPolicy, seconds: float) -> None:
        entry = self._entry(target, policy)
        entry.breaker.trip(seconds, self._now())
        self._show(target, entry)

    def view(self, target: str) -> BreakerView:
        entry = self._entries.get(target)
        return entry.breaker.view(self._now()) if entry is not None else CLOSED_VIEW

    def opened(self) -> Mapping[str, BreakerView]:
        now = self._now()
        return {name: entry.breaker.view(now) for name, entry in self._entries.items() if entry.shown.state != "closed"}

    def watch(self, listener: Listener) -> None:
        self._listeners.append(listener)

    @property
    def targets(self) -> int:
        """How many breakers are kept in memory."""
        return len(self._entries)

    def _entry(self, target: str, policy: BreakerPolicy) -> _Entry:
        entry = self._entries.get(target)
        if entry is None:
            if len(self._entries) >= self._sweep_at:
                self._forget_idle()
            entry = self._entries[target] = _Entry(target, policy)
        elif entry.permit.policy is not policy and entry.permit.policy != policy:
            entry.permit = Permit(target, policy)
        return entry

    def _show(self, target: str, entry: _Entry) -> None:
        """Tell whoever watches what has changed. What was admitted before says nothing of a breaker that has."""
        view = entry.breaker.view(self._now())
        if view.term == entry.shown.term:
            return
        entry.shown = view
        entry.permit = Permit(target, entry.permit.policy)
        for listener in self._listeners:
            listener(target, view)

    def _forget_idle(self) -> None:
        now = self._now()
        for target in [target for target, entry in self._entries.items() if entry.breaker.idle(now)]:
            del self._entries[target]
        self._sweep_at = max(SWEEP_FROM, 2 * len(self._entries))
