"""What a load came to: durations in a histogram of bounded size, and the figures that are shown of a level of load."""

import math
from collections import Counter

import msgspec

_LOG_RATIO = math.log(1.01)
_LEAST = 1e-6
NEEDED = {50: 1, 95: 20, 99: 100}
"""Samples from which a percentile tells something: those with at least one sample beyond it, and any for the middle."""


class Percentiles(msgspec.Struct, frozen=True):
    """Seconds that 50, 95 and 99% of the samples stay within; None where there are too few samples to tell."""

    p50: float | None
    p95: float | None
    p99: float | None
    samples: int


class Durations:
    """Counts durations in classes that are 1% wide each, so that any number of them takes little memory."""

    def __init__(self) -> None:
        self._classes: Counter[int] = Counter()
        self._samples = 0

    def add(self, seconds: float, times: int = 1) -> None:
        """Count a duration, or several of the same length."""
        self._classes[round(math.log(max(seconds, _LEAST)) / _LOG_RATIO)] += times
        self._samples += times

    def percentiles(self) -> Percentiles:
        """Percentiles, each within half a percent of a sample (nearest rank)."""
        return Percentiles(self._at(50), self._at(95), self._at(99), self._samples)

    def _at(self, percent: int) -> float | None:
        if self._samples < NEEDED[percent]:
            return None
        rank, seen = -(-self._samples * percent // 100), 0
        for index in sorted(self._classes):
            seen += self._classes[index]
            if seen >= rank:
                return math.exp(index * _LOG_RATIO)
        return None


class Level(msgspec.Struct, frozen=True):
    """What so many callers at once saw."""

    concurrency: int
    seconds: float
    """From the first request to the end of the last answer."""
    calls: int
    """Answered in full."""
    errors: dict[str, int]
    """By kind: the status and code of an answer, or why there was none."""
    unfinished: int
    """Under way when the time was over, and given up."""
    calls_per_second: float
    tokens_per_second: float
    """Tokens of the answers that came in full."""
    prompt_tokens: float | None
    """Per call, as the server counted them; None where it does not tell."""
    output_tokens: float | None
    """Per call."""
    tokens_by_event: int
    """Calls whose tokens were taken to be the events that carried text, because the server told no usage."""
    ttft: Percentiles
    """Time to first token, seconds; streams only."""
    between_tokens: Percentiles
    """Time between one piece of text and the next, seconds; pieces that came together share it. Streams only."""
    whole: Percentiles
    """From the request to the end of its answer, seconds."""
    own_cpu: float
    """Cores that the bench itself kept busy; near 1, it may be what limits."""


class Tally:
    """Gathers what the calls of a level saw."""

    def __init__(self) -> None:
        self.calls = 0
        self.errors: Counter[str] = Counter()
        self.unfinished = 0
        self.ttft, self.between, self.whole = Durations(), Durations(), Durations()
        self._prompt_tokens = self._output_tokens = self._counted = 0

    def failed(self, kind: str) -> None:
        """A call failed."""
        self.errors[kind] += 1

    def answered(self, seconds: float, pieces: int, usage: tuple[int, int] | None) -> None:
        """A call was answered in full; ``usage`` is prompt and output tokens where the server told them."""
        self.calls += 1
        self.whole.add(seconds)
        if usage:
            self._counted += 1
            self._prompt_tokens += usage[0]
        self._output_tokens += usage[1] if usage else pieces

    def level(self, concurrency: int, seconds: float, own_cpu_seconds: float) -> Level:
        """The figures, for a level that took so long."""
        seconds = max(seconds, _LEAST)
        return Level(
            concurrency=concurrency,
            seconds=seconds,
            calls=self.calls,
            errors=dict(self.errors.most_common()),
            unfinished=self.unfinished,
            calls_per_second=self.calls / seconds,
            tokens_per_second=self._output_tokens / seconds,
            prompt_tokens=self._prompt_tokens / self._counted if self._counted else None,
            output_tokens=self._output_tokens / self.calls if self.calls else None,
            tokens_by_event=self.calls - self._counted,
            ttft=self.ttft.percentiles(),
            between_tokens=self.between.percentiles(),
            whole=self.whole.percentiles(),
            own_cpu=own_cpu_seconds / seconds,
        )
