"""The host's other endpoints, its states, and what happens when somebody leaves."""

import asyncio

import pytest

from antiphon.core.errors import EngineFailed, InternalError, InvalidRequest
from antiphon.execution.engine_host.answer import BACKLOG
from antiphon.testing.fake_engine import FakeAnswer, FakeEngine, fake_info
from tests.unit.execution.engine_host.peer import Served, done, until


async def test_health_while_loading_ready_and_draining():
    served = Served()
    ready = served.request("GET", "/health")
    assert (ready.status, ready.json()) == (200, {"status": "ok", "model": "m", "detail": ""})
    served.host.drain()
    assert served.request("GET", "/health").json()["status"] == "draining"
    loading = served.bare().request("GET", "/health")
    assert (loading.status, loading.json()["status"]) == (503, "loading")


@pytest.mark.parametrize("state", ["loading", "draining", "failed"])
async def test_calls_come_back_later_unless_the_host_is_ready(state):
    served = Served().bare() if state == "loading" else Served()
    if state == "draining":
        served.host.drain()
    elif state == "failed":
        served.host.fail(EngineFailed("gone"))
    answer = await served.chat()
    assert answer.status == (502 if state == "failed" else 503)
    assert int(answer.headers[b"retry-after"]) >= 1
    assert answer.error["message"]


async def test_models():
    served = Served(FakeEngine(info=fake_info(adapters=("polite",))))
    listed = served.request("GET", "/v1/models").json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["m", "m:polite"]
    assert set(listed["data"][0]) == {"id", "created", "object", "owned_by"}
    assert served.request("GET", "/v1/models/m:polite").json()["id"] == "m:polite"
    assert served.request("GET", "/v1/models/x").status == 404


async def test_stats():
    served = Served(FakeEngine(by_hand=True))
    calls = [served.ask(), served.ask()]
    await served.started(2)
    stats = served.request("GET", "/stats").json()
    assert (stats["model"], stats["status"], stats["running"], stats["open_calls"]) == ("m", "ok", 2, 2)
    for call in calls:
        call.leave()
    stats = served.request("GET", "/stats").json()
    assert (stats["running"], stats["open_calls"]) == (0, 0)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/chat/completions", 405), ("POST", "/health", 405), ("GET", "/nowhere", 404)]
)
async def test_wrong_methods_and_paths(method, path, status):
    answer = Served().request(method, path)
    assert answer.status == status
    assert answer.error["message"]


async def test_the_request_id_of_the_caller_is_kept():
    served = Served()
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    answer = await done(served.request("POST", "/v1/chat/completions", body, ((b"x-request-id", b"abc"),)))
    assert answer.headers[b"x-request-id"] == b"abc"
    wrong = await done(served.request("POST", "/v1/chat/completions", {}, ((b"x-request-id", b"abc"),)))
    assert wrong.json()["request_id"] == "abc"
    assert (await served.chat()).headers[b"x-request-id"].startswith(b"req_")


@pytest.mark.parametrize("stream", [False, True])
async def test_the_engine_stops_when_the_caller_leaves(stream):
    served = Served(FakeEngine(["a long answer"], by_hand=True))
    answer = served.ask(stream=stream, n=2)
    await served.started()
    served.engine.step()
    await served.turn()
    answer.leave()
    assert served.engine.stats().running == 0
    assert served.engine.cancelled == 1
    assert await served.host.quiet(1)


async def test_a_caller_that_leaves_before_its_prompt_is_tokenised():
    served = Served()
    answer = served.ask()
    answer.leave()
    assert await served.host.quiet(5)
    await until(lambda: served.host._preparing == 0)
    assert served.engine.started == []


async def test_a_full_queue():
    served = Served(FakeEngine(by_hand=True, max_running=1, max_waiting=1))
    first, second = served.ask(), served.ask()
    await served.started(2)
    third = await served.chat()
    assert third.status == 429
    assert third.error["code"] == "queue_full"
    assert third.headers[b"retry-after"] == b"1"
    first.leave()
    second.leave()


async def test_a_slow_reader_gets_what_waited_once_it_reads_again():
    served = Served(FakeEngine(["abc"], by_hand=True))
    answer = served.ask(stream=True)
    await served.started()
    served.engine.step()
    await served.turn()
    answer.listener.pause()
    served.engine.step()
    await served.turn()
    assert len(answer.writes) == 1
    answer.listener.resume()
    assert len(answer.writes) == 2
    served.engine.step()
    await done(answer)
    assert answer.text() == "abc"


async def test_a_reader_that_is_too_slow_is_given_up(caplog):
    served = Served(FakeEngine([FakeAnswer(([b"x" * 100_000] * 50,))], by_hand=True))
    answer = served.ask(stream=True)
    await served.started()
    served.engine.step()
    await served.turn()
    answer.listener.pause()
    for _ in range(BACKLOG // 100_000 + 1):
        assert not answer.closed
        served.engine.step()
        await served.turn()
    assert answer.aborted
    assert served.engine.stats().running == 0
    assert "too slow" in caplog.text


async def test_an_engine_that_fails_before_the_answer():
    served = Served(FakeEngine([FakeAnswer(fail_after=2)]))
    answer = await served.chat()
    assert answer.status == 502
    assert answer.error["code"] == "engine_failed"
    assert served.host.broken.is_set()
    assert served.request("GET", "/health").status == 503


async def test_an_engine_that_fails_in_a_stream():
    served = Served(FakeEngine([FakeAnswer(fail_after=2)]))
    answer = await served.chat(stream=True)
    assert answer.status == 200
    events = answer.events()
    assert events[-1]["error"]["code"] == "engine_failed"
    assert "[DONE]" not in events
    assert answer.aborted
    assert await served.host.quiet(1)
    assert isinstance(served.host.failure, EngineFailed)


async def test_a_failure_that_is_the_callers_leaves_the_host_alone():
    served = Served(FakeEngine([FakeAnswer(fail_after=0, error=InvalidRequest("bad schema", param="response_format"))]))
    answer = await served.chat()
    assert answer.status == 400
    assert not served.host.broken.is_set()


async def test_a_fault_of_the_engine_is_an_internal_error(caplog):
    class Faulty(FakeEngine):
        def start(self, prompt, params, listener):
            raise RuntimeError("boom")

    served = Served(Faulty())
    answer = await served.chat()
    assert answer.status == 500
    assert answer.error["code"] == InternalError.code
    assert "boom" not in answer.error["message"]
    assert "boom" in caplog.text
    assert await served.host.quiet(1)


@pytest.mark.parametrize("stream", [False, True])
async def test_tokens_that_make_no_sense_end_the_call(stream, caplog):
    served = Served(FakeEngine(["abc"], by_hand=True))
    call = served.ask(stream=stream)
    await served.started()
    served.engine.step()
    await served.turn()
    del served.engine._bytes[ord("b") :]
    served.engine.step()
    answer = await done(call)
    error = answer.events()[-1]["error"] if stream else answer.error
    assert error["code"] == InternalError.code
    assert served.engine.stats().running == 0
    assert "make no sense" in caplog.text
    assert not served.host.broken.is_set()


async def test_draining_lets_running_calls_finish():
    served = Served(FakeEngine(["ab"], by_hand=True))
    answer = served.ask(stream=True)
    await served.started()
    served.host.drain()
    assert not await served.host.quiet(0.01)
    waiting = asyncio.ensure_future(served.host.quiet(5))
    served.engine.step()
    served.engine.step()
    assert await waiting
    assert answer.text() == "ab"


async def test_a_name_with_a_colon():
    served = Served(name="org/model:7b")
    assert (await served.chat(model="org/model:7b")).status == 200
