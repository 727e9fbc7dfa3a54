"""Whatever is done to the rows of a chain, or to its checkpoints, is found, and its first place named."""

import json
from collections.abc import Callable

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.audit import Act
from antiphon.core.events import CallFinished
from antiphon.core.types import Usage
from antiphon.governance.audit.checkpoint import Checkpoint, Signer, by_fingerprint, decode, encode, is_signed
from antiphon.governance.audit.record import Entry, Facts, entry, genesis, link, of_act, of_call
from antiphon.governance.audit.verification import ChainReport, Evidence, Head, verify

CALL = CallFinished(
    "r", "chat/completions", "m", "p/m", "ann", 200, "", False, 1.0, 0.2, 0.0, Usage(1, 2, 3), 1, client="192.0.2.1", user="Ann"
)
SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(32)))
STRANGER = Signer(Ed25519PrivateKey.from_private_bytes(b"\1" * 32))
CALLS = 12
SEALED = (4, 9)
"""Records behind which a checkpoint was signed; the act that says so follows."""


class Book:
    """Rows and checkpoints of one chain as they were written, to be tampered with."""

    def __init__(self, chain: str = "c") -> None:
        self.chain = chain
        self.rows: list[Entry] = []
        self.lines: list[Checkpoint] = []

    @property
    def head(self) -> Head:
        return Head(len(self.rows), self.rows[-1].hash) if self.rows else Head(0, genesis(self.chain))

    def write(self, facts: Facts) -> None:
        head = self.head
        self.rows.append(entry(facts, (self.chain, head.number + 1, head.hash), float(head.number)))

    def seal(self, kind: str = "checkpoint", number: int = 0, signer: Signer = SIGNER) -> None:
        number = number or len(self.rows)
        line = Checkpoint(
            chain=self.chain,
            index=len(self.lines) + 1,
            kind=kind,
            number=number,
            hash=self.rows[number - 1].hash,
            at=1.0,
            key="",
        )
        self.lines.append(signer.sign(line))
        self.write(of_act(Act("audit.checkpoint", {"index": len(self.lines), "up_to": number})))


def book() -> Book:
    made = Book()
    for number in range(CALLS):
        if number in SEALED:
            made.seal()
        made.write(of_call(msgspec.structs.replace(CALL, id=str(number))))
    return made


def look(written: Book, rows: list[Entry], *, head: Head | None = None, own: bool = True) -> ChainReport:
    evidence = Evidence(written.lines, by_fingerprint([SIGNER.public]), frozenset([written.chain]) if own else frozenset())
    ordered = sorted(rows, key=lambda row: row.number)
    (report,) = verify({written.chain: head or written.head}, lambda _: ordered, evidence)
    return report


def named(report: ChainReport) -> tuple[int, str]:
    assert report.fault is not None
    return report.fault.number, report.fault.what


def test_what_was_written_is_valid():
    written = book()
    report = look(written, written.rows)
    assert (report.first, report.last, report.checkpoints, report.sealed, report.fault) == (1, CALLS + 2, 2, 10, None)


def _other_record(row: Entry) -> str:
    told = json.loads(row.record)
    told["facts"]["cost"] = 1 + told["facts"].get("cost", 0)
    return json.dumps(told, separators=(",", ":"), sort_keys=True)


CHANGES: dict[str, Callable[[Entry], object]] = {
    "at": lambda row: row.at + 1,
    "kind": lambda row: row.kind + "x",
    "id": lambda row: row.id + "x",
    "model": lambda row: row.model + "x",
    "status": lambda row: row.status + 1,
    "key": lambda row: "bob",
    "user": lambda row: "bob",
    "client": lambda row: "bob",
    "actor": lambda row: "bob",
    "salts": lambda row: {**row.salts, "key": "00" * 16},
    "record": _other_record,
    "hash": lambda row: "00" * 32,
}


@given(st.integers(0, CALLS + 1), st.sampled_from(sorted(CHANGES)))
def test_a_change_is_found_where_it_is(index: int, field: str):
    written = book()
    rows = list(written.rows)
    rows[index] = msgspec.structs.replace(rows[index], **{field: CHANGES[field](rows[index])})
    assert named(look(written, rows)) == (index + 1, "changed")


@given(st.integers(0, CALLS + 1), st.data())
def test_any_character_of_a_record_counts(index: int, data: st.DataObject):
    written = book()
    rows = list(written.rows)
    record = rows[index].record
    place = data.draw(st.integers(0, len(record) - 1))
    changed = record[:place] + ("0" if record[place] != "0" else "1") + record[place + 1 :]
    rows[index] = msgspec.structs.replace(rows[index], record=changed)
    assert named(look(written, rows)) in ((index + 1, "changed"), (index + 1, "reordered"))


@given(st.integers(0, CALLS + 1))
def test_a_name_that_was_taken_is_found(index: int):
    written = book()
    rows = list(written.rows)
    if rows[index].key is None:
        return
    rows[index] = msgspec.structs.replace(rows[index], key=None, user=None, client=None, salts={})
    assert named(look(written, rows)) == (index + 1, "changed")


@given(st.integers(0, CALLS + 1))
def test_a_deletion_is_found_where_it_is(index: int):
    written = book()
    rows = list(written.rows)
    del rows[index]
    assert named(look(written, rows)) == (index + 1, "tail_cut" if index == CALLS + 1 else "missing")


@given(st.integers(0, CALLS + 1), st.integers(0, CALLS + 1))
def test_two_that_changed_places_are_found(one: int, other: int):
    if one == other:
        return
    written = book()
    rows = list(written.rows)
    first, second = rows[one], rows[other]
    rows[one] = msgspec.structs.replace(second, number=first.number)
    rows[other] = msgspec.structs.replace(first, number=second.number)
    assert named(look(written, rows)) == (min(one, other) + 1, "reordered")


@given(st.integers(0, CALLS + 1))
def test_a_tail_that_is_cut_is_found_as_soon_as_a_checkpoint_saw_it(kept: int):
    written = book()
    rows = written.rows[:kept]
    head = Head(kept, rows[-1].hash) if rows else Head(0, genesis("c"))
    report = look(written, rows, head=head)
    if kept < written.lines[-1].number:
        assert named(report) == (kept + 1, "tail_cut" if kept else "missing")
    else:
        assert report.fault is None  # it is not sealed yet: that is what the report says


def test_a_tail_that_is_cut_by_who_forgets_its_end_is_found_without_a_checkpoint():
    written = book()
    assert named(look(written, written.rows[:-1])) == (CALLS + 2, "tail_cut")


@given(st.integers(0, CALLS + 1))
def test_who_writes_the_rest_of_the_chain_anew_is_found_by_the_next_checkpoint(index: int):
    written = book()
    rows = written.rows[:index]
    previous = rows[-1].hash if rows else genesis("c")
    for row in written.rows[index:]:
        record = row.record.replace("{", '{ "forged": 1,' if row.number == index + 1 else "{", 1)
        previous = link(previous, record)
        rows.append(msgspec.structs.replace(row, record=record, hash=previous))
    report = look(written, rows, head=Head(len(rows), previous))
    behind = [line.number for line in written.lines if line.number > index]
    if behind:
        assert named(report) == (behind[0], "changed")
    else:
        assert report.fault is None
        assert report.sealed <= index


@given(st.sampled_from([0, 1]))
def test_a_checkpoint_that_is_gone_is_found(index: int):
    written = book()
    number = written.lines[1].number
    del written.lines[index]
    assert named(look(written, written.rows)) == (number if index == 0 else number + 1, "checkpoints_cut")


def test_a_file_of_checkpoints_that_is_gone_is_found_by_its_server_and_passes_as_another_ones():
    written = book()
    written.lines.clear()
    assert named(look(written, written.rows)) == (SEALED[0] + 1, "checkpoints_cut")
    report = look(written, written.rows, own=False)
    assert (report.fault, report.checkpoints) == (None, 0)


@pytest.mark.parametrize("change", [{"number": 5}, {"hash": "00" * 32}, {"at": 9.0}, {"signature": "00" * 64}, {"signature": "no"}])
def test_a_checkpoint_that_was_changed_is_found(change: dict[str, object]):
    written = book()
    written.lines[0] = msgspec.structs.replace(written.lines[0], **change)
    report = look(written, written.rows)
    assert named(report) == (written.lines[0].number, "bad_signature")


def test_a_checkpoint_of_a_stranger_is_not_trusted():
    written = Book()
    written.write(of_call(CALL))
    written.seal(signer=STRANGER)
    assert named(look(written, written.rows)) == (1, "bad_signature")
    assert not is_signed(written.lines[0], {})


def test_a_chain_that_is_gone_is_found():
    written = book()
    reports = verify({}, lambda _: [], Evidence(written.lines, by_fingerprint([SIGNER.public])))
    assert [named(report) for report in reports] == [(1, "missing")]


def test_what_was_cut_off_by_right_is_not_missed_and_more_is():
    written = book()
    written.seal("cut", SEALED[0])
    kept = written.rows[SEALED[0] :]
    report = look(written, kept)
    assert (report.fault, report.first) == (None, SEALED[0] + 1)
    assert look(written, written.rows).fault is None  # the rows may go, and did not yet
    assert named(look(written, kept[1:])) == (SEALED[0] + 1, "missing")


def test_what_was_erased_by_right_is_not_missed_and_more_is():
    written = book()
    rows = written.rows
    for index in (0, 2):
        rows[index] = msgspec.structs.replace(rows[index], key=None, user=None, client=None, salts={})
    written.write(of_act(Act("audit.erase", {"fields": ["key", "user", "client"], "records": {"c": "1,3"}}, "root")))
    report = look(written, rows)
    assert (report.fault, report.erased) == (None, 2)
    rows[1] = msgspec.structs.replace(rows[1], key=None, user=None, client=None, salts={})
    assert named(look(written, rows)) == (2, "changed")


def test_what_is_behind_a_fault_still_explains_what_was_erased_before_it():
    written = book()
    rows = written.rows
    rows[0] = msgspec.structs.replace(rows[0], key=None, user=None, client=None, salts={})
    written.write(of_act(Act("audit.erase", {"fields": ["key", "user", "client"], "records": {"c": "1"}}, "root")))
    rows[5] = msgspec.structs.replace(rows[5], status=500)
    assert named(look(written, rows)) == (6, "changed")


def test_facts_that_this_version_does_not_know_are_verified_all_the_same():
    written = Book()
    written.write(Facts("call", {"id": "1", "model": "m", "status": 200, "guardrails": [{"name": "email", "action": "mask"}]}, {}))
    assert look(written, written.rows).fault is None


def test_a_record_of_another_chain_fits_nowhere():
    one, other = Book("c"), Book("d")
    one.write(of_call(CALL))
    other.write(of_call(CALL))
    moved = msgspec.structs.replace(other.rows[0], chain="c")
    assert named(look(one, [moved], head=Head(1, moved.hash))) == (1, "changed")


def test_checkpoints_that_were_signed_after_the_records_were_read_are_not_held_against_them():
    written = book()
    early = written.rows[:10]
    evidence = Evidence(written.lines, by_fingerprint([SIGNER.public]), frozenset("c"), {"c": 1})
    (report,) = verify({"c": Head(10, early[-1].hash)}, lambda _: early, evidence)
    assert report.fault is None


def test_lines_come_back():
    line = book().lines[0]
    assert decode(encode(line)) == line
    with pytest.raises(msgspec.MsgspecError):
        decode(b"{}")
