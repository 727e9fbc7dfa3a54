"""What workers and the coordinator tell each other of calls that are scheduled. They share the monotonic clock of their machine.

A worker numbers its definitions and its jobs; the numbers mean something on its connection only.
"""

import msgspec

from antiphon.dispatch.coordinator.party import Message
from antiphon.dispatch.definition import Definition
from antiphon.scheduling.info import Reported
from antiphon.scheduling.job import Job, Reasons, Way


class Item(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """One piece of news about a scheduler. The tag is the kind's name."""

    schedule: int
    """Number of its definition."""


class Defined(Item, frozen=True):
    """A scheduler that the worker has calls for."""

    definition: Definition


class Forgotten(Item, frozen=True):
    """A scheduler that it will have no more calls for."""


class Arrived(Item, frozen=True):
    """A call came."""

    job: Job


class Running(Item, frozen=True):
    """A call that was sent to a replica before this connection stood."""

    job: Job
    replica: int
    began: bool
    """Its first token has come."""


class FirstToken(Item, frozen=True):
    """A replica has begun to answer."""

    job: int
    replica: int


class Finished(Item, frozen=True):
    """An answer is whole."""

    job: int
    replica: int
    output_tokens: int


class Failed(Item, frozen=True):
    """A replica has failed a call."""

    job: int
    replica: int
    retryable: bool
    blame: bool
    unreachable: bool
    retry_after: float


class Gone(Item, frozen=True):
    """The caller has left."""

    job: int


class Load(Item, frozen=True):
    """A replica told its load."""

    replica: int
    reported: Reported
    since: float
    """It was so at some moment between this one and now."""


class Poll(Item, frozen=True):
    """Ask the replicas for their load from now on, on behalf of all workers."""


class Sent(Item, frozen=True):
    """Send the call to a replica."""

    job: int
    replica: int
    reasons: Reasons
    hedge: bool


class Refused(Item, frozen=True):
    """Refuse the call."""

    job: int
    reason: str
    retry_after: float


class Degraded(Item, frozen=True):
    """Have something lighter answer the call."""

    job: int
    way: Way
    reason: str
    score: float


class Withdrawn(Item, frozen=True):
    """Stop the call at a replica."""

    job: int
    replica: int


class ScheduleEvents(Message, frozen=True, tag="schedule-events"):
    """A worker's news, in their order."""

    items: tuple[Defined | Forgotten | Arrived | Running | FirstToken | Finished | Failed | Gone | Load, ...]


class ScheduleDecisions(Message, frozen=True, tag="schedule-decisions"):
    """What is to be done, in this order."""

    items: tuple[Sent | Refused | Degraded | Withdrawn | Poll, ...]


FromWorker = ScheduleEvents
FromCoordinator = ScheduleDecisions
