"""When replicas are asked for their load, and what comes of the answers."""

import logging
from random import Random

import pytest

from antiphon.core.errors import UpstreamUnreachable
from antiphon.dispatch import load_polls
from antiphon.dispatch.load_polls import LONGEST_PAUSE, MAX_PAGE, LoadPolls, LoadSource, patience, pause
from antiphon.execution.providers import PROVIDERS, TellsLoad
from antiphon.execution.providers._gauges import Gauges
from antiphon.scheduling.info import Reported
from antiphon.scheduling.replica import HIGHS_KEPT_FOR
from antiphon.testing import FakeClock
from tests.unit.dispatch.timers import Timer

PAGE = b"up:running 3\nup:waiting 2\n"
LAG = 0.25


class Exchange:
    def __init__(self, receiver):
        self.receiver = receiver
        self.cancelled = False

    def cancel(self):
        self.cancelled = True

    def answer(self, body=PAGE, status=200):
        self.receiver.head(status, ())
        self.receiver.data(body)
        self.receiver.complete()


class Pool:
    """Takes questions, and answers when the test wants it."""

    def __init__(self, room=1000):
        self.room = room
        self.asked = []

    def request_prepared(self, prepared, extra, body, receiver):
        self.asked.append(Exchange(receiver))
        return self.asked[-1]


class Desk:
    def __init__(self):
        self.ours = True
        self.heard = []

    def polls(self):
        return self.ours

    def told(self, replica, reported, since):
        self.heard.append((replica, reported, since))


class Rig:
    def __init__(self, replicas=1, period=1.0):
        self.clock = FakeClock()
        self.desk = Desk()
        self.pools = [Pool() for _ in range(replicas)]
        page = Gauges(running=("up:running",), waiting=("up:waiting",), lag=LAG)
        sources = {number: LoadSource(f"p{number}/m", pool, b"GET /metrics", page, "m") for number, pool in enumerate(self.pools)}
        self.polls = LoadPolls(sources, self.desk, period, self.clock, self.later)
        self.polls.start()

    def later(self, delay, ring):
        timer = Timer(ring)
        self.clock.call_later(delay, timer)
        return timer

    @property
    def asked(self):
        return self.pools[0].asked

    def next(self, within=2 * LONGEST_PAUSE):
        """The next question; the time it took to come is told with it."""
        before, began = len(self.asked), self.clock.monotonic()
        while len(self.asked) == before:
            self.clock.advance(0.01)
            assert self.clock.monotonic() - began < within
        return self.asked[-1], self.clock.monotonic() - began


@pytest.fixture(autouse=True)
def _same_chance(monkeypatch):
    monkeypatch.setattr(load_polls, "random", Random(1))


def test_what_a_replica_tells_goes_to_the_desk_with_the_moment_since_which_it_may_be_so():
    rig = Rig()
    question, _ = rig.next()
    asked = rig.clock.monotonic()
    rig.clock.advance(0.5)
    question.answer()
    ((replica, reported, since),) = rig.desk.heard
    assert (replica, reported) == (0, Reported(3, 2))
    assert since == pytest.approx(asked - LAG, abs=0.02)


def test_replicas_are_asked_once_a_period_and_not_in_step():
    rig = Rig(replicas=50)
    firsts = []
    for _ in range(400):
        rig.clock.advance(0.025)
        for pool in rig.pools:
            if pool.asked and not pool.asked[-1].cancelled and pool.asked[-1].receiver is not None:
                if len(pool.asked) == 1:
                    firsts.append(rig.clock.monotonic())
                pool.asked[-1].answer()
                pool.asked[-1].receiver = None
    assert all(8 <= len(pool.asked) <= 12 for pool in rig.pools), "ten seconds, one a second"
    assert max(firsts.count(moment) for moment in firsts) < 10, "no herd of polls"
    assert len(rig.desk.heard) == sum(len(pool.asked) for pool in rig.pools)


def test_a_replica_is_asked_one_thing_at_a_time():
    rig = Rig()
    rig.next()
    rig.clock.advance(patience(1.0) - 0.05)
    assert len(rig.asked) == 1


def test_an_answer_that_does_not_come_is_given_up_and_one_that_comes_then_counts_for_nothing():
    rig = Rig()
    question, _ = rig.next()
    rig.clock.advance(patience(1.0) + 0.1)
    assert question.cancelled
    question.answer()
    assert rig.desk.heard == []


@pytest.mark.parametrize("period", [0.1, 1.0, 5.0])
def test_the_pause_doubles_with_each_failure_up_to_its_longest_and_ends_with_an_answer(period):
    assert pause(period, 0) == period
    assert [pause(period, failures) for failures in range(1, 4)] == [min(30.0, period * 2**failures) for failures in range(1, 4)]
    assert pause(period, 1000) == LONGEST_PAUSE
    rig = Rig(period=period)
    pauses = []
    for _ in range(12):
        question, waited = rig.next()
        pauses.append(waited)
        question.answer(b"", 404)
    assert pauses[-1] > 0.85 * LONGEST_PAUSE
    question, _ = rig.next()
    question.answer()
    _, waited = rig.next()
    assert waited < 1.2 * period


def test_no_answer_is_waited_for_longer_than_it_would_be_believed():
    assert (patience(0.1), patience(1.0), patience(5.0)) == (0.2, 2.0, 5.0)


def test_what_a_page_tells_is_never_older_than_what_is_known_of_our_own_calls():
    plugins = [PROVIDERS.load(name) for name in PROVIDERS.names()]
    lags = [plugin.load.lag for plugin in plugins if isinstance(plugin, TellsLoad) and plugin.load is not None]
    assert max(lags) + patience(5.0) < HIGHS_KEPT_FOR


def test_each_reason_is_logged_once(caplog):
    rig = Rig()
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            rig.next()[0].answer(b"", 404)
        for _ in range(2):
            rig.next()[0].answer(b"<html>")
        for _ in range(2):
            rig.next()[0].receiver.broken(UpstreamUnreachable("127.0.0.1:9 cannot be reached"))
        for _ in range(2):
            rig.next()[0].answer(b"", 302)
        for _ in range(2):
            rig.next()
            rig.clock.advance(patience(1.0) + 0.01)
        for _ in range(2):
            rig.next()[0].receiver.data(b"a" * (MAX_PAGE + 1))
    assert [record.getMessage().split(": ")[1].split("; ")[0] for record in caplog.records] == [
        "/metrics answers 404",
        "/metrics cannot be read",
        "/metrics is not to be had",
        "/metrics answers 302",
        "/metrics has not come within 2 s",
        "/metrics is larger than 4 MiB",
    ]
    assert all("p0/m" in record.getMessage() for record in caplog.records)
    assert rig.desk.heard == []
    assert rig.asked[-1].cancelled, "what is too large is read no further"


def test_calls_come_first_where_connections_are_few():
    rig = Rig()
    rig.pools[0].room = 1
    rig.clock.advance(5)
    assert rig.asked == []
    rig.pools[0].room = 2
    rig.clock.advance(1.2)
    assert len(rig.asked) == 1


def test_who_is_not_to_poll_does_not_until_it_is():
    rig = Rig()
    rig.desk.ours = False
    rig.clock.advance(5)
    assert rig.asked == []
    rig.desk.ours = True
    rig.clock.advance(1.2)
    assert len(rig.asked) == 1


def test_what_was_stopped_asks_and_hears_nothing_more():
    rig = Rig(replicas=2)
    question, _ = rig.next()
    rig.polls.stop()
    assert question.cancelled
    question.answer()
    rig.clock.advance(100)
    assert len(rig.asked) == 1
    assert rig.desk.heard == []
