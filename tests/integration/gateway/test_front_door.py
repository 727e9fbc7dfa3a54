"""Names, keys, limits and refusals at the front door, seen by the official client."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import openai
import pytest

from antiphon.testing import MockUpstream
from tests.integration.gateway.data_plane import Running

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]


def get(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_chat_and_its_headers(start: Start, upstream: MockUpstream) -> None:
    upstream.chat("hi", " there")
    answer = (
        start(upstream)
        .client()
        .chat.completions.with_raw_response.create(model="mock-model", messages=HELLO, extra_headers={"x-request-id": "my-id-1"})
    )
    assert answer.parse().choices[0].message.content == "hi there"
    assert answer.headers["x-request-id"] == "my-id-1"
    assert upstream.requests[0].header("x-request-id") == "my-id-1"


def test_an_alias_is_renamed_both_ways(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, more='aliases: {fast: mock-model, "p0/direct": "p0/mock-model"}')
    whole = process.client().chat.completions.create(model="fast", messages=HELLO)
    parts = list(process.client().chat.completions.create(model="fast", messages=HELLO, stream=True))
    assert [request.json["model"] for request in upstream.requests] == ["mock-model", "mock-model"]
    assert {whole.model, *(part.model for part in parts)} == {"fast"}


def test_completions_and_embeddings_go_to_their_own_paths(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream).client()
    assert client.completions.create(model="mock-model", prompt="one two").choices[0].text
    assert len(client.embeddings.create(model="mock-model", input=["a", "b"], encoding_format="float").data) == 2
    assert [request.path for request in upstream.requests] == ["/v1/completions", "/v1/embeddings"]


def test_the_catalogue(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, more="aliases: {fast: mock-model}")
    models = process.client().models.list().data
    assert [(model.id, model.owned_by) for model in models] == [("mock-model", "p0"), ("fast", "antiphon")]
    assert process.client().models.retrieve("fast").id == "fast"
    with pytest.raises(openai.NotFoundError, match="not in the catalogue"):
        process.client().models.retrieve("nope")


def test_an_unknown_model_names_the_near_ones(start: Start, upstream: MockUpstream) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        start(upstream).client().chat.completions.create(model="mock-modle", messages=HELLO)
    assert "mock-model" in caught.value.message
    assert caught.value.code == "model_not_found"
    assert caught.value.param == "model"


def test_keys_are_checked_everywhere_and_never_told(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream, more="", key="sk-upstream-secret")
    process.stop()
    more = "server: {keys: [{name: alice, key: sk-alice-secret}]}"
    guarded = start(upstream, more=more, key="sk-upstream-secret")
    guarded.client("sk-alice-secret").chat.completions.create(model="mock-model", messages=HELLO)
    assert upstream.requests[-1].header("authorization") == "Bearer sk-upstream-secret"
    for bad in ("sk-wrong", "sk-alice-secreT"):
        with pytest.raises(openai.AuthenticationError) as caught:
            guarded.client(bad).chat.completions.create(model="mock-model", messages=HELLO)
        assert bad not in str(caught.value)
    assert get(f"{guarded.url}/v1/models")[0] == 401
    assert get(f"{guarded.url}/health")[0] == 200
    guarded.stop()
    log = guarded.log_path.read_text()
    assert "secret" not in log
    assert [call["principal"] for call in guarded.calls()] == ["alice", "anonymous", "anonymous"]


def test_our_key_being_wrong_is_not_the_callers_fault(start: Start, upstream: MockUpstream) -> None:
    upstream.error(401, "Incorrect API key provided: sk-up***")
    with pytest.raises(openai.InternalServerError) as caught:
        start(upstream, key="sk-upstream-secret").client().chat.completions.create(model="mock-model", messages=HELLO)
    assert caught.value.status_code == 502
    assert "sk-up" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "told"),
    [
        ("POST", "/v1/chat/completions", b"{", 400, "not valid JSON"),
        ("POST", "/v1/chat/completions", b"{}", 400, "`model` is missing"),
        ("GET", "/v1/chat/completions", None, 405, "use POST"),
        ("POST", "/v1/models", b"{}", 405, "use GET"),
        ("GET", "/v1/nothing", None, 404, "/v1/chat/completions"),
        ("GET", "/metrics", None, 502, "control plane"),
    ],
)
def test_refusals_are_openai_errors_with_id_and_remedy(
    start: Start, upstream: MockUpstream, method: str, path: str, body: bytes | None, status: int, told: str
) -> None:
    process = start(upstream)
    request = urllib.request.Request(process.url + path, data=body, method=method)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    with caught.value as answer:
        decoded = json.load(answer)
        assert answer.code == status
        assert told in decoded["error"]["message"]
        assert answer.headers["x-request-id"]


def test_what_a_row_says_it_cannot_do_is_refused_by_name(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, capabilities={"n": False, "tools": False, "completions": False}).client()
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="mock-model", messages=HELLO, n=2)
    assert caught.value.param == "n"
    with pytest.raises(openai.BadRequestError, match="/v1/completions"):
        client.completions.create(model="mock-model", prompt="x")
    assert upstream.requests == []


def test_a_row_without_stream_usage_is_not_asked_for_it(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, capabilities={"stream_usage": False}).client()
    list(client.chat.completions.create(model="mock-model", messages=HELLO, stream=True))
    assert "stream_options" not in upstream.requests[0].json


def test_health_and_ready_without_anything_beside(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream)
    assert get(f"{process.url}/health")[1]["status"] == "ok"
    status, ready = get(f"{process.url}/ready")
    assert (status, ready) == (503, {"status": "not_ready", "parts": {"control": "down"}})


def test_a_worker_that_stops_finishes_its_calls(start: Start, upstream: MockUpstream) -> None:
    process = start(upstream)
    upstream.chat("slow", " answer")
    stream = process.client().chat.completions.create(model="mock-model", messages=HELLO, stream=True)
    process.process.terminate()
    assert "".join(part.choices[0].delta.content or "" for part in stream if part.choices) == "slow answer"
    assert process.process.wait(15) == 0
