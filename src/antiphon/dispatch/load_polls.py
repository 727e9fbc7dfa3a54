"""Asks the replicas of a route, now and then, how busy they are: so that calls count which others send there."""

import logging
import random
from collections.abc import Mapping
from typing import Final

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Clock
from antiphon.core.types import Headers
from antiphon.dispatch.alarms import CallLater, Timer
from antiphon.dispatch.desk import PolledDesk
from antiphon.execution.providers import LoadPage
from antiphon.scheduling.info import Reported
from antiphon.scheduling.replica import METRICS_COUNT_FOR
from antiphon.transport.client import ClientPool, Exchange

MAX_PAGE: Final = 4 << 20
"""Bytes that a page may have."""
LONGEST_PAUSE: Final = 30.0
"""Seconds between two polls of a replica that tells nothing."""
SPREAD: Final = 0.1
"""Share of the period by which polls come earlier or later, so that they do not come in step."""
SPARE: Final = 2
"""Places for exchanges that must be free at a provider: a poll takes one, and leaves one to the next call."""

log = logging.getLogger(__name__)


class LoadSource(msgspec.Struct, frozen=True):
    """Where one replica tells its load."""

    name: str
    """Of the replica, ``provider/model``."""
    pool: ClientPool
    head: bytes
    """Of the request, as the pool has prepared it."""
    page: LoadPage
    model: str
    """The server's name for it."""


def patience(period: float) -> float:
    """Seconds that an answer may take: what comes later is believed for too short a time to be worth anything."""
    return min(2 * period, METRICS_COUNT_FOR)


def pause(period: float, failures: int) -> float:
    """Seconds until the next poll, after so many in a row that told nothing; each of these doubles it."""
    return max(period, min(LONGEST_PAUSE, period * 2.0 ** min(failures, 16)))


class LoadPolls:
    """Polls the replicas of one route, each by itself and one poll at a time; ``sources`` has them by their number at the desk.

    A poll goes over the provider's own connections, as calls do, and only while there is room. No call waits for it, and none
    fails by it: a replica that tells nothing is one of which nothing is known but its calls.
    """

    def __init__(
        self, sources: Mapping[int, LoadSource], desk: PolledDesk, period: float, clock: Clock, call_later: CallLater
    ) -> None:
        self.desk = desk
        self.period = period
        self.clock = clock
        self.call_later = call_later
        self._polled = [_Polled(self, number, source) for number, source in sources.items()]

    def start(self) -> None:
        """Begin, each replica at another moment of the first period."""
        for each in self._polled:
            each.wait(self.period * random.random())  # noqa: S311 - spreads the polls, guards nothing

    def stop(self) -> None:
        """Ask no more, and forget the answers that are on their way."""
        for each in self._polled:
            each.stop()


class _Polled:
    """One replica."""

    def __init__(self, polls: LoadPolls, number: int, source: LoadSource) -> None:
        self._polls = polls
        self._number = number
        self._source = source
        self._failures = 0
        self._reasons: set[str] = set()
        """Why it told nothing, as far as the log has it."""
        self._timer: Timer | None = None
        self._poll: _Poll | None = None

    def wait(self, seconds: float) -> None:
        self._timer = self._polls.call_later(seconds, self._ask)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        poll, self._poll = self._poll, None
        if poll is not None:
            poll.cancel()

    def told(self, page: bytes, asked: float) -> None:
        """A page came."""
        source = self._source
        try:
            load = source.page.read(page, source.model)
        except ValueError as error:
            self.failed("unreadable", f"cannot be read: {error}")
            return
        self._failures = 0
        reported = Reported(load.running, load.waiting, load.kv_usage, load.tokens)
        self._polls.desk.told(self._number, reported, asked - source.page.lag)
        self._again()

    def failed(self, reason: str, what: str) -> None:
        """A poll told nothing. ``reason`` is a word for each kind of cause."""
        self._failures += 1
        if reason not in self._reasons:
            self._reasons.add(reason)
            source = self._source
            log.warning(
                "%s does not tell its load, so calls that others send there are not seen: %s %s; "
                "mend that, or set poll_load of the route to 0",
                source.name,
                source.page.path,
                what,
            )
        self._again()

    def _ask(self) -> None:
        polls, source = self._polls, self._source
        if not polls.desk.polls() or source.pool.room < SPARE:
            self._again()
            return
        self._poll = poll = _Poll(self, polls.clock.monotonic(), patience(polls.period))
        poll.begin(source, polls.call_later)

    def _again(self) -> None:
        self._poll = None
        spread = random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311 - as above
        self.wait(spread * pause(self._polls.period, self._failures))


class _Poll:
    """One question, and the receiver of its answer."""

    def __init__(self, polled: _Polled, asked: float, patience: float) -> None:
        self._polled = polled
        self._asked = asked
        self._patience = patience
        self._body: list[bytes] = []
        self._size = 0
        self._status = 0
        self._over = False
        self._exchange: Exchange | None = None
        self._timer: Timer | None = None

    def begin(self, source: LoadSource, call_later: CallLater) -> None:
        self._timer = call_later(self._patience, self._late)
        exchange = source.pool.request_prepared(source.head, b"", b"", self)
        if not self._over:
            self._exchange = exchange

    def cancel(self) -> None:
        """Want nothing more of it."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.cancel()

    # -- receiver of the answer

    def head(self, status: int, headers: Headers) -> None:
        del headers
        self._status = status

    def data(self, chunk: bytes) -> None:
        if self._over:
            return
        self._size += len(chunk)
        self._body.append(chunk)
        if self._size > MAX_PAGE:
            self._fail("size", f"is larger than {MAX_PAGE >> 20} MiB")

    def complete(self) -> None:
        if not self._over:
            self._exchange = None
            if self._status != 200:  # a redirect too: whom the settings do not name is not asked
                self._fail(f"status {self._status}", f"answers {self._status}")
                return
            self.cancel()
            self._polled.told(b"".join(self._body), self._asked)

    def broken(self, error: AntiphonError) -> None:
        if not self._over:
            self._exchange = None
            self._fail(error.code, f"is not to be had: {error.message}")

    def _late(self) -> None:
        self._fail("late", f"has not come within {self._patience:g} s")

    def _fail(self, reason: str, what: str) -> None:
        self.cancel()
        self._polled.failed(reason, what)
