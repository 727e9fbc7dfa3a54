import asyncio
import threading
from collections.abc import Iterator

import pytest

from antiphon.cli.bench import _levels
from antiphon.cli.bench_figures import Level
from antiphon.cli.bench_load import HOPELESS, Bench, Bounds, Target
from antiphon.core.errors import AntiphonError, UpstreamTimeout, UpstreamUnreachable
from antiphon.testing import Body, Cut, Event, Gate, Hang, MockUpstream, Status
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Step
from antiphon.transport.client import Origin


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as server:
        yield server


def target(upstream: MockUpstream, *, stream: bool = True) -> Target:
    headers = ((b"content-type", b"application/json"), (b"authorization", b"Bearer sk-1"))
    return Target(Origin.parse(upstream.url), "/v1/chat/completions", headers, "mock-model", stream, 40, 9)


SEVEN = Bounds(7, 30.0)


def measure(target: Target, concurrency: int = 3, bounds: Bounds = SEVEN, stop: threading.Event | None = None) -> Level:
    async def run() -> Level:
        bench = Bench(target)
        if stop is not None:
            asyncio.get_running_loop().run_in_executor(None, stop.wait).add_done_callback(lambda _: bench.stop())
        return await bench.level(concurrency, bounds)

    return asyncio.run(run())


@pytest.mark.parametrize("stream", [True, False])
def test_it_asks_as_often_as_allowed_and_counts_what_comes(upstream, stream):
    upstream.chat("a ", "b ", "c", times=None)
    level = measure(target(upstream, stream=stream))
    assert (level.calls, level.errors, level.unfinished) == (7, {}, 0)
    assert len(upstream.requests) == 7
    assert upstream.max_in_flight <= 3
    assert level.whole.samples == 7
    assert (level.ttft.samples, level.tokens_by_event) == (7 if stream else 0, 0)
    assert level.output_tokens == 3
    (request, *_) = upstream.requests
    assert (request.json["max_tokens"], request.header("authorization")) == (9, "Bearer sk-1")


def test_no_prompt_is_like_another(upstream):
    upstream.chat("a", times=None)
    measure(target(upstream))
    prompts = [request.json["messages"][0]["content"] for request in upstream.requests]
    assert len({prompt[:12] for prompt in prompts}) == 7


def test_errors_are_told_by_kind(upstream):
    upstream.error(429, "full", code="queue_full", times=2)
    upstream.script(Event({"choices": [{"delta": {"content": "half"}}]}), Cut())
    upstream.chat("a", done=False, finish=None)
    upstream.chat("a", times=None)
    level = measure(target(upstream))
    assert level.errors == {"status 429 queue_full": 2, "upstream_truncated": 1, "stream without an end": 1}
    assert level.calls == 3


def test_a_server_that_only_fails_is_not_asked_for_ever(upstream):
    upstream.error(500, "broken", times=None)
    level = measure(target(upstream), concurrency=2, bounds=Bounds(100_000, 60.0))
    assert level.calls == 0
    assert HOPELESS <= sum(level.errors.values()) <= HOPELESS + 1


def test_calls_that_take_too_long_are_cut_and_counted_and_the_level_ends(upstream):
    upstream.chat("a", times=4)
    upstream.script(Hang(), times=None)
    level = measure(target(upstream), concurrency=2, bounds=Bounds(1_000_000, 0.5, timeout=0.3))
    assert level.calls == 4
    assert level.unfinished >= 2
    assert level.errors == {}
    assert level.seconds < 5


def test_a_server_that_says_nothing_is_told_at_once(upstream):
    upstream.script(Hang(), times=None)

    async def warm_up() -> None:
        await Bench(target(upstream)).warm_up(0.2)

    with pytest.raises(UpstreamTimeout, match=r"within 0\.2 s") as caught:
        asyncio.run(warm_up())
    assert "--timeout" in caught.value.remedy


def test_what_is_under_way_when_it_is_stopped_is_left_out(upstream):
    stop = threading.Event()
    upstream.chat("a", times=2)

    def endless(request: RecordedRequest) -> list[Step]:
        stop.set()
        return [Event({"choices": [{"delta": {"content": "b"}}]}), Gate()]

    upstream.script(endless, times=None)
    level = measure(target(upstream), concurrency=1, stop=stop)
    assert (level.calls, level.unfinished) == (2, 1)
    assert upstream.requests[-1].wait_closed()


def test_nothing_begins_after_the_time(upstream):
    upstream.chat("a", times=None)
    level = measure(target(upstream), concurrency=1, bounds=Bounds(1_000_000, 0.2))
    assert 0 < level.calls < 1_000_000
    assert level.unfinished == 0


def test_what_keeps_the_first_call_from_an_answer_is_raised(upstream):
    async def warm_up(target: Target) -> None:
        await Bench(target).warm_up()

    upstream.error(401, "who are you")
    with pytest.raises(AntiphonError, match="who are you") as caught:
        asyncio.run(warm_up(target(upstream)))
    assert "--api-key" in caught.value.remedy
    upstream.script(Status(503), Body({"error": {"message": "it is full; come later", "remedy": "come later"}}))
    with pytest.raises(AntiphonError) as caught:
        asyncio.run(warm_up(target(upstream)))
    assert (caught.value.message, caught.value.remedy) == ("it is full (status 503)", "come later")
    nobody = Target(Origin(host="127.0.0.1", port=1), "/v1/chat/completions", (), "m", True, 1, 1)
    with pytest.raises(UpstreamUnreachable):
        asyncio.run(warm_up(nobody))


def test_levels():
    assert _levels("1,8, 32") == [1, 8, 32]


@pytest.mark.parametrize("text", ["", "0", "1,,2", "x", "2000", ",".join("1" * 11)])
def test_levels_that_are_none(text):
    with pytest.raises(Exception, match="--concurrency"):
        _levels(text)
