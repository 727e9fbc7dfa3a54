"""When a circuit breaker opens and closes, and how one stands."""

from math import ceil
from typing import Annotated, Final, Literal

import msgspec

PARTS: Final = 10
"""The window moves on by this part of itself: an outcome counts for nine to ten parts, never longer than the window."""

FORGOTTEN_AFTER: Final = 600.0
"""Seconds after which a half-open breaker that nobody tries is closed again: who was looking at it is gone."""

ALMOST: Final = 1e-9
"""What rounding may take from a product of a share and a count."""

BreakerState = Literal["closed", "open", "half_open"]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class BreakerPolicy(msgspec.Struct, frozen=True, array_like=True):
    """When a breaker opens and closes."""

    window: Seconds = 10.0
    failure_rate: Share = 0.6
    """Share of failed calls in the window from which on it opens."""
    minimum_calls: Annotated[int, msgspec.Meta(ge=1)] = 4
    """Calls in the window below which it does not open: one failure of one call says little."""
    open_for: Seconds = 30.0
    trials: Annotated[int, msgspec.Meta(ge=1)] = 5
    """Calls in one half-open period, at most."""
    recovery: Share = 0.6
    """Share of the trials that must succeed; it closes or opens as soon as that is decided."""
    trial_lease: Seconds = 30.0
    """A trial without a verdict for so long is given to somebody else: who held it may be dead."""

    @property
    def needed(self) -> int:
        """Trials that must succeed."""
        return max(1, ceil(self.recovery * self.trials - ALMOST))


class BreakerView(msgspec.Struct, frozen=True):
    """How a breaker stands."""

    state: BreakerState = "closed"
    term: int = 0
    """Rises with every change of state."""
    until: float = 0.0
    """Open: the moment, on the clock of whoever asks, from which on trials are let through."""


CLOSED_VIEW: Final = BreakerView()
