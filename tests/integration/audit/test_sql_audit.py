"""The audit trail in real databases: whatever is done to its rows is found, and what is done by right is not."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine, bindparam, delete, func, insert, select, text, update

from antiphon.core.audit import Act, AuditQuery
from antiphon.core.errors import InvalidRequest, RecordsUnavailable, SetupError
from antiphon.governance.audit.checkpoint import by_fingerprint
from antiphon.governance.audit.verification import ChainReport, Evidence, Fault, verify
from antiphon.storage.audit.files import AuditFiles, AuditPlaces, checkpoints_in
from antiphon.storage.records.audit_trail import AT_ONCE, SqlAuditTrail
from antiphon.storage.records.audit_writer import AuditWriter
from antiphon.storage.records.database import upgrade
from antiphon.storage.records.schema import audit_chains, audit_records, calls
from antiphon.storage.records.store import SqlRecordStore
from antiphon.testing.record_store_contract import SAMPLE_EVENT
from tests.integration.databases import MakeEngine

COLUMNS = audit_records.c


class Kept:
    """An audit trail in a folder and a database, as one process has it."""

    def __init__(self, engine: Engine, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.engine = engine
        self.files = AuditFiles(AuditPlaces(chain=folder / "chain", key=folder / "key.pem", checkpoints=folder / "checkpoints"))
        self.writer = AuditWriter(self.files, clock)
        self.store = SqlRecordStore(engine, self.writer)
        self.trail = SqlAuditTrail(self.store.database, self.files, self.writer, clock)

    def add(self, *names: str, once: str = "") -> None:
        named = [(f"call-{name[:2]}", name, f"{name}'s") for name in names]
        events = [msgspec.structs.replace(SAMPLE_EVENT, id=call, principal=key, user=user) for call, key, user in named]
        self.store.add(events, once)

    def reports(self) -> dict[str, ChainReport]:
        path = self.files.places.checkpoints
        lines = [line for line in checkpoints_in(path) if line is not None] if path.exists() else []
        evidence = Evidence(lines, by_fingerprint([self.files.signer().public]), frozenset([self.files.chain()]))
        with self.trail.snapshot() as snapshot:
            return {report.chain: report for report in verify(snapshot.heads(), snapshot.entries, evidence)}

    def faults(self) -> list[Fault]:
        return [report.fault for report in self.reports().values() if report.fault is not None]

    def run(self, statement: Any, *more: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(statement, *more)


@pytest.fixture
def kept(make_engine: MakeEngine, tmp_path: Path) -> Kept:
    return Kept(make_engine(), tmp_path / "audit")


def fill(kept: Kept) -> int:
    """A chain with two checkpoints, and how many records it has."""
    for number in range(3):
        kept.add(f"a{number}", f"b{number}", f"c{number}")
        if number < 2:
            kept.trail.seal()
    kept.trail.record(Act("keys.revoke", {}, "root", "ann"))
    assert kept.faults() == []
    return 3 * 3 + 2 + 1


def other_value(column: str, value: Any) -> Any:
    """Another value for a column."""
    if column == "salts":
        return {**value, "key": "00" * 16} if value else {"key": "00" * 16}
    if column == "record":
        return value.replace('"kind"', '"kinb"')
    return value + 1 if isinstance(value, int | float) else f"{value or ''}x"


def test_any_change_of_any_column_of_any_row_is_found_and_named(kept: Kept) -> None:
    count = fill(kept)
    for number in range(1, count + 1):
        with kept.engine.connect() as connection:
            row = dict(connection.execute(select(audit_records).where(COLUMNS.number == number)).mappings().one())
        for column in row.keys() - {"chain", "number"}:
            here = update(audit_records).where(COLUMNS.number == number)
            kept.run(here.values({column: other_value(column, row[column])}))
            (fault,) = kept.faults()
            assert (fault.number, fault.what) == (number, "changed"), column
            kept.run(here.values({column: row[column]}))
    assert kept.faults() == []


def test_any_deletion_is_found_and_named(kept: Kept) -> None:
    count = fill(kept)
    for number in range(1, count + 1):
        with kept.engine.connect() as connection:
            row = dict(connection.execute(select(audit_records).where(COLUMNS.number == number)).mappings().one())
        kept.run(delete(audit_records).where(COLUMNS.number == number))
        (fault,) = kept.faults()
        assert (fault.number, fault.what) == (number, "tail_cut" if number == count else "missing")
        kept.run(insert(audit_records), [row])
    assert kept.faults() == []


def test_rows_that_change_places_are_found_and_named(kept: Kept) -> None:
    count = fill(kept)
    draw = random.Random(1)
    change = update(audit_records).where(COLUMNS.number == bindparam("was")).values(number=bindparam("now"))
    for _ in range(10):
        one, other = draw.sample(range(1, count + 1), 2)
        steps = [{"was": one, "now": -1}, {"was": other, "now": one}, {"was": -1, "now": other}]
        kept.run(change, steps)
        (fault,) = kept.faults()
        assert (fault.number, fault.what) == (min(one, other), "reordered")
        kept.run(change, steps)
    assert kept.faults() == []


@pytest.mark.parametrize("kept_records", [0, 2, 3, 6])
def test_a_tail_that_is_cut_is_found_and_the_checkpoint_named(kept: Kept, kept_records: int) -> None:
    fill(kept)
    kept.run(delete(audit_records).where(COLUMNS.number > kept_records))
    with kept.engine.connect() as connection:
        end = connection.execute(select(COLUMNS.hash).where(COLUMNS.number == kept_records)).scalar() or ""
    kept.run(update(audit_chains).values(number=kept_records, hash=end))
    (fault,) = kept.faults()
    assert (fault.number, fault.what) == (kept_records + 1, "tail_cut" if kept_records else "missing")
    assert f"checkpoint {1 if kept_records < 3 else 2} saw record" in fault.detail


def test_a_bundle_that_comes_again_is_not_chained_again(kept: Kept) -> None:
    kept.add("a", "b", once="worker/1")
    kept.add("a", "b", once="worker/1")
    assert [row.number for row in kept.trail.search(AuditQuery(), 10)] == [2, 1]
    assert len(kept.store.recent(10)) == 2


def test_a_call_is_in_the_usage_and_the_trail_or_in_neither(make_engine: MakeEngine, tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("a file where there should be a folder")
    kept = Kept(make_engine(), tmp_path / "audit")
    with pytest.raises(RecordsUnavailable):
        kept.add("a", once="worker/1")
    assert kept.store.recent(10) == []
    (tmp_path / "audit").unlink()
    kept.add("a", once="worker/1")
    assert (len(kept.store.recent(10)), kept.faults()) == (1, [])


def test_processes_that_write_to_one_chain_and_servers_with_chains_of_their_own_hinder_nobody(
    make_engine: MakeEngine, tmp_path: Path
) -> None:
    engine = make_engine()
    server, command, other = (Kept(engine, tmp_path / folder) for folder in ("one", "one", "other"))
    server.add("x")

    def work(kept: Kept, name: str) -> None:
        for number in range(20):
            kept.add(*[f"{name}{number}"] * 3)
            if number % 5 == 0:
                kept.trail.seal()

    threads = [threading.Thread(target=work, args=each) for each in ((server, "s"), (command, "c"), (other, "o"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.reports()) == 2
    assert server.faults() == other.faults() == []
    with engine.connect() as connection:
        counted = connection.execute(select(func.count()).where(COLUMNS.kind == "call")).scalar()
    assert counted == 1 + 3 * 20 * 3


def test_who_is_erased_is_gone_from_the_trail_the_usage_and_the_disk_and_the_chain_stays_valid(kept: Kept, tmp_path: Path) -> None:
    kept.add("ann-of-red", "bob-of-red", "ann-of-red")
    kept.trail.record(Act("keys.revoke", {}, "root", "ann-of-red"))
    kept.trail.seal()
    assert kept.trail.erase("key", "ann-of-red", "root") == 3
    assert kept.trail.erase("key", "ann-of-red", "root") == 0
    (report,) = kept.reports().values()
    assert (report.fault, report.erased) == (None, 3)
    erasure, _, act, *told = kept.trail.search(AuditQuery(), 10)
    assert (erasure.kind, erasure.actor, erasure.facts["count"]) == ("audit.erase", "root", 3)
    assert (act.key, act.actor, act.erased) == (None, "root", ("key",))
    assert [(row.key, row.user) for row in told] == [(None, None), ("bob-of-red", "bob-of-red's"), (None, None)]
    assert sorted(row.principal for row in kept.store.recent(10)) == ["", "", "bob-of-red"]
    kept.store.close()
    left = b"".join(path.read_bytes() for path in tmp_path.glob("*.db*"))
    assert b"ann-of-red" not in left


def test_a_user_is_erased_and_so_is_an_account_that_acted(kept: Kept) -> None:
    kept.add("ann", "bob")
    kept.trail.record(Act("keys.revoke", {}, "ann's", "bob"))
    assert kept.trail.erase("user", "ann's", "root") == 1
    assert kept.trail.erase("actor", "ann's", "root") == 1
    assert kept.faults() == []
    assert [row.key for row in kept.trail.search(AuditQuery(kind="keys.revoke"), 1)] == ["bob"]


def test_more_than_one_transaction_is_erased_wholly(kept: Kept) -> None:
    kept.add(*["ann"] * (AT_ONCE + 10))
    assert kept.trail.erase("key", "ann", "root") == AT_ONCE + 10
    assert kept.faults() == []
    with kept.engine.connect() as connection:
        assert connection.execute(select(func.count()).where(COLUMNS.key == "ann")).scalar() == 0
        assert connection.execute(select(func.count()).where(calls.c.principal == "ann")).scalar() == 0


def test_one_who_is_erased_without_an_act_is_found(kept: Kept) -> None:
    kept.add("ann", "bob", "cyd")
    kept.trail.erase("key", "ann", "root")
    kept.run(update(audit_records).where(COLUMNS.key == "bob").values(key=None, user=None, client=None, salts={}))
    (fault,) = kept.faults()
    assert (fault.number, fault.what) == (2, "changed")


def test_old_records_go_up_to_a_checkpoint_and_what_stays_is_valid(make_engine: MakeEngine, tmp_path: Path) -> None:
    now = [1000.0]
    kept = Kept(make_engine(), tmp_path / "audit", lambda: now[0])
    kept.add("a", "b")
    kept.trail.seal()
    now[0] = 2000.0
    kept.add("c")
    kept.trail.seal()
    now[0] = 3000.0
    kept.add("d")
    assert kept.trail.cut(999.0) == 0
    assert kept.trail.cut(1500.0) == 2
    (report,) = kept.reports().values()
    assert (report.first, report.fault) == (3, None)
    assert kept.trail.cut(1500.0) == 0
    assert kept.trail.cut(2500.0) == 2
    assert kept.trail.search(AuditQuery(kind="audit.cut"), 1)[0].facts == {"up_to": 4, "records": 2}
    kept.trail.seal()
    now[0] = 9000.0
    assert kept.trail.cut(8000.0) == 4
    assert kept.faults() == []
    kept.run(delete(audit_records))
    (fault,) = kept.faults()
    assert fault.what == "tail_cut"


def test_nothing_is_cut_off_a_chain_that_was_tampered_with(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.add("a", "b")
    kept.trail.seal()
    kept.run(update(audit_records).where(COLUMNS.number == 2).values(hash="00" * 32))
    assert kept.trail.cut(time.time() + 1) == 0
    assert "nothing of the audit chain" in caplog.text


def test_an_act_of_erasure_stays_as_long_as_another_chain_needs_it(make_engine: MakeEngine, tmp_path: Path) -> None:
    engine = make_engine()
    one, other = Kept(engine, tmp_path / "one"), Kept(engine, tmp_path / "other")
    other.add("ann")
    one.add("bob", "cyd")
    one.trail.erase("key", "ann", "root")
    one.trail.seal()
    assert one.trail.cut(time.time() + 1) == 0
    assert [report.fault for report in one.reports().values()] == [None, None]


def test_a_database_that_is_behind_its_checkpoints_gets_a_new_chain(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    fill(kept)
    old = kept.files.chain()
    kept.run(delete(audit_records).where(COLUMNS.number > 2))
    kept.run(update(audit_chains).values(number=2))
    again = Kept(kept.engine, kept.files.places.chain.parent)
    again.add("x")
    again.trail.seal()
    reports = again.reports()
    assert (len(reports), [fault.chain for fault in again.faults()]) == (2, [old])
    assert "a new chain begins" in caplog.text
    assert Kept(kept.engine, kept.files.places.chain.parent).files.chain() != old


def test_search_chooses_and_goes_on_where_it_stopped(make_engine: MakeEngine, tmp_path: Path) -> None:
    now = [1000.0]
    kept = Kept(make_engine(), tmp_path / "audit", lambda: now[0])
    for number in range(4):
        now[0] = 1000.0 + number // 2
        kept.add(f"a{number}", f"b{number}")
    search = kept.trail.search
    assert [row.number for row in search(AuditQuery(), 3)] == [8, 7, 6]
    assert [row.number for row in search(AuditQuery(after=f"{kept.files.chain()}/6"), 3)] == [5, 4, 3]
    assert [row.facts["id"] for row in search(AuditQuery(key="a2"), 3)] == ["call-a2"]
    assert [row.key for row in search(AuditQuery(user="b3's"), 3)] == ["b3"]
    assert [row.key for row in search(AuditQuery(id="call-b0", status=200, model="sample", kind="call"), 3)] == ["b0"]
    assert [row.number for row in search(AuditQuery(since=1001.0), 9)] == [8, 7, 6, 5]
    assert [row.number for row in search(AuditQuery(until=1001.0), 9)] == [4, 3, 2, 1]
    assert search(AuditQuery(status=500), 9) == []
    for after in ("x", "x/1", f"{kept.files.chain()}/99", "a/b/c"):
        with pytest.raises(InvalidRequest):
            search(AuditQuery(after=after), 1)


def test_any_text_can_be_recorded(kept: Kept) -> None:
    strange = "'; drop table calls; -- \x00 \\0 模型 \U0001f600 %s {}"
    kept.store.add([msgspec.structs.replace(SAMPLE_EVENT, model=strange, principal=strange, client=strange, id=strange)])
    kept.trail.seal()
    assert kept.faults() == []
    (row,) = kept.trail.search(AuditQuery(key=strange), 2)
    assert (row.key, row.client, row.facts["model"]) == (strange,) * 3


def test_a_database_of_the_first_schema_goes_up_and_down_and_loses_nothing_that_it_can_hold(
    make_engine: MakeEngine, tmp_path: Path
) -> None:
    engine = make_engine()
    upgrade(engine, "0001")
    old = _row_of_the_first_schema()
    names = ", ".join(f'"{name}"' for name in old)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO bundles VALUES ('worker/1', 1.5)"))
        marks = ", ".join(f":{name}" for name in old)
        for _ in range(3):
            connection.execute(text(f"INSERT INTO calls ({names}) VALUES ({marks})"), old)
        before = connection.execute(text("SELECT * FROM calls ORDER BY number")).all()
    kept = Kept(engine, tmp_path / "audit")
    kept.add("new", once="worker/1")  # which was recorded before the upgrade
    kept.add("new", once="worker/2")
    kept.trail.seal()
    assert (len(kept.store.recent(10)), kept.faults()) == (4, [])
    upgrade(engine, "0001")
    with engine.connect() as connection:
        after = connection.execute(text("SELECT * FROM calls ORDER BY number")).all()
        assert connection.execute(text("SELECT name FROM bundles ORDER BY name")).scalars().all() == ["worker/1", "worker/2"]
    assert (after[:3], len(after)) == (before, 4)
    again = Kept(engine, tmp_path / "audit")
    again.add("newer", once="worker/2")
    again.add("newer", once="worker/3")
    assert len(again.store.recent(10)) == 5
    assert [fault.what for fault in again.faults()] == ["missing"]  # what the checkpoints saw went with the older schema


def _row_of_the_first_schema() -> dict[str, Any]:
    texts = ("id", "endpoint", "model", "target", "principal", "error", "hour", "client", "route", "degraded")
    owners = ("team", "project", "application", "user")
    counts = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens", "cost")
    row: dict[str, Any] = {name: f"{name} \\ 模型" for name in (*texts, *owners)}
    row |= dict.fromkeys(counts, 1 << 40) | dict.fromkeys(("started_at", "duration", "ttft", "waited"), 0.1)
    return row | dict.fromkeys(("stream", "hedged", "estimated"), True) | {"status": 200, "attempts": 2}


def test_half_a_line_of_a_checkpoint_is_overcome(tmp_path: Path, make_engine: MakeEngine) -> None:
    kept = Kept(make_engine(), tmp_path / "audit")
    fill(kept)
    path = kept.files.places.checkpoints
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert kept.faults() == []
    kept.trail.seal()
    assert path.read_bytes().startswith(whole)
    assert kept.faults() == []
    assert len(path.read_bytes().splitlines()) == 3


def test_the_files_are_for_their_user_alone(tmp_path: Path, make_engine: MakeEngine) -> None:
    kept = Kept(make_engine(), tmp_path / "audit")
    fill(kept)
    assert (tmp_path / "audit").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "audit").iterdir()} == {0o600}


def test_a_key_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")
    files = AuditFiles(AuditPlaces(chain=tmp_path / "chain", key=tmp_path / "key.pem", checkpoints=tmp_path / "checkpoints"))
    with pytest.raises(SetupError, match="Ed25519") as caught:
        files.signer()
    assert "openssl genpkey" in caught.value.remedy
