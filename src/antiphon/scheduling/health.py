"""What speaks for and against a replica, told to its breaker: errors, slowness, and that it cannot be reached."""

from collections.abc import Callable
from math import inf
from typing import Final

from antiphon.scheduling.fleet import Fleet
from antiphon.scheduling.held import Held
from antiphon.scheduling.replica import Out, Replica
from antiphon.scheduling.settings import HealthSettings

LONGER: Final = 3.0
"""Times as long as before that a breaker stays open when its trials fail."""


class Health:
    """Keeps the breakers of a fleet. Each call is told once, to its replica's breaker and to whoever ``heard`` is."""

    def __init__(self, fleet: Fleet, settings: HealthSettings, heard: Callable[[bool, float], None]) -> None:
        self.settings = settings
        self._fleet = fleet
        self._heard = heard
        self._trials = 0

    def begins(self, replica: Replica, out: Out, now: float) -> None:
        """A call goes to a replica: where its breaker is half open, the call is a trial."""
        if out.job.streams:
            out.late_at = now + self._patience(replica, out)
        if replica.breaker.closed:
            return
        self._trials += 1
        if replica.breaker.acquire(replica.breaker_policy, self._trials, now):
            out.trial = self._trials
            self._fleet.recovers(replica, now + replica.breaker_policy.trial_lease)

    def _patience(self, replica: Replica, out: Out) -> float:
        """Seconds after which the call's first token is late; infinite where nobody can tell."""
        settings = self.settings
        absolute = settings.first_token_over or inf
        if not self._comparable:
            return absolute
        usual = self._fleet.typical.first_token(out.ahead) * self._allowance(replica)
        return min(absolute, max(settings.never_below, settings.times_typical * usual))

    def find_late(self, held: Held, now: float) -> None:
        """A first token should have come by now: where it has not, that speaks against the replica."""
        for replica in map(self._fleet.replicas.__getitem__, held.replicas):
            out = replica.out[held.job.id]
            if out.first_at < 0 and not out.judged and now >= out.late_at:
                replica.disappointed(now - out.sent, now)
                self._tell(replica, out, False, now)
                self._fleet.refresh(replica, now)

    def first_token(self, replica: Replica, out: Out, now: float) -> None:
        """A call's first token came; where that is late, it speaks against the replica."""
        if now > out.late_at:
            self._tell(replica, out, False, now)

    def finished(self, replica: Replica, out: Out, output_tokens: int, now: float) -> None:
        """An answer is whole."""
        replica.unreachable = 0
        if out.first_at < 0:  # it was not streamed: how long it took is no more than its answer's length tells
            self._tell(replica, out, True, now)
            return
        settings = self.settings
        pace = (now - out.first_at) / max(1, output_tokens - 1)
        slow = bool(settings.token_over) and pace > settings.token_over
        if self._comparable and output_tokens > 1:
            running = (out.calls_at_first + replica.calls + 1) / 2
            usual = self._fleet.typical.per_token(running) * self._allowance(replica)
            slow = slow or (pace > settings.times_typical * usual and now - out.first_at > settings.never_below)
        self._tell(replica, out, not slow, now)

    def failed(self, replica: Replica, out: Out, now: float, *, unreachable: bool) -> None:
        """A call failed there, and that is the replica's fault."""
        self._tell(replica, out, False, now)
        if not unreachable:
            return
        replica.unreachable += 1
        view = replica.breaker.view(now)
        if view.state == "half_open" or (view.state == "closed" and replica.unreachable >= self.settings.unreachable):
            replica.breaker.trip(replica.breaker_policy.open_for, now)
            self._opened(replica, now)

    def says_nothing(self, replica: Replica, out: Out, now: float) -> None:
        """A call is over, and that tells nothing of the replica."""
        if out.trial:
            self._tell(replica, out, None, now)

    def cools(self, replica: Replica, seconds: float, now: float) -> None:
        """A replica asked to be left alone for so many seconds."""
        if now + seconds > replica.cooling_until:
            replica.cooling_until = now + seconds
            self._fleet.recovers(replica, replica.cooling_until)
        self._fleet.refresh(replica, now)

    @property
    def _comparable(self) -> bool:
        return self.settings.times_typical > 0 and len(self._fleet) > 1 and self._fleet.typical.known

    def _allowance(self, replica: Replica) -> float:
        """A replica that should get less than the others may be as much slower."""
        return max(1.0, self._fleet.mean_weight / replica.info.weight)

    def _tell(self, replica: Replica, out: Out, ok: bool | None, now: float) -> None:
        if out.judged:
            return
        out.judged = True
        if ok is not None:
            self._heard(ok, now)
        policy, breaker = replica.breaker_policy, replica.breaker
        before = breaker.term(now)
        if out.trial:
            breaker.conclude(policy, out.trial, ok, now)
        elif ok is not None:
            breaker.count(policy, int(ok), int(not ok), now)
        if breaker.term(now) == before:
            return
        after = breaker.view(now)
        if after.state == "open":
            self._opened(replica, now)
        elif after.state == "closed":
            replica.trips = 0

    def _opened(self, replica: Replica, now: float) -> None:
        """Its breaker has opened: for longer each time that it could not be closed meanwhile."""
        policy = replica.breaker_policy
        rest = min(max(policy.open_for, self.settings.longest_rest), policy.open_for * LONGER**replica.trips)
        replica.trips += 1
        replica.breaker.trip(rest, now)
        self._fleet.recovers(replica, replica.breaker.view(now).until)
