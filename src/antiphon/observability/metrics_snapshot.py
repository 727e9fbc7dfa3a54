"""What a process counted until now, as it travels to the control plane."""

import msgspec

from antiphon.observability.events.report import NOTHING_SENT, PipeReport

Key = tuple[str, str, str]
"""Endpoint, model, target."""


class HistogramSnapshot(msgspec.Struct, frozen=True):
    """Measurements sorted into buckets."""

    counts: tuple[int, ...]
    """How many fell into each bucket, not cumulated; one more than there are bounds, the last one is open."""
    sum: float
    """Seconds."""


class SeriesSnapshot(msgspec.Struct, frozen=True):
    """What was counted for one endpoint, model and target. All numbers rise for as long as the process lives."""

    endpoint: str
    model: str
    target: str
    statuses: dict[int, int]
    """Calls by HTTP status."""
    errors: dict[str, int]
    """Failed calls by error code."""
    duration: HistogramSnapshot
    ttft: HistogramSnapshot
    """Only of calls that brought content."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int = 0
    """In millionths of the unit of money."""

    @property
    def key(self) -> Key:
        return (self.endpoint, self.model, self.target)


class MetricsSnapshot(msgspec.Struct, frozen=True):
    """All that one process, or all of them together, counted until now. Encodes to JSON."""

    instance: str = ""
    """Names this life of the process: counters of another life began at zero again."""
    in_flight: int = 0
    """Calls being answered at this moment."""
    call_log_lost: int = 0
    """Records that the call log had to give up."""
    events: PipeReport = NOTHING_SENT
    """What became of the events of finished calls."""
    series: tuple[SeriesSnapshot, ...] = ()
    refused: dict[str, int] = {}
    """Connections that were closed before their first request, by reason."""
    guarded: dict[str, int] = {}
    """What guardrails found, by ``side.mode.guardrail.KIND``."""
    responses: dict[str, int] = {}
    """Responses by what became of them in their store: ``kept``, ``evicted``, or ``failed`` for what it could not do."""

    def at_rest(self) -> "MetricsSnapshot":
        """What stays of these numbers when the process does not answer: the counters."""
        return msgspec.structs.replace(self, in_flight=0, events=msgspec.structs.replace(self.events, waiting_bytes=0))
