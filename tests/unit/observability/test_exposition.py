import math
import re
from pathlib import Path

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from antiphon import __version__
from antiphon.core.ports import EngineStats
from antiphon.core.schedules import ReplicaState, RouteState
from antiphon.observability.exposition import EngineSample, ProcessSample, render
from antiphon.observability.metrics import CallMetrics
from antiphon.observability.metrics_snapshot import MetricsSnapshot
from tests.unit.observability.sample import GOOD

STRANGE = 'a"b\\c\nd \u00e9\u4e2d'


def parsed(text: bytes) -> dict[tuple[str, frozenset], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def labels(**values: str) -> frozenset:
    return frozenset(values.items())


CALL = msgspec.structs.replace(GOOD, stream=False)


def snapshot_of(**changes) -> MetricsSnapshot:
    metrics = CallMetrics()
    metrics.call_finished(msgspec.structs.replace(CALL, **changes))
    return metrics.snapshot(in_flight=3, call_log_lost=9, refused={"untrusted": 4, "timeout": 0}, responses={"kept": 5})


def replica_state(name: str, breaker: str = "closed", calls: int = 0, others: int | None = None) -> ReplicaState:
    return ReplicaState(name, breaker, calls, 8, 100, 0.0, 0.1, 0.01, others)


def test_routes_are_written_with_the_names_of_the_reference():
    route = RouteState("m", 3, 900, (replica_state("a/m", "open", 2, others=6), replica_state("b/m", calls=1)), 3, 4, 5, 0.9)
    refusing = msgspec.structs.replace(route, refused={"late": 2, "queue_full": 1}, degraded={"health": 7})
    samples = parsed(render(MetricsSnapshot(), [], [], [refusing]))
    assert samples["antiphon_route_waiting", labels(route="m")] == 3
    assert samples["antiphon_route_health_score", labels(route="m")] == 0.9
    assert samples["antiphon_route_retries_total", labels(route="m")] == 4
    assert samples["antiphon_route_hedges_total", labels(route="m")] == 5
    assert samples["antiphon_route_refused_total", labels(route="m", reason="late")] == 2
    assert samples["antiphon_route_degraded_total", labels(route="m", reason="health")] == 7
    assert samples["antiphon_route_replica_running", labels(route="m", replica="a/m")] == 2
    assert samples["antiphon_route_replica_limit", labels(route="m", replica="b/m")] == 8
    assert samples["antiphon_route_replica_others", labels(route="m", replica="a/m")] == 6
    assert ("antiphon_route_replica_others", labels(route="m", replica="b/m")) not in samples, "it has told nothing"
    breakers = {
        state: samples["antiphon_route_replica_breaker", labels(route="m", replica="a/m", state=state)]
        for state in ("closed", "open", "half_open")
    }
    assert breakers == {"closed": 0, "open": 1, "half_open": 0}


def test_a_route_that_was_changed_is_one_route():
    before = RouteState("m", 3, 900, (replica_state("a/m", "open", 2), replica_state("old/m", calls=1)), refused={"late": 2})
    after = RouteState("m", 1, 900, (replica_state("a/m", "closed", 5),), refused={"late": 1, "shed": 1}, health=0.5)
    text = render(MetricsSnapshot(), [], [], [before, after])
    samples = parsed(text)
    assert samples["antiphon_route_waiting", labels(route="m")] == 4
    assert samples["antiphon_route_health_score", labels(route="m")] == 0.5
    assert samples["antiphon_route_refused_total", labels(route="m", reason="late")] == 3
    assert samples["antiphon_route_replica_running", labels(route="m", replica="a/m")] == 7
    assert samples["antiphon_route_replica_running", labels(route="m", replica="old/m")] == 1
    assert samples["antiphon_route_replica_breaker", labels(route="m", replica="a/m", state="closed")] == 1
    lines = [line.rpartition(" ")[0] for line in text.decode().splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)), "Prometheus takes no page with a series that is there twice"


def test_calls_are_written_with_the_names_of_the_reference():
    samples = parsed(render(snapshot_of(status=502, error="upstream_error"), [], []))
    series = {"endpoint": "chat/completions", "model": "small", "target": "local/small"}
    assert samples["antiphon_requests_total", labels(**series, status="502")] == 1
    assert samples["antiphon_errors_total", labels(**series, code="upstream_error")] == 1
    assert samples["antiphon_request_duration_seconds_bucket", labels(**series, le="1.28")] == 0
    assert samples["antiphon_request_duration_seconds_bucket", labels(**series, le="2.56")] == 1
    assert samples["antiphon_request_duration_seconds_bucket", labels(**series, le="+Inf")] == 1
    assert samples["antiphon_request_duration_seconds_sum", labels(**series)] == 1.5
    assert samples["antiphon_time_to_first_token_seconds_count", labels(**series)] == 1
    tokens = {
        kind: samples["antiphon_tokens_total", labels(model="small", target="local/small", kind=kind)]
        for kind in ("prompt", "completion", "cached", "reasoning")
    }
    assert tokens == {"prompt": 10, "completion": 20, "cached": 4, "reasoning": 5}
    assert samples["antiphon_requests_in_flight", labels()] == 3
    assert samples["antiphon_call_log_lost_total", labels()] == 9
    assert samples["antiphon_connections_refused_total", labels(reason="untrusted")] == 4
    assert samples["antiphon_stored_responses_total", labels(outcome="kept")] == 5
    assert samples["antiphon_connections_refused_total", labels(reason="timeout")] == 0


def test_buckets_never_fall_and_end_at_the_count():
    text = render(snapshot_of(), [], [])
    for family in text_string_to_metric_families(text.decode()):
        if family.type == "histogram":
            buckets = [(float(s.labels["le"]), s.value) for s in family.samples if s.name.endswith("_bucket")]
            assert buckets == sorted(buckets)
            assert buckets[-1] == (math.inf, next(s.value for s in family.samples if s.name.endswith("_count")))


def test_names_with_quotes_line_breaks_and_other_scripts_survive():
    samples = parsed(render(snapshot_of(model=STRANGE), [], []))
    assert any(dict(places).get("model") == STRANGE for _, places in samples)


def test_engines_processes_and_the_build():
    stats = EngineStats(running=2, waiting=1, kv_cache_usage=0.25, generated_tokens=100, prompt_tokens=50, cached_tokens=7)
    processes = [ProcessSample("worker-0", "worker", up=True, restarts=2), ProcessSample("engine-small", "engine", up=False)]
    samples = parsed(render(MetricsSnapshot(), [EngineSample("engine-small", "small", stats)], processes))
    place = labels(process="engine-small", model="small")
    assert samples["antiphon_engine_running", place] == 2
    assert samples["antiphon_engine_waiting", place] == 1
    assert samples["antiphon_engine_kv_cache_usage_ratio", place] == 0.25
    assert samples["antiphon_engine_generated_tokens_total", place] == 100
    assert samples["antiphon_engine_prompt_tokens_total", place] == 50
    assert samples["antiphon_engine_cached_tokens_total", place] == 7
    assert samples["antiphon_up", labels(process="worker-0", role="worker")] == 1
    assert samples["antiphon_up", labels(process="engine-small", role="engine")] == 0
    assert samples["antiphon_process_restarts_total", labels(process="worker-0", role="worker")] == 2
    assert any(name == "antiphon_build_info" and dict(places)["version"] == __version__ for name, places in samples)


def test_every_family_has_a_help_line_and_a_type():
    for family in text_string_to_metric_families(render(snapshot_of(), [], []).decode()):
        assert family.documentation
        assert family.type != "unknown"


def test_the_reference_page_names_every_metric_and_no_other():
    page = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(antiphon_\w+)`", page, re.MULTILINE))
    stats = EngineStats(running=0, waiting=0, kv_cache_usage=0.0, generated_tokens=0)
    text = render(snapshot_of(), [EngineSample("e", "m", stats)], [ProcessSample("e", "engine", up=True)])
    assert documented == set(re.findall(r"^# TYPE (\w+)", text.decode(), re.MULTILINE))


def test_one_bad_number_does_not_cost_the_page():
    stats = EngineStats(running=-1, waiting=1, kv_cache_usage=math.nan, generated_tokens=10**400)
    processes = [ProcessSample("worker-0", "worker", up=True, restarts=10**400)]
    snapshot = snapshot_of(usage=msgspec.structs.replace(CALL.usage, prompt_tokens=10**400, completion_tokens=-5))
    samples = parsed(render(snapshot, [EngineSample("e\ud800", "small", stats)], processes))
    place = labels(process="e?", model="small")
    assert samples["antiphon_engine_running", place] == 0
    assert samples["antiphon_engine_waiting", place] == 1
    assert samples["antiphon_engine_generated_tokens_total", place] > 1e300
    tokens = {"model": "small", "target": "local/small"}
    assert samples["antiphon_tokens_total", labels(**tokens, kind="prompt")] > 1e300
    assert samples["antiphon_tokens_total", labels(**tokens, kind="completion")] == 0
    assert samples["antiphon_up", labels(process="worker-0", role="worker")] == 1
