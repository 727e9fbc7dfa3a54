"""Fleets and situations, for tests of policies."""

from math import inf

from antiphon.core.breaker_policy import BreakerPolicy
from antiphon.scheduling.fleet import Fleet
from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.job import Job
from antiphon.scheduling.policy import Situation
from antiphon.scheduling.replica import Out
from antiphon.scheduling.settings import LimitSettings

BLOCK = 512


def info(name, **more):
    return ReplicaInfo(name, **{"limits": LimitSettings(max_calls=8, min_calls=1, adaptive=False), **more})


def fleet(*infos, backlog=0.25, panic=0.5, breaker=None):
    made = Fleet(breaker or BreakerPolicy(), backlog=backlog, panic=panic)
    made.set([each if isinstance(each, ReplicaInfo) else info(each) for each in infos], 0.0, fresh=False)
    return made


def job(number=1, prompt=1000, **more):
    return Job(number, 0.0, prompt, 500, **more)


def prompt(root, blocks=4, number=1, **more):
    """A job whose prompt consists of whole blocks: those of one root begin alike."""
    return job(number, blocks * BLOCK, blocks=tuple(root * 1000 + place for place in range(blocks)), **more)


def send(of, replica, what, *, now=0.0, output=100.0):
    """Put a call at a replica."""
    where = of.replicas[replica]
    uncached = where.uncached(what, BLOCK)
    out = Out(what, now, uncached, where.backlog(now) + uncached, output)
    where.take(out)
    of.refresh(where, now)
    return out


def busy(of, replica, calls, *, prompt_tokens=1000, output=100.0, first=1000):
    """Give a replica something to do."""
    return [send(of, replica, job(first * (replica + 1) + number, prompt_tokens), output=output) for number in range(calls)]


def learn(of, *, per_token=0.0001, pace=0.01, slope=0.0):
    """Let all replicas be known to prefill a token in ``per_token`` seconds and decode one in ``pace``, more with each call."""
    for replica in of.replicas:
        for running in range(1, 13):
            replica.speed.saw_first_token(1000, 1000 * per_token)
            replica.speed.saw_tokens(running, pace + slope * running)


def situation(of, *, now=0.0, output=100.0, target=inf, home=("", "", "")):
    return Situation(now, of, BLOCK, output, target, home)
