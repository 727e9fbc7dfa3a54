import asyncio

import pytest

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Frame, Usage
from antiphon.testing import RecordingSink

GOOD = [("head", 200, ()), ("frame", Frame(b"x")), ("end", None)]


def play(sink, *calls):
    for name, *arguments in calls:
        getattr(sink, name)(*arguments)


def test_a_good_answer_is_kept():
    sink = RecordingSink()
    play(sink, ("head", 200, ((b"a", b"b"),)), ("frame", Frame(b"x")), ("frame", Frame(b"y")), ("end", Usage(1, 2, 3)))
    assert (sink.status, sink.headers, sink.body, sink.usage) == (200, ((b"a", b"b"),), b"xy", Usage(1, 2, 3))
    assert sink.finished
    sink.check()


@pytest.mark.parametrize(
    "calls",
    [
        [("frame", Frame(b"x"))],
        [("end", None)],
        [*GOOD, ("end", None)],
        [*GOOD, ("fail", UpstreamBroken())],
        [*GOOD, ("frame", Frame(b"x"))],
        [*GOOD, ("head", 200, ())],
        [("fail", UpstreamBroken()), ("head", 200, ())],
        [("fail", UpstreamBroken()), ("fail", UpstreamBroken())],
        [("head", 200, ()), ("head", 200, ())],
        [("fail", ValueError())],
    ],
)
def test_a_broken_protocol_is_told_at_once_and_again(calls):
    sink = RecordingSink()
    with pytest.raises(AssertionError, match="sink protocol broken"):
        play(sink, *calls)
    with pytest.raises(AssertionError, match="sink protocol broken"):
        sink.check()


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices":[{"index":0,"message":{"content":"ab"}}]}',
        b'{"choices":[{"index":0,"text":"ab"}]}',
        (
            b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\r\n\r\n: c\r\n\r\n'
            b'data: {"choices":[{"index":1,"delta":{"content":"no"}}]}\n\n'
            b'data: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\n'
            b'data: {"choices":[],"usage":{}}\n\ndata: [DONE]\n\n'
        ),
    ],
)
def test_text_is_that_of_the_first_choice(body):
    sink = RecordingSink()
    play(sink, ("head", 200, ()), ("frame", Frame(body)), ("end", None))
    assert sink.text == "ab"


def test_wait_wakes_at_the_end_or_times_out():
    async def main():
        sink = RecordingSink()
        with pytest.raises(TimeoutError):
            await sink.wait(within=0.01)
        asyncio.get_running_loop().call_soon(sink.fail, UpstreamBroken())
        await sink.wait()
        assert isinstance(sink.error, UpstreamBroken)
        await sink.wait()

    asyncio.run(main())
