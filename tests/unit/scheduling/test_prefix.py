"""Which replica is believed to hold which blocks."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.scheduling.prefix import FEWEST, Holders, PrefixIndex, leading


def chain(root, blocks):
    return tuple(root * 100 + place for place in range(blocks))


def test_the_beginning_that_is_there_is_found():
    index = PrefixIndex(100, Holders(), 0)
    index.sent(chain(1, 5))
    assert index.hits(chain(1, 9)) == 5
    assert index.hits(chain(1, 3)) == 3
    assert index.hits(chain(2, 3)) == 0
    assert index.hits(()) == 0


def test_the_end_of_what_was_sent_longest_ago_leaves_first():
    index = PrefixIndex(10, Holders(), 0)
    index.sent(chain(1, 6))
    index.sent(chain(2, 6))
    assert index.hits(chain(1, 6)) == 4
    assert index.hits(chain(2, 6)) == 6
    assert len(index) == 10


def test_a_prompt_longer_than_the_cache_keeps_its_beginning():
    index = PrefixIndex(4, Holders(), 0)
    index.sent(chain(1, 9))
    assert index.hits(chain(1, 9)) == 4


def test_holders_of_the_longest_part_are_named():
    holders = Holders()
    first, second, third = (PrefixIndex(50, holders, number) for number in range(3))
    first.sent(chain(1, 3))
    second.sent(chain(1, 7))
    third.sent(chain(1, 7))
    assert set(holders.of(chain(1, 10))) == {1, 2}
    assert set(holders.of(chain(1, 2))) == {0, 1, 2}
    assert not holders.of(chain(2, 2))
    second.clear()
    assert set(holders.of(chain(1, 10))) == {2}
    first.clear()
    third.clear()
    assert len(holders) == 0


def test_what_is_told_corrects_how_much_fits():
    index = PrefixIndex(1000, Holders(), 0)
    for root in range(50):
        index.sent(chain(root, 10))
    index.found(5120.0, 0)
    assert len(index) == 475
    for _ in range(200):
        index.found(5120.0, 0)
    assert len(index) == FEWEST
    for _ in range(100):
        index.found(5120.0, 5120)
    for root in range(50):
        index.sent(chain(root, 10))
    assert len(index) == 500, "it holds more again"
    index.resize(40)
    assert len(index) == 40


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 8)), max_size=60), st.integers(1, 20))
def test_the_table_of_the_fleet_says_what_each_replica_says(prompts, capacity):
    holders = Holders()
    indexes = [PrefixIndex(capacity, holders, number) for number in range(3)]
    for replica, root, blocks in prompts:
        indexes[replica].sent(chain(root, blocks))
        assert len(indexes[replica]) <= capacity
    for root in range(6):
        whole = chain(root, 8)
        best = max(index.hits(whole) for index in indexes)
        assert set(holders.of(whole)) == ({number for number in range(3) if indexes[number].hits(whole) == best} if best else set())
        for index in indexes:
            known = index.hits(whole)
            assert all(index.hits(whole[:part]) == min(part, known) for part in range(9)), "no block without those before it"


@given(st.integers(0, 40), st.integers(0, 40))
def test_leading_finds_the_border(known, blocks):
    assert leading(range(blocks), set(range(known))) == min(known, blocks)
