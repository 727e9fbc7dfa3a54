import pytest

from antiphon.core.errors import Unauthenticated
from antiphon.core.types import ANONYMOUS, Principal
from antiphon.gateway import keys as keys_module
from antiphon.gateway.key_table import KeyIndex, KeyTable, digest_of, owner_text, principal_of
from antiphon.gateway.keys import KeyRing

MANY = [(f"caller-{number}", f"sk-{number}") for number in range(5000)]


def refused(ring: KeyRing, authorization: bytes) -> str:
    with pytest.raises(Unauthenticated) as caught:
        ring.principal(authorization)
    return str(caught.value)


def test_each_digest_is_found_and_no_other():
    index = KeyIndex(KeyTable.of_keys(MANY))
    found = [index.owner(digest_of(key.encode())) for _, key in MANY]
    assert [principal_of(owner or "").name for owner in found] == [name for name, _ in MANY]
    assert index.owner(digest_of(b"sk-5000")) is None
    assert KeyIndex(KeyTable()).owner(digest_of(b"sk-0")) is None


def test_digests_that_begin_alike_are_told_apart():
    rows = [(b"\xff" * 31 + bytes([last]), f"caller-{last}") for last in (255, 0, 7)]
    index = KeyIndex(KeyTable.of(rows))
    assert [index.owner(digest) for digest, _ in rows] == ["caller-255", "caller-0", "caller-7"]
    assert index.owner(b"\xff" * 31 + b"\x08") is None


def test_names_keep_their_letters():
    table = KeyTable.of_keys([("Jürgen", "a"), ("小明", "b")])
    assert {digest: principal_of(owner).name for digest, owner in table} == {digest_of(b"a"): "Jürgen", digest_of(b"b"): "小明"}


def test_without_keys_everybody_may_call():
    ring = KeyRing(KeyTable.of_keys([]))
    assert not ring.required
    assert ring.principal(b"") == ANONYMOUS


def test_a_table_that_is_empty_may_require_a_key_all_the_same():
    table = KeyTable.of([], required=True)
    assert not table, "a table is as true as any collection is: where it holds something"
    ring = KeyRing(table)
    assert ring.required
    refused(ring, b"Bearer sk-0")


@pytest.mark.parametrize("header", [b"Bearer sk-1", b"bearer sk-1", b"BEARER   sk-1 "])
def test_a_key_is_known_however_its_header_is_written(header):
    assert KeyRing(KeyTable.of_keys(MANY)).principal(header).name == "caller-1"


def test_a_revoked_key_is_refused_like_an_unknown_and_a_missing_one():
    revoked: set[bytes] = set()
    ring = KeyRing(KeyTable.of_keys(MANY), revoked)
    assert ring.principal(b"Bearer sk-1").name == "caller-1"
    revoked.add(digest_of(b"sk-1"))
    ring.forget()
    assert refused(ring, b"Bearer sk-1") == refused(ring, b"Bearer nobody's") == refused(ring, b"") == refused(ring, b"Basic sk-2")
    assert ring.principal(b"Bearer sk-2").name == "caller-2"
    revoked.clear()
    assert ring.principal(b"Bearer sk-1").name == "caller-1"


def test_a_key_whose_time_is_over_is_refused_like_an_unknown_one_also_where_it_was_known_before():
    now = [99.0]
    rows = [
        (digest_of(b"sk-a"), owner_text(Principal("ann", team="red", expires=100.0))),
        (digest_of(b"sk-b"), owner_text(Principal("bob"))),
    ]
    ring = KeyRing(KeyTable.of(rows), unix_time=lambda: now[0])
    assert ring.principal(b"Bearer sk-a") == Principal("ann", team="red", expires=100.0)
    now[0] = 100.0
    assert refused(ring, b"Bearer sk-a") == refused(ring, b"Bearer nobody's")
    ring.forget()
    assert refused(ring, b"Bearer sk-a") == refused(ring, b"Bearer nobody's")
    assert ring.principal(b"Bearer sk-b").name == "bob"


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(keys_module, "MAX_REMEMBERED", 10)
    ring = KeyRing(KeyTable.of_keys(MANY))
    for owner, key in MANY[:100]:
        assert ring.principal(f"Bearer {key}".encode()).name == owner
        assert len(ring._remembered) <= 10
