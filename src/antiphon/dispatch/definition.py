"""What makes a scheduler: everything but the calls."""

import msgspec

from antiphon.scheduling.info import ReplicaInfo
from antiphon.scheduling.scheduler import Scheduler
from antiphon.scheduling.settings import SchedulerSettings


class Definition(msgspec.Struct, frozen=True):
    """One deployment's scheduler. Equal definitions are the same scheduler, for all workers and through changes of settings."""

    name: str
    """Of the route."""
    replicas: tuple[ReplicaInfo, ...]
    policy: tuple[tuple[str, float], ...]
    """Names of policies, each with its weight."""
    settings: SchedulerSettings

    @property
    def key(self) -> bytes:
        """The same for equal definitions."""
        return msgspec.msgpack.encode(self)

    def scheduler(self, now: float) -> Scheduler:
        """A scheduler that begins with nothing."""
        return Scheduler(self.replicas, self.policy, self.settings, now=now)
