"""How the scheduler of a route is doing, as operators see it."""

import msgspec


class ReplicaState(msgspec.Struct, frozen=True):
    """One replica of a route."""

    name: str
    breaker: str
    """``closed``, ``open`` or ``half_open``."""
    calls: int
    """Calls out there."""
    limit: int
    """Calls that it may have at once, now."""
    tokens: int
    """Tokens of the prompts and expected answers that are out."""
    rests_for: float
    """Seconds for which it asked to be left alone."""
    first_token: float
    """Seconds to the first token of a prompt of 1,000 tokens that came now, as far as its speed is known; 0 where it is not."""
    per_token: float
    """Seconds an output token takes with one call more than now, as far as known."""
    others: int | None = None
    """Calls there that others sent, as the replica told last; none where it has not told its load in the last seconds."""


class RouteState(msgspec.Struct, frozen=True):
    """One route."""

    name: str
    waiting: int
    """Calls in the queue."""
    waiting_tokens: int
    """Tokens of these, an answer's counting twice, by estimate."""
    replicas: tuple[ReplicaState, ...]
    running: int = 0
    """Calls at replicas."""
    retries: int = 0
    """Times that a call was tried again, since the scheduler began, as all that follow."""
    hedges: int = 0
    """Calls that a second replica was asked for."""
    health: float = 1.0
    """Health score, 0 to 1: the share of the last calls that did well. 1 where the route does not degrade."""
    refused: dict[str, int] = {}
    """Calls that were refused, by reason."""
    degraded: dict[str, int] = {}
    """Calls that something lighter answered, by reason."""


class RouteStates(msgspec.Struct, frozen=True):
    """All routes of one process."""

    routes: tuple[RouteState, ...] = ()
