"""Events that the core emits; vendors and sinks hook onto them."""

import msgspec

from antiphon.core.types import Usage


class CallFinished(msgspec.Struct, frozen=True, gc=False):
    """What is known of a call once it is over. Emitted once per call, whatever happened."""

    id: str
    endpoint: str
    model: str
    """As the caller named it."""
    target: str
    """``provider/model`` that answered, or was asked last where none did; empty where none was reached."""
    principal: str
    status: int
    """HTTP status that the caller saw; 499 where it left first."""
    error: str
    """Code of the error; empty on success."""
    stream: bool
    started_at: float
    """Unix time, seconds."""
    duration: float
    """Seconds from the request's last byte to the answer's last byte."""
    ttft: float
    """Seconds to the first content; 0 where there was none."""
    usage: Usage
    attempts: int
    """Models tried."""
    client: str = ""
    """Address of the caller, where a proxy in front tells it."""
    route: str = ""
    """Route that scheduled it; empty where none did, and all that follows too."""
    waited: float = 0.0
    """Seconds in the queue of the route that answered."""
    candidates: dict[str, float] = {}
    """Replicas that were compared for it, and what the policies gave each together, 0..1; empty where there was no choice."""
    hedged: bool = False
    """A second replica was asked while the first was silent."""
    degraded: str = ""
    """What answered in place of the route's own replicas, and why, as in ``x-antiphon-degraded``."""
    cost: int = 0
    """In millionths of the unit of money, at the prices of its moment."""
    estimated: bool = False
    """The usage, and so the cost, is an estimate: the answer broke off, or its model does not tell."""
    team: str = ""
    project: str = ""
    application: str = ""
    user: str = ""
    """To whom the caller's key belongs, as far as the configuration says so."""
    guarded: tuple[str, ...] = ()
    """What guardrails did: ``side.mode.guardrail.KIND=count`` each, like ``input.mask.personal_data.EMAIL_ADDRESS=2``."""


class EventBundle(msgspec.Struct, frozen=True, gc=False):
    """Events of one process on their way to where they are recorded. Travels as MessagePack."""

    instance: str
    """Names this life of the process."""
    number: int
    """Counts the bundles of this life, from 1. A bundle may arrive twice and late; instance and number tell."""
    events: tuple[CallFinished, ...]
