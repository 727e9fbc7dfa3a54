from itertools import count
from pathlib import Path

import pytest

from antiphon.core.events import CallFinished
from antiphon.storage.memory_records import MemoryRecordStore
from antiphon.storage.records.database import connect, file_url
from antiphon.storage.records.store import SqlRecordStore
from antiphon.testing.record_store_contract import SAMPLE_EVENT, check_record_store


def test_memory() -> None:
    check_record_store(MemoryRecordStore)


def test_sqlite(tmp_path: Path) -> None:
    numbers = count()
    check_record_store(lambda: SqlRecordStore(connect(file_url(tmp_path / "records" / f"{next(numbers)}.db"))))


def test_memory_keeps_the_last_ones_only() -> None:
    store = MemoryRecordStore(max_records=3)
    store.add([SAMPLE_EVENT] * 5)
    assert len(store.recent(10)) == 3


class Forgetful(MemoryRecordStore):
    def recent(self, limit: int, model: str = "") -> list[CallFinished]:
        return [event for event in super().recent(limit, model) if event.model == "sample"]


def test_the_contract_notices_what_breaks_it() -> None:
    with pytest.raises(AssertionError, match=r"exactly|of the model|any text"):
        check_record_store(Forgetful)
