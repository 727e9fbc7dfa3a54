"""Records of finished calls in the memory of one process."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

from antiphon.core.events import CallFinished

MAX_RECORDS: Final = 10_000


class MemoryRecordStore:
    """RecordStore that keeps the last ``max_records`` calls and forgets them with its process."""

    def __init__(self, max_records: int = MAX_RECORDS) -> None:
        self._records: deque[CallFinished] = deque(maxlen=max_records)

    def add(self, events: Sequence[CallFinished]) -> None:
        self._records.extend(events)

    def recent(self, limit: int, model: str = "") -> Sequence[CallFinished]:
        latest_first = reversed(self._records)
        return list(islice((event for event in latest_first if not model or event.model == model), limit))
