"""Whoever leaves is gone: other threads, other tasks, cancelled tasks, dropped streams."""

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from antiphon.testing import Done, Event, Hang, MockUpstream
from antiphon_client import AsyncClient, Client, DeadlineExceededError, Network
from antiphon_client.errors import APITimeoutError, ConfigurationError

Run = Callable[[Coroutine[Any, Any, None]], None]
ASK: Any = {"model": "mock-model", "messages": [{"role": "user", "content": "hello"}]}
ONE = Event({"id": "c1", "choices": [{"index": 0, "delta": {"content": "one"}}]})


@pytest.fixture
def endless(upstream: MockUpstream) -> MockUpstream:
    return upstream.script(ONE, Hang(), times=None)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on each kind of loop."""

    def begin(work: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(asyncio.wait_for(work, 20))

    return begin


async def seen(upstream: MockUpstream, request: int = 0) -> bool:
    return await asyncio.to_thread(upstream.requests[request].wait_closed, 1.0)


def test_another_thread_closes_a_stream_that_waits(endless: MockUpstream) -> None:
    with Client(endless.url) as client, client.chat.stream(**ASK) as stream:
        assert next(stream).text == "one"
        threading.Timer(0.2, stream.close).start()
        began = time.monotonic()
        assert list(stream) == []
        assert time.monotonic() - began < 5
        assert endless.requests[0].wait_closed(1.0)
        stream.close()
        assert list(stream) == []


def test_closing_before_the_answer_begins_does_not_block(upstream: MockUpstream) -> None:
    upstream.script(Hang())
    with Client(upstream.url, timeout=2, max_retries=0) as client:
        stream = client.chat.stream(**ASK)
        failed: list[BaseException] = []

        def read() -> None:
            try:
                list(stream)
            except APITimeoutError as error:
                failed.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        assert upstream.wait_requests(1)
        began = time.monotonic()
        stream.close()
        assert time.monotonic() - began < 1.5
        reader.join(5)
        assert len(failed) == 1


def test_a_dropped_stream_gives_its_connection_back(endless: MockUpstream) -> None:
    with Client(endless.url, network=Network(max_connections=1)) as client:
        for _ in range(3):
            for chunk in client.chat.stream(**ASK):
                assert chunk.text == "one"
                break
            gc.collect()
        assert all(request.wait_closed(1.0) for request in endless.requests)


def test_a_closed_stream_is_not_asked_for_again(endless: MockUpstream) -> None:
    with Client(endless.url) as client:
        stream = client.chat.stream(**ASK)
        stream.close()
        assert list(stream) == []
        failing = client.chat.stream(**ASK, deadline=0.2)
        with pytest.raises(DeadlineExceededError):
            list(failing)
        assert list(failing) == []
        assert len(endless.requests) == 1


def test_what_was_gathered_before_leaving_is_there(endless: MockUpstream) -> None:
    with Client(endless.url) as client, client.chat.stream(**ASK) as stream:
        assert stream.snapshot.text == ""
        next(stream)
        assert stream.snapshot.text == "one"
        assert stream.http is not None
        assert stream.http.request_id


def test_too_many_calls_at_once_wait_and_are_told_so(endless: MockUpstream) -> None:
    with Client(endless.url, network=Network(max_connections=1)) as client, client.chat.stream(**ASK) as stream:
        next(stream)
        with pytest.raises(APITimeoutError, match="all 1 connections were in use") as told:
            client.models.list(timeout=0.2)
        assert "max_connections" in told.value.remedy
        stream.close()
        assert len(client.models.list()) == 1


def test_many_threads_share_a_client(upstream: MockUpstream) -> None:
    said: dict[int, str] = {}
    with Client(upstream.url) as client:

        def ask(number: int) -> None:
            message: Any = {"role": "user", "content": f"number {number}"}
            with client.chat.stream(model="mock-model", messages=[message]) as stream:
                said[number] = stream.get_final_completion().text

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert said == {number: f"number {number}" for number in range(32)}


def test_a_cancelled_task_closes_its_connection_before_and_in_an_answer(upstream: MockUpstream, run: Run) -> None:
    upstream.script(Hang()).script(ONE, Hang())

    async def work() -> None:
        async with AsyncClient(upstream.url) as client:
            waiting = asyncio.create_task(client.chat.create(**ASK))
            assert await asyncio.to_thread(upstream.wait_requests, 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await seen(upstream, 0)

            began = asyncio.Event()

            async def read() -> None:
                async with client.chat.stream(**ASK) as stream:
                    async for _ in stream:
                        began.set()

            reading = asyncio.create_task(read())
            await began.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert await seen(upstream, 1)
            assert len(await client.models.list()) == 1

    run(work())


def test_a_timeout_of_the_callers_own_is_its_own(endless: MockUpstream, run: Run) -> None:
    async def work() -> None:
        async with AsyncClient(endless.url) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.chat.stream(**ASK).get_final_completion(), 0.2)
            assert await seen(endless)

    run(work())


def test_another_task_closes_a_stream_that_waits(endless: MockUpstream, run: Run) -> None:
    async def work() -> None:
        async with AsyncClient(endless.url) as client, client.chat.stream(**ASK) as stream:
            assert (await anext(stream)).text == "one"

            async def later() -> None:
                await asyncio.sleep(0.2)
                await stream.aclose()

            closing = asyncio.create_task(later())
            assert [chunk async for chunk in stream] == []
            await closing
            assert await seen(endless)

    run(work())


def test_a_dropped_async_stream_gives_its_connection_back(endless: MockUpstream, run: Run) -> None:
    async def work() -> None:
        async with AsyncClient(endless.url, network=Network(max_connections=1)) as client:
            for number in range(3):
                async for chunk in client.chat.stream(**ASK):
                    assert chunk.text == "one"
                    break
                gc.collect()
                assert await seen(endless, number)

    run(work())


def test_many_tasks_share_a_client(upstream: MockUpstream, run: Run) -> None:
    async def work() -> None:
        async with AsyncClient(upstream.url) as client:

            async def ask(number: int) -> str:
                message: Any = {"role": "user", "content": f"number {number}"}
                async with client.chat.stream(model="mock-model", messages=[message]) as stream:
                    return (await stream.get_final_completion()).text

            said = await asyncio.gather(*(ask(number) for number in range(64)))
            assert list(said) == [f"number {number}" for number in range(64)]

    run(work())


def test_options_of_a_copy_are_its_own_and_its_connections_are_shared(upstream: MockUpstream) -> None:
    upstream.script(Hang())
    with Client(upstream.url, max_retries=0) as client:
        client.models.list()
        hasty = client.with_options(timeout=0.2, headers={"x-team": "search"})
        with pytest.raises(APITimeoutError):
            hasty.chat.create(**ASK)
        upstream.script(ONE, Done())
        assert client.chat.stream(**ASK).get_final_completion().text == "one"
        assert [request.header("x-team") for request in upstream.requests] == ["", "search", ""]
        with pytest.raises(ConfigurationError):
            client.with_options(timeout=-1)
    assert upstream.connections == 2
