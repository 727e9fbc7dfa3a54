"""Counts calls, in a few hundred nanoseconds each.

A worker keeps one ``CallMetrics``; the control plane fetches a ``MetricsSnapshot`` from every worker, adds them up and has them
written down by ``antiphon.observability.exposition``. Nothing here does I/O.
"""

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from antiphon.core.events import CallFinished
from antiphon.observability.events.report import NOTHING_SENT, PipeReport
from antiphon.observability.metrics_snapshot import HistogramSnapshot, Key, MetricsSnapshot, SeriesSnapshot

DURATION_BOUNDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Upper bounds, s, as OpenTelemetry's conventions for generative AI advise for ``gen_ai.server.request.duration``."""

TTFT_BOUNDS: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Upper bounds, s, as the same conventions advise for ``gen_ai.server.time_to_first_token``."""

OTHER: Final = "other"
"""The label of everything that has no series of its own."""

MAX_SERIES: Final = 1000
"""Combinations of endpoint, model and target that are told apart."""

MAX_CODES: Final = 64
"""Statuses, and error codes, told apart within one combination."""


class _Series:
    """The running counts of one endpoint, model and target."""

    __slots__ = (
        "cached_tokens",
        "completion_tokens",
        "cost",
        "duration_counts",
        "duration_sum",
        "errors",
        "prompt_tokens",
        "reasoning_tokens",
        "statuses",
        "ttft_counts",
        "ttft_sum",
    )

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.errors: dict[str, int] = {}
        self.duration_counts = [0] * (len(DURATION_BOUNDS) + 1)
        self.duration_sum = 0.0
        self.ttft_counts = [0] * (len(TTFT_BOUNDS) + 1)
        self.ttft_sum = 0.0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cached_tokens = 0
        self.reasoning_tokens = 0
        self.cost = 0

    def add(self, other: SeriesSnapshot) -> None:
        for status, count in other.statuses.items():
            self.add_status(status, count)
        for code, count in other.errors.items():
            self.add_error(code, count)
        self.duration_counts = [a + b for a, b in zip(self.duration_counts, other.duration.counts, strict=True)]
        self.duration_sum += other.duration.sum
        self.ttft_counts = [a + b for a, b in zip(self.ttft_counts, other.ttft.counts, strict=True)]
        self.ttft_sum += other.ttft.sum
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.cached_tokens += other.cached_tokens
        self.reasoning_tokens += other.reasoning_tokens
        self.cost += other.cost

    def add_status(self, status: int, count: int) -> None:
        if status not in self.statuses and len(self.statuses) >= MAX_CODES:
            status = 0
        self.statuses[status] = self.statuses.get(status, 0) + count

    def add_error(self, code: str, count: int) -> None:
        if code not in self.errors and len(self.errors) >= MAX_CODES:
            code = OTHER
        self.errors[code] = self.errors.get(code, 0) + count

    def snapshot(self, key: Key) -> SeriesSnapshot:
        return SeriesSnapshot(
            *key,
            statuses=dict(self.statuses),
            errors=dict(self.errors),
            duration=HistogramSnapshot(tuple(self.duration_counts), self.duration_sum),
            ttft=HistogramSnapshot(tuple(self.ttft_counts), self.ttft_sum),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cached_tokens=self.cached_tokens,
            reasoning_tokens=self.reasoning_tokens,
            cost=self.cost,
        )


class _Table:
    """Series by key, never more than ``limit`` and the few that take in what goes beyond."""

    def __init__(self, limit: int) -> None:
        self.rows: dict[Key, _Series] = {}
        self._limit = limit

    def find_or_make(self, key: Key) -> _Series:
        row = self.rows.get(key)
        if row is not None:
            return row
        if len(self.rows) >= self._limit:
            key = (OTHER, OTHER, OTHER)
        return self.rows.setdefault(key, _Series())


class CallMetrics:
    """Observer that counts finished calls. Use it from one thread.

    Callers can write anything as a model's name. So that none can make the table grow without bound, a name that is not among
    ``models`` and reached no target is counted as ``other``, and so is everything new once ``max_series`` combinations are in use.
    """

    def __init__(self, models: Collection[str] = (), *, max_series: int = MAX_SERIES) -> None:
        self._known = frozenset(models)
        self._table = _Table(max_series)
        self._rows = self._table.rows
        self._instance = f"{os.getpid()}-{time.time_ns()}"
        self._guarded: Counter[str] = Counter()

    def call_finished(self, event: CallFinished) -> None:
        row = self._rows.get((event.endpoint, event.model, event.target))
        if row is None:
            row = self._new_row(event)
        status = event.status
        if status in row.statuses:
            row.statuses[status] += 1
        else:
            row.add_status(status, 1)
        if event.error:
            row.add_error(event.error, 1)
        duration = event.duration
        row.duration_counts[bisect_left(DURATION_BOUNDS, duration)] += 1
        row.duration_sum += duration
        ttft = event.ttft
        if ttft:
            row.ttft_counts[bisect_left(TTFT_BOUNDS, ttft)] += 1
            row.ttft_sum += ttft
        usage = event.usage
        row.prompt_tokens += usage.prompt_tokens
        row.completion_tokens += usage.completion_tokens
        if usage.cached_tokens:
            row.cached_tokens += usage.cached_tokens
        if usage.reasoning_tokens:
            row.reasoning_tokens += usage.reasoning_tokens
        if event.cost:
            row.cost += event.cost
        for act in event.guarded:
            what, _, count = act.rpartition("=")
            self._guarded[what] += int(count)

    def know(self, models: Collection[str]) -> None:
        """Count these names by themselves from now on, and no others that reach no target."""
        self._known = frozenset(models)

    def snapshot(
        self,
        *,
        in_flight: int = 0,
        call_log_lost: int = 0,
        events: PipeReport = NOTHING_SENT,
        refused: Mapping[str, int] = MappingProxyType({}),
        responses: Mapping[str, int] = MappingProxyType({}),
    ) -> MetricsSnapshot:
        """A copy of all counts, with what others count.

        That are calls under way, losses of the call log, the events' way, refusals, and what became of responses in their store.
        """
        return MetricsSnapshot(
            instance=self._instance,
            in_flight=in_flight,
            call_log_lost=call_log_lost,
            events=events,
            series=tuple(row.snapshot(key) for key, row in self._rows.items()),
            refused=dict(refused),
            guarded=dict(self._guarded),
            responses=dict(responses),
        )

    def _new_row(self, event: CallFinished) -> _Series:
        model = event.model if event.target or event.model in self._known else OTHER
        return self._table.find_or_make((event.endpoint, model, event.target))


def merge(snapshots: Iterable[MetricsSnapshot], max_series: int = MAX_SERIES) -> MetricsSnapshot:
    """The sum of several processes' counts; it names no instance."""
    table = _Table(max_series)
    in_flight = lost = 0
    events = NOTHING_SENT
    refused: Counter[str] = Counter()
    guarded: Counter[str] = Counter()
    responses: Counter[str] = Counter()
    for snapshot in snapshots:
        events += snapshot.events
        in_flight += snapshot.in_flight
        lost += snapshot.call_log_lost
        refused.update(snapshot.refused)
        guarded.update(snapshot.guarded)
        responses.update(snapshot.responses)
        for series in snapshot.series:
            table.find_or_make(series.key).add(series)
    return MetricsSnapshot(
        in_flight=in_flight,
        call_log_lost=lost,
        events=events,
        series=tuple(row.snapshot(key) for key, row in table.rows.items()),
        refused=dict(refused),
        guarded=dict(guarded),
        responses=dict(responses),
    )


class RunningTotal:
    """The counts of a changing set of processes as one set of counters that never fall.

    Prometheus takes a falling counter for one that began at zero again and adds its whole value to the rate. So a process that
    does not answer counts with what it last said, and what the earlier lives of a restarted process counted is kept.
    """

    def __init__(self) -> None:
        self._latest: dict[str, MetricsSnapshot] = {}
        self._ended = MetricsSnapshot()

    def update(self, answers: Mapping[str, MetricsSnapshot]) -> MetricsSnapshot:
        """The total now that these processes, by name, said this and all others said nothing. Only calls of these are in flight."""
        silent = {name: last.at_rest() for name, last in self._latest.items()}
        ended = [last for name, last in silent.items() if name in answers and answers[name].instance != last.instance]
        if ended:
            self._ended = merge([self._ended, *ended])
        self._latest = silent | dict(answers)
        return merge([self._ended, *self._latest.values()])
