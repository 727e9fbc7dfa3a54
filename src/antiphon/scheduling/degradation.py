"""When a call goes down to something lighter than its main model, because that is not well or has no time for it."""

from collections import Counter, deque
from typing import Final

from antiphon.scheduling.job import Decision, Degrade, Job, Refuse, Way
from antiphon.scheduling.settings import DegradeSettings

PARTS: Final = 10
"""The window moves on by this part of itself, so a call counts for nine to ten parts."""
BUSY: Final = frozenset(("late", "waited", "shed", "queue_full"))
"""Refusals for want of time."""
MAIN, MODEL, TEMPLATE = range(3)
"""Levels: what answers."""
DENSITY: Final = 1.25
"""Times ``minimum_calls`` that are tried at the main model in a window at least, as far as calls come: enough to tell."""


class Recent:
    """Calls that did well and badly in the last seconds."""

    __slots__ = ("_bad", "_good", "_parts", "length")

    def __init__(self, length: float) -> None:
        self.length = length
        """Seconds."""
        self._parts: deque[list[int]] = deque()
        """Number of a part of the window, and the calls in it that did well and badly."""
        self._good = self._bad = 0

    def count(self, ok: bool, now: float) -> None:
        """One more call."""
        part = int(now / self.length * PARTS)
        self._forget(part)
        if not self._parts or self._parts[-1][0] != part:
            self._parts.append([part, 0, 0])
        if ok:
            self._good += 1
            self._parts[-1][1] += 1
        else:
            self._bad += 1
            self._parts[-1][2] += 1

    def calls(self, now: float) -> tuple[int, int]:
        """How many did well, and how many did not."""
        self._forget(int(now / self.length * PARTS))
        return self._good, self._bad

    def _forget(self, part: int) -> None:
        while self._parts and self._parts[0][0] <= part - PARTS:
            _, good, bad = self._parts.popleft()
            self._good -= good
            self._bad -= bad


class Degradation:
    """Keeps the health score of a route, and says what answers in place of its main model.

    The score is ``good / (good + bad)`` over the calls that the breakers of its replicas were told of in the last ``window``
    seconds, trials among them. A call is bad that failed by its replica's fault, or was late or slow as the breaker sees it.
    Where fewer than ``minimum_calls`` were told, the last score that was known holds for one more window; after that, and before
    any was known, it is 1. A call that finds no replica because all breakers are open counts it as 0.

    A score below ``template_below`` means the template, one below ``below`` the lighter model. Back up it goes where the score is
    above that by ``margin`` (never above 1), so that it does not go to and fro. Meanwhile a share ``probe`` of the calls, and
    ``DENSITY * minimum_calls`` of them in a window at least, go to the main model all the same: they show when it is well again.
    """

    def __init__(self, settings: DegradeSettings, window: float) -> None:
        self.settings = settings
        self.in_use = settings.model or settings.template
        """There is a way down."""
        self.degraded: Counter[str] = Counter()
        """Calls that went down, by reason."""
        self.refused: Counter[str] = Counter()
        """Calls that were refused, by reason; not those that are wrong in themselves, or broke off."""
        self._recent = Recent(window)
        self._level = MAIN
        self._known = 1.0
        """The last score from enough calls, and when it was looked at."""
        self._known_at = float("-inf")
        self._credit = 0.0
        self._probed = float("-inf")

    def change(self, settings: DegradeSettings, window: float) -> None:
        """Go by other settings from now on."""
        self.settings = settings
        self.in_use = settings.model or settings.template
        if window != self._recent.length:
            self._recent = Recent(window)

    def saw(self, ok: bool, now: float) -> None:
        """A breaker was told of a call."""
        if self.in_use:
            self._recent.count(ok, now)

    def told(self, now: float) -> tuple[float, dict[str, int], dict[str, int]]:
        """For operators: the health score, and calls that were refused and that went down, by reason."""
        return self.score(now), dict(self.refused), dict(self.degraded)

    def score(self, now: float) -> float:
        """The health score, 0 to 1, as far as calls tell."""
        good, bad = self._recent.calls(now)
        if good + bad >= max(1, self.settings.minimum_calls):
            self._known, self._known_at = good / (good + bad), now
        elif now - self._known_at >= self._recent.length:
            self._known, self._level = 1.0, MAIN
        return self._known

    def at_entry(self, job: Job, now: float) -> Degrade | None:
        """What a call that comes is told; None where it goes to the main model."""
        score = self.score(now)
        self._level = self._level_of(score, self._level)
        way = None if self._level == MAIN else self._way(job, self._level)
        if way is None or self._probes(now):
            return None
        return self._down(Degrade(job, way, "health", score))

    def instead_of(self, refusal: Refuse, now: float, *, final: bool, dead: bool) -> Decision:
        """What becomes of a call that the main model does not take.

        ``final``: nothing else may be tried with it; ``dead``: the breakers of all replicas are open.
        """
        reason, job = refusal.reason, refusal.job
        score = 0.0 if dead and reason == "no_replica" else self.score(now)
        refused = final or (reason in BUSY and not self.settings.when_busy)
        way = None if refused else self._way(job, max(MODEL, self._level_of(score, self._level)))
        if way is None:
            if not final:
                self.refused[reason] += 1
            return refusal
        return self._down(Degrade(job, way, reason, score))

    def _down(self, decision: Degrade) -> Degrade:
        self.degraded[decision.reason] += 1
        return decision

    def _level_of(self, score: float, level: int) -> int:
        """The level that a score means, for one that stands at ``level``: back up takes more."""
        settings = self.settings
        if settings.template and score < _bound(settings.template_below, settings.margin if level == TEMPLATE else 0.0):
            return TEMPLATE
        if settings.model and score < _bound(settings.below, settings.margin if level else 0.0):
            return MODEL
        return MAIN

    def _way(self, job: Job, level: int) -> Way | None:
        """What answers a call at a level; None where nothing but the main model can."""
        template = self.settings.template and job.takes_text
        if template and (level == TEMPLATE or not self.settings.model):
            return "template"
        return "model" if self.settings.model else None

    def _probes(self, now: float) -> bool:
        """Whether a call goes to the main model although that is not well."""
        self._credit += self.settings.probe
        due = now - self._probed >= self._recent.length / (DENSITY * max(1, self.settings.minimum_calls))
        if self._credit < 1 and not due:
            return False
        self._credit = 0.0
        self._probed = now
        return True


def _bound(below: float, margin: float) -> float:
    """The score below which a level is taken. One of 0 never is."""
    return min(1.0, below + margin) if below else 0.0
