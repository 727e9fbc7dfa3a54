"""What can be set of a scheduler."""

from typing import Annotated

import msgspec

from antiphon.core.breaker import BreakerPolicy
from antiphon.scheduling.retries import RetrySettings

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class QueueSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How calls wait."""

    max_waiting: Annotated[int, msgspec.Meta(ge=0)] = 10_000
    """Calls that may wait; one more is refused, or pushes out one of a lower tier."""
    max_wait: tuple[Seconds, Seconds, Seconds] = (30.0, 30.0, 30.0)
    """Seconds that a call of each tier may wait; after that it is refused."""
    floors: tuple[Share, Share, Share] = (0.0, 0.1, 0.05)
    """Share of the served tokens that a tier gets at least while it waits."""
    headroom: tuple[Share, Share, Share] = (0.0, 0.03, 0.06)
    """Share of a replica's places that a call of each tier leaves free for those above."""
    patience: Seconds = 30.0
    """Seconds behind its arrival for which a deadline counts at most, so that loose ones age."""
    backlog: Seconds = 1.0
    """Seconds of prompts that a replica gets ahead; the rest waits where its order can still change."""
    shed_from: Share = 0.5
    """Share of ``max_wait`` from which on sheddable calls below tier 0 are refused early: the longer the wait, the more of them."""


class SchedulerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment's scheduler."""

    queue: QueueSettings = QueueSettings()
    retries: RetrySettings = RetrySettings()
    breaker: BreakerPolicy = BreakerPolicy()
    block_tokens: Annotated[int, msgspec.Meta(ge=1)] = 512
    """Tokens of a prefix block."""
    slow_start: float = 0.0
    """Seconds in which a replica that joined gets its full share."""
    panic: Share = 0.5
    """Where fewer replicas than this share are well, all of them count as well: too many sick ones look like a fault of ours."""
