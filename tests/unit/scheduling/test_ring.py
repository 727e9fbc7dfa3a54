"""Where keys belong."""

from collections import Counter

import pytest

from antiphon.scheduling.ring import Ring


def ring(*names):
    made = Ring()
    made.set(dict(enumerate(names)))
    return made


def test_keys_are_spread():
    made = ring(*"abcdefgh")
    homes = Counter(made.owners(f"key {number}", 1)[0] for number in range(8000))
    assert min(homes.values()) > 600
    assert max(homes.values()) < 1500


def test_owners_differ_and_are_as_many_as_there_are():
    made = ring(*"abc")
    assert sorted(made.owners("x", 9)) == [0, 1, 2]
    assert len(made.owners("x", 2)) == 2
    assert ring().owners("x", 3) == []


def test_where_a_key_belongs_depends_on_names_only():
    before, after = Ring(), Ring()
    before.set({0: "a", 1: "b", 2: "c"})
    after.set({7: "c", 3: "a", 5: "b"})
    names = {7: "c", 3: "a", 5: "b"}
    for number in range(100):
        assert "abc"[before.owners(f"{number}", 1)[0]] == names[after.owners(f"{number}", 1)[0]]


@pytest.mark.parametrize("gone", [0, 3])
def test_only_the_keys_of_one_that_left_move(gone):
    before = ring(*"abcdef")
    after = Ring()
    after.set({number: name for number, name in enumerate("abcdef") if number != gone})
    for number in range(500):
        first, second = before.owners(f"{number}", 2)
        assert after.owners(f"{number}", 1)[0] == (second if first == gone else first)
