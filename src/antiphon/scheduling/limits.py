"""How many calls a replica may have at once: adapted to what it shows, so that overload never becomes collapse.

The limit follows the gradient of time per output token and of time per prefilled token: as long as both stay within ``tolerance``
of what they are in the long run it grows by the square root of itself, and beyond that it shrinks in proportion
(Gradient2 of Netflix's concurrency-limits, 2018, with these two times in place of a call's latency).
"""

from math import sqrt

from antiphon.scheduling.settings import LimitSettings


class AdaptiveLimit:
    """The limit of one replica."""

    __slots__ = ("_long", "_settings", "_short", "value")

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._short = 0.0
        self._long = 0.0
        self.value = float(settings.max_calls)

    @property
    def settings(self) -> LimitSettings:
        """Its bounds."""
        return self._settings

    @settings.setter
    def settings(self, settings: LimitSettings) -> None:
        if settings == self._settings:
            return
        at_most = self.value >= self._settings.max_calls
        self._settings = settings
        if at_most or not settings.adaptive:
            self.value = float(settings.max_calls)
        else:
            self.value = max(float(settings.min_calls), min(float(settings.max_calls), self.value))

    def saw(self, slowness: float, calls: int) -> None:
        """A sample: seconds for a token, of one kind always; ``calls`` were at the replica."""
        settings = self._settings
        if not settings.adaptive:
            return
        if not self._long:
            self._short = self._long = slowness
            return
        self._short += 0.2 * (slowness - self._short)
        self._long += 0.005 * (slowness - self._long)
        if self._long > 2 * self._short:  # it has become faster: forget how slow it was
            self._long *= 0.95
        if calls < self.value / 2:
            return
        gradient = max(0.5, min(1.0, settings.tolerance * self._long / self._short))
        wanted = self.value * gradient + sqrt(self.value)
        self.value = max(settings.min_calls, min(settings.max_calls, 0.8 * self.value + 0.2 * wanted))
