"""Bedrock's Converse, asked by callers of OpenAI's dialect and of Anthropic's; AWS's own library judges signatures and frames."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import anthropic
import openai
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from antiphon.testing import Body, Cut, Header, MockUpstream, Status, Wire
from antiphon.testing.recorded_request import RecordedRequest
from tests.integration.gateway.data_plane import Running
from tests.unit.execution.wire.bedrock_oracle import check_request, frame

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
EVENTS = Header("content-type", "application/vnd.amazon.eventstream")
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BEARER = "ABSKQmVkcm9ja0FQSUtleS1zZWNyZXQ="
ACCESS = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token==")
ROW: Any = {"protocol": "bedrock", "models": [{"name": "claude", "upstream": CLAUDE}]}


@pytest.fixture
def client(start: Start, upstream: MockUpstream) -> openai.OpenAI:
    return start(upstream, **ROW, key=BEARER).client()


@pytest.fixture
def native(start: Start, upstream: MockUpstream) -> Iterator[anthropic.Anthropic]:
    process = start(upstream, **ROW, key=BEARER)
    with anthropic.Anthropic(base_url=process.url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


def event(name: str, **payload: Any) -> Body:
    return Body(frame(name, payload))


def delta(index: int, **told: Any) -> Body:
    return event("contentBlockDelta", contentBlockIndex=index, delta=told)


def ended(reason: str) -> list[Body]:
    usage = {"inputTokens": 8, "outputTokens": 5, "totalTokens": 13, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 0}
    return [event("messageStop", stopReason=reason), event("metadata", usage=usage, metrics={"latencyMs": 1})]


def whole(*content: dict[str, Any], reason: str = "end_turn") -> Body:
    usage = {"inputTokens": 8, "outputTokens": 5, "totalTokens": 13}
    message = {"role": "assistant", "content": content}
    return Body({"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 1}})


def test_a_whole_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole({"text": "Grüße"}))
    answer = client.chat.completions.create(
        model="claude", messages=[{"role": "system", "content": "Be brief."}, *HELLO], max_completion_tokens=50, stop="END"
    )
    assert answer.model == "claude"
    assert answer.choices[0].message.content == "Grüße"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (8, 5)
    (request,) = upstream.requests
    assert request.path == f"/v1/model/{quote(CLAUDE, safe='')}/converse"
    assert request.header("authorization") == f"Bearer {BEARER}"
    assert not request.header("x-amz-date")
    check_request(request.json)


@pytest.mark.parametrize("wire", [Wire(), Wire(write_size=1), Wire(merge=0)], ids=["plain", "byte by byte", "all at once"])
def test_a_streamed_answer_however_it_is_cut(native: anthropic.Anthropic, upstream: MockUpstream, wire: Wire) -> None:
    upstream.script(
        EVENTS,
        event("messageStart", role="assistant"),
        delta(0, reasoningContent={"text": "hm"}),
        delta(0, reasoningContent={"signature": "sig"}),
        event("contentBlockStop", contentBlockIndex=0),
        delta(1, text="Grü"),
        delta(1, text="ße"),
        event("contentBlockStop", contentBlockIndex=1),
        event("contentBlockStart", contentBlockIndex=2, start={"toolUse": {"toolUseId": "t1", "name": "weather"}}),
        delta(2, toolUse={"input": '{"place": '}),
        delta(2, toolUse={"input": '"Köln"}'}),
        event("contentBlockStop", contentBlockIndex=2),
        *ended("tool_use"),
        wire=wire,
    )
    tool: Any = {"name": "weather", "input_schema": {"type": "object"}}
    thinking: Any = {"type": "enabled", "budget_tokens": 2000}
    with native.messages.stream(
        model="claude", max_tokens=5000, messages=HELLO, tools=[tool], extra_body={"thinking": thinking}
    ) as stream:
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    thought, text, call = message.content
    assert (thought.thinking, thought.signature, text.text, call.input) == ("hm", "sig", "Grüße", {"place": "Köln"})
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (8, 4, 5)
    (request,) = upstream.requests
    assert request.path.endswith("/converse-stream")
    check_request(request.json, "ConverseStream")
    assert request.json["additionalModelRequestFields"] == {"thinking": thinking}

    upstream.script(whole({"text": "It rains."}))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "rain"}
    history: Any = [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    assert native.messages.create(model="claude", max_tokens=50, messages=history, tools=[tool]).content
    told = upstream.requests[-1].json["messages"]
    assert told[1]["content"][0] == {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}}
    assert told[2]["content"] == [{"toolResult": {"toolUseId": "t1", "content": [{"text": "rain"}]}}]


def test_calls_are_signed_as_aws_does_it(start: Start, upstream: MockUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    upstream.script(whole({"text": "hi"}))
    process = start(upstream, **ROW, key=":".join(ACCESS))
    process.client().chat.completions.create(model="claude", messages=HELLO)
    (request,) = upstream.requests
    assert request.header("x-amz-security-token") == ACCESS[2]
    assert f"Credential={ACCESS[0]}/" in request.header("authorization")
    assert request.header("authorization") == signed_again(request, f"127.0.0.1:{upstream.port}")


def signed_again(request: RecordedRequest, host: str) -> str:
    """The signature that AWS's library makes of what has arrived."""

    class AsOf(SigV4Auth):
        def add_auth(self, again: AWSRequest) -> None:
            again.context["timestamp"] = request.header("x-amz-date")
            self._modify_request_before_signing(again)
            signature = self.signature(self.string_to_sign(again, self.canonical_request(again)), again)
            self._inject_signature_to_request(again, signature)

    again = AWSRequest("POST", f"http://{host}{request.path}", {"content-type": request.header("content-type")}, request.body)
    AsOf(Credentials(*ACCESS), "bedrock", "eu-central-1").add_auth(again)
    return str(again.headers["Authorization"])


def test_an_error_in_awss_shape(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(
        Status(429), Header("x-amzn-errortype", "ThrottlingException"), Body({"message": "Too many tokens, slow down."})
    )
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(model="claude", messages=HELLO)
    upstream.script(Status(403), Body({"Message": f"key {BEARER} may not call bedrock"}))
    with pytest.raises(openai.InternalServerError, match="may not call bedrock") as told:
        client.chat.completions.create(model="claude", messages=HELLO)
    assert BEARER not in str(told.value)


def test_an_exception_inside_a_stream(client: openai.OpenAI, upstream: MockUpstream) -> None:
    exception = Body(frame("throttlingException", {"message": "slow down"}, "exception"))
    upstream.script(EVENTS, event("messageStart", role="assistant"), exception)
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(model="claude", messages=HELLO, stream=True)
    upstream.script(EVENTS, event("messageStart", role="assistant"), delta(0, text="half"), exception)
    with pytest.raises(openai.APIError, match="slow down"):
        list(client.chat.completions.create(model="claude", messages=HELLO, stream=True))


@pytest.mark.parametrize(
    "end", [[Cut()], [], [Body(frame("messageStop", {"stopReason": "end_turn"})[:-3])], [Body(b"\x00\x00\x00\x10" + b"x" * 12)]]
)
def test_an_answer_that_is_cut_off_is_no_answer(client: openai.OpenAI, upstream: MockUpstream, end: Any) -> None:
    upstream.script(EVENTS, delta(0, text="half"), *end)
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(model="claude", messages=HELLO, stream=True))


def test_what_it_cannot_do_is_refused_or_left_out(client: openai.OpenAI, upstream: MockUpstream) -> None:
    with pytest.raises(openai.BadRequestError, match="seed"):
        client.chat.completions.create(model="claude", messages=HELLO, seed=7)
    assert not upstream.requests
    upstream.script(whole({"text": "hi"}))
    response = client.chat.completions.with_raw_response.create(
        model="claude", messages=HELLO, seed=7, extra_body={"drop_unsupported": True}
    )
    assert response.headers["x-antiphon-dropped"] == "seed"
    assert json.loads(upstream.requests[0].body).keys() == {"messages"}
