"""DashScope's native dialect: what its servers are asked, and what is made of their answers."""

import json
from typing import Any

import pytest

from antiphon.core.errors import UnsupportedParameter, UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, Text, Thinking, ToolCall
from antiphon.execution.wire.dashscope.chat import MULTIMODAL, TEXT
from antiphon.execution.wire.openai import chat as openai_chat

ABLE = ChatAbilities(reasoning="enable_thinking", reasoning_back=True, top_k=True, repetition_penalty=True, audio=True)
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def asked(*messages: dict[str, Any], multimodal: bool = False, able: ChatAbilities = ABLE, **fields: Any) -> dict[str, Any]:
    """What DashScope gets for a request of OpenAI's dialect."""
    body = json.dumps({"model": "qwen-plus", "messages": messages or [{"role": "user", "content": "hi"}], **fields})
    outbound = MULTIMODAL if multimodal else TEXT
    told: dict[str, Any] = json.loads(outbound.encode_request(openai_chat.decode_request(body.encode()), able))
    return told


def event(message: dict[str, Any], finish: str | None = "null", usage: Any = None, **choice: Any) -> bytes:
    """One event as the server sends it."""
    said = {"message": {"role": "assistant", **message}, "finish_reason": finish, **choice}
    body = {"output": {"choices": [said]}, "usage": usage or {}, "request_id": "r-1"}
    return b"id:1\nevent:result\n:HTTP_STATUS/200\ndata:%b\n\n" % json.dumps(body, ensure_ascii=False).encode()


def read(*events: bytes) -> list[neutral.Event]:
    reader = TEXT.reader()
    read = [event for raw in events for event in reader.feed(raw)]
    return [*read, *reader.end()]


def parts(events: list[neutral.Event]) -> list[Any]:
    return neutral.answer_of(events).choices[0].parts


def test_a_request_has_an_envelope_of_input_and_parameters() -> None:
    told = asked(
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        temperature=0.5,
        max_completion_tokens=9,
        stop="END",
        seed=7,
        n=2,
        top_k=3,
        presence_penalty=1.0,
        logprobs=True,
        top_logprobs=2,
        stream=True,
    )
    assert told["model"] == "qwen-plus"
    assert told["input"] == {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]}
    assert told["parameters"] == {
        "result_format": "message",
        "incremental_output": True,
        "temperature": 0.5,
        "max_tokens": 9,
        "stop": ["END"],
        "seed": 7,
        "n": 2,
        "top_k": 3,
        "presence_penalty": 1.0,
        "logprobs": True,
        "top_logprobs": 2,
    }


def test_tools_their_calls_and_their_results() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"place": "Köln"}'}}
    told = asked(
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
        tools=[WEATHER],
        tool_choice={"type": "function", "function": {"name": "weather"}},
        parallel_tool_calls=True,
    )
    assert told["parameters"]["tools"] == [WEATHER]
    assert told["parameters"]["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert told["parameters"]["parallel_tool_calls"] is True
    assert told["input"]["messages"][1:] == [
        {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [{"index": 0, **call}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
    ]


def test_that_a_tool_failed_is_told_in_words() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": [{"type": "text", "text": "no net"}]}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    body = {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
    }
    told = json.loads(TEXT.encode_request(anthropic.decode_request(json.dumps(body).encode()), ABLE))
    assert told["input"]["messages"][-1] == {"role": "tool", "tool_call_id": "t", "content": "Error: no net"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {}),
        ({"reasoning_effort": "none"}, {"enable_thinking": False}),
        ({"reasoning_effort": "low"}, {"enable_thinking": True, "thinking_budget": 4096}),
        ({"reasoning_effort": "high"}, {"enable_thinking": True}),
        ({"enable_thinking": True, "thinking_budget": 50}, {"enable_thinking": True, "thinking_budget": 50}),
        ({"reasoning_effort": "high", "enable_thinking": False}, {"enable_thinking": False}),
        ({"enable_search": True, "repetition_penalty": 1.1}, {"enable_search": True, "repetition_penalty": 1.1}),
    ],
)
def test_thinking_and_what_only_dashscope_knows(given: dict[str, Any], told: dict[str, Any]) -> None:
    parameters = asked(**given)["parameters"]
    assert {name: value for name, value in parameters.items() if name not in ("result_format", "incremental_output")} == told


def test_a_budget_of_anthropics_is_one_here() -> None:
    body = {
        "model": "m",
        "max_tokens": 9000,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "enabled", "budget_tokens": 3000},
    }
    told = json.loads(TEXT.encode_request(anthropic.decode_request(json.dumps(body).encode()), ABLE))
    assert (told["parameters"]["enable_thinking"], told["parameters"]["thinking_budget"]) == (True, 3000)


def test_a_content_is_a_text_for_models_that_read_alone() -> None:
    two = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    told = asked({"role": "user", "content": two}, {"role": "assistant", "content": two})
    assert [message["content"] for message in told["input"]["messages"]] == ["one\n\ntwo", "onetwo"]
    with pytest.raises(UnsupportedParameter) as refused:
        asked({"role": "user", "content": [*two, PICTURE]})
    assert refused.value.param == "messages[0].content"


def test_a_content_is_a_list_of_parts_for_models_that_see_and_hear() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}
    link = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    told = asked({"role": "user", "content": [{"type": "text", "text": "look"}, PICTURE, link, sound]}, multimodal=True)
    assert told["input"]["messages"][0]["content"] == [
        {"text": "look"},
        {"image": "data:image/png;base64,aGk="},
        {"image": "https://example.com/a.png"},
        {"audio": "data:audio/wav;base64,aGk="},
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        asked(**fields)
    assert refused.value.param == param


def test_a_stream_of_text_in_which_null_is_a_word() -> None:
    usage = {"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}
    last = {
        "input_tokens": 7,
        "output_tokens": 5,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_creation_input_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    events = read(
        event({"content": "", "reasoning_content": "hm"}, usage=usage),
        event({"content": "Grü", "reasoning_content": ""}, usage=usage),
        event({"content": "ße"}, None, usage=usage),
        event({"content": ""}, "stop", usage=last),
    )
    assert events[0] == neutral.Began("r-1")
    assert parts(events) == [Thinking("hm"), Text("Grüße")]
    assert events[-3:] == [neutral.Finished(0, "stop"), neutral.Counted(Usage(7, 5, 12, 4, 3), 2), neutral.Ended()]


def test_a_stream_of_two_calls_whose_pieces_have_no_id() -> None:
    def call(index: int, identity: str, **function: str) -> dict[str, Any]:
        return {"content": [], "tool_calls": [{"index": index, "id": identity, "type": "function", "function": function}]}

    events = read(
        event(call(0, "call_a", name="weather", arguments='{"place": ')),
        event(call(0, "", arguments='"Köln"}')),
        event(call(1, "call_b", name="weather", arguments="")),
        event(call(1, "", arguments='{"place": "Bonn"}'), "tool_calls"),
    )
    assert parts(events) == [
        ToolCall("call_a", "weather", '{"place": "Köln"}'),
        ToolCall("call_b", "weather", '{"place": "Bonn"}'),
    ]
    assert neutral.Finished(0, "tool_calls") in events


def test_several_choices_and_their_log_probabilities() -> None:
    logs = {"content": [{"token": "a", "logprob": 0.0, "bytes": [97], "top_logprobs": []}]}
    events = read(
        event({"content": "a"}, "stop", index=0, logprobs=logs),
        event({"content": "b"}, "length", index=1),
    )
    answer = neutral.answer_of(events)
    assert [choice.parts for choice in answer.choices] == [[Text("a")], [Text("b")]]
    assert [choice.finish.reason for choice in answer.choices] == ["stop", "length"]
    assert json.loads(bytes(answer.choices[0].logprobs[0])) == logs


def test_contents_in_parts() -> None:
    assert parts(read(event({"content": [{"text": "a"}]}), event({"content": [{"text": "b"}]}, "stop"))) == [Text("ab")]


def test_models_that_know_no_messages() -> None:
    body = {"output": {"text": "hi", "finish_reason": "stop"}, "usage": {"input_tokens": 1, "output_tokens": 2}, "request_id": "r"}
    events = TEXT.read_whole(json.dumps(body).encode())
    assert parts(list(events)) == [Text("hi")]
    assert neutral.Counted(Usage(1, 2, 3)) in events


def test_an_error_inside_a_stream_with_its_status() -> None:
    error = {"code": "DataInspectionFailed", "message": "Output data may contain inappropriate content.", "request_id": "r"}
    raw = b"id:2\nevent:error\n:HTTP_STATUS/400\ndata:%b\n\n" % json.dumps(error).encode()
    events = read(event({"content": "a"}), raw)
    assert events[-2:] == [neutral.Failed(400, error["message"], "DataInspectionFailed"), neutral.Ended()]


@pytest.mark.parametrize(
    ("code", "status"), [("Throttling.RateQuota", 429), ("InvalidApiKey", 401), ("ModelNotFound", 404), ("Odd", 500)]
)
def test_an_error_without_a_status_has_that_of_its_name(code: str, status: int) -> None:
    raw = b"event:error\ndata:%b\n\n" % json.dumps({"code": code, "message": "no"}).encode()
    assert read(raw)[1:] == [neutral.Failed(status, "no", code), neutral.Ended()]
    whole = TEXT.read_whole(json.dumps({"code": code, "message": "no"}).encode())
    assert list(whole)[1:] == [neutral.Failed(status, "no", code), neutral.Ended()]


@pytest.mark.parametrize(
    "events", [[], [event({"content": "half"})], [event({"content": "half"}), b"data: 7\n\n"], [b"data: {\n\n"], [b"data:[]\n\n"]]
)
def test_what_is_cut_off_or_no_answer_is_the_servers_fault(events: list[bytes]) -> None:
    with pytest.raises(UpstreamBroken):
        read(*events)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"output": {"choices": []}}', b'{"output": 7}'])
def test_a_whole_answer_that_is_none_is_the_servers_fault(body: bytes) -> None:
    with pytest.raises(UpstreamBroken):
        TEXT.read_whole(body)
