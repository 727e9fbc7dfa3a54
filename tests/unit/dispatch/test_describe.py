"""What a scheduler is told of a call."""

from math import inf

import msgspec
import pytest

from antiphon.core.types import Call, Principal, Wishes
from antiphon.dispatch.describe import BLOCK_BYTES, MAX_BLOCKS, Describer, prefix_blocks
from antiphon.dispatch.promise import Promise

CALL = Call("id", "chat/completions", "m", b"x" * 400, stream=True, principal=Principal("shop"))
PROMISES = (Promise(1.0, 10.0), Promise(2.0), Promise())


def describe(wishes: Wishes = Wishes(), stream: bool = True, tiers: dict[str, int] | None = None):  # noqa: B008
    call = msgspec.structs.replace(CALL, wishes=wishes, stream=stream)
    return Describer(1, PROMISES, tiers or {})(call, 7, 100.0)


def test_the_route_decides_where_the_caller_says_nothing():
    job = describe()
    assert (job.id, job.arrived, job.tier, job.realtime, job.tenant) == (7, 100.0, 1, False, "shop")
    assert (job.first_token_due, job.deadline) == (102.0, inf)
    assert job.prompt_tokens == 101


def test_the_caller_decides_where_it_says_something():
    job = describe(Wishes(0, True, 0.5, 3.0, "s", "eu"))
    assert (job.tier, job.realtime, job.session, job.region) == (0, True, "s", "eu")
    assert (job.first_token_due, job.deadline) == (100.5, 103.0)


def test_nobody_sees_the_first_token_of_what_is_not_streamed():
    job = describe(Wishes(tier=0), stream=False)
    assert (job.first_token_due, job.deadline, job.streams) == (inf, 110.0, False)


@pytest.mark.parametrize(("own", "asked", "gets"), [(2, None, 2), (2, 0, 2), (1, 2, 2), (0, 1, 1)])
def test_no_call_gets_a_better_tier_than_its_key(own, asked, gets):
    assert describe(Wishes(tier=asked), tiers={"shop": own}).tier == gets


class TestPrefixBlocks:
    def test_a_conversation_that_goes_on_begins_with_the_same_blocks(self):
        head = b'{"model":"m","messages":[' + b'{"role":"user","content":"' + b"a" * 9000 + b'"}'
        first, second = prefix_blocks(head + b"]}"), prefix_blocks(head + b"," + b"b" * 5000 + b"]}")
        assert len(first) == 4
        assert second[:4] == first
        assert len(second) == 6

    def test_what_stands_before_the_messages_does_not_count(self):
        messages = b'"messages":[' + b"a" * 5000 + b"]}"
        assert prefix_blocks(b'{"model":"a",' + messages) == prefix_blocks(b'{"model":"b","temperature":1,' + messages)

    def test_each_block_stands_for_all_text_before_it(self):
        one = prefix_blocks(b"a" * BLOCK_BYTES + b"c" * BLOCK_BYTES)
        other = prefix_blocks(b"b" * BLOCK_BYTES + b"c" * BLOCK_BYTES)
        assert not set(one) & set(other)

    def test_short_prompts_have_none_and_long_ones_are_bounded(self):
        assert prefix_blocks(b"x" * (BLOCK_BYTES - 1)) == ()
        assert len(prefix_blocks(b"x" * (MAX_BLOCKS + 9) * BLOCK_BYTES)) == MAX_BLOCKS
