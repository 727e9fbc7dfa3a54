"""Records of finished calls in the memory of one process."""

from collections import OrderedDict, deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

from antiphon.core.audit import AuditEntry, AuditQuery
from antiphon.core.events import CallFinished
from antiphon.core.usage import MAX_ROWS, Dimension, UsageQuery, UsageRow, hour_of

MAX_RECORDS: Final = 10_000
MAX_NAMES: Final = 10_000
"""Names of bundles that are remembered."""


class MemoryRecordStore:
    """RecordStore that keeps the last ``max_records`` calls and forgets them with its process."""

    def __init__(self, max_records: int = MAX_RECORDS) -> None:
        self._records: deque[CallFinished] = deque(maxlen=max_records)
        self._added: OrderedDict[str, None] = OrderedDict()

    def add(self, events: Sequence[CallFinished], once: str = "") -> None:
        if once:
            if once in self._added:
                return
            self._added[once] = None
            if len(self._added) > MAX_NAMES:
                self._added.popitem(last=False)
        self._records.extend(events)

    def recent(self, limit: int, model: str = "") -> Sequence[CallFinished]:
        latest_first = reversed(self._records)
        return list(islice((event for event in latest_first if not model or event.model == model), limit))

    def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        groups: dict[tuple[str, ...], list[CallFinished]] = {} if query.by else {(): []}
        for event in self._records:
            late = query.until and event.started_at >= query.until
            if event.started_at < query.since or late:
                continue
            if all(_value(event, dimension) == value for dimension, value in query.only.items()):
                groups.setdefault(tuple(_value(event, dimension) for dimension in query.by), []).append(event)
        return [_row(dict(zip(query.by, group, strict=True)), groups[group]) for group in sorted(groups)[:MAX_ROWS]]

    def forget(self, before: float) -> int:
        kept = [event for event in self._records if event.started_at >= before]
        forgotten = len(self._records) - len(kept)
        self._records.clear()
        self._records.extend(kept)
        return forgotten


class MemoryAuditTrail:
    """AuditTrail in which nothing is written."""

    def search(self, query: AuditQuery, limit: int) -> Sequence[AuditEntry]:
        return ()


def _value(event: CallFinished, dimension: Dimension) -> str:
    """What a call has of a dimension."""
    if dimension == "key":
        return event.principal
    if dimension in ("hour", "day", "month"):
        return hour_of(event.started_at)[: {"hour": 13, "day": 10, "month": 7}[dimension]]
    return str(getattr(event, dimension))


def _row(group: dict[Dimension, str], events: Sequence[CallFinished]) -> UsageRow:
    usages = [event.usage for event in events]
    return UsageRow(
        group,
        len(events),
        sum(bool(event.error) for event in events),
        sum(usage.prompt_tokens for usage in usages),
        sum(usage.completion_tokens for usage in usages),
        sum(usage.cached_tokens for usage in usages),
        sum(usage.reasoning_tokens for usage in usages),
        sum(event.estimated for event in events),
        sum(event.cost for event in events),
    )
