"""Requests of one dialect written for a server of the other."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import InvalidRequest, UnsupportedParameter
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.openai import chat as openai_chat

ABLE = ChatAbilities(reasoning="adaptive", documents=True, audio=True, top_k=True, max_tokens=4096)
ASKED: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
TOOL: dict[str, Any] = {
    "name": "weather",
    "description": "tells it",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
FUNCTION = {"type": "function", "function": {"name": "weather", "description": "tells it", "parameters": TOOL["input_schema"]}}
RESULT = {"type": "tool_result", "tool_use_id": "b"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def to_openai(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    return json.loads(openai_chat.encode_request(anthropic.decode_request(json.dumps({**ASKED, **fields}).encode()), abilities))


def to_anthropic(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    asked = {"model": "m", "messages": ASKED["messages"], **fields}
    return json.loads(anthropic.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), abilities))


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **fields}


def test_the_least_request() -> None:
    assert to_openai() == {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    assert to_anthropic() == {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "hi"}]}


def test_settings_have_their_names() -> None:
    common = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "stream": True}
    from_anthropic = to_openai(
        **common, stop_sequences=["a", "b"], metadata={"user_id": "u"}, service_tier="auto", cache_control={"type": "ephemeral"}
    )
    assert from_anthropic == {
        **to_openai(),
        **common,
        "stop": ["a", "b"],
        "user": "u",
        "stream_options": {"include_usage": True},
    }
    from_openai = to_anthropic(
        **common, stop="a", user="u", max_completion_tokens=7, metadata={"x": "y"}, seed=None, n=1, logit_bias={}
    )
    assert from_openai == {**to_anthropic(), **common, "stop_sequences": ["a"], "metadata": {"user_id": "u"}, "max_tokens": 7}
    assert to_anthropic(stop=["a", "", "b"], max_tokens=9) == {**to_anthropic(), "stop_sequences": ["a", "b"], "max_tokens": 9}


def test_the_name_of_the_length_is_the_servers() -> None:
    assert to_openai(ChatAbilities(max_tokens_name="max_completion_tokens"))["max_completion_tokens"] == 100


def test_usage_is_asked_for_where_the_server_knows_how() -> None:
    assert "stream_options" not in to_openai(ChatAbilities(stream_usage=False), stream=True)


def test_system_prompts() -> None:
    assert to_openai(system="be brief")["messages"][0] == {"role": "system", "content": "be brief"}
    two = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]
    assert to_openai(system=two)["messages"][0]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    told = [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, *ASKED["messages"]]
    assert to_anthropic(messages=told)["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_a_later_system_prompt_stays_where_the_server_lets_it() -> None:
    told = [*ASKED["messages"], {"role": "system", "content": "now in French"}]
    stays = to_anthropic(msgspec.structs.replace(ABLE, system_anywhere=True), messages=told)
    assert stays["messages"] == told
    assert to_openai(messages=told)["messages"] == told


def test_tools_and_their_results() -> None:
    call: dict[str, Any] = {
        "type": "tool_use",
        "id": "t1",
        "name": "weather",
        "input": {"city": "Łódź", "n": 12345678901234567890123},
    }
    other = {**call, "id": "t2", "input": {}}
    failed = {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "no"}], "is_error": True}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "20°"}
    told = to_openai(
        tools=[TOOL],
        messages=[
            user({"type": "text", "text": "?"}),
            assistant({"type": "text", "text": "wait"}, call, other),
            user(result, failed, {"type": "text", "text": "so?"}),
        ],
    )
    assert told["tools"] == [FUNCTION]
    calls: list[dict[str, Any]] = [
        {
            "id": "t1",
            "type": "function",
            "function": {"name": "weather", "arguments": json.dumps(call["input"])},
        },
        {"id": "t2", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
    ]
    assert told["messages"][1:] == [
        {"role": "assistant", "content": "wait", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "t1", "content": "20°"},
        {"role": "tool", "tool_call_id": "t2", "content": "Error: no"},
        {"role": "user", "content": "so?"},
    ]
    back = to_anthropic(tools=[FUNCTION], messages=told["messages"])
    assert back["tools"] == [TOOL]
    assert back["messages"][1]["content"] == [{"type": "text", "text": "wait"}, call, other]
    failed = {"type": "tool_result", "tool_use_id": "t2", "content": "Error: no"}
    assert back["messages"][2] == user(result, failed, {"type": "text", "text": "so?"})


def test_content_of_a_calling_message_may_be_empty_null_or_missing() -> None:
    call = {"id": "c:0", "type": "function", "function": {"name": "weather", "arguments": ""}}
    for content in ({"content": ""}, {"content": None}, {}, {"content": []}):
        calling = {"role": "assistant", "tool_calls": [call], **content}
        told = to_anthropic(messages=[*ASKED["messages"], calling, {"role": "tool", "tool_call_id": "c:0", "content": "x"}])
        assert told["messages"][1:] == [
            assistant({"type": "tool_use", "id": "c_3a0", "name": "weather", "input": {}}),
            user({"type": "tool_result", "tool_use_id": "c_3a0", "content": "x"}),
        ]
    only_call = to_openai(messages=[*ASKED["messages"], assistant({"type": "tool_use", "id": "t", "name": "a", "input": {}})])
    assert only_call["messages"][1]["content"] is None


@pytest.mark.parametrize(
    ("theirs", "ours", "parallel"),
    [
        ({"type": "auto"}, "auto", None),
        ({"type": "any"}, "required", None),
        ({"type": "none"}, "none", None),
        ({"type": "tool", "name": "weather"}, {"type": "function", "function": {"name": "weather"}}, None),
        ({"type": "auto", "disable_parallel_tool_use": True}, "auto", False),
        ({"type": "any", "disable_parallel_tool_use": False}, "required", True),
    ],
)
def test_tool_choice(theirs: dict[str, Any], ours: Any, parallel: bool | None) -> None:
    told = to_openai(tools=[TOOL], tool_choice=theirs)
    assert (told["tool_choice"], told.get("parallel_tool_calls")) == (ours, parallel)
    assert to_anthropic(tools=[FUNCTION], tool_choice=ours, parallel_tool_calls=parallel)["tool_choice"] == theirs


def test_parallel_calls_may_be_forbidden_without_a_choice() -> None:
    told = to_anthropic(tools=[FUNCTION], parallel_tool_calls=False)
    assert told["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_allowed_tools_are_the_only_ones_offered() -> None:
    other = {"type": "function", "function": {"name": "time"}}
    named = {"type": "function", "function": {"name": "time"}}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
    told = to_anthropic(tools=[FUNCTION, other], tool_choice=choice)
    assert [tool["name"] for tool in told["tools"]] == ["time"]
    assert told["tools"][0]["input_schema"] == {"type": "object", "properties": {}}
    assert told["tool_choice"] == {"type": "any"}


def test_images() -> None:
    by_address = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
    told = to_openai(messages=[user({"type": "text", "text": "a"}, IMAGE, by_address)])
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
    ]
    assert told["messages"] == [user(*parts)]
    assert to_anthropic(messages=[user(*parts)])["messages"] == [user({"type": "text", "text": "a"}, IMAGE, by_address)]
    with pytest.raises(InvalidRequest, match="neither http") as caught:
        to_anthropic(messages=[user({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}})])
    assert caught.value.param == "messages[0].content"


def test_images_of_a_result_follow_it_as_if_the_user_showed_them() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "seen"}, IMAGE]}
    told = to_openai(messages=[*ASKED["messages"], assistant(call), user(result, {"type": "text", "text": "well?"})])["messages"]
    assert told[2] == {"role": "tool", "tool_call_id": "t1", "content": "seen"}
    assert [part["type"] for part in told[3]["content"]] == ["text", "image_url"]
    assert told[4] == {"role": "user", "content": "well?"}


def test_documents() -> None:
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}, "title": "a.pdf"}
    text = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "words"},
        "title": "T",
        "context": "C",
    }
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}
    assert to_openai(messages=[user(pdf, text)])["messages"] == [user(file, {"type": "text", "text": "T\n\nC\n\nwords"})]
    assert to_anthropic(messages=[user(file)])["messages"] == [user(pdf)]


def test_marks_of_what_is_to_be_cached() -> None:
    marked = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    assert to_anthropic(messages=[user(marked)])["messages"] == [user(marked)]
    explicit = {"type": "text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert to_anthropic(messages=[user(explicit)])["messages"] == [
        user({"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}})
    ]


def test_schemas_of_answers() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    wanted = {"format": {"type": "json_schema", "schema": schema}}
    ours = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    assert to_openai(output_config=wanted)["response_format"] == ours
    assert to_openai(output_format=wanted["format"])["response_format"] == ours
    assert to_anthropic(response_format=ours)["output_config"] == wanted
    assert to_anthropic(response_format={"type": "text"}) == to_anthropic()


@pytest.mark.parametrize(
    ("fields", "effort"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low"),
        ({"thinking": {"type": "enabled", "budget_tokens": 5000}}, "medium"),
        ({"thinking": {"type": "enabled", "budget_tokens": 20000}}, "high"),
        ({"thinking": {"type": "adaptive"}}, None),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}, "max"),
        ({"thinking": {"type": "disabled"}}, "none"),
    ],
)
def test_how_much_to_think_for_openai(fields: dict[str, Any], effort: str | None) -> None:
    assert to_openai(ABLE, **fields).get("reasoning_effort") == effort
    assert "reasoning_effort" not in to_openai(ChatAbilities(), **fields)


@pytest.mark.parametrize(
    ("how", "effort", "expected"),
    [
        ("", "high", {}),
        ("adaptive", "high", {"output_config": {"effort": "high"}, "thinking": {"type": "adaptive"}}),
        ("adaptive", "minimal", {"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}}),
        ("effort", "high", {"output_config": {"effort": "high"}}),
        ("budget", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        ("budget", "max", {"thinking": {"type": "enabled", "budget_tokens": 9999}}),
        ("budget", "none", {"thinking": {"type": "disabled"}}),
    ],
)
def test_how_much_to_think_for_anthropic(how: Any, effort: str, expected: dict[str, Any]) -> None:
    able = ChatAbilities(reasoning=how)
    told = to_anthropic(able, reasoning_effort=effort, max_tokens=10000)
    assert {name: told[name] for name in ("thinking", "output_config") if name in told} == expected
    assert "thinking" not in to_anthropic(ChatAbilities(reasoning="budget"), reasoning_effort="low", max_tokens=1024)


def test_thoughts_of_earlier_answers() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    told = [*ASKED["messages"], assistant(thought, hidden, {"type": "text", "text": "a"})]
    assert to_openai(messages=told)["messages"][1] == {"role": "assistant", "content": "a"}
    back = to_openai(ChatAbilities(reasoning_back=True), messages=told)["messages"][1]
    assert back == {"role": "assistant", "content": "a", "reasoning_content": "hm"}
    unsigned = {"role": "assistant", "content": "a", "reasoning_content": "hm"}
    assert to_anthropic(messages=[*ASKED["messages"], unsigned])["messages"][1] == {"role": "assistant", "content": "a"}
    signed = {**unsigned, "thinking_blocks": [thought, hidden]}
    assert to_anthropic(messages=[*ASKED["messages"], signed])["messages"][1] == told[1]


def test_what_only_a_dialect_knows_passes_within_it() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    found = {"type": "search_result", "source": "x", "title": "t", "content": [{"type": "text", "text": "c"}]}
    rest = {"container": "c", "service_tier": "auto", "tools": [search, {**TOOL, "defer_loading": True}]}
    asked = {**ASKED, **rest, "messages": [user(found)]}
    told = anthropic.encode_request(anthropic.decode_request(json.dumps(asked).encode()), ABLE)
    assert json.loads(told) == asked
    special = {
        "model": "m",
        "messages": [user({"type": "file", "file": {"file_id": "f"}})],
        "logit_bias": {"1": 2},
        "store": True,
        "tools": [{"type": "custom", "custom": {"name": "c"}}],
    }
    assert json.loads(openai_chat.encode_request(openai_chat.decode_request(json.dumps(special).encode()), ABLE)) == special


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"container": "c"}, "container"),
        ({"context_management": {"edits": [1]}}, "context_management"),
        ({"tools": [TOOL, {"type": "bash_20250124", "name": "bash"}]}, "tools[1].type"),
        ({"tools": [{**TOOL, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"tools": [{**TOOL, "allowed_callers": ["code_execution_20250825"]}]}, "tools[0].allowed_callers"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": [user({"type": "search_result"})]}, "messages[0].content"),
        ({"messages": [user({"type": "image", "source": {"type": "file", "file_id": "f"}})]}, "messages[0].content"),
        ({"messages": [user({"type": "document", "source": {"type": "url", "url": "https://x"}})]}, "messages[0].content"),
        (
            {"messages": [user({"type": "document", "citations": {"enabled": True}, "source": {"type": "text", "data": "a"}})]},
            "messages[0].content",
        ),
    ],
)
def test_what_openai_has_no_like_of_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        to_openai(ABLE, **fields)
    assert caught.value.param == param
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"seed": 1}, "seed"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"logit_bias": {"1": 1}}, "logit_bias"),
        ({"temperature": 1.5}, "temperature"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"modalities": ["audio"]}, "modalities"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"max_token": 5}, "max_token"),
        ({"tools": [{"type": "custom", "custom": {"name": "c"}}]}, "tools[0].type"),
        ({"messages": [user({"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}})]}, "messages[0].content"),
        ({"messages": [user({"type": "file", "file": {"file_id": "f"}})]}, "messages[0].content"),
        ({"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}]}, "messages[0].function_call"),
    ],
)
def test_what_anthropic_has_no_like_of_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        to_anthropic(ABLE, **fields)
    assert caught.value.param == param
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("missing", "fields", "param"),
    [
        ("tools", {"tools": [TOOL]}, "tools"),
        ("images", {"messages": [user(IMAGE)]}, "messages[0].content"),
        ("json_schema", {"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "response_format"),
        ("top_k", {"top_k": 3}, "top_k"),
    ],
)
def test_what_a_server_cannot_do_is_refused_by_name(missing: str, fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        to_openai(msgspec.structs.replace(ABLE, **{missing: False}), **fields)
    assert caught.value.param == param


def test_a_length_must_come_from_somewhere() -> None:
    with pytest.raises(InvalidRequest) as caught:
        to_anthropic(ChatAbilities())
    assert caught.value.param == "max_tokens"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [user({"text": "x"})]}, "messages[0].content[0].type"),
        ({"messages": [user({"type": "text"})]}, "messages[0].content[0].text"),
        ({"messages": [user({"type": "text", "text": 5})]}, "messages[0].content[0].text"),
        ({"messages": [user({"type": "image"})]}, "messages[0].content[0].source"),
        ({"messages": [user({"type": "image", "source": {"type": "base64"}})]}, "messages[0].content[0].source"),
        ({"messages": [user({"type": "image", "source": {"type": "disk"}})]}, "messages[0].content[0].source.type"),
        ({"messages": [assistant({"type": "tool_use", "id": "a", "name": "b", "input": "{}"})]}, "messages[0].content[0].input"),
        ({"messages": [assistant({"type": "tool_use", "id": "a", "input": {}})]}, "messages[0].content[0].name"),
        ({"messages": [user({"type": "tool_result"})]}, "messages[0].content[0].tool_use_id"),
        ({"messages": [assistant({"type": "tool_result", "tool_use_id": "a"})]}, "messages[0].content"),
        ({"messages": [user({"type": "tool_result", "tool_use_id": "a", "content": [RESULT]})]}, "messages[0].content[0].content"),
        ({"system": [IMAGE]}, "system[0]"),
        ({"tools": [{"name": "a"}]}, "tools[0].input_schema"),
        ({"tools": [{"name": "a", "input_schema": []}]}, "tools[0].input_schema"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"thinking": {"type": "deep"}}, "thinking.type"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
    ],
)
def test_a_wrong_anthropic_request_is_refused_by_field(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        to_openai(ABLE, **fields)
    assert caught.value.param == param


def test_anthropic_requires_a_length() -> None:
    with pytest.raises(InvalidRequest) as caught:
        anthropic.decode_request(b'{"model":"m","messages":[{"role":"user","content":"x"}]}')
    assert caught.value.param == "max_tokens"


def calling(arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "function", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
        ({"messages": [user({"type": "video"})]}, "messages[0].content[0].type"),
        ({"messages": [user({"type": "text"})]}, "messages[0].content[0].text"),
        ({"messages": [user({"type": "file", "file": {"file_data": "x"}})]}, "messages[0].content[0].file.file_data"),
        ({"messages": [calling('{"a":')]}, "messages[0].tool_calls[0].function.arguments"),
        ({"messages": [calling("[]")]}, "messages[0].tool_calls[0].function.arguments"),
        ({"messages": [{**calling("{}"), "role": "user", "content": "x"}]}, "messages[0].tool_calls"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"function": {"name": "f", "parameters": 5}}]}, "tools[0].function.parameters"),
        ({"tool_choice": "some"}, "tool_choice"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"messages": [{"role": "tool", "tool_call_id": "a", "content": [{"type": "refusal", "refusal": "x"}]}]},
            "messages[0].content[0]",
        ),
        ({"stop": 5}, "stop"),
        ({"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": "https://x"}]}]}, "messages[0].content"),
    ],
)
def test_a_wrong_openai_request_is_refused_by_field(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        to_anthropic(ABLE, **fields)
    assert caught.value.param == param
