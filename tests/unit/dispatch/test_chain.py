"""Falling back: up to the first content another model may answer, behind it never."""

import asyncio

import pytest

from antiphon.core.errors import (
    AntiphonError,
    ContextOverflow,
    EngineFailed,
    QueueFull,
    UpstreamBroken,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from antiphon.core.types import Call
from antiphon.dispatch.chain import Chain
from antiphon.testing import Comment, Cut, Delay, Event, FakeModel, Hang, RecordingSink, model_contract

CALL = Call(
    "id", "chat/completions", "m", b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi there"}]}', stream=True
)


def ask(*members: FakeModel) -> RecordingSink:
    sink = RecordingSink()
    Chain("chain", members).start(CALL, sink)
    return sink


@pytest.mark.parametrize(
    "error",
    [
        UpstreamUnreachable(),
        UpstreamTimeout(),
        UpstreamBroken(),
        EngineFailed(),
        QueueFull(),
        *(UpstreamRefused(status, b"{}") for status in (401, 404, 408, 429, 500, 503, 529)),
    ],
)
def test_the_next_member_answers_when_one_fails_before_text(error: AntiphonError) -> None:
    second = FakeModel("b").chat("hello")
    sink = ask(FakeModel("a").fail(error), second)
    assert sink.text == "hello"
    assert sink.error is None
    assert len(second.calls) == 1


@pytest.mark.parametrize("error", [ContextOverflow(), UpstreamRefused(400, b"{}"), UpstreamRefused(422, b"{}")])
def test_a_call_that_is_wrong_is_not_asked_again(error: AntiphonError) -> None:
    second = FakeModel("b")
    sink = ask(FakeModel("a").fail(error), second)
    assert sink.error is error
    assert second.calls == []


def test_no_second_model_after_text() -> None:
    first = FakeModel("a").script(Event({"choices": [{"index": 0, "delta": {"content": "half"}}]}), Cut())
    second = FakeModel("b")
    sink = ask(first, second)
    assert isinstance(sink.error, UpstreamBroken)
    assert len(sink.frames) == 1
    assert second.calls == []


def test_what_came_before_the_commit_point_is_forgotten() -> None:
    first = FakeModel("a").fail(UpstreamBroken())
    sink = ask(first, FakeModel("b").fail(UpstreamTimeout()), FakeModel("c").chat("third"))
    assert sink.text == "third"
    assert sum(1 for _ in sink.frames) == len(sink.frames)


def test_the_last_error_is_told_when_all_fail() -> None:
    last = UpstreamTimeout("last")
    members = [FakeModel("a").fail(UpstreamBroken()), FakeModel("b").fail(last)]
    assert ask(*members).error is last
    assert [len(member.calls) for member in members] == [1, 1]


def test_a_thousand_dead_members_do_not_overflow_the_stack() -> None:
    dead = [FakeModel(f"m{i}").fail(UpstreamUnreachable()) for i in range(2000)]
    assert ask(*dead, FakeModel("last").chat("ok")).text == "ok"


def test_cancel_reaches_the_member_that_answers() -> None:
    model = FakeModel("a").script(Hang())
    sink = RecordingSink()
    handle = Chain("c", [FakeModel("dead").fail(UpstreamBroken()), model]).start(CALL, sink)
    handle.cancel("the caller left")
    assert model.calls[0].cancelled == "the caller left"
    assert not sink.finished


def test_pause_is_passed_on_to_a_later_member() -> None:
    first = FakeModel("a").script(Delay(1), Cut())
    second = FakeModel("b").script(Hang())
    handle = Chain("c", [first, second]).start(CALL, RecordingSink())
    handle.pause()
    first.calls[0].resume()
    first.advance(2)
    assert second.calls[0].paused


def test_comments_do_not_commit() -> None:
    first = FakeModel("a").fail(UpstreamBroken())
    second = FakeModel("b").script(
        Comment("working"), Event({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]})
    )
    assert ask(first, second).error is None


def test_nested_chains_keep_the_contract_of_models() -> None:
    def make() -> Chain:
        return Chain("outer", [Chain("inner", [Chain("innermost", [FakeModel("m")])])])

    asyncio.run(model_contract.check_model(make))
