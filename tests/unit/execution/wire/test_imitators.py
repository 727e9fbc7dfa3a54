"""What vendors who speak OpenAI's dialect do otherwise: how their answers are read, and in which spelling they are asked."""

import json
from typing import Any

import pytest

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, Text
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.execution.wire.openai.respelling import Respeller, Spelling, short_id
from antiphon.execution.wire.openai.watch import Watch
from antiphon.execution.wire.said_errors import read_error

MISTRAL = Respeller(Spelling({"max_completion_tokens": "max_tokens", "seed": "random_seed"}, developer=False, short_ids=True))


def read(*chunks: dict[str, Any]) -> list[neutral.Event]:
    reader = openai_chat.AnswerReader()
    raw = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    return [*reader.feed(raw + b"data: [DONE]\n\n"), *reader.end()]


def said(content: Any = "a", finish: str | None = None, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish, **choice}]}


@pytest.mark.parametrize(
    ("told", "reason"), [("sensitive", "content_filter"), ("model_length", "length"), ("eos_token", "stop"), ("end", "stop")]
)
def test_reasons_of_vendors(told: str, reason: str) -> None:
    assert neutral.Finished(0, reason) in read(said(finish=told))


@pytest.mark.parametrize("told", ["network_error", "insufficient_system_resource", "error"])
def test_an_answer_that_the_server_gave_up_is_not_complete(told: str) -> None:
    with pytest.raises(UpstreamBroken, match=told):
        read(said(), said(finish=told))


def test_the_word_null_is_no_reason() -> None:
    reader = openai_chat.AnswerReader()
    reader.feed(b"data: %b\n\n" % json.dumps(said(finish="null")).encode())
    with pytest.raises(UpstreamBroken):
        reader.end()


def test_content_in_parts_without_a_type() -> None:
    assert neutral.answer_of(read(said([{"text": "a"}, {"type": "text", "text": "b"}], "stop"))).choices[0].parts == [Text("ab")]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
        {"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 2},
        {"prompt_tokens": 5, "completion_tokens": 2, "cached_tokens": 3},
    ],
)
def test_usage_wherever_it_is_told(usage: dict[str, Any]) -> None:
    counted = neutral.Counted(Usage(5, 2, 7, 3))
    assert counted in read(said(finish="stop"), {"choices": [], "usage": usage})
    assert counted in read(said(finish="stop", usage=usage))
    assert counted in read({**said(finish="stop"), "x_groq": {"id": "r", "usage": usage}})
    assert counted in read(said(finish="stop", usage=7), {"choices": [], "usage": usage})
    watch = Watch(hides_usage=True)
    assert watch.take(b"data: %b\n\n" % json.dumps({"choices": [], "usage": usage}).encode()) == b""
    assert watch.usage() == counted.usage


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'id:1\nevent:error\n:HTTP_STATUS/400\ndata:{"code":"InvalidParameter","message":"Range of n"}\n\n', "Range of n"),
        (b'{"object": "error", "message": "no", "type": "invalid_request_error"}', "no"),
        (
            b'{"message": {"detail": [{"loc": ["body", "x"], "msg": "forbidden"}]}}',
            '{"detail":[{"loc":["body","x"],"msg":"forbidden"}]}',
        ),
        (b'{"detail": [{"loc": ["body"], "msg": "missing"}]}', '[{"loc":["body"],"msg":"missing"}]'),
        (b'{"Message": "User is not authorized"}', "User is not authorized"),
        (b'{"error": {"message": null, "msg": "busy"}}', "busy"),
        (b"data: nothing\n\n", "data: nothing"),
    ],
)
def test_errors_in_every_shape(body: bytes, message: str) -> None:
    assert read_error(400, body).message == message


def test_a_body_in_which_nothing_is_spelled_otherwise_keeps_its_bytes() -> None:
    body = b'{ "model":"m",  "messages":[{"role":"user","content":"developer"}],"max_tokens":5 }'
    assert MISTRAL.respelled(body) is body


def test_names_are_exchanged_and_nothing_else() -> None:
    body = b'{"model":"m","max_completion_tokens":5,"x":{"seed" : 1.50},"seed":7,"messages":[{"content":"\\u00fc","role":"user"}]}'
    assert MISTRAL.respelled(body) == (
        b'{"model":"m","max_tokens":5,"x":{"seed" : 1.50},"random_seed":7,"messages":[{"content":"\\u00fc","role":"user"}]}'
    )


def test_what_is_given_under_both_names_is_left_to_the_server() -> None:
    body = b'{"max_tokens":1,"max_completion_tokens":2}'
    assert json.loads(MISTRAL.respelled(body)) == {"max_tokens": 1, "max_completion_tokens": 2}


def test_the_role_developer_is_called_system() -> None:
    tool = {"name": "f", "parameters": {"properties": {"role": {"const": "developer"}}}}
    messages = [{"role": "developer", "content": '"role": "developer"'}, {"role": "user", "content": "hi"}]
    told = json.loads(MISTRAL.respelled(json.dumps({"messages": messages, "tools": [tool]}).encode()))
    assert told["messages"] == [{**messages[0], "role": "system"}, messages[1]]
    assert told["tools"] == [tool]


def test_ids_of_calls_are_shortened_alike_wherever_they_are_named() -> None:
    call = {"id": "toolu_01", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    own = {**call, "id": "aB3dE5gH9"}
    messages: list[Any] = [
        {"role": "assistant", "tool_calls": [call, own]},
        {"role": "tool", "tool_call_id": "toolu_01", "content": "x"},
        {"role": "tool", "tool_call_id": "aB3dE5gH9", "content": "y"},
        {"role": "assistant", "content": "z", "tool_calls": None},
    ]
    told = json.loads(MISTRAL.respelled(json.dumps({"messages": messages}).encode()))["messages"]
    short = short_id("toolu_01")
    assert len(short) == 9
    assert short.isalnum()
    assert [call["id"] for call in told[0]["tool_calls"]] == [short, "aB3dE5gH9"]
    assert [message["tool_call_id"] for message in told[1:3]] == [short, "aB3dE5gH9"]
    assert told[3] == messages[3]


@pytest.mark.parametrize("messages", [7, [7], [{"role": "developer", "tool_calls": 7, "tool_call_id": 8}], [[]], "developer"])
def test_messages_that_are_none_are_left_to_the_server(messages: Any) -> None:
    body = {"messages": messages, "x": ["developer", "tool_call"], "seed": 1}
    assert json.loads(MISTRAL.respelled(json.dumps(body).encode())) == {"messages": messages, "x": body["x"], "random_seed": 1}


def test_a_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        MISTRAL.respelled(b'["seed"]')


@pytest.mark.parametrize(
    ("style", "asked", "told"),
    [
        ("", {"thinking": {"type": "enabled", "budget_tokens": 3000}}, {}),
        ("effort", {"thinking": {"type": "enabled", "budget_tokens": 3000}}, {"reasoning_effort": "medium"}),
        ("effort", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}),
        ("effort", {"thinking": {"type": "adaptive"}}, {}),
        ("thinking", {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "enabled"}}),
        ("thinking", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "disabled"}}),
        ("thinking_effort", {"output_config": {"effort": "high"}}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("thinking_effort", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "disabled"}}),
        (
            "enable_thinking",
            {"thinking": {"type": "enabled", "budget_tokens": 3000}},
            {"enable_thinking": True, "thinking_budget": 3000},
        ),
        ("enable_thinking", {"thinking": {"type": "disabled"}}, {"enable_thinking": False}),
        ("reasoning", {"output_config": {"effort": "high"}}, {"reasoning": {"effort": "high"}}),
        ("reasoning", {"thinking": {"type": "enabled", "budget_tokens": 3000}}, {"reasoning": {"max_tokens": 3000}}),
        ("reasoning", {"thinking": {"type": "adaptive"}}, {"reasoning": {"enabled": True}}),
        ("reasoning", {"thinking": {"type": "disabled"}}, {"reasoning": {"enabled": False}}),
    ],
)
def test_thinking_is_told_as_each_vendor_wants_it(style: Any, asked: dict[str, Any], told: dict[str, Any]) -> None:
    body = {"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "hi"}], **asked}
    request = anthropic.decode_request(json.dumps(body).encode())
    written = json.loads(openai_chat.encode_request(request, ChatAbilities(reasoning=style)))
    assert {name: value for name, value in written.items() if name not in ("model", "messages", "max_tokens")} == told


def test_thoughts_go_back_to_those_who_want_them() -> None:
    said = [{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
        {"role": "assistant", "content": said[1:]},
    ]
    request = anthropic.decode_request(json.dumps({"model": "m", "max_tokens": 9, "messages": history}).encode())
    written = json.loads(openai_chat.encode_request(request, ChatAbilities(reasoning_back=True)))["messages"]
    assert [message.get("reasoning_content") for message in written if message["role"] == "assistant"] == ["hm", ""]
    plain = json.loads(openai_chat.encode_request(request, ChatAbilities()))["messages"]
    assert all("reasoning_content" not in message for message in plain)
