"""Calls that wait for one certain replica."""

from antiphon.scheduling.held import Aside, Held
from antiphon.scheduling.job import Job


def held(number):
    return Held(Job(number, 0.0, 10, 10), 5.0)


def test_the_first_to_wait_for_a_replica_is_the_first_to_have_it():
    aside = Aside()
    one, two, three = held(1), held(2), held(3)
    aside.put(one, 4)
    aside.put(two, 4)
    aside.put(three, 7)
    assert len(aside) == 3
    assert aside.replicas() == [4, 7]
    assert aside.first(4) is one
    aside.remove(one)
    assert aside.first(4) is two
    assert one.awaits == -1
    assert aside.everybody() == [two, three]
    aside.remove(two)
    assert aside.first(4) is None
    assert aside.replicas() == [7]
