"""What the call log tells of a call."""

import msgspec


class CallRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One line of the call log."""

    time: str
    """When the call came in, UTC, ISO 8601 with milliseconds."""
    id: str
    endpoint: str
    model: str
    target: str
    principal: str
    status: int
    error: str
    stream: bool
    duration_ms: float
    ttft_ms: float
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    attempts: int
    client: str = ""
    """Left out where no proxy in front tells it."""
    route: str = ""
    """Left out, and all that follows, where the call was not scheduled; the last three also where there is nothing to tell."""
    waited_ms: float = 0.0
    candidates: dict[str, float] = {}
    hedged: bool = False
    degraded: str = ""
    cost: int = 0
    """In millionths of the unit of money. Left out, and all that follows, where there is nothing to tell."""
    estimated: bool = False
    """The tokens, and so the cost, are an estimate."""
    team: str = ""
    project: str = ""
    application: str = ""
    user: str = ""
    guarded: tuple[str, ...] = ()
    """What guardrails did."""
