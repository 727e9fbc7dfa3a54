import random

import pytest

from antiphon.cli.bench import lines
from antiphon.cli.bench_figures import Durations, Percentiles, Tally


def of(samples) -> Percentiles:
    durations = Durations()
    for sample in samples:
        durations.add(sample)
    return durations.percentiles()


def test_percentiles_are_within_half_a_percent():
    samples = [0.001 * step for step in range(1, 1001)]
    random.Random(2).shuffle(samples)
    found = of(samples)
    assert [found.p50, found.p95, found.p99] == pytest.approx([0.5, 0.95, 0.99], 0.006)
    assert found.samples == 1000


@pytest.mark.parametrize(("count", "known"), [(0, "---"), (1, "x--"), (19, "x--"), (20, "xx-"), (99, "xx-"), (100, "xxx")])
def test_what_too_few_samples_cannot_tell_is_not_told(count, known):
    found = of([0.1] * count)
    assert "".join("-" if at is None else "x" for at in (found.p50, found.p95, found.p99)) == known


def test_any_number_of_samples_takes_little_memory():
    durations = Durations()
    for step in range(100_000):
        durations.add(1e-9 + step * 0.01)
    assert len(durations._classes) < 2500


def tally(calls: int, usage: tuple[int, int] | None) -> Tally:
    tally = Tally()
    for _ in range(calls):
        tally.ttft.add(0.05)
        tally.between.add(0.01, 9)
        tally.answered(0.2, 10, usage)
    return tally


def test_tokens_are_those_that_the_server_counted():
    level = tally(4, (30, 12)).level(2, 2.0, 0.1)
    assert (level.calls_per_second, level.tokens_per_second) == (2.0, 24.0)
    assert (level.prompt_tokens, level.output_tokens, level.tokens_by_event) == (30.0, 12.0, 0)
    assert level.between_tokens.samples == 36


def test_without_a_usage_events_are_counted_and_that_is_said():
    level = tally(4, None).level(2, 2.0, 0.1)
    assert (level.tokens_per_second, level.prompt_tokens, level.tokens_by_event) == (20.0, None, 4)
    assert "events were counted as tokens" in "\n".join(lines(level))


def test_a_level_for_people_fits_a_terminal_and_hides_no_doubt():
    filled = tally(200, (30, 12))
    filled.failed("status 429 queue_full")
    filled.unfinished = 3
    shown = list(lines(filled.level(8, 10.0, 9.5)))
    assert max(map(len, shown)) <= 80
    text = "\n".join(shown)
    assert "8 at once: 200 calls in 10.0 s, 20.00 calls/s, 240.0 tokens/s" in text
    for words in ("failed: 1 x status 429 queue_full", "3 calls were cut", "itself used 95% of a core"):
        assert words in text
    assert "too few" not in text


def test_a_level_without_an_answer_has_no_figures():
    level = Tally().level(1, 1.0, 0.0)
    assert (level.calls, level.output_tokens, level.whole.p50) == (0, None, None)
    assert "P50" not in "\n".join(lines(level))
