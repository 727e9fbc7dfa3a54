import msgspec
import pytest

from antiphon.observability.metrics import DURATION_BOUNDS, TTFT_BOUNDS, CallMetrics, RunningTotal, merge
from antiphon.observability.metrics_snapshot import MetricsSnapshot, SeriesSnapshot
from tests.unit.observability.sample import GOOD


def event(**changes):
    return msgspec.structs.replace(GOOD, **changes)


def only(snapshot: MetricsSnapshot) -> SeriesSnapshot:
    (series,) = snapshot.series
    return series


def counted(*events, **options) -> MetricsSnapshot:
    metrics = CallMetrics(**options)
    for one in events:
        metrics.call_finished(one)
    return metrics.snapshot()


def test_a_call_is_counted_under_its_endpoint_model_and_target():
    series = only(counted(GOOD, GOOD, event(status=502, error="upstream_error")))
    assert series.key == ("chat/completions", "small", "local/small")
    assert series.statuses == {200: 2, 502: 1}
    assert series.errors == {"upstream_error": 1}


def test_tokens_add_up():
    series = only(counted(GOOD, GOOD))
    assert (series.prompt_tokens, series.completion_tokens, series.cached_tokens, series.reasoning_tokens) == (20, 40, 8, 10)


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (0.01, 0), (0.0101, 1), (81.92, 13), (1000.0, 14)])
def test_a_duration_falls_into_the_bucket_whose_upper_bound_it_does_not_pass(seconds, bucket):
    histogram = only(counted(event(duration=seconds))).duration
    assert len(histogram.counts) == len(DURATION_BOUNDS) + 1
    assert [index for index, count in enumerate(histogram.counts) if count] == [bucket]
    assert histogram.sum == seconds


def test_a_call_without_content_has_no_time_to_first_token():
    series = only(counted(GOOD, event(ttft=0.0)))
    assert sum(series.ttft.counts) == 1
    assert len(series.ttft.counts) == len(TTFT_BOUNDS) + 1
    assert sum(series.duration.counts) == 2


def test_names_that_callers_make_up_do_not_make_the_table_grow():
    made_up = (event(model=f"no-{number}", target="", status=404, error="model_not_found") for number in range(5000))
    series = only(counted(*made_up))
    assert series.model == "other"
    assert series.statuses == {404: 5000}


def test_a_known_model_keeps_its_name_although_no_target_was_reached():
    assert only(counted(event(target="", status=429, error="queue_full"), models=["small"])).model == "small"


def test_beyond_the_limit_everything_new_is_counted_as_other():
    snapshot = counted(*(event(model=f"m{number}", target=f"provider/m{number}") for number in range(100)), max_series=10)
    assert len(snapshot.series) == 11
    (other,) = (series for series in snapshot.series if series.model == "other")
    assert other.key == ("other", "other", "other")
    assert other.statuses == {200: 90}
    assert sum(sum(series.statuses.values()) for series in snapshot.series) == 100


def test_statuses_and_error_codes_are_bounded_too():
    series = only(counted(*(event(status=100 + number, error=f"code-{number}") for number in range(900))))
    assert len(series.statuses) <= 65
    assert len(series.errors) <= 65
    assert sum(series.statuses.values()) == 900
    assert series.errors["other"] == 900 - 64


def test_a_snapshot_is_a_copy_and_travels_as_json():
    metrics = CallMetrics()
    metrics.call_finished(GOOD)
    snapshot = metrics.snapshot(in_flight=3, call_log_lost=2)
    metrics.call_finished(GOOD)
    assert only(snapshot).statuses == {200: 1}
    assert msgspec.json.decode(msgspec.json.encode(snapshot), type=MetricsSnapshot) == snapshot
    assert (snapshot.in_flight, snapshot.call_log_lost) == (3, 2)


def test_merging_adds_what_has_the_same_labels():
    one = CallMetrics()
    two = CallMetrics()
    one.call_finished(GOOD)
    two.call_finished(event(status=500, error="internal_error", duration=0.5))
    two.call_finished(event(model="large", target="far/large"))
    total = merge(
        [
            one.snapshot(in_flight=1, call_log_lost=5, refused={"timeout": 1}, responses={"kept": 2}),
            two.snapshot(in_flight=2, refused={"timeout": 2}, responses={"kept": 3, "failed": 1}),
        ]
    )
    assert total.refused == {"timeout": 3}
    assert total.responses == {"kept": 5, "failed": 1}
    assert (total.in_flight, total.call_log_lost) == (3, 5)
    by_model = {series.model: series for series in total.series}
    assert by_model["small"].statuses == {200: 1, 500: 1}
    assert by_model["small"].duration.sum == 2.0
    assert by_model["small"].prompt_tokens == 20
    assert by_model["large"].statuses == {200: 1}


def test_merging_nothing_gives_nothing():
    assert merge([]) == MetricsSnapshot()


class TestRunningTotal:
    def test_a_silent_process_counts_with_what_it_last_said_but_has_nothing_in_flight(self):
        total = RunningTotal()
        total.update({"a": counted(GOOD), "b": msgspec.structs.replace(counted(GOOD), in_flight=7)})
        after = total.update({"a": counted(GOOD, GOOD)})
        assert after.in_flight == 0
        assert only(after).statuses[200] >= 3

    def test_what_a_process_counted_before_it_was_restarted_is_kept(self):
        total = RunningTotal()
        first, second = CallMetrics(), CallMetrics()
        for _ in range(5):
            first.call_finished(GOOD)
        assert only(total.update({"a": first.snapshot(call_log_lost=1)})).statuses == {200: 5}
        second.call_finished(GOOD)
        assert only(total.update({"a": second.snapshot()})).statuses == {200: 6}
        second.call_finished(GOOD)
        after = total.update({"a": second.snapshot()})
        assert only(after).statuses == {200: 7}
        assert after.call_log_lost == 1

    def test_the_same_life_is_not_counted_twice(self):
        total, metrics = RunningTotal(), CallMetrics()
        metrics.call_finished(GOOD)
        for _ in range(3):
            after = total.update({"a": metrics.snapshot()})
        assert only(after).statuses == {200: 1}
