"""How long to wait before a process that ended is started again."""

import random
from collections.abc import Callable

import msgspec


class BackoffPolicy(msgspec.Struct, frozen=True):
    """Exponential back-off with jitter. All times in seconds."""

    first: float = 0.1
    limit: float = 10.0
    healthy: float = 30.0
    """A process that was ready for this long has recovered: the next pause is the first one again."""
    setup: float = 60.0
    """Pause after an error that the operator has to mend."""


class Backoff:
    """Remembers how often in a row a process has ended.

    The n-th pause lies between half and the whole of ``first * 2**(n-1)``, at most ``limit``, so that processes that ended together
    do not come back together.
    """

    def __init__(self, policy: BackoffPolicy, draw: Callable[[], float] = random.random) -> None:
        self._policy = policy
        self._draw = draw
        """A number in 0..1."""
        self._failures = 0

    def pause(self, *, healthy_for: float, setup: bool = False) -> float:
        """Seconds to wait, now that the process has ended after it had been ready for ``healthy_for`` seconds."""
        if healthy_for >= self._policy.healthy:
            self._failures = 0
        self._failures += 1
        whole = self._policy.first * 2.0 ** min(self._failures - 1, 32)
        whole = self._policy.setup if setup else min(whole, self._policy.limit)
        return whole * (1 + self._draw()) / 2
