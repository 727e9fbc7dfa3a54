"""Servers that speak Ollama's dialect, asked by callers of theirs, of OpenAI's and of Anthropic's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import ollama
import openai
import pytest

from antiphon.testing import Body, Cut, Delay, Gate, Header, MockUpstream, Status, Wire
from tests.integration.gateway.data_plane import Running
from tests.integration.gateway.ollama_lines import PARTS, called, last, line, message, row, stream

Start = Callable[..., Running]
HELLO: Any = [{"role": "user", "content": "hello"}]
PNG = "iVBORw0KGgoAAAAAAAAAAA=="
SCHEMA: Any = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
FUNCTION: Any = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA}}
STRICT: Any = {"type": "function", "function": {**FUNCTION["function"], "name": "strictly", "strict": True}}
TOOL: Any = {"name": "weather", "description": "The weather.", "input_schema": SCHEMA}


@pytest.fixture
def running(start: Start, upstream: MockUpstream) -> Running:
    return start(upstream, **row(upstream, key="sk-ollama-secret"))


@pytest.fixture
def client(running: Running) -> openai.OpenAI:
    return running.client()


@pytest.fixture
def claude(running: Running) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=running.url, api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def native(running: Running) -> Iterator[ollama.Client]:
    client = ollama.Client(host=running.url, timeout=20)
    yield client
    client._client.close()


def ask(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(**{"model": "mock-model", "messages": HELLO, **more})


def test_a_whole_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body(message("Grüße, 世界", **last())))
    history = [{"role": "developer", "content": "Be brief."}, *HELLO]
    answer = ask(client, messages=history, max_completion_tokens=50, stop="END", temperature=0.5, seed=7, user="u")
    assert answer.choices[0].message.content == "Grüße, 世界"
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (12, 3)
    assert answer.model == "mock-model"
    (request,) = upstream.requests
    assert request.path == "/api/chat"
    assert request.header("authorization") == "Bearer sk-ollama-secret"
    assert request.json == {
        "model": "mock-model",
        "messages": [{"role": "system", "content": "Be brief."}, *HELLO],
        "options": {"num_predict": 50, "stop": ["END"], "temperature": 0.5, "seed": 7},
        "stream": False,
    }


def test_a_streamed_answer_with_its_usage(client: openai.OpenAI, upstream: MockUpstream) -> None:
    stream(upstream, *map(line, PARTS), line(**last("length")))
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert [delta for chunk in chunks for choice in chunk.choices if (delta := choice.delta.content)] == PARTS
    finishes = [chunk.choices[0].finish_reason for chunk in chunks[:-1]]
    assert finishes == [None] * (len(finishes) - 1) + ["length"]
    assert chunks[-1].choices == []
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (12, 3)
    assert upstream.requests[0].json["stream"] is True


def test_no_usage_is_told_unasked_but_it_is_counted(running: Running, upstream: MockUpstream) -> None:
    stream(upstream, line("x"), line(**last()))
    chunks = list(ask(running.client(), stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    running.stop()
    (call,) = running.calls()
    assert (call["prompt_tokens"], call["completion_tokens"]) == (12, 3)


def test_usage_may_be_absent(client: openai.OpenAI, upstream: MockUpstream) -> None:
    stream(upstream, line("x"), line(done=True))
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"


@pytest.mark.parametrize("wire", [Wire(write_size=1), Wire(framing="chunked", merge=0), Wire(write_size=7), Wire(framing="close")])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_cuts_anywhere_change_nothing(client: openai.OpenAI, upstream: MockUpstream, wire: Wire, end: str) -> None:
    told = [message(part) for part in PARTS] + [message(**last())]
    stream(upstream, *(Body(json.dumps(one, ensure_ascii=False) + end) for one in told), wire=wire)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in ask(client, stream=True)) == "".join(PARTS)


def test_a_last_line_without_its_end_counts(client: openai.OpenAI, upstream: MockUpstream) -> None:
    stream(upstream, line("x"), Body(json.dumps(message(**last()))))
    assert [chunk.choices[0].finish_reason for chunk in ask(client, stream=True)][-1] == "stop"


def test_a_huge_line_and_very_many_tiny_ones(client: openai.OpenAI, upstream: MockUpstream) -> None:
    huge = "x" * (4 << 20)
    stream(upstream, line(huge), *[line("y")] * 5000, line(**last()))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in ask(client, stream=True)) == huge + "y" * 5000


def test_tools_from_the_question_to_the_answer(client: openai.OpenAI, upstream: MockUpstream) -> None:
    both = [called("weather", {"place": "Köln"}, id="call_1"), called("weather", {"place": "Bonn"})]
    stream(
        upstream, line("Let me "), line("look."), line(tool_calls=both[:1]), line(tool_calls=both[1:]), line("And?"), line(**last())
    )
    with client.chat.completions.stream(model="mock-model", messages=HELLO, tools=[FUNCTION]) as answer:
        final = answer.get_final_completion()
    said: Any = final.choices[0].message
    assert final.choices[0].finish_reason == "tool_calls"
    assert said.content == "Let me look.And?"
    assert [json.loads(call.function.arguments) for call in said.tool_calls] == [{"place": "Köln"}, {"place": "Bonn"}]
    assert said.tool_calls[0].id == "call_1"
    assert said.tool_calls[1].id not in ("", "call_1")
    assert upstream.requests[0].json["tools"] == [FUNCTION]

    upstream.script(Body(message("It rains.", **last())))
    results = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in said.tool_calls]
    ask(client, messages=[*HELLO, said.model_dump(exclude_none=True, exclude={"parsed"}), *results], tools=[FUNCTION])
    _, calling, *told = upstream.requests[-1].json["messages"]
    assert [call["function"]["arguments"] for call in calling["tool_calls"]] == [{"place": "Köln"}, {"place": "Bonn"}]
    assert [(result["role"], result["tool_name"], result["content"]) for result in told] == [("tool", "weather", "rain")] * 2


def test_tools_from_the_question_to_the_answer_for_anthropic(claude: anthropic.Anthropic, upstream: MockUpstream) -> None:
    stream(upstream, line(thinking="hm"), line("Look."), line(tool_calls=[called("weather", {"place": "Köln"})]), line(**last()))
    with claude.messages.stream(model="mock-model", max_tokens=50, messages=HELLO, tools=[TOOL]) as answer:
        said = answer.get_final_message()
    assert said.stop_reason == "tool_use"
    assert [block.type for block in said.content] == ["thinking", "text", "tool_use"]
    assert said.content[2].input == {"place": "Köln"}
    assert (said.usage.input_tokens, said.usage.output_tokens) == (12, 3)
    assert upstream.requests[0].json["options"] == {"num_predict": 50}

    upstream.script(Body(message("It rains.", **last())))
    result = {"type": "tool_result", "tool_use_id": said.content[2].id, "content": "rain"}
    history: Any = [*HELLO, {"role": "assistant", "content": said.content}, {"role": "user", "content": [result]}]
    again = claude.messages.create(model="mock-model", max_tokens=50, messages=history, tools=[TOOL])
    assert again.content[0].text == "It rains."
    _, calling, told = upstream.requests[-1].json["messages"]
    assert (calling["thinking"], calling["content"]) == ("hm", "Look.")
    assert (told["role"], told["tool_name"], told["content"]) == ("tool", "weather", "rain")


def test_a_history_with_broken_arguments_is_refused_by_its_place(client: openai.OpenAI, upstream: MockUpstream) -> None:
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    with pytest.raises(openai.BadRequestError) as told:
        ask(client, messages=[*HELLO, {"role": "assistant", "tool_calls": [call]}])
    assert told.value.param == "messages[1].tool_calls[0].function.arguments"
    assert not upstream.requests


def test_structured_output(client: openai.OpenAI, claude: anthropic.Anthropic, upstream: MockUpstream) -> None:
    upstream.script(Body(message('{"place":"Bonn"}', **last())), times=3)
    shape: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
    assert json.loads(ask(client, response_format=shape).choices[0].message.content) == {"place": "Bonn"}
    ask(client, response_format={"type": "json_object"})
    config: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
    claude.messages.create(model="mock-model", max_tokens=5, messages=HELLO, output_config=config)
    assert [request.json["format"] for request in upstream.requests] == [SCHEMA, "json", SCHEMA]


def test_images(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body(message("a cat", **last())))
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    shown: Any = [{"type": "text", "text": "what?"}, picture]
    ask(client, messages=[{"role": "user", "content": shown}])
    assert upstream.requests[0].json["messages"] == [{"role": "user", "content": "what?", "images": [PNG]}]
    elsewhere: Any = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
    with pytest.raises(openai.BadRequestError, match="send the image as base64") as told:
        ask(client, messages=[{"role": "user", "content": elsewhere}])
    assert told.value.param == "messages[0].content"


def test_thinking(client: openai.OpenAI, upstream: MockUpstream) -> None:
    stream(upstream, line(thinking="2"), line(thinking="+2"), line("4"), line(**last()))
    chunks = list(ask(client, stream=True, reasoning_effort="high"))
    assert "".join(getattr(chunk.choices[0].delta, "reasoning_content", "") for chunk in chunks) == "2+2"
    assert upstream.requests[0].json["think"] == "high"


def test_a_row_may_say_that_its_models_do_not_think(start: Start, upstream: MockUpstream) -> None:
    client = start(upstream, **row(upstream, capabilities={"reasoning": False})).client()
    upstream.script(Body(message("4", **last())))
    ask(client, reasoning_effort="high")
    assert "think" not in upstream.requests[0].json


def test_log_probabilities_and_the_finish_reason(client: openai.OpenAI, upstream: MockUpstream) -> None:
    tokens = [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1.5}]}]
    stream(upstream, line("a", logprobs=tokens), line(**last()))
    chunks = list(ask(client, stream=True, logprobs=True, top_logprobs=1))
    (told,) = [token for chunk in chunks if chunk.choices[0].logprobs for token in chunk.choices[0].logprobs.content]
    assert (told.token, told.logprob, told.top_logprobs[0].token) == ("a", -0.5, "b")
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert (upstream.requests[0].json["logprobs"], upstream.requests[0].json["top_logprobs"]) == (True, 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"tools": [FUNCTION], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [FUNCTION], "parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"logit_bias": {"1": 2}}, "logit_bias"),
        ({"tools": [FUNCTION, STRICT]}, "tools[1].strict"),
        ({"top_a": 1}, "top_a"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name_or_left_out_if_allowed(
    client: openai.OpenAI, upstream: MockUpstream, fields: dict[str, Any], param: str
) -> None:
    sent = {name: value for name, value in fields.items() if name != "top_a"}
    extra = {name: value for name, value in fields.items() if name == "top_a"}
    with pytest.raises(openai.BadRequestError) as told:
        ask(client, **sent, extra_body=extra)
    assert told.value.param == param
    assert not upstream.requests
    upstream.script(Body(message("x", **last())))
    more = {**extra, "drop_unsupported": True}
    raw = client.chat.completions.with_raw_response.create(model="mock-model", messages=HELLO, **sent, extra_body=more)
    assert raw.headers["x-antiphon-dropped"] == param
    assert not {param, "drop_unsupported"} & set(upstream.requests[0].json)


def test_errors_come_in_the_callers_shape(
    client: openai.OpenAI, native: ollama.Client, claude: anthropic.Anthropic, upstream: MockUpstream
) -> None:
    body = {"error": "slow down, sk-ollama-secret"}
    upstream.script(Status(429), Header("retry-after", "7"), Body(body), times=3)
    with pytest.raises(openai.RateLimitError, match="slow down") as told:
        ask(client)
    assert told.value.response.headers["retry-after"] == "7"
    assert "sk-ollama-secret" not in told.value.response.text
    with pytest.raises(anthropic.RateLimitError, match="slow down"):
        claude.messages.create(model="mock-model", max_tokens=5, messages=HELLO)
    with pytest.raises(ollama.ResponseError) as heard:
        native.chat(model="mock-model", messages=HELLO)
    assert (heard.value.status_code, heard.value.error) == (429, "slow down, ***")


def test_a_server_that_fails_inside_its_stream_tells_so_on_every_dialect(
    client: openai.OpenAI, native: ollama.Client, claude: anthropic.Anthropic, upstream: MockUpstream
) -> None:
    stream(upstream, line("half"), Body('{"error":"out of memory"}\n'), line("more"), times=3)
    with pytest.raises(openai.APIError, match="out of memory"):
        list(ask(client, stream=True))
    asking = claude.messages.stream(model="mock-model", max_tokens=5, messages=HELLO)
    with pytest.raises(anthropic.APIStatusError, match="out of memory"), asking as answer:
        list(answer)
    seen = []
    with pytest.raises(ollama.ResponseError, match="out of memory"):
        seen.extend(told.message.content for told in native.chat(model="mock-model", messages=HELLO, stream=True))
    assert seen == ["half"]


@pytest.mark.parametrize("end", [[], [Delay(0.05), Cut()]])
def test_a_stream_that_is_cut_off_is_an_error_on_every_dialect(
    client: openai.OpenAI, native: ollama.Client, upstream: MockUpstream, end: list[Any]
) -> None:
    stream(upstream, line("half"), *end, times=2)
    with pytest.raises(openai.APIError):
        list(ask(client, stream=True))
    seen = []
    with pytest.raises(ollama.ResponseError):
        seen.extend(told.message.content for told in native.chat(model="mock-model", messages=HELLO, stream=True))
    assert seen == ["half"]


@pytest.mark.parametrize("failed", [Body('{"error":"out of memory"}\n'), Cut()])
def test_a_server_that_fails_before_any_text_is_replaced(
    start: Start, upstream: MockUpstream, second: MockUpstream, failed: Any
) -> None:
    client = start(upstream, second, protocol="ollama").client()
    stream(upstream, line(), Delay(0.05), failed)
    stream(second, line("from the second"), line(**last()))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in ask(client, stream=True)) == "from the second"


@pytest.mark.parametrize(
    "odd", ["7", '{"message":7}', '{"message":{"tool_calls":[{"function":{}}]}}', "{", '{"done":true,"logprobs":7}']
)
def test_what_is_no_answer_is_an_error_and_no_crash(client: openai.OpenAI, upstream: MockUpstream, odd: str) -> None:
    stream(upstream, line("half"), Body(odd + "\n"), line(**last()))
    with pytest.raises(openai.APIError):
        list(ask(client, stream=True))
    upstream.script(Body(odd))
    with pytest.raises(openai.InternalServerError):
        ask(client)


ODD = '{"model":"mock-model", "news" : [1.50, {"x":null}], "message":{"content":"\\u4e16"},"done":false}\n'
ANSWER = [line("Grüße 👩‍👩‍👧‍👦"), line(thinking="hm"), line(tool_calls=[called("f", {"a": 1})]), Body(ODD), line(**last())]
GENERATED = [
    Body('{"model":"mock-model","response":"a","done":false}\n'),
    Body(json.dumps({"response": "", "context": [1, 2], **last()}) + "\n"),
]


@pytest.mark.parametrize(
    "wire", [Wire(framing="chunked"), Wire(write_size=1), Wire(framing="chunked", merge=0), Wire(write_size=7)]
)
@pytest.mark.parametrize(("path", "answer"), [("/api/chat", ANSWER), ("/api/generate", GENERATED)])
def test_between_caller_and_server_of_the_dialect_no_byte_changes(
    running: Running, upstream: MockUpstream, wire: Wire, path: str, answer: list[Body]
) -> None:
    stream(upstream, *answer, wire=wire)
    asked = {"model": "mock-model", "messages": HELLO, "raw": True, "of_the_future": {"b": [1.50, "\\u00e9"]}, "keep_alive": -1}
    body = json.dumps(asked, indent=1).encode()
    got = httpx2.post(f"{running.url}{path}", content=body, timeout=20)
    assert got.content == b"".join(step.data.encode() for step in answer)
    assert got.headers["content-type"] == "application/x-ndjson"
    (request,) = upstream.requests
    assert (request.path, request.body) == (path, body)
    running.stop()
    (call,) = running.calls()
    assert (call["prompt_tokens"], call["completion_tokens"], call["stream"]) == (12, 3, True)


def test_whole_answers_between_them_keep_their_bytes_too(running: Running, upstream: MockUpstream) -> None:
    sent = '{"model" : "mock-model","news":1.50,"message":{"content":"\\u4e16"},"done":true,"prompt_eval_count":12,"eval_count":3}'
    upstream.script(Body(sent))
    got = httpx2.post(f"{running.url}/api/chat", json={"model": "mock-model", "messages": HELLO, "stream": False}, timeout=20)
    assert got.text == sent
    running.stop()
    (call,) = running.calls()
    assert (call["prompt_tokens"], call["completion_tokens"], call["stream"]) == (12, 3, False)


def test_a_model_is_loaded_by_its_own_server(native: ollama.Client, upstream: MockUpstream) -> None:
    upstream.script(Body({**message(), "done": True, "done_reason": "load"}))
    assert native.chat(model="mock-model", messages=[], keep_alive="1h").done_reason == "load"
    assert upstream.requests[0].json["keep_alive"] == "1h"


def test_embeddings_between_them_go_through(native: ollama.Client, upstream: MockUpstream) -> None:
    upstream.script(Body({"model": "mock-model", "embeddings": [[0.5, 1.0]], "prompt_eval_count": 4}))
    assert native.embed(model="mock-model", input="hello").embeddings == [[0.5, 1.0]]
    upstream.script(Body({"embedding": [0.5, 1.0]}))
    assert native.embeddings(model="mock-model", prompt="hello").embedding == [0.5, 1.0]
    assert [request.path for request in upstream.requests] == ["/api/embed", "/api/embeddings"]


def test_embeddings_for_callers_of_openai(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body({"model": "mock-model", "embeddings": [[0.5, 1.0], [2.0, 3.0]], "prompt_eval_count": 4}))
    answer = client.embeddings.create(model="mock-model", input=["a", "b"], dimensions=2)
    assert [one.embedding for one in answer.data] == [[0.5, 1.0], [2.0, 3.0]]
    assert answer.usage.prompt_tokens == 4
    (request,) = upstream.requests
    assert request.path == "/api/embed"
    assert request.json == {"model": "mock-model", "input": ["a", "b"], "dimensions": 2, "truncate": False}
    with pytest.raises(openai.BadRequestError) as told:
        client.embeddings.create(model="mock-model", input=[1, 2])
    assert told.value.param == "input"
    upstream.script(Status(400), Body({"error": "the input length exceeds the context length"}))
    with pytest.raises(openai.BadRequestError, match="context length"):
        client.embeddings.create(model="mock-model", input="long")


def test_the_callers_name_of_the_model_is_the_one_it_hears(start: Start, upstream: MockUpstream) -> None:
    running = start(upstream, **row(upstream, models=[{"name": "mine", "upstream": "mock-model"}]))
    stream(upstream, line('"model":"mock-model"'), line(**last()))
    client = ollama.Client(host=running.url, timeout=20)
    lines = list(client.chat(model="mine", messages=HELLO, stream=True))
    client._client.close()
    assert {told.model for told in lines} == {"mine"}
    assert lines[0].message.content == '"model":"mock-model"'
    assert upstream.requests[0].json["model"] == "mock-model"


def test_a_server_that_answers_a_stream_with_something_else_is_told_so(client: openai.OpenAI, upstream: MockUpstream) -> None:
    upstream.script(Body(message("x", **last())))
    with pytest.raises(openai.InternalServerError, match="answered a streamed call"):
        list(ask(client, stream=True))


def test_what_it_does_not_serve_is_refused(client: openai.OpenAI, upstream: MockUpstream) -> None:
    with pytest.raises(openai.BadRequestError, match="does not serve /v1/completions"):
        client.completions.create(model="mock-model", prompt="x")
    assert not upstream.requests


def test_a_caller_that_leaves_is_seen_by_the_server(client: openai.OpenAI, native: ollama.Client, upstream: MockUpstream) -> None:
    for answer in (lambda: ask(client, stream=True), lambda: native.chat(model="mock-model", messages=HELLO, stream=True)):
        stream(upstream, line("one"), line("two"), Gate())
        told = answer()
        next(iter(told))
        told.close()
        assert upstream.wait_idle(1.0)


def test_thirty_streams_dropped_at_once_hold_nobody_up(running: Running, upstream: MockUpstream) -> None:
    stream(upstream, *[line("x" * 100_000)] * 50, Gate(), times=30)
    with httpx2.Client(timeout=20) as http:
        asked = json.dumps({"model": "mock-model", "messages": HELLO})
        open_ones = [
            http.send(http.build_request("POST", f"{running.url}/api/chat", content=asked), stream=True) for _ in range(30)
        ]
        for one in open_ones:
            one.close()
        assert http.get(f"{running.url}/health").elapsed.total_seconds() < 1
    assert upstream.wait_idle(5.0)
