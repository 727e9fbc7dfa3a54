"""What a record says: always the same bytes, and nobody's name."""

import hashlib
import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.audit import Act
from antiphon.core.events import CallFinished
from antiphon.core.types import Usage
from antiphon.governance.audit.numbers import as_text, from_text
from antiphon.governance.audit.record import IN_CLEAR, commitment, entry, genesis, link, of_act, of_call

CALL = CallFinished(
    "r-1", "chat/completions", "m", "p/m", "ann", 200, "", False, 1.5, 0.25, 0.0, Usage(1, 2, 3), 1, client="192.0.2.1", user="Ann"
)
JUDGED = {
    *("id", "endpoint", "model", "target", "status", "error", "stream", "started_at", "duration", "ttft", "usage", "attempts"),
    *("route", "waited", "candidates", "hedged", "degraded", "cost", "estimated", "team", "project", "application", "guarded"),
}


def salt(size: int) -> str:
    return "ab" * size


def test_the_form_is_held_to_the_byte():
    """A record that was written by an older version is verified by its bytes: whoever changes the form gives it a new number."""
    made = entry(of_act(Act("keys.revoke", {"b": 1, "a": "ü"}, "root", "ann")), ("c", 7, "00" * 32), 1.5, salt)
    commitments = {name: hashlib.sha256(b"\xab" * 16 + value).hexdigest() for name, value in (("actor", b"root"), ("key", b"ann"))}
    expected = {
        "at": 1.5,
        "commitments": commitments,
        "facts": {"a": "ü", "b": 1},
        "kind": "keys.revoke",
        "number": 7,
        "v": 1,
    }
    assert made.record == json.dumps(expected, separators=(",", ":"), ensure_ascii=False)
    assert made.hash == hashlib.sha256(bytes(32) + made.record.encode()).hexdigest()


def test_what_identifies_nobody_stands_in_clear_and_nothing_else():
    """A field that is added to a call goes into the chain for good: say here that it names nobody, or have it committed to."""
    assert set(IN_CLEAR) == JUDGED
    made = entry(of_call(CALL), ("c", 1, genesis("c")), 2.0)
    told = json.loads(made.record)
    assert set(told["facts"]) == JUDGED
    assert told["facts"]["usage"]["total_tokens"] == 3
    assert set(told["commitments"]) == {"key", "user", "client"}
    for text in ("ann", "Ann", "192.0.2.1"):
        assert text not in made.record
    assert (made.id, made.model, made.status, made.key, made.user, made.client) == ("r-1", "m", 200, "ann", "Ann", "192.0.2.1")


def test_nobody_is_committed_to_where_nobody_is_known():
    made = entry(of_call(msgspec.structs.replace(CALL, principal="", user="", client="")), ("c", 1, genesis("c")), 2.0)
    assert json.loads(made.record)["commitments"] == {}
    assert (made.key, made.user, made.client, made.salts) == (None, None, None, {})


def test_salts_are_fresh_so_the_same_name_is_not_seen_to_be_the_same():
    first, second = (json.loads(entry(of_call(CALL), ("c", 1, genesis("c")), 2.0).record)["commitments"] for _ in range(2))
    assert not set(first.values()) & set(second.values())


@given(st.text(), st.text())
def test_a_commitment_holds_for_its_value_alone(value: str, other: str):
    value, other = (text.encode("utf-8", "replace").decode() for text in (value, other))
    assert (commitment("00" * 16, value) == commitment("00" * 16, other)) == (value == other)


def test_chains_begin_apart():
    assert genesis("a") != genesis("b")
    assert link(genesis("a"), "{}") != link(genesis("b"), "{}")


@given(st.sets(st.integers(1, 300)))
def test_numbers_come_back(numbers: set[int]):
    assert list(from_text(as_text(sorted(numbers)))) == sorted(numbers)


def test_numbers_are_short():
    assert as_text([3, 7, 8, 9, 11]) == "3,7-9,11"
