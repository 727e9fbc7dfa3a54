"""Limits and budgets, seen by official clients of a real server: with one worker and with four."""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from antiphon.testing import MockUpstream
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Delay, Done, Event, Gate, Hang, Step
from tests.integration.gateway.data_plane import WholeServer
from tests.integration.supervisor.served import eventually

Serve = Callable[[str], WholeServer]
HELLO: Any = [{"role": "user", "content": "hello"}]
KEYS = """
server:
  keys:
    - {name: ann, key: key-of-ann, team: red, roles: [platform]}
    - {name: bob, key: key-of-bob, team: red, roles: [platform]}
    - {name: cid, key: key-of-cid}
"""
PENNIES = "prices: [{model: mock-model, input: 0, output: 10000, max_output: 10}]\n"
"""An answer of ten tokens costs .10."""


def answer(prompt: int, completion: int, *before: Step, cached: int = 0) -> Callable[[RecordedRequest], list[Step]]:
    """A whole or a streamed answer that tells this usage, after these steps."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    base = {"id": "c", "created": 1, "model": "mock-model"}

    def steps(request: RecordedRequest) -> list[Step]:
        if not request.json.get("stream"):
            said = [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]
            return [*before, Body({**base, "object": "chat.completion", "choices": said, "usage": usage})]
        chunk = {**base, "object": "chat.completion.chunk"}
        begin = Event({**chunk, "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}]})
        end = Event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return [*before, begin, end, Event({**chunk, "choices": [], "usage": usage}), Done()]

    return steps


def ask(server: WholeServer, key: str = "key-of-ann", **more: Any) -> int:
    """The status of a chat."""
    try:
        answer = server.client(key).chat.completions.create(model="mock-model", messages=HELLO, **more)
        if more.get("stream"):
            list(answer)
    except openai.APIStatusError as error:
        return error.status_code
    return 200


def at_once(server: WholeServer, number: int, key: str = "key-of-ann", **more: Any) -> list[int]:
    """The statuses of so many chats that are asked at once, sorted."""
    with ThreadPoolExecutor(number) as pool:
        return sorted(pool.map(lambda _: ask(server, key, **more), range(number)))


def refused(server: WholeServer, key: str = "key-of-ann", **more: Any) -> Any:
    with pytest.raises(openai.RateLimitError) as caught:
        server.client(key).chat.completions.create(model="mock-model", messages=HELLO, **more)
    return caught.value


def test_of_five_calls_that_would_fill_a_minute_one_is_admitted_and_the_rest_told_when(
    serve: Serve, upstream: MockUpstream
) -> None:
    server = serve(KEYS + "limits: [{scope: key, tokens: 100/minute}]")
    upstream.script(answer(20, 40, Delay(0.5)), times=None)
    assert at_once(server, 5, max_tokens=50) == [200, 429, 429, 429, 429]
    error = refused(server, max_tokens=50)
    assert 0 < int(error.response.headers["retry-after"]) <= 61
    assert error.body["code"] == "rate_limit_exceeded"
    assert 'the key "ann" may have 100 tokens a minute' in error.message
    assert ask(server, "key-of-bob", max_tokens=50) == 200
    assert len(upstream.requests) == 2


def test_a_call_without_a_bound_takes_what_a_window_has_and_gives_back_what_it_did_not_use(
    serve: Serve, upstream: MockUpstream
) -> None:
    server = serve(KEYS + "limits: [{scope: key, tokens: 100/minute}]")
    upstream.script(answer(20, 20), times=None)
    assert [ask(server), ask(server), ask(server)] == [200, 429, 429]
    assert ask(server, max_tokens=20) == 200


def test_a_budget_is_never_exceeded(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + PENNIES + "limits: [{scope: key, money: 1.00}]")
    upstream.script(answer(5, 10, Delay(0.2)), times=None)
    statuses = at_once(server, 40)
    assert statuses == [200] * 10 + [429] * 30
    error = refused(server)
    assert error.body["code"] == "insufficient_quota"
    assert "1.00 USD" in error.message
    assert "retry-after" not in error.response.headers
    assert len(upstream.requests) == 10
    assert ask(server, "key-of-cid") == 200


def test_a_balance_is_never_negative(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "prices: [{model: mock-model, call: 100}]\n" + "limits: [{scope: team, name: red, money: 1000}]")
    upstream.script(answer(5, 10, Delay(0.2)), times=None)
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda key: at_once(server, 25, key), ["key-of-ann", "key-of-bob"])
        assert sorted(status for statuses in both for status in statuses) == [200] * 10 + [429] * 40
    assert ask(server, "key-of-cid") == 200  # of no team


def test_a_place_is_free_again_whatever_became_of_its_call(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "limits: [{scope: key, concurrency: 1}]")
    client = server.client("key-of-ann")
    upstream.script(Hang())
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.5).chat.completions.create(model="mock-model", messages=HELLO)
    assert upstream.wait_idle()
    assert ask(server) == 200
    upstream.script(Event({"choices": [{"index": 0, "delta": {"content": "hi"}}]}), Hang())
    stream = client.chat.completions.create(model="mock-model", messages=HELLO, stream=True)
    next(stream)
    assert ask(server) == 429
    stream.close()
    assert upstream.wait_idle()
    assert ask(server) == 200
    upstream.error(500)
    assert ask(server) == 500
    assert ask(server) == 200
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="none-such", messages=HELLO)
    assert ask(server) == 200


def test_there_are_never_more_at_once_than_a_limit_allows(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "limits: [{scope: everyone, concurrency: 2}]")
    gate = Gate()
    upstream.script(answer(5, 5, gate), times=None)
    done: list[int] = []
    callers = [threading.Thread(target=lambda: done.append(ask(server))) for _ in range(20)]
    for caller in callers:
        caller.start()
    assert upstream.wait_requests(2)
    while len(done) < 18:
        assert not gate.is_open
        threading.Event().wait(0.02)
    gate.open()
    for caller in callers:
        caller.join()
    assert sorted(done) == [200] * 2 + [429] * 18
    assert upstream.max_in_flight == 2


def test_who_has_used_up_a_limit_is_refused_on_every_route(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "limits: [{scope: key, requests: 1/hour}]")
    assert ask(server) == 200
    client = server.client("key-of-ann")
    routes: list[Callable[[], Any]] = [
        lambda: client.chat.completions.create(model="mock-model", messages=HELLO, stream=True),
        lambda: client.completions.create(model="mock-model", prompt="hello"),
        lambda: client.embeddings.create(model="mock-model", input="hello"),
        lambda: client.responses.create(model="mock-model", input="hello"),
        lambda: client.moderations.create(model="mock-model", input="hello"),
        lambda: client.images.generate(model="mock-model", prompt="hello"),
        lambda: client.audio.speech.create(model="mock-model", input="hello", voice="alloy"),
        lambda: client.audio.transcriptions.create(model="mock-model", file=("a.wav", b"RIFF")),
        lambda: client.post("/messages", cast_to=object, body={"model": "mock-model", "max_tokens": 5, "messages": HELLO}),
        lambda: client.post("/rerank", cast_to=object, body={"model": "mock-model", "query": "a", "documents": ["b"]}),
        lambda: client.post("/../api/chat", cast_to=object, body={"model": "mock-model", "messages": HELLO}),
    ]
    for route in routes:
        with pytest.raises(openai.RateLimitError):
            route()
    assert len(upstream.requests) == 1


def test_what_a_call_costs_is_told_with_what_was_cached_at_its_own_price(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "prices: [{model: p0/mock-model, input: 1.25, cached_input: 0.625, output: 10}]")
    upstream.script(answer(262_960, 1744, cached=257_955), times=2)
    assert ask(server) == 200
    assert ask(server, stream=True) == 200
    server.stop()
    assert [call["cost"] for call in server.calls()] == [184_918, 184_918]


def test_what_was_used_is_known_after_a_restart(serve: Serve, upstream: MockUpstream) -> None:
    more = KEYS + PENNIES + "limits: [{scope: key, money: 0.20/month}]"
    server = serve(more)
    upstream.script(answer(5, 10), times=None)
    assert [ask(server), ask(server), ask(server)] == [200, 200, 429]
    server.stop()
    again = serve(more)
    error = refused(again)
    assert error.body["code"] == "insufficient_quota"
    assert int(error.response.headers["retry-after"]) > 0


def test_a_call_whose_cost_has_no_bound_is_told_to_stop(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "prices: [{model: mock-model, input: 1, output: 10}]\nlimits: [{scope: key, money: 1/day}]")
    assert ask(server) == 200
    assert ask(server, max_tokens=77) == 200
    assert [request.json["max_tokens"] for request in upstream.requests] == [4096, 77]
    assert refused(server, max_tokens=200_000).message.count("can cost up to 2.0") == 1


def test_refused_calls_use_nothing(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "limits: [{scope: team, name: red, requests: 2/hour}, {scope: key, name: bob, tokens: 1/hour}]")
    upstream.script(answer(5, 5), times=None)
    assert [ask(server, "key-of-bob"), ask(server, "key-of-bob")] == [200, 429]
    assert [ask(server), ask(server)] == [200, 429]


def test_what_was_used_of_each_limit_can_be_asked(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(
        KEYS + PENNIES + "limits: [{scope: key, requests: 5/minute, money: 3/day}, {scope: team, name: red, concurrency: 4}]"
    )
    upstream.script(answer(5, 10), times=None)
    assert [ask(server), ask(server), ask(server, "key-of-cid")] == [200, 200, 200]

    def told(query: str = "") -> list[tuple[str, int, int, int]]:
        page = server.client("key-of-ann").with_options(base_url=server.url).get(f"/admin/limits{query}", cast_to=dict[str, Any])
        return [(row["id"], row["limit"], row["used"], row["left"]) for row in page["data"]]

    expected = [
        ("key:ann/money/calendar/86400/0", 3_000_000, 200_000, 2_800_000),
        ("key:ann/requests/sliding/60/0", 5, 2, 3),
        ("key:cid/money/calendar/86400/0", 3_000_000, 100_000, 2_900_000),
        ("key:cid/requests/sliding/60/0", 5, 1, 4),
    ]
    eventually(lambda: [row for row in told() if row[2]] == expected)
    assert [row[0] for row in told("?limit=1&after=key:ann/money/calendar/86400/0")] == ["key:ann/requests/sliding/60/0"]
    assert {row[0] for row in told("?scope=key&name=cid")} == {expected[2][0], expected[3][0]}
    with pytest.raises(openai.BadRequestError, match="`limit` is out of its range"):
        told("?limit=0")


def _wait_reloaded(server: WholeServer, times: int) -> None:
    eventually(lambda: server.log_path.read_text().count("the new settings are in effect") == times)


def test_limits_come_change_and_go_under_load_and_no_call_fails(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS)
    upstream.script(answer(5, 10), times=None)
    before = server.file.read_text()
    over, statuses = threading.Event(), [0]

    def call_on() -> None:
        client = server.client("key-of-ann")
        while not over.is_set():
            try:
                client.chat.completions.create(model="mock-model", messages=HELLO)
            except openai.APIStatusError as error:
                statuses.append(error.status_code)

    callers = [threading.Thread(target=call_on) for _ in range(4)]
    for caller in callers:
        caller.start()
    for number, more in enumerate(
        ("limits: [{scope: key, requests: 1000000/hour}]", PENNIES + "limits: [{scope: key, money: 100000/day}]", "")
    ):
        server.file.write_text(f"{before}\n{more}")
        server.process.send_signal(signal.SIGHUP)
        _wait_reloaded(server, number + 1)
    over.set()
    for caller in callers:
        caller.join()
    assert statuses == [0]
    server.file.write_text(f"{before}\nlimits: [{{scope: key, requests: 0/hour}}]")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: ask(server) == 429)


def test_a_budget_refuses_while_its_accounts_cannot_be_asked_and_a_rate_does_not(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + PENNIES + "limits: [{scope: key, name: ann, money: 0.20}, {scope: key, name: bob, requests: 9/minute}]")
    upstream.script(answer(5, 10), times=None)
    assert [ask(server), ask(server)] == [200, 200]  # ann's is spent, so that whoever asks more must ask the coordinator
    processes = server.client("key-of-bob").with_options(base_url=server.url).get("/admin/processes", cast_to=dict[str, Any])
    (coordinator,) = [row["pid"] for row in processes["processes"] if row["role"] == "coordinator"]
    os.kill(coordinator, signal.SIGSTOP)
    try:
        assert ask(server) == 503
        assert ask(server, "key-of-bob") == 200
    finally:
        os.kill(coordinator, signal.SIGCONT)
    eventually(lambda: ask(server) == 429)
    os.kill(coordinator, signal.SIGKILL)
    eventually(lambda: ask(server) == 429)


def test_a_limit_of_a_model_holds_by_whatever_name_it_is_called(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "aliases: {al: mock-model}\nlimits: [{scope: model, name: mock-model, requests: 2/hour}]")
    client = server.client("key-of-ann")
    names = ["al", "p0/mock-model", "mock-model", "al", "p0/mock-model"]
    statuses = []
    for name in names:
        try:
            client.chat.completions.create(model=name, messages=HELLO)
            statuses.append(200)
        except openai.APIStatusError as error:
            statuses.append(error.status_code)
    assert statuses == [200, 200, 429, 429, 429]


def test_no_account_is_made_for_a_model_that_is_not_there(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "limits: [{scope: model, requests: 5/hour}, {scope: key, requests: 5/hour}]")
    client = server.client("key-of-ann")
    for number in range(10):
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model=f"none-{number}" + "x" * 10_000, messages=HELLO)
    assert ask(server) == 200
    page = client.with_options(base_url=server.url).get("/admin/limits", cast_to=dict[str, Any])
    assert {row["name"] for row in page["data"]} == {"ann", "mock-model"}


def test_many_prompts_are_many_answers_and_a_count_of_tokens_is_none(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(KEYS + "prices: [{model: mock-model, input: 0, output: 10}]\nlimits: [{scope: key, money: 0.02}]")
    client = server.client("key-of-ann")
    with pytest.raises(openai.RateLimitError, match=r"can cost up to 0\.95 USD"):
        client.completions.create(model="mock-model", prompt=["hello"] * 50, max_tokens=1900)
    client.completions.create(model="mock-model", prompt=[1, 2, 3], max_tokens=1900)
    with pytest.raises(openai.APIStatusError):
        client.post("/messages/count_tokens", cast_to=object, body={"model": "mock-model", "messages": HELLO})
    server.stop()
    (count,) = [call for call in server.calls() if call["endpoint"] == "messages/count_tokens"]
    assert (count["prompt_tokens"], count.get("cost", 0)) == (0, 0)
