"""Records in real databases: SQLite in a file, and a PostgreSQL server."""

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine, inspect, make_url

from antiphon.core.errors import RecordsUnavailable
from antiphon.core.usage import UsageQuery
from antiphon.storage.records.database import connect, file_url, server_url, upgrade
from antiphon.storage.records.schema import metadata
from antiphon.storage.records.store import SqlRecordStore
from antiphon.testing.record_store_contract import SAMPLE_EVENT, check_record_store
from tests.integration.databases import MakeEngine
from tests.integration.postgres_server import PostgresServer


def test_the_contract_holds(make_engine: MakeEngine) -> None:
    check_record_store(lambda: SqlRecordStore(make_engine()))


def test_the_migrations_lead_to_the_schema_that_is_used(make_engine: MakeEngine) -> None:
    migrated, made = make_engine(), make_engine()
    upgrade(migrated)
    metadata.create_all(made)

    def shape(engine: Engine) -> dict[str, Any]:
        looked = inspect(engine)
        return {
            table: (
                {column["name"]: (str(column["type"]), column["nullable"]) for column in looked.get_columns(table)},
                sorted((index["name"], tuple(index["column_names"])) for index in looked.get_indexes(table)),
            )
            for table in metadata.tables
        }

    assert shape(migrated) == shape(made)


def test_down_and_up_again(make_engine: MakeEngine) -> None:
    engine = make_engine()
    SqlRecordStore(engine).add([SAMPLE_EVENT], "worker/1")
    upgrade(engine, "0001")
    assert "audit_records" not in inspect(engine).get_table_names()
    again = SqlRecordStore(engine)
    again.add([SAMPLE_EVENT], "worker/1")
    assert again.recent(10) == [SAMPLE_EVENT]


def test_records_are_there_after_a_restart_and_a_bundle_that_comes_again_counts_once(make_engine: MakeEngine) -> None:
    engine = make_engine()
    SqlRecordStore(engine).add([SAMPLE_EVENT], "worker/1")
    again = SqlRecordStore(engine)
    again.add([SAMPLE_EVENT], "worker/1")
    assert len(again.recent(10)) == 1


def test_several_at_once_lose_nothing_and_add_nothing_twice(make_engine: MakeEngine) -> None:
    store = SqlRecordStore(make_engine())

    def add(who: int) -> None:
        for number in range(20):
            store.add([SAMPLE_EVENT] * 5, f"{who % 2}/{number}")

    threads = [threading.Thread(target=add, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.calls for row in store.usage(UsageQuery())] == [2 * 20 * 5]


def test_what_is_forgotten_in_pieces_is_forgotten_wholly(make_engine: MakeEngine) -> None:
    store = SqlRecordStore(make_engine())
    store.add([SAMPLE_EVENT] * 12_000)
    store.add([msgspec.structs.replace(SAMPLE_EVENT, started_at=2e9)])
    assert store.forget(1.9e9) == 12_000
    assert len(store.recent(10)) == 1


def test_a_server_that_is_away_is_told_and_tried_again(postgres_server: PostgresServer) -> None:
    store = SqlRecordStore(connect(server_url(postgres_server.url)))
    store.add([SAMPLE_EVENT])
    postgres_server.stop()
    try:
        with pytest.raises(RecordsUnavailable, match="cannot be used") as caught:
            store.add([SAMPLE_EVENT])
        assert caught.value.remedy
    finally:
        postgres_server.start()
    store.add([SAMPLE_EVENT])
    assert [row.calls for row in store.usage(UsageQuery())] == [2]
    store.close()


def test_a_password_is_not_in_the_error() -> None:
    store = SqlRecordStore(connect(server_url("postgresql://antiphon:very-secret@127.0.0.1:1/antiphon")))
    with pytest.raises(RecordsUnavailable) as caught:
        store.recent(1)
    assert "very-secret" not in str(caught.value) + repr(caught.value.__cause__)


@pytest.mark.parametrize("damage", [b"this is no database, and never was one. " * 200, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_file_is_kept_and_begun_anew(tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "calls.db"
    path.write_bytes(damage)
    store = SqlRecordStore(connect(file_url(path)))
    store.add([SAMPLE_EVENT])
    assert len(store.recent(10)) == 1
    (aside,) = tmp_path.glob("calls.db.damaged-*")
    assert aside.read_bytes() == damage
    assert "records begin anew" in caplog.text
    store.close()


def test_the_file_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "records" / "calls.db"
    store = SqlRecordStore(connect(file_url(path)))
    store.add([SAMPLE_EVENT])
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    store.close()


def test_any_url_of_a_server_is_one_of_the_driver_that_is_used() -> None:
    assert server_url("postgresql://a@b/c").drivername == "postgresql+psycopg"
    assert make_url("postgresql://a@b/c").database == "c"
