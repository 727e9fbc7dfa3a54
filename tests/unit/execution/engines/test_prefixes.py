from antiphon.execution.engines._prefixes import Prefixes


def test_whole_blocks_of_the_same_beginning_are_known() -> None:
    prefixes = Prefixes(block_tokens=4, blocks=10)
    prefixes.add(range(11))
    assert prefixes.known(range(11)) == 8
    assert prefixes.known(range(3)) == 0
    assert prefixes.known([*range(6), 9, 9, 9]) == 4
    assert prefixes.known([9, *range(1, 11)]) == 0
    assert prefixes.known([4, 5, 6, 7]) == 0


def test_the_least_recently_used_blocks_are_forgotten() -> None:
    prefixes = Prefixes(block_tokens=4, blocks=2)
    prefixes.add([1] * 4)
    prefixes.add([2] * 4)
    assert prefixes.known([1] * 4) == 4
    prefixes.add([3] * 4)
    assert [prefixes.known([token] * 4) for token in (1, 2, 3)] == [4, 0, 4]
