import math

import pytest

from antiphon.core.ports import Encoder
from antiphon.testing import FakeEncoder, Gate


def test_vectors_are_of_unit_length_and_tell_texts_apart():
    encoder: Encoder = FakeEncoder(dimensions=16)
    one, two, again = encoder.encode(["one", "two", "one"])
    assert one == again != two
    assert math.hypot(*one) == pytest.approx(1.0)
    assert len(two) == 16
    assert encoder.count_tokens("one two") == 2


def test_it_fails_on_demand_and_keeps_what_it_was_asked():
    gate = Gate()
    gate.open()
    encoder = FakeEncoder(gate=gate, error=MemoryError())
    with pytest.raises(MemoryError):
        encoder.encode(["a"])
    assert encoder.batches == [["a"]]
