"""Servers that speak Google's Gemini API, asked by callers of OpenAI's dialect and of Anthropic's."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pydantic
import pytest
from google.genai import types

from antiphon.testing import Body, Comment, Cut, Delay, Event, Gate, Hang, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import DataPlaneProcess, Running, provider

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
EVENTS = Header("content-type", "text/event-stream")
SCHEMA: Any = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}
TOOL: Any = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA}}
NATIVE_TOOL: Any = {"name": "weather", "description": "The weather.", "input_schema": SCHEMA}
ROW: Any = {"protocol": "gemini", "key": "AIza-secret"}
SIGNATURE = "c2lnbmVk"


@pytest.fixture
def running(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream, **ROW)


@pytest.fixture
def client(running: Running) -> openai.OpenAI:
    return running.client()


@pytest.fixture
def native(running: Running) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=running.url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


def answer(*parts: dict[str, Any], finish: str = "", **usage: int) -> dict[str, Any]:
    told: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        told["finishReason"] = finish
    body = {"candidates": [told], "modelVersion": "mock-model-001", "responseId": "r-1"}
    return {**body, "usageMetadata": {f"{name}TokenCount": count for name, count in usage.items()}} if usage else body


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"text": words, **fields}


def call(name: str = "weather", signature: str = "", /, **arguments: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"functionCall": {"name": name, "args": arguments}}
    return {**told, "thoughtSignature": signature} if signature else told


def chunk(*parts: dict[str, Any], finish: str = "", **usage: int) -> Event:
    return Event(answer(*parts, finish=finish, **usage))


def whole(*parts: dict[str, Any], finish: str = "STOP", **usage: int) -> Body:
    return Body(answer(*parts, finish=finish, **usage))


def asked_of(upstream: MockUpstream) -> dict[str, Any]:
    """The last request, which Google's own client knows each field of."""
    told: dict[str, Any] = upstream.requests[-1].json
    for content in [*told["contents"], told.get("systemInstruction", {})]:
        types.Content.model_validate_json(json.dumps(content))
    for tool in told.get("tools", ()):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(told.get("toolConfig", {}))
    types.GenerationConfig.model_validate(told.get("generationConfig", {}))
    return told


def stream(client: openai.OpenAI, **more: Any) -> list[Any]:
    return list(client.chat.completions.create(model="mock-model", messages=HELLO, stream=True, **more))


def text_of(chunks: list[Any]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def raw(running: Running, body: bytes, path: str = "/v1/chat/completions") -> socket.socket:
    """A call over a bare socket."""
    sock = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    sock.sendall(
        b"POST %s HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (path.encode(), len(body), body)
    )
    return sock


def test_a_whole_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole(text("Grüße, 世界"), prompt=13, cachedContent=3, candidates=5, thoughts=4, total=22))
    told = client.chat.completions.create(
        model="mock-model",
        messages=[{"role": "system", "content": "Be brief."}, *HELLO],
        max_completion_tokens=50,
        stop="END",
        temperature=0.5,
        seed=7,
        presence_penalty=0.5,
    )
    assert told.choices[0].message.content == "Grüße, 世界"
    assert (told.model, told.choices[0].finish_reason) == ("mock-model", "stop")
    usage = told.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (13, 9, 22)
    assert (usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens) == (3, 4)
    (request,) = upstream.requests
    assert request.path == "/v1/models/mock-model:generateContent"
    assert request.header("x-goog-api-key") == "AIza-secret"
    assert not request.header("authorization")
    asked = asked_of(upstream)
    assert asked["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert asked["contents"] == [{"role": "user", "parts": [{"text": "hello"}]}]
    assert asked["generationConfig"] == {
        "maxOutputTokens": 50, "temperature": 0.5, "stopSequences": ["END"], "seed": 7, "presencePenalty": 0.5,
    }  # fmt: skip


def test_a_whole_answer_for_anthropics_callers(native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.script(whole(text("Grüße"), finish="MAX_TOKENS", prompt=13, cachedContent=3, candidates=5, total=18))
    message = native.messages.create(model="mock-model", max_tokens=50, system="Be brief.", messages=HELLO)
    assert message.content[0].text == "Grüße"
    assert message.stop_reason == "max_tokens"
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (10, 3, 5)
    assert asked_of(upstream)["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


def test_a_streamed_answer_with_its_usage(client: openai.OpenAI, upstream: MockUpstream) -> None:
    parts = ["Grü", "ße, ", "世界"]
    upstream.script(
        EVENTS, *(chunk(text(part), prompt=10, candidates=1) for part in parts),
        chunk(text(""), finish="MAX_TOKENS", prompt=10, candidates=5, total=15),
    )  # fmt: skip
    chunks = stream(client, stream_options={"include_usage": True})
    assert (upstream.requests[0].path, upstream.requests[0].query) == ("/v1/models/mock-model:streamGenerateContent", "alt=sse")
    assert [delta for chunk in chunks for choice in chunk.choices if (delta := choice.delta.content)] == parts
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices] == [None, None, None, "length"]
    assert chunks[-1].choices == []
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (10, 5)


def test_a_streamed_answer_for_anthropics_callers(native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(text("a")), chunk(text("b"), finish="STOP", prompt=10, candidates=2, total=12))
    with native.messages.stream(model="mock-model", max_tokens=50, messages=HELLO) as told:
        assert list(told.text_stream) == ["a", "b"]
        message = told.get_final_message()
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 2)


def test_no_usage_is_told_unasked_but_it_is_counted(running: Running, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(text("x"), prompt=10), chunk(finish="STOP", prompt=10, candidates=2, thoughts=3, total=15))
    upstream.script(EVENTS, chunk(text("x"), finish="STOP"))
    assert all(chunk.usage is None and chunk.choices for chunk in stream(running.client()))
    told = stream(running.client(), stream_options={"include_usage": True})
    assert all(chunk.usage is None for chunk in told)
    running.stop()
    first, second = running.calls()
    assert (first["prompt_tokens"], first["completion_tokens"]) == (10, 5)
    assert not second.get("prompt_tokens")


def test_tools_from_the_question_to_the_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(
        EVENTS, chunk(text("Let me look.")), chunk(call("weather", SIGNATURE, place="Köln"), call(place="Bonn")),
        chunk(text("And there."), call("now")), chunk(finish="STOP"),
    )  # fmt: skip
    with client.chat.completions.stream(model="mock-model", messages=HELLO, tools=[TOOL]) as told:
        completion = told.get_final_completion()
    message = completion.choices[0].message
    assert completion.choices[0].finish_reason == "tool_calls"
    assert message.content == "Let me look.And there."
    calls = message.tool_calls
    assert [(one.function.name, json.loads(one.function.arguments)) for one in calls] == [
        ("weather", {"place": "Köln"}),
        ("weather", {"place": "Bonn"}),
        ("now", {}),
    ]
    assert len({one.id for one in calls}) == 3
    assert asked_of(upstream)["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == SCHEMA

    upstream.script(whole(text("It rains.")))
    results: Any = [{"role": "tool", "tool_call_id": one.id, "content": one.function.arguments} for one in reversed(calls)]
    said: Any = message.model_dump(exclude_none=True, exclude={"parsed"})
    client.chat.completions.create(model="mock-model", messages=[*HELLO, said, *results], tools=[TOOL])
    _, spoken, given = asked_of(upstream)["contents"]
    assert [part.get("thoughtSignature") for part in spoken["parts"]] == [None, SIGNATURE, None, None]
    ids = [part["functionCall"]["id"] for part in spoken["parts"] if "functionCall" in part]
    assert ids == [part["functionResponse"]["id"] for part in given["parts"]] == [one.id for one in calls]
    assert [part["functionResponse"]["name"] for part in given["parts"]] == ["weather", "weather", "now"]


def test_tools_of_anthropics_callers_from_the_question_to_the_answer(native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(text("hm", thought=True)), chunk(call("weather", SIGNATURE, place="Köln")), chunk(finish="STOP"))
    with native.messages.stream(model="mock-model", max_tokens=50, messages=HELLO, tools=[NATIVE_TOOL]) as told:
        message = told.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "tool_use"]
    use = message.content[1]
    assert (message.stop_reason, use.name, use.input) == ("tool_use", "weather", {"place": "Köln"})

    upstream.script(whole(text("It rains.")))
    result: Any = {"type": "tool_result", "tool_use_id": use.id, "content": "rain", "is_error": True}
    turns: Any = [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    native.messages.create(model="mock-model", max_tokens=50, messages=turns, tools=[NATIVE_TOOL])
    _, spoken, given = asked_of(upstream)["contents"]
    called = {"id": use.id, "name": "weather", "args": {"place": "Köln"}}
    assert spoken["parts"] == [{"functionCall": called, "thoughtSignature": SIGNATURE}]
    assert given["parts"] == [{"functionResponse": {"id": use.id, "name": "weather", "response": {"error": "rain"}}}]


class Place(pydantic.BaseModel):
    place: str


def test_structured_output(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole(text('{"place":"Bonn"}')))
    parsed = client.chat.completions.parse(model="mock-model", messages=HELLO, response_format=Place)
    assert parsed.choices[0].message.parsed == Place(place="Bonn")
    config = asked_of(upstream)["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["properties"] == {"place": {"title": "Place", "type": "string"}}


def test_structured_output_of_anthropics_callers(native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.script(whole(text('{"place":"Bonn"}')))
    parsed = native.messages.parse(model="mock-model", max_tokens=50, messages=HELLO, output_format=Place)
    assert parsed.parsed_output == Place(place="Bonn")
    assert asked_of(upstream)["generationConfig"]["responseJsonSchema"]["required"] == ["place"]


def test_what_is_shown_and_heard(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(whole(text("a cat")))
    content: Any = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.jpg"}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "file", "file": {"filename": "cat.pdf", "file_data": "data:application/pdf;base64,aGk="}},
    ]
    client.chat.completions.create(model="mock-model", messages=[{"role": "user", "content": content}])
    assert asked_of(upstream)["contents"][0]["parts"] == [
        {"text": "What is it?"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://example.com/cat.jpg"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}},
        {"text": "cat.pdf"},
        {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}},
    ]


def test_several_answers(client: openai.OpenAI, upstream: MockUpstream) -> None:
    one, two = answer(text("a"), finish="STOP"), answer(text("b"), finish="MAX_TOKENS")
    two["candidates"][0]["index"] = 1
    upstream.script(Body({"candidates": one["candidates"] + two["candidates"]}))
    told = client.chat.completions.create(model="mock-model", messages=HELLO, n=2)
    assert [(choice.message.content, choice.finish_reason) for choice in told.choices] == [("a", "stop"), ("b", "length")]
    assert asked_of(upstream)["generationConfig"] == {"candidateCount": 2}


def test_log_probabilities_where_the_row_says_that_the_model_tells_them(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, capabilities={"logprobs": True}, **ROW).client()
    told = answer(text("a"), finish="STOP")
    token = {"token": "a", "tokenId": 5, "logProbability": -0.25}
    told["candidates"][0]["logprobsResult"] = {"chosenCandidates": [token], "topCandidates": [{"candidates": [token]}]}
    upstream.script(EVENTS, Event(told))
    chunks = stream(client, logprobs=True, top_logprobs=1)
    tokens = [one for chunk in chunks for choice in chunk.choices if choice.logprobs for one in choice.logprobs.content]
    assert [(one.token, one.logprob, one.top_logprobs[0].token) for one in tokens] == [("a", -0.25, "a")]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert asked_of(upstream)["generationConfig"] == {"responseLogprobs": True, "logprobs": 1}


def test_a_model_is_told_to_think_in_the_way_of_its_generation(start: Start, upstream: MockUpstream) -> None:
    models = [{"name": "older", "upstream": "gemini-2.5-flash"}, {"name": "newer", "upstream": "gemini-3-flash"}]
    client = start(upstream, models=models, **ROW).client()
    for name, told in (("older", {"thinkingBudget": 1024}), ("newer", {"thinkingLevel": "LOW"})):
        upstream.script(whole(text("hm", thought=True), text("so")))
        message = client.chat.completions.create(model=name, messages=HELLO, reasoning_effort="low").choices[0].message
        assert (message.content, message.to_dict()["reasoning_content"]) == ("so", "hm")
        assert asked_of(upstream)["generationConfig"] == {"thinkingConfig": {**told, "includeThoughts": True}}
    assert [request.path for request in upstream.requests] == [
        "/v1/models/gemini-2.5-flash:generateContent",
        "/v1/models/gemini-3-flash:generateContent",
    ]


def test_models_elsewhere_below_the_root(start: Start, upstream: MockUpstream) -> None:
    models = [{"name": "mine", "upstream": "tunedModels/my model"}, {"name": "plain", "upstream": "models/m"}]
    client = start(upstream, models=models, **ROW).client()
    for name in ("mine", "plain", "mine"):
        upstream.script(whole(text("x")))
        assert client.chat.completions.create(model=name, messages=HELLO).model == name
    mine, plain, again = (request.path for request in upstream.requests)
    assert (mine, plain) == ("/v1/tunedModels/my%20model:generateContent", "/v1/models/m:generateContent")
    assert again == mine


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logprobs": True, "top_logprobs": 2}, "logprobs, top_logprobs"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"seed": 2**40}, "seed"),
        ({"tools": [TOOL], "parallel_tool_calls": False}, "parallel_tool_calls"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name_or_left_out_if_allowed(
    client: openai.OpenAI, upstream: MockUpstream, fields: dict[str, Any], param: str
) -> None:
    ask: Any = {"model": "mock-model", "messages": HELLO, **fields}
    with pytest.raises(openai.BadRequestError) as told:
        client.chat.completions.create(**ask)
    assert told.value.param == param.partition(",")[0]
    assert not upstream.requests
    upstream.script(whole(text("x")))
    answered = client.chat.completions.with_raw_response.create(**ask, extra_body={"drop_unsupported": True})
    assert answered.headers["x-antiphon-dropped"] == param
    asked_of(upstream)


def test_what_anthropics_callers_may_leave_out(native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    ask: Any = {"model": "mock-model", "max_tokens": 5, "messages": HELLO, "tools": [NATIVE_TOOL]}
    ask["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    with pytest.raises(anthropic.BadRequestError, match=r"`tool_choice\.disable_parallel_tool_use` is not"):
        native.messages.create(**ask)
    upstream.script(whole(text("x")))
    answered = native.messages.with_raw_response.create(**ask, extra_body={"drop_unsupported": True})
    assert answered.headers["x-antiphon-dropped"] == "tool_choice.disable_parallel_tool_use"


def test_history_that_cannot_be_put_to_it_is_refused_by_field(client: openai.OpenAI, upstream: MockUpstream) -> None:
    broken: Any = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"place'}}
    with pytest.raises(openai.BadRequestError) as told:
        client.chat.completions.create(model="mock-model", messages=[*HELLO, {"role": "assistant", "tool_calls": [broken]}])
    assert told.value.param == "messages[1].tool_calls[0].function.arguments"
    alone: Any = {"role": "tool", "tool_call_id": "c1", "content": "x"}
    with pytest.raises(openai.BadRequestError) as told:
        client.chat.completions.create(model="mock-model", messages=[*HELLO, alone])
    assert told.value.param == "messages[1].tool_call_id"
    assert not upstream.requests


@pytest.mark.parametrize(("reason", "finish"), [("SAFETY", "content_filter"), ("RECITATION", "content_filter"), ("STOP", "stop")])
def test_why_it_ended(client: openai.OpenAI, upstream: MockUpstream, reason: str, finish: str) -> None:
    upstream.script(EVENTS, chunk(text("a")), chunk(finish=reason))
    assert stream(client)[-1].choices[0].finish_reason == finish


def test_a_prompt_that_is_blocked(client: openai.OpenAI, native: anthropic.Anthropic, upstream: MockUpstream) -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
    upstream.script(EVENTS, Event(blocked))
    assert stream(client)[-1].choices[0].finish_reason == "content_filter"
    upstream.script(Body(blocked))
    message = native.messages.create(model="mock-model", max_tokens=5, messages=HELLO)
    assert (message.stop_reason, message.content, message.usage.input_tokens) == ("refusal", [], 4)


QUOTA = {
    "code": 429,
    "message": "You exceeded your quota of AIza-secret",
    "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}],
}


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_come_in_the_callers_shape(
    client: openai.OpenAI, native: anthropic.Anthropic, upstream: MockUpstream, streamed: bool
) -> None:
    upstream.script(Status(429), Body({"error": QUOTA}), times=2)
    with pytest.raises(openai.RateLimitError, match="You exceeded your quota") as told:
        client.chat.completions.create(model="mock-model", messages=HELLO, stream=streamed)
    assert told.value.response.headers["retry-after"] == "35"
    assert (told.value.type, told.value.code) == ("rate_limit_error", "RESOURCE_EXHAUSTED")
    assert "AIza-secret" not in told.value.response.text
    with pytest.raises(anthropic.RateLimitError, match="You exceeded your quota") as heard:
        native.messages.create(model="mock-model", max_tokens=5, messages=HELLO, stream=streamed)
    assert heard.value.response.headers["retry-after"] == "35"
    assert '"type":"rate_limit_error"' in heard.value.response.text


def test_a_header_that_tells_how_long_to_wait_is_believed_before_the_body(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Status(429), Header("retry-after", "7"), Body({"error": QUOTA}))
    with pytest.raises(openai.RateLimitError) as told:
        client.chat.completions.create(model="mock-model", messages=HELLO)
    assert told.value.response.headers["retry-after"] == "7"


def test_a_wrong_key_is_the_operators_trouble_and_not_the_callers(client: openai.OpenAI, upstream: MockUpstream) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    body = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": details}}
    upstream.script(Status(400), Body(body))
    with pytest.raises(openai.InternalServerError) as told:
        client.chat.completions.create(model="mock-model", messages=HELLO)
    assert told.value.status_code == 502


def test_a_request_that_the_server_refuses_is_told_in_its_words(client: openai.OpenAI, upstream: MockUpstream) -> None:
    body = {"error": {"code": 400, "message": "Budget 0 is invalid.", "status": "INVALID_ARGUMENT"}}
    upstream.script(Status(400), Body(body))
    with pytest.raises(openai.BadRequestError, match="Budget 0 is invalid"):
        client.chat.completions.create(model="mock-model", messages=HELLO)


@pytest.mark.parametrize(
    "failed",
    [
        Event({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
        chunk(finish="MALFORMED_FUNCTION_CALL"),
        chunk({"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
    ],
)
def test_a_failure_inside_a_stream(start: Start, upstream: MockUpstream, second: MockUpstream, failed: Event) -> None:
    client = start(upstream, second, **ROW).client()
    upstream.script(EVENTS, Comment(), failed)
    second.script(EVENTS, chunk(text("from the second")), chunk(finish="STOP"))
    assert text_of(stream(client)) == "from the second"
    upstream.script(EVENTS, chunk(text("half")), failed)
    seen: list[Any] = []
    with pytest.raises(openai.APIError):
        seen.extend(client.chat.completions.create(model="mock-model", messages=HELLO, stream=True))
    assert text_of(seen) == "half"
    assert len(second.requests) == 1


def test_a_malformed_call_in_a_whole_answer_is_asked_for_again_elsewhere(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    client = start(upstream, second, **ROW).client()
    upstream.script(whole(finish="MALFORMED_FUNCTION_CALL"))
    second.script(whole(text("from the second")))
    told = client.chat.completions.create(model="mock-model", messages=HELLO)
    assert told.choices[0].message.content == "from the second"


@pytest.mark.parametrize("end", [[], [Cut()], [Cut(reset=True)], [chunk(text("more")), Cut()]])
def test_a_stream_that_is_cut_off_is_an_error_on_both_dialects(
    client: openai.OpenAI, native: anthropic.Anthropic, upstream: MockUpstream, end: list[Any]
) -> None:
    upstream.script(EVENTS, chunk(text("half")), Delay(0.05), *end, times=2)
    with pytest.raises(openai.APIError):
        stream(client)
    with (
        pytest.raises(anthropic.APIStatusError),
        native.messages.stream(model="mock-model", max_tokens=5, messages=HELLO) as told,
    ):
        list(told)


def test_a_cut_stream_is_logged_as_truncated(running: Running, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(text("half")))
    with pytest.raises(openai.APIError):
        stream(running.client())
    running.stop()
    assert running.calls()[0]["error"] == "upstream_truncated"


@pytest.mark.parametrize("piece", [{"candidates": 7}, {"candidates": [{"content": {"parts": [7]}}]}, [], "x"])
def test_what_is_no_answer_is_an_error_and_no_crash(client: openai.OpenAI, upstream: MockUpstream, piece: Any) -> None:
    upstream.script(EVENTS, chunk(text("half")), Event(piece), chunk(finish="STOP"))
    with pytest.raises(openai.APIError):
        stream(client)
    upstream.script(Body(piece))
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="mock-model", messages=HELLO)


def test_embeddings(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, models=[{"name": "mine", "upstream": "gemini-embedding-001"}], **ROW).client()
    body = {"embeddings": [{"values": [0.25, -1.5]}, {"values": [3.0, 0.5]}], "usageMetadata": {"promptTokenCount": 4}}
    upstream.script(Body(body), times=2)
    for encoding in (openai.omit, "float"):  # the client asks for packed floats where its user says nothing
        told = client.embeddings.create(
            model="mine", input=["one", "two"], dimensions=2, encoding_format=encoding, extra_body={"input_type": "query"}
        )
        assert [item.embedding for item in told.data] == [[0.25, -1.5], [3.0, 0.5]]
        assert (told.model, told.usage.prompt_tokens) == ("mine", 4)
    assert upstream.requests[0].path == "/v1/models/gemini-embedding-001:batchEmbedContents"
    common = {"model": "models/gemini-embedding-001", "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 2}
    assert upstream.requests[0].json == {
        "requests": [{**common, "content": {"parts": [{"text": text}]}} for text in ("one", "two")]
    }  # fmt: skip


def test_embeddings_refused(client: openai.OpenAI, upstream: MockUpstream) -> None:
    with pytest.raises(openai.BadRequestError) as told:
        client.embeddings.create(model="mock-model", input=[[1, 2]])
    assert told.value.param == "input"
    upstream.script(Status(429), Body({"error": QUOTA}))
    with pytest.raises(openai.RateLimitError, match="quota") as limited:
        client.embeddings.create(model="mock-model", input="x")
    assert limited.value.response.headers["retry-after"] == "35"


TEXT = ["Grüße", ", 世界", " 🎼🧑‍🚀", " — ", "ﷺ\u200d", "end"]


@pytest.mark.parametrize(
    "wire",
    [
        Wire(write_size=1),
        Wire(write_size=2, newline="\r\n"),
        Wire(write_size=3, gap=0.0005),
        Wire(merge=0, newline="\r\n"),
        Wire(merge=2, framing="close"),
        Wire(framing="length"),
    ],
)
def test_the_text_is_the_same_however_the_bytes_are_cut(client: openai.OpenAI, upstream: MockUpstream, wire: Wire) -> None:
    steps = [step for part in TEXT for step in (chunk(text(part)), Comment("keep-alive"))]
    upstream.script(EVENTS, *steps, chunk(finish="STOP"), wire=wire)
    assert text_of(stream(client)) == "".join(TEXT)


def test_a_huge_event_and_very_many_tiny_ones(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, chunk(text("x" * 6_000_000), finish="STOP"), wire=Wire(write_size=100_000))
    assert len(text_of(stream(client))) == 6_000_000
    upstream.script(EVENTS, *[chunk(text("y"))] * 20_000, chunk(finish="STOP"), wire=Wire(merge=50))
    assert len(text_of(stream(client))) == 20_000


BODY = b'{"model":"mock-model","stream":true,"messages":[{"role":"user","content":"hello"}]}'


def test_a_caller_that_leaves_is_seen_by_the_server_and_nobody_else_is_asked(
    start: Start, upstream: MockUpstream, second: MockUpstream
) -> None:
    gate = Gate()
    upstream.script(EVENTS, *[chunk(text(f"{i} ")) for i in range(2)], gate, *[chunk(text("late"))] * 98, chunk(finish="STOP"))
    running = start(upstream, second, **ROW)
    sock = raw(running, BODY)
    got = b""
    while got.count(b"data: ") < 2:
        got += sock.recv(65536)
    sock.close()
    left = time.monotonic()
    assert upstream.requests[0].wait_closed(5)
    assert time.monotonic() - left < 1.0
    gate.open()
    running.stop()
    assert second.requests == []
    (call,) = running.calls()
    assert (call["status"], call["error"]) == (499, "client_gone")


def test_leaving_before_the_answer_begins_cancels_it_too(running: Running, upstream: MockUpstream) -> None:
    upstream.script(Hang())
    sock = raw(running, BODY)
    assert upstream.wait_requests(1)
    sock.close()
    assert upstream.requests[0].wait_closed(1)


def test_thirty_large_streams_dropped_at_once_leave_health_quick(running: Running, upstream: MockUpstream) -> None:
    upstream.script(EVENTS, *[chunk(text("x" * 65536))] * 80, chunk(finish="STOP"), times=None)
    socks = [raw(running, BODY) for _ in range(30)]
    for sock in socks:
        sock.recv(1000)
    for sock in socks:
        sock.close()
    with socket.create_connection(("127.0.0.1", running.port), timeout=5) as health:
        health.sendall(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
        assert b"200 OK" in health.recv(1000)
    assert upstream.wait_idle(10)


def test_another_vendors_model_goes_on_in_the_middle_of_a_loop_of_tools(
    tmp_path: Path, upstream: MockUpstream, second: MockUpstream
) -> None:
    rows = [provider("g", upstream.url, models=["gem"], **ROW), provider("a", second.url, models=["claude"], protocol="anthropic")]
    running = DataPlaneProcess(f"aliases: {{both: [gem, claude]}}\nproviders: [{', '.join(rows)}]\n", tmp_path)
    upstream.script(whole(text("hm", thought=True), call("weather", SIGNATURE, place="Köln")))
    with anthropic.Anthropic(base_url=running.url, api_key="sk-test", max_retries=0, timeout=20) as native:
        message = native.messages.create(model="both", max_tokens=50, messages=HELLO, tools=[NATIVE_TOOL])
        upstream.script(Status(503))
        result: Any = {"type": "tool_result", "tool_use_id": message.content[1].id, "content": "rain"}
        turns: Any = [*HELLO, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        told = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [{"type": "text", "text": "wet"}]}
        second.script(Body({**told, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}))
        answered = native.messages.create(model="both", max_tokens=50, messages=turns, tools=[NATIVE_TOOL])
    assert answered.content[0].text == "wet"
    running.stop()
    spoken = second.requests[0].json["messages"][1]["content"]
    assert [(block["type"], block["input"]) for block in spoken] == [("tool_use", {"place": "Köln"})]
