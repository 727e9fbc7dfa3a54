"""What waits for a replica, and what is decided of it."""

from math import inf
from typing import Literal

import msgspec

TIERS = 3
"""Service tiers: 0 holds while 1 and 2 give way, and 1 while 2 does (P0, P1, P2)."""


class Job(msgspec.Struct, frozen=True, gc=False):
    """One call, as far as scheduling needs to know it. Times are seconds of one monotonic clock."""

    id: int
    arrived: float
    prompt_tokens: int
    max_tokens: int
    """Longest answer that the caller takes."""
    tier: int = 1
    """0, 1 or 2; 0 is served first."""
    realtime: bool = False
    """Somebody waits for it: served in order of arrival, before what only has a deadline."""
    tenant: str = ""
    deadline: float = inf
    """When the whole answer is due."""
    first_token_due: float = inf
    """When its first token is due."""
    blocks: tuple[int, ...] = ()
    """Hashes of the prompt's full prefix blocks; equal hashes mean equal text from the beginning."""
    session: str = ""
    """Calls of one session have much of their prompt in common."""
    region: str = ""
    """Where the caller is."""
    sheddable: bool = True
    """It may be refused early, so that others are on time."""
    streams: bool = True
    """Its first token is seen before its answer is whole."""
    takes_text: bool = True
    """A fixed text can answer it."""


class Reasons(msgspec.Struct, frozen=True, gc=False):
    """Why a call goes to a replica. Empty where there was only one."""

    scores: tuple[tuple[str, float], ...] = ()
    """What each policy gave it, 0..1."""
    candidates: tuple[int, ...] = ()
    """All that were looked at, by their places in the fleet."""
    totals: tuple[float, ...] = ()
    """What the policies gave each of them together, less for its failures."""


NO_REASONS = Reasons()


class Dispatch(msgspec.Struct, frozen=True, gc=False):
    """Send the call to a replica now."""

    job: Job
    replica: int
    """Its place in the fleet."""
    reasons: Reasons = NO_REASONS
    hedge: bool = False
    """Another replica has the call already; whoever shows a first token first keeps it."""


class Refuse(msgspec.Struct, frozen=True, gc=False):
    """Tell the caller at once that it will not be."""

    job: Job
    reason: str
    """``queue_full``, ``late``, ``waited``, ``shed``, ``failed`` or ``no_replica``."""
    retry_after: float
    """Seconds after which asking again may help."""


Way = Literal["model", "template"]
"""What answers in place of the main model: a lighter one, or a fixed text."""


class Degrade(msgspec.Struct, frozen=True, gc=False):
    """Have the call answered by something lighter."""

    job: Job
    way: Way
    reason: str
    """``health``, or why it would have been refused."""
    score: float
    """The health score of the main model, 0..1."""


class Withdraw(msgspec.Struct, frozen=True, gc=False):
    """Stop the call at a replica: another one has it, or nobody wants it any more."""

    job: Job
    replica: int


Decision = Dispatch | Refuse | Degrade | Withdraw
