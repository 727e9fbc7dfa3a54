"""What can be set of a scheduler."""

from typing import Annotated

import msgspec

from antiphon.core.breaker_policy import BreakerPolicy

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


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
    backlog: Seconds = 0.25
    """Seconds of prompts that a replica gets ahead; the rest waits where its order can still change."""
    cooling_wait: float = 1.0
    """Seconds for which a call waits where no replica may be asked; where it would be longer, it is refused at once."""
    shed_from: Share = 0.5
    """Share of ``max_wait`` from which on sheddable calls below tier 0 are refused early: the longer the wait, the more of them."""


class HealthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What speaks against a replica besides its errors: being slow. Such a call counts as failed for its breaker."""

    first_token_over: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Seconds after which a first token is late; 0 never."""
    token_over: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Seconds that a token may take on the mean of an answer; 0 any."""
    times_typical: Annotated[float, msgspec.Meta(ge=0)] = 8.0
    """Times as long as usual in its fleet that a first token, or a token on the mean of an answer, may take; 0 any."""
    never_below: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    """Seconds below which no first token is late, whatever is usual."""
    unreachable: Annotated[int, msgspec.Meta(ge=1)] = 2
    """Times in a row that a replica cannot be reached before its breaker opens at once."""
    longest_rest: Seconds = 240.0
    """Seconds for which a breaker stays open at most; each time that its trials fail they become three times as many."""


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of the calls that a replica has at once."""

    max_calls: Count = 256
    """Calls at once, at most."""
    min_calls: Count = 4
    """Calls at once that it may always have."""
    max_tokens: int = 0
    """Tokens of prompts and answers at once, at most; 0 means any."""
    adaptive: bool = True
    """Find out how many it can bear; otherwise it always gets ``max_calls``."""
    tolerance: float = 2.0
    """Times as slow as in the long run that it may become before it gets fewer."""


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a call is tried again, and when it is asked of two replicas."""

    attempts: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Replicas that one call is sent to, at most."""
    pause: Annotated[float, msgspec.Meta(ge=0)] = 0.1
    """Seconds before the only replica is asked a second time; they double with each further time, and vary by half."""
    budget: Share = 0.2
    """Retries, as a share of the calls."""
    reserve: float = 10.0
    """Retries that are allowed whatever the traffic."""
    hedge_budget: Share = 0.02
    """Hedges, as a share of the calls; 0 hedges none."""
    hedge_quantile: Share = 0.95
    """A call is hedged that has waited for its first token for longer than this share of like-sized calls."""


class DegradeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When something lighter than the main model answers. Without a way down nothing does."""

    model: bool = False
    """There is a lighter model."""
    template: bool = False
    """There is a fixed text."""
    below: Share = 0.95
    """Health score below which the lighter model answers."""
    template_below: Share = 0.8
    """Health score below which the fixed text does."""
    margin: Share = 0.02
    """By how much the score must be above these for the way back up."""
    minimum_calls: Annotated[int, msgspec.Meta(ge=1)] = 10
    """Calls in the breaker's window below which nothing is concluded."""
    probe: Share = 0.05
    """Share of the calls that still go to a main model that is not well."""
    when_busy: bool = False
    """Calls that the main model has no time for go down instead of being refused."""


class SchedulerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment's scheduler."""

    queue: QueueSettings = QueueSettings()
    retries: RetrySettings = RetrySettings()
    breaker: BreakerPolicy = BreakerPolicy()
    health: HealthSettings = HealthSettings()
    degrade: DegradeSettings = DegradeSettings()
    block_tokens: Annotated[int, msgspec.Meta(ge=1)] = 512
    """Tokens of a prefix block."""
    slow_start: float = 0.0
    """Seconds after which a replica that joined gets its full share."""
    panic: Share = 0.5
    """Where fewer replicas than this share are well, all of them count as well: too many sick ones look like a fault of ours."""
