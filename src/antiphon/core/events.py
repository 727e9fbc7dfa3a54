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
    """``provider/model`` that answered last; empty where none was reached."""
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


class EventBundle(msgspec.Struct, frozen=True, gc=False):
    """Events of one process on their way to where they are recorded. Travels as MessagePack."""

    instance: str
    """Names this life of the process."""
    number: int
    """Counts the bundles of this life, from 1. A bundle may arrive twice and late; instance and number tell."""
    events: tuple[CallFinished, ...]
