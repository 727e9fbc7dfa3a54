"""Writes what was measured in Prometheus' text format, version 0.0.4.

Only the control plane uses this module: prometheus-client is not loaded into the processes that serve calls.
"""

import platform
from collections.abc import Iterable, Sequence

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from antiphon import __version__
from antiphon.core.ports import EngineStats
from antiphon.core.schedules import RouteState
from antiphon.observability.metrics import DURATION_BOUNDS, TTFT_BOUNDS
from antiphon.observability.metrics_snapshot import HistogramSnapshot, MetricsSnapshot, SeriesSnapshot
from antiphon.observability.route_exposition import families
from antiphon.observability.samples import add, number, texts

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SERIES = ("endpoint", "model", "target")


class EngineSample(msgspec.Struct, frozen=True):
    """The load of one engine host."""

    process: str
    model: str
    stats: EngineStats
    age: float = 0.0
    """Seconds since it told these figures: an engine says nothing during a step, and a long prompt makes long steps."""


class ProcessSample(msgspec.Struct, frozen=True):
    """One of the server's processes."""

    name: str
    role: str
    up: bool
    """It answered when it was last asked."""
    restarts: int = 0


def render(
    snapshot: MetricsSnapshot,
    engines: Sequence[EngineSample],
    processes: Sequence[ProcessSample],
    routes: Sequence[RouteState] = (),
) -> bytes:
    """All metrics as text. ``docs/reference/metrics.md`` lists them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(snapshot, engines, processes, routes))
    return generate_latest(registry)


class _Families(Collector):
    def __init__(
        self,
        snapshot: MetricsSnapshot,
        engines: Sequence[EngineSample],
        processes: Sequence[ProcessSample],
        routes: Sequence[RouteState],
    ) -> None:
        self._snapshot = snapshot
        self._engines = engines
        self._processes = processes
        self._routes = routes

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        yield from _calls(self._snapshot.series)
        yield from _gateway(self._snapshot)
        yield from families(self._routes)
        yield from _engine_load(self._engines)
        yield from _server(self._processes)


def _calls(rows: Sequence[SeriesSnapshot]) -> Iterable[Metric]:
    requests = CounterMetricFamily("antiphon_requests", "Finished calls.", labels=(*SERIES, "status"))
    errors = CounterMetricFamily("antiphon_errors", "Finished calls that failed.", labels=(*SERIES, "code"))
    tokens = CounterMetricFamily("antiphon_tokens", "Tokens used.", labels=("model", "target", "kind"))
    cost = CounterMetricFamily("antiphon_cost", "Money spent, in the configured currency.", labels=("model", "target"))
    duration = HistogramMetricFamily(
        "antiphon_request_duration_seconds", "From a request's last byte to its answer's last byte.", labels=SERIES
    )
    ttft = HistogramMetricFamily(
        "antiphon_time_to_first_token_seconds", "From a request's last byte to the first content.", labels=SERIES
    )
    used: dict[tuple[str, str, str], int] = {}
    spent: dict[tuple[str, str], int] = {}
    for row in rows:
        for status, count in sorted(row.statuses.items()):
            add(requests, (*row.key, str(status)), count)
        for code, count in sorted(row.errors.items()):
            add(errors, (*row.key, code), count)
        duration.add_metric(texts(row.key), _buckets(DURATION_BOUNDS, row.duration), number(row.duration.sum))
        ttft.add_metric(texts(row.key), _buckets(TTFT_BOUNDS, row.ttft), number(row.ttft.sum))
        for kind, count in _tokens(row):
            used[row.model, row.target, kind] = used.get((row.model, row.target, kind), 0) + count
        if row.cost:
            spent[row.model, row.target] = spent.get((row.model, row.target), 0) + row.cost
    for labels, count in used.items():
        add(tokens, labels, count)
    for place, millionths in spent.items():
        add(cost, place, millionths / 1e6)
    return (requests, errors, tokens, cost, duration, ttft)


def _tokens(row: SeriesSnapshot) -> tuple[tuple[str, int], ...]:
    return (
        ("prompt", row.prompt_tokens),
        ("completion", row.completion_tokens),
        ("cached", row.cached_tokens),
        ("reasoning", row.reasoning_tokens),
    )


def _buckets(bounds: Sequence[float], histogram: HistogramSnapshot) -> list[tuple[str, float]]:
    total = 0.0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip((*map(str, bounds), "+Inf"), histogram.counts, strict=True):
        total = number(total + number(count))
        buckets.append((bound, total))
    return buckets


def _gateway(snapshot: MetricsSnapshot) -> Iterable[Metric]:
    yield GaugeMetricFamily("antiphon_requests_in_flight", "Calls being answered.", value=number(snapshot.in_flight))
    yield CounterMetricFamily(
        "antiphon_call_log_lost", "Records that the call log had to give up.", value=number(snapshot.call_log_lost)
    )
    refused = CounterMetricFamily(
        "antiphon_connections_refused", "Connections closed for want of a right PROXY header.", labels=("reason",)
    )
    for reason, count in sorted(snapshot.refused.items()):
        add(refused, (reason,), count)
    yield refused
    guarded = CounterMetricFamily(
        "antiphon_guardrail_findings", "What guardrails found.", labels=("side", "mode", "guardrail", "kind")
    )
    for act, count in sorted(snapshot.guarded.items()):
        add(guarded, tuple(act.split(".", 3)), count)
    yield guarded
    responses = CounterMetricFamily(
        "antiphon_stored_responses", "Responses, by what became of them in their store.", labels=("outcome",)
    )
    for outcome, count in sorted(snapshot.responses.items()):
        add(responses, (outcome,), count)
    yield responses
    events = snapshot.events
    yield CounterMetricFamily(
        "antiphon_events_delivered", "Finished calls told to the control plane.", value=number(events.delivered)
    )
    yield CounterMetricFamily(
        "antiphon_events_spilled", "Finished calls kept on disk until the control plane takes them.", value=number(events.spilled)
    )
    yield CounterMetricFamily("antiphon_events_lost", "Finished calls that could not be told.", value=number(events.lost))
    yield GaugeMetricFamily(
        "antiphon_events_spill_bytes", "Bytes of events on disk, still to be delivered.", value=number(events.waiting_bytes)
    )


def _engine_load(engines: Sequence[EngineSample]) -> Iterable[Metric]:
    labels = ("process", "model")
    running = GaugeMetricFamily("antiphon_engine_running", "Prompts being worked on.", labels=labels)
    waiting = GaugeMetricFamily("antiphon_engine_waiting", "Prompts that wait for a place.", labels=labels)
    cache = GaugeMetricFamily("antiphon_engine_kv_cache_usage_ratio", "Share of the KV cache in use, 0 to 1.", labels=labels)
    generated = CounterMetricFamily("antiphon_engine_generated_tokens", "Tokens generated since the engine started.", labels=labels)
    prompt = CounterMetricFamily("antiphon_engine_prompt_tokens", "Prompt tokens since the engine started.", labels=labels)
    cached = CounterMetricFamily(
        "antiphon_engine_cached_tokens", "Prompt tokens read from the prefix cache since the engine started.", labels=labels
    )
    age = GaugeMetricFamily(
        "antiphon_engine_report_age_seconds", "Age of the figures of this engine, which says nothing during a step.", labels=labels
    )
    for engine in engines:
        place = (engine.process, engine.model)
        add(running, place, engine.stats.running)
        add(waiting, place, engine.stats.waiting)
        add(cache, place, engine.stats.kv_cache_usage)
        add(generated, place, engine.stats.generated_tokens)
        add(prompt, place, engine.stats.prompt_tokens)
        add(cached, place, engine.stats.cached_tokens)
        add(age, place, engine.age)
    return (running, waiting, cache, generated, prompt, cached, age)


def _server(processes: Sequence[ProcessSample]) -> Iterable[Metric]:
    up = GaugeMetricFamily("antiphon_up", "1 if the process answered, 0 if it did not.", labels=("process", "role"))
    restarts = CounterMetricFamily(
        "antiphon_process_restarts",
        "Times that the process was started again after it had ended by itself.",
        labels=("process", "role"),
    )
    for process in processes:
        add(up, (process.name, process.role), int(process.up))
        add(restarts, (process.name, process.role), process.restarts)
    build = GaugeMetricFamily("antiphon_build_info", "Always 1; the labels say what runs.", labels=("version", "python"))
    add(build, (__version__, platform.python_version()), 1)
    return (up, restarts, build)
