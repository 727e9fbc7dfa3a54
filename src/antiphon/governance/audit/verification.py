"""Walks chains of records and finds the first place in each that is not as it was written."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from antiphon.governance.audit.checkpoint import Checkpoint, is_signed
from antiphon.governance.audit.numbers import from_text
from antiphon.governance.audit.record import PERSONAL, VERSION, Entry, commitment, genesis, link

ERASE: Final = "audit.erase"
"""Kind of the act by which personal values were erased. It says of which records, so that no other may lack any."""
SEAL: Final = "audit.checkpoint"
"""Kind of the act that says that a checkpoint was signed, so that one that is gone from its file is missed."""

What = Literal["changed", "missing", "reordered", "tail_cut", "bad_signature", "checkpoints_cut"]


class Head(msgspec.Struct, frozen=True):
    """How far a chain has come."""

    number: int
    """Of the last record; 0 where there is none."""
    hash: str


class Fault(msgspec.Struct, frozen=True):
    """A place that is not as it was written."""

    chain: str
    number: int
    """Of the record at fault; of what is missing, the first."""
    what: What
    detail: str


class ChainReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of a chain."""

    chain: str
    first: int = 0
    """Number of the first record that is kept; 0 where none is."""
    last: int = 0
    erased: int = 0
    """Records of which personal values were erased."""
    checkpoints: int = 0
    """Signed lines that were compared with it. Without any, the chain fits together, and nobody knows whether its tail is whole."""
    sealed: int = 0
    """Number of the last record that a checkpoint vouches for."""
    fault: Fault | None = None
    """The first."""


class Evidence(msgspec.Struct, frozen=True):
    """What chains are verified by."""

    checkpoints: Sequence[Checkpoint]
    keys: Mapping[str, Ed25519PublicKey]
    """The public keys that are trusted, by their fingerprints."""
    own: frozenset[str] = frozenset()
    """Chains of which ``checkpoints`` must have all. Of others they may have none, if another server keeps these."""
    settled: Mapping[str, int] | None = None
    """Chain -> index of the last checkpoint that was signed before the records were read; None where all were."""


Erased = dict[tuple[str, int], set[str]]
"""Chain and number -> names of personal values."""


class _Told(msgspec.Struct, frozen=True):
    """A record, read."""

    v: int
    number: int
    at: float
    kind: str
    facts: dict[str, Any]
    commitments: dict[str, str]


class _Erasure(msgspec.Struct, frozen=True):
    """The facts of an act of erasure."""

    fields: tuple[str, ...]
    records: dict[str, str]
    """Chain -> numbers."""


_read = msgspec.json.Decoder(_Told).decode


class _Wrong(Exception):
    """Ends a walk: what is wrong, and how."""

    def __init__(self, number: int, what: What, detail: str) -> None:
        self.number, self.what, self.detail = number, what, detail
        super().__init__(detail)


def verify(
    heads: Mapping[str, Head | None], entries: Callable[[str], Iterable[Entry]], evidence: Evidence
) -> tuple[ChainReport, ...]:
    """Walk every chain. ``heads`` has each that is in the database, ``entries`` gives its records by their numbers, rising."""
    absent: Erased = {}
    explained: Erased = {}
    witnesses: dict[str, list[Checkpoint]] = {}
    for checkpoint in evidence.checkpoints:
        witnesses.setdefault(checkpoint.chain, []).append(checkpoint)
    reports = []
    for chain in sorted({*heads, *witnesses}):
        walk = _Walk(chain, witnesses.get(chain, []), evidence, absent, explained)
        reports.append(walk.report(heads.get(chain), entries(chain)))
    return tuple(_judged(report, absent, explained) for report in reports)


class _Walk:
    """One chain."""

    def __init__(self, chain: str, lines: Sequence[Checkpoint], evidence: Evidence, absent: Erased, explained: Erased) -> None:
        self._chain = chain
        self._lines = sorted(lines, key=lambda line: line.index)
        self._signed = [line for line in self._lines if is_signed(line, evidence.keys)]
        self._latest = max((line.index for line in self._lines), default=0)
        self._own = chain in evidence.own
        self._settled = evidence.settled
        self._absent, self._explained = absent, explained
        self._first = self._number = self._erased = 0
        self._hash = genesis(chain)
        self._hashes: dict[int, list[Checkpoint]] = {}
        for line in self._signed:
            self._hashes.setdefault(line.number, []).append(line)

    def report(self, head: Head | None, entries: Iterable[Entry]) -> ChainReport:
        """What there is to say of the chain."""
        found = [*self._faults_of_lines()]
        rows = iter(entries)
        try:
            self._walk(rows)
            self._look_at_the_end(head)
        except _Wrong as wrong:
            found.append(wrong)
            for row in rows:  # what was erased by right is known from what comes behind the fault too
                with contextlib.suppress(_Wrong):
                    self._note_erasure(row)
        first = min(found, key=lambda wrong: wrong.number, default=None)
        return ChainReport(
            chain=self._chain,
            first=self._first,
            last=self._number if self._first else 0,
            erased=self._erased,
            checkpoints=len(self._signed),
            sealed=max((line.number for line in self._signed), default=0),
            fault=Fault(self._chain, first.number, first.what, first.detail) if first else None,
        )

    def _faults_of_lines(self) -> Iterator[_Wrong]:
        """What is wrong with the checkpoints themselves."""
        signed = {id(line) for line in self._signed}
        before = 0
        for line in self._lines:
            if id(line) not in signed:
                detail = f"checkpoint {line.index} is not signed by a key that is trusted (it names key {line.key[:64]})"
                yield _Wrong(line.number, "bad_signature", detail)
            if line.index > before + 1:
                yield _Wrong(line.number, "checkpoints_cut", f"checkpoint {before + 1} is missing from its file")
            before = line.index

    def _walk(self, rows: Iterator[Entry]) -> None:
        cut = max((line for line in self._signed if line.kind == "cut"), key=lambda line: line.number, default=None)
        if cut is not None:
            self._number, self._hash = cut.number, cut.hash
        for row in rows:
            if cut is not None and row.number <= cut.number:
                continue  # it may go, and did not yet
            if not self._first:
                self._first = row.number
                if not self._lines and not self._own and row.number > 1:  # whether it was cut off by right, another file knows
                    self._number, self._hash = row.number, row.hash
                    continue
            self._step(row)

    def _step(self, row: Entry) -> None:
        expected = self._number + 1
        if row.number > expected:
            which = f"record {expected} is" if row.number == expected + 1 else f"records {expected} to {row.number - 1} are"
            raise _Wrong(expected, "missing", f"{which} missing")
        told = _told(row)
        if told.number != row.number:
            raise _Wrong(row.number, "reordered", f"in the place of record {row.number} stands what was record {told.number}")
        if link(self._hash, row.record) != row.hash:
            detail = "it is not what was written, or does not follow the record before it"
            raise _Wrong(row.number, "changed", detail)
        for line in self._hashes.get(row.number, ()):
            if line.hash != row.hash:
                begin = max((other.number for other in self._signed if other.number < row.number), default=0) + 1
                raise _Wrong(row.number, "changed", f"it or one from {begin} on is not what checkpoint {line.index} saw")
        if told.v == VERSION:
            self._compare(row, told)
        if told.kind == SEAL and (self._own or self._lines):
            index = told.facts.get("index", 0)
            if index > self._latest:
                detail = f"checkpoint {index}, which this record knows of, is missing from its file"
                raise _Wrong(row.number, "checkpoints_cut", detail)
        self._number, self._hash = row.number, row.hash
        self._note_erasure(row)

    def _compare(self, row: Entry, told: _Told) -> None:
        """Raises where what stands beside a record is not what it says."""
        facts = told.facts
        beside = (row.at, row.kind, row.id, row.model, row.status)
        if beside != (told.at, told.kind, str(facts.get("id", "")), str(facts.get("model", "")), facts.get("status", 0)):
            raise _Wrong(row.number, "changed", "a column that repeats the record differs from it")
        missing = set()
        for name in PERSONAL:
            value, salt, committed = getattr(row, name), row.salts.get(name), told.commitments.get(name)
            if committed is not None and value is None and salt is None:
                missing.add(name)
            elif not _proves(committed, salt, value):
                raise _Wrong(row.number, "changed", f"the {name} beside the record is not what it commits to")
        if row.salts.keys() - PERSONAL:
            raise _Wrong(row.number, "changed", "there is a salt of nothing beside the record")
        if missing:
            self._absent[self._chain, row.number] = missing
            self._erased += 1

    def _look_at_the_end(self, head: Head | None) -> None:
        """Raises where records are missing at the end."""
        settled = self._latest if self._settled is None else self._settled.get(self._chain, 0)
        beyond = [line for line in self._signed if line.number > self._number and line.index <= settled]
        if beyond:
            first = min(beyond, key=lambda line: line.number)
            what: What = "tail_cut" if self._number else "missing"
            detail = f"the records from {self._number + 1} on are missing, at least to {beyond[-1].number}: "
            raise _Wrong(self._number + 1, what, f"{detail}checkpoint {first.index} saw record {first.number}")
        if head is None:
            raise _Wrong(self._number + 1, "tail_cut", "the row of audit_chains that says where the chain ends is missing")
        if head.number > self._number:
            raise _Wrong(self._number + 1, "tail_cut", f"the chain goes on to record {head.number}, says audit_chains")
        if (head.number, head.hash) != (self._number, self._hash):
            raise _Wrong(self._number, "changed", "audit_chains says that the chain ends elsewhere")

    def _note_erasure(self, row: Entry) -> None:
        if row.kind != ERASE:
            return
        try:
            erasure = msgspec.convert(_told(row).facts, _Erasure)
            for chain, numbers in erasure.records.items():
                for number in from_text(numbers):
                    self._explained.setdefault((chain, number), set()).update(erasure.fields)
        except ValueError:  # of which msgspec's are
            raise _Wrong(row.number, "changed", "it is no act of erasure") from None


def _told(row: Entry) -> _Told:
    try:
        return _read(row.record.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError):
        raise _Wrong(row.number, "changed", "it is no record") from None


def _proves(committed: str | None, salt: str | None, value: str | None) -> bool:
    """Whether a value with its salt is what a record commits to; none of them, where there is nothing."""
    if committed is None or salt is None or value is None:
        return committed is salt is value
    try:
        return commitment(salt, value) == committed
    except ValueError:
        return False


def _judged(report: ChainReport, absent: Erased, explained: Erased) -> ChainReport:
    """The report, with what was taken without an act that says so."""
    mine = ((number, names) for (chain, number), names in absent.items() if chain == report.chain)
    taken = ((number, names - explained.get((report.chain, number), set())) for number, names in mine)
    first = min(((number, names) for number, names in taken if names), default=None)
    if first is None or (report.fault is not None and report.fault.number <= first[0]):
        return report
    detail = f"no act of erasure took its {', '.join(sorted(first[1]))}"
    return msgspec.structs.replace(report, fault=Fault(report.chain, first[0], "changed", detail))
