import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from antiphon.core.events import CallFinished
from antiphon.core.types import Usage
from antiphon.observability.events.delivery import MAX_AHEAD, MAX_INSTANCES, Arrivals
from antiphon.observability.events.pipe import BUNDLE, EventPipe
from antiphon.testing import FakeEventSink

EVENT = CallFinished("req-1", "chat/completions", "m", "p/m", "me", 200, "", False, 1.0, 0.5, 0.0, Usage(1, 2, 3), 1)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.005)


def tell(pipe: EventPipe, numbers: range) -> None:
    for number in numbers:
        pipe.call_finished(msgspec.structs.replace(EVENT, id=str(number)))


def with_pipe(
    folder: Path, test: Callable[[EventPipe, FakeEventSink], Awaitable[None]], max_bytes: int = 1 << 20, starting: float = 0.0
) -> FakeEventSink:
    async def go() -> FakeEventSink:
        sink = FakeEventSink()
        pipe = EventPipe(sink, folder, max_bytes=max_bytes, gather=0.005, starting=starting, last_chance=15.0)
        try:
            await asyncio.wait_for(test(pipe, sink), 20)
        finally:
            sink.free()
            await pipe.close()
        return sink

    return asyncio.run(go())


def ids(sink: FakeEventSink) -> list[str]:
    return [event.id for event in sink.events]


def expected(numbers: range) -> list[str]:
    return [str(number) for number in numbers]


def test_events_arrive_in_order_in_bundles_that_are_numbered(tmp_path: Path) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        tell(pipe, range(1000))
        await until(lambda: len(sink.events) == 1000)
        assert pipe.report().delivered == 1000

    sink = with_pipe(tmp_path, test)
    assert ids(sink) == expected(range(1000))
    assert max(len(bundle.events) for bundle in sink.bundles) <= BUNDLE
    assert [bundle.number for bundle in sink.bundles] == list(range(1, len(sink.bundles) + 1))
    assert len({bundle.instance for bundle in sink.bundles}) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_told_last_arrives_before_the_end(tmp_path: Path) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        tell(pipe, range(10))

    assert ids(with_pipe(tmp_path, test)) == expected(range(10))


def test_while_the_sink_is_down_events_wait_on_disk_and_then_arrive(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        sink.up = False
        tell(pipe, range(700))
        await until(lambda: pipe.report().spilled == 700)
        assert pipe.report().waiting_bytes > 0
        sink.up = True
        await until(lambda: len(sink.events) == 700)
        tell(pipe, range(700, 800))
        await until(lambda: len(sink.events) == 800)
        assert pipe.report().lost == pipe.report().waiting_bytes == 0

    assert sorted(ids(with_pipe(tmp_path, test)), key=int) == expected(range(800))
    assert caplog.text.count("wait on disk") == 1


def test_a_sink_that_still_starts_is_not_complained_of_and_one_that_fails_later_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        sink.up = False
        tell(pipe, range(10))
        await until(lambda: sink.tries > 1)
        assert caplog.text == ""
        sink.up = True
        await until(lambda: len(sink.events) == 10)
        sink.up = False
        tell(pipe, range(10, 20))
        await until(lambda: "wait on disk" in caplog.text)

    with_pipe(tmp_path, test, starting=60.0)


def test_a_stuck_sink_fills_the_disk_and_not_the_memory(tmp_path: Path) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        sink.stick()
        tell(pipe, range(10_000))
        await until(lambda: pipe.report().spilled > 5000)
        sink.free()
        await until(lambda: len(sink.events) == 10_000)

    assert sorted(ids(with_pipe(tmp_path, test, 1 << 24)), key=int) == expected(range(10_000))


def test_a_later_process_delivers_what_an_earlier_one_could_not(tmp_path: Path) -> None:
    async def down(pipe: EventPipe, sink: FakeEventSink) -> None:
        sink.up = False
        tell(pipe, range(100))
        await until(lambda: sink.tries > 0)

    async def up(pipe: EventPipe, sink: FakeEventSink) -> None:
        await until(lambda: len(sink.events) == 100)

    assert ids(with_pipe(tmp_path, down)) == []
    assert len(list(tmp_path.iterdir())) == 1
    assert ids(with_pipe(tmp_path, up)) == expected(range(100))
    assert list(tmp_path.iterdir()) == []


def test_what_the_disk_has_no_room_for_is_lost_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        sink.up = False
        tell(pipe, range(2000))
        await until(lambda: pipe.report().spilled + pipe.report().lost == 2000)
        assert pipe.report().lost > 0
        kept = pipe.report().spilled
        sink.up = True
        await until(lambda: len(sink.events) == kept)

    with_pipe(tmp_path, test, max_bytes=60_000)
    assert "records of calls are lost" in caplog.text


def test_more_than_may_wait_is_lost_and_counted(tmp_path: Path) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        tell(pipe, range(20_100))
        assert pipe.report().lost == 100
        await until(lambda: len(sink.events) == 20_000)

    with_pipe(tmp_path, test, 1 << 25)


def test_a_name_that_is_not_unicode_costs_its_bundle_only(tmp_path: Path) -> None:
    async def test(pipe: EventPipe, sink: FakeEventSink) -> None:
        pipe.call_finished(msgspec.structs.replace(EVENT, model="\ud800"))
        await until(lambda: pipe.report().lost == 1)
        tell(pipe, range(3))
        await until(lambda: len(sink.events) == 3)

    with_pipe(tmp_path, test)


def test_what_arrives_twice_or_late_is_known() -> None:
    arrivals = Arrivals()
    for number in (1, 2, 5, 4):
        assert not arrivals.seen("a", number)
        arrivals.mark("a", number)
    assert [number for number in range(1, 8) if arrivals.seen("a", number)] == [1, 2, 4, 5]
    assert not arrivals.seen("b", 1)


def test_what_is_remembered_of_arrivals_is_bounded() -> None:
    arrivals = Arrivals()
    for number in range(2, 2 * MAX_AHEAD + 100, 2):
        arrivals.mark("gaps", number)
    assert len(arrivals._instances["gaps"].ahead) <= MAX_AHEAD
    for number in range(MAX_INSTANCES + 50):
        arrivals.mark(f"instance {number}", 1)
    assert len(arrivals._instances) == MAX_INSTANCES
