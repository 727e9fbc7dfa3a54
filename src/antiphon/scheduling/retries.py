"""How much may be tried twice: budgets that grow with traffic, so that retries and hedges never become a storm."""

from typing import Annotated

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a call is tried again, and when it is asked of two replicas."""

    attempts: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Replicas that one call is sent to, at most."""
    pause: Annotated[float, msgspec.Meta(ge=0)] = 0.1
    """Seconds before the only replica is asked a second time; they double with each further time, and vary by half."""
    budget: Share = 0.2
    """Retries, as a share of the calls."""
    reserve: float = 10.0
    """Retries that are allowed whatever the traffic."""
    hedge_budget: Share = 0.02
    """Hedges, as a share of the calls; 0 hedges none."""
    hedge_quantile: Share = 0.95
    """A call is hedged that has waited for its first token for longer than this share of like-sized calls."""


class Budget:
    """A token bucket that calls fill and retries empty (of Twitter's Finagle)."""

    __slots__ = ("_most", "_share", "_tokens", "spent")

    def __init__(self, share: float, reserve: float) -> None:
        self._share = share
        self._most = max(reserve, 100.0 * share)
        self._tokens = reserve
        self.spent = 0
        """Times that it was spent."""

    def change(self, share: float, reserve: float) -> None:
        """Other bounds from now on."""
        self._share = share
        self._most = max(reserve, 100.0 * share)
        self._tokens = min(self._tokens, self._most)

    def earn(self) -> None:
        """A call came."""
        self._tokens = min(self._most, self._tokens + self._share)

    def spend(self) -> bool:
        """Whether one may be tried twice now; if so it is counted."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        self.spent += 1
        return True
