"""Requests of OpenAI's Responses endpoint written for servers of other dialects."""

import json
from typing import Any

import pytest

from antiphon.core.errors import InvalidRequest, PreviousResponseNotFound, UnsupportedParameter
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, RedactedThinking, Thinking
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.execution.wire.responses import ids, thoughts
from antiphon.execution.wire.responses.request_reader import decode_request

ABLE = ChatAbilities(reasoning="effort", documents=True, audio=True, top_k=True, max_tokens=4096, reasoning_back=True)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "name": "weather", "description": "tells it", "parameters": PARAMETERS, "strict": True}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def encoded(**fields: Any) -> bytes:
    return json.dumps({"model": "m", "input": "hi", **fields}).encode()


def to_openai(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    return json.loads(openai_chat.encode_request(decode_request(encoded(**fields)), abilities))


def to_anthropic(**fields: Any) -> dict[str, Any]:
    return json.loads(anthropic.encode_request(decode_request(encoded(**fields)), ABLE))


def messages(*items: Any) -> list[dict[str, Any]]:
    """Without the empty thoughts that servers want beside calls who take thoughts back."""
    told = to_openai(input=list(items))["messages"]
    return [{name: value for name, value in message.items() if (name, value) != ("reasoning_content", "")} for message in told]


def said(role: str, *content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


def call(identity: str, arguments: str = '{"city":"Köln"}') -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{identity}", "call_id": identity, "name": "weather", "arguments": arguments}


def result(identity: str, output: Any = "rain") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": output}


def called(*identities: str) -> list[dict[str, Any]]:
    function = {"name": "weather", "arguments": '{"city":"Köln"}'}
    return [{"id": identity, "type": "function", "function": function} for identity in identities]


def test_the_least_request() -> None:
    assert to_openai() == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert to_anthropic() == {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "hi"}]}


def test_instructions_come_first() -> None:
    told = to_openai(instructions="be brief", input=[said("developer", text("in French")), said("user", text("hi"))])
    assert told["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "in French"},
        {"role": "user", "content": "hi"},
    ]


def test_settings_have_the_servers_names() -> None:
    told = to_openai(
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=7,
        stream=True,
        store=True,
        metadata={"a": "b"},
        include=["reasoning.encrypted_content", "message.output_text.logprobs"],
        top_logprobs=2,
        safety_identifier="u",
        user="older",
        prompt_cache_key="k",
        service_tier="flex",
        truncation="disabled",
        background=False,
        conversation=None,
        max_tool_calls=3,
        reasoning={"effort": "low", "summary": "auto"},
        text={"verbosity": "low"},
        stream_options={"include_obfuscation": False},
        top_k=5,
        seed=1,
        stop="END",
        presence_penalty=0.5,
        frequency_penalty=0.25,
    )
    assert told == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "logprobs": True,
        "top_logprobs": 2,
        "user": "u",
        "prompt_cache_key": "k",
        "service_tier": "flex",
        "verbosity": "low",
        "reasoning_effort": "low",
        "top_k": 5,
        "seed": 1,
        "stop": ["END"],
        "presence_penalty": 0.5,
        "frequency_penalty": 0.25,
    }


def test_hints_change_no_answer_and_need_not_be_understood() -> None:
    hints = {"metadata": {"a": "b"}, "prompt_cache_key": "k", "service_tier": "flex", "store": False}
    assert to_anthropic(**hints) == to_anthropic(text={"verbosity": "medium"}) == to_anthropic()


def test_how_many_words_it_may_be_is_told_to_openai_and_refused_elsewhere() -> None:
    assert to_openai(text={"verbosity": "low"})["verbosity"] == "low"
    with pytest.raises(UnsupportedParameter) as refused:
        to_anthropic(text={"verbosity": "low"})
    assert refused.value.param == "text.verbosity"


def test_thinking_can_be_turned_off() -> None:
    assert to_openai(reasoning={"effort": "none"})["reasoning_effort"] == "none"
    assert to_anthropic(reasoning={"effort": "none"})["thinking"] == {"type": "disabled"}
    assert to_anthropic(reasoning={"effort": "high"})["output_config"] == {"effort": "high"}
    assert "thinking" not in to_anthropic(reasoning={"summary": "auto"})


@pytest.mark.parametrize("asked", [{"format": {"type": "text"}}, {"format": None}, {}])
def test_plain_text_needs_no_format(asked: Any) -> None:
    assert "response_format" not in to_openai(text=asked)


def test_formats_of_an_answer() -> None:
    assert to_openai(text={"format": {"type": "json_object"}})["response_format"] == {"type": "json_object"}
    wanted = {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True, "description": "d"}
    assert to_openai(text={"format": wanted})["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "description": "d", "schema": SCHEMA, "strict": True},
    }
    assert to_anthropic(text={"format": wanted})["output_config"]["format"] == {"type": "json_schema", "schema": SCHEMA}


def test_tools_are_flat_there_and_wrapped_elsewhere() -> None:
    told = to_openai(tools=[TOOL], tool_choice={"type": "function", "name": "weather"}, parallel_tool_calls=False)
    function = {name: value for name, value in TOOL.items() if name != "type"}
    assert told["tools"] == [{"type": "function", "function": function}]
    assert told["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert told["parallel_tool_calls"] is False
    there = to_anthropic(tools=[TOOL], tool_choice="required")
    assert there["tools"][0]["input_schema"] == PARAMETERS
    assert there["tool_choice"]["type"] == "any"
    other = {**TOOL, "name": "other"}
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "other"}]}
    told = to_openai(tools=[TOOL, other], tool_choice=allowed)
    assert [tool["function"]["name"] for tool in told["tools"]] == ["other"]
    assert told["tool_choice"] == "required"


def test_a_tool_that_takes_nothing() -> None:
    (tool,) = to_openai(tools=[{"type": "function", "name": "now", "parameters": None, "strict": None}])["tools"]
    assert tool["function"] == {"name": "now", "parameters": {"type": "object", "properties": {}}}


def test_what_was_answered_together_is_one_message() -> None:
    turn = [said("assistant", {"type": "output_text", "text": "wait", "annotations": []}), call("a"), call("b")]
    assert messages(said("user", text("?")), *turn, result("a"), result("b", [text("sun")])) == [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "wait", "tool_calls": called("a", "b")},
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
        {"role": "tool", "tool_call_id": "b", "content": "sun"},
    ]


def test_calls_hold_words_behind_them_in_their_message() -> None:
    told = messages(said("user", text("?")), call("a"), said("assistant", {"type": "output_text", "text": "wait"}), result("a"))
    assert [message["role"] for message in told] == ["user", "assistant", "tool"]
    assert told[1] == {"role": "assistant", "content": "wait", "tool_calls": called("a")}


def test_answers_of_their_own_stay_apart() -> None:
    one, two = (said("assistant", {"type": "output_text", "text": words}) for words in ("one", "two"))
    assert messages(said("user", text("?")), one, two, call("a"), result("a"))[1:3] == [
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "two", "tool_calls": called("a")},
    ]


def test_steps_one_after_the_other_stay_in_their_order() -> None:
    told = messages(said("user", text("?")), call("a"), result("a"), call("b"), result("b"))
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "assistant", "tool"]


@pytest.mark.parametrize("content", ["hi", [{"type": "output_text", "text": "hi"}], [text("hi")]])
def test_easy_messages(content: Any) -> None:
    assert messages({"role": "user", "content": "?"}, {"role": "assistant", "content": content})[1] == {
        "role": "assistant",
        "content": "hi",
    }


def test_a_refusal_of_before() -> None:
    (told,) = messages(said("assistant", {"type": "refusal", "refusal": "no"}))
    assert told["content"] == [{"type": "refusal", "refusal": "no"}]


def test_pictures_sounds_and_files() -> None:
    parts = [
        {"type": "input_image", "image_url": "https://x/a.png", "detail": "low"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        {"type": "input_file", "file_id": "file-1"},
    ]
    (told,) = messages(said("user", *parts))
    assert told["content"] == [
        {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "auto"}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]
    there = to_anthropic(input=[said("user", {"type": "input_file", "file_url": "https://x/a.pdf"})])["messages"][0]["content"]
    assert there == [{"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}}]


def test_a_tool_that_shows_a_picture() -> None:
    shown = result("a", [text("see"), {"type": "input_image", "image_url": "data:image/png;base64,aGk="}])
    there = to_anthropic(input=[said("user", text("?")), call("a"), shown])["messages"][2]["content"]
    assert [block["type"] for block in there[0]["content"]] == ["text", "image"]


@pytest.mark.parametrize("thought", [Thinking("hm, 世界", "signed"), RedactedThinking("xyz"), Thinking("", "signed")])
def test_a_signed_thought_comes_back_word_for_word(thought: Thinking | RedactedThinking) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": thoughts.pack(thought)}
    answered = said("assistant", {"type": "output_text", "text": "hello"})
    (block, _) = to_anthropic(input=[said("user", text("?")), item, answered])["messages"][1]["content"]
    if isinstance(thought, RedactedThinking):
        assert block == {"type": "redacted_thinking", "data": "xyz"}
    else:
        assert block == {"type": "thinking", "thinking": thought.text, "signature": "signed"}


@pytest.mark.parametrize("packed", [None, "gAAAAABm", "antiphon.", "antiphon.!!", "antiphon.AAAA"])
def test_a_thought_that_others_packed_is_read_by_its_words(packed: str | None) -> None:
    shown = [{"type": "reasoning_text", "text": "hm"}]
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": shown, "encrypted_content": packed}
    answered = said("assistant", {"type": "output_text", "text": "hello"})
    assert messages(said("user", text("?")), item, answered)[1] == {
        "role": "assistant",
        "content": "hello",
        "reasoning_content": "hm",
    }
    assert to_anthropic(input=[said("user", text("?")), item, answered])["messages"][1]["content"] == "hello"


def test_a_thought_that_nobody_can_read_is_no_message() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABm"}
    assert [message["role"] for message in messages(said("user", text("?")), item, said("user", text("well?")))] == ["user", "user"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"truncation": "auto"}, "truncation"),
        ({"context_management": [{"type": "compaction"}]}, "context_management"),
        ({"something_new": 1}, "something_new"),
        ({"stream_options": {"include_obfuscation": True}}, "stream_options.include_obfuscation"),
        ({"reasoning": {"context": "all_turns"}}, "reasoning.context"),
        ({"reasoning": {"mode": "pro"}}, "reasoning.mode"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [TOOL, {"type": "custom", "name": "c"}]}, "tools[1].type"),
        ({"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://x"}]}, "tools[0].type"),
        ({"tools": [{**TOOL, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"tools": [{**TOOL, "allowed_callers": ["programmatic"]}]}, "tools[0].allowed_callers"),
        ({"input": [{"type": "web_search_call", "id": "ws", "status": "completed"}]}, "input[0].type"),
        ({"input": [{"type": "computer_call_output", "call_id": "c", "output": {"type": "x"}}]}, "input[0].type"),
        ({"input": [{**call("a"), "namespace": "crm"}]}, "input[0].namespace"),
        ({"input": [said("user", {"type": "input_image", "file_id": "file-1"})]}, "input[0].content[0].file_id"),
        ({"input": [said("user", {"type": "input_file", "file_id": "f", "detail": "high"})]}, "input[0].content[0].detail"),
        ({"background": True, "drop_unsupported": None}, "background"),
    ],
)
def test_what_no_other_server_has_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    for ask in (to_openai, to_anthropic):
        with pytest.raises(UnsupportedParameter) as refused:
            ask(**fields)
        assert refused.value.param == param
        assert refused.value.remedy


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": 7}, "input"),
        ({"input": [7]}, "input[0]"),
        ({"input": [{}]}, "input[0].type"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "wizard", "content": "x"}]}, "input[0].role"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"input": [{"id": "msg_1"}]}, "input[0].id"),
        ({"input": [said("user", {"type": "text", "text": "x"})]}, "input[0].content[0].type"),
        ({"input": [said("user", {"type": "input_text"})]}, "input[0].content[0].text"),
        ({"input": [said("user", {"type": "input_image"})]}, "input[0].content[0].image_url"),
        ({"input": [said("user", {"type": "input_file", "file_data": "aGk="})]}, "input[0].content[0].file_data"),
        ({"input": [said("system", {"type": "input_image", "image_url": "https://x/a.png"})]}, "input[0].content"),
        ({"input": [call("a", "{broken")]}, "input[0].arguments"),
        ({"input": [call("a", "[]")]}, "input[0].arguments"),
        ({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}, "input[0].call_id"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0].call_id"),
        ({"input": [result("a", [{"type": "refusal", "refusal": "x"}])]}, "input[0].output[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "f", "parameters": []}]}, "tools[0].parameters"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"include": ["everything"]}, "include[0]"),
        ({"metadata": {"a": 1}}, "metadata[...]"),
        ({"temperature": "hot"}, "temperature"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        to_openai(**fields)
    assert not isinstance(refused.value, UnsupportedParameter)
    assert refused.value.param == param
    assert refused.value.remedy


def test_a_response_that_another_server_keeps_cannot_be_continued() -> None:
    with pytest.raises(PreviousResponseNotFound, match="'resp_68af' not found") as refused:
        to_openai(previous_response_id="resp_68af")
    assert refused.value.param == "previous_response_id"
    assert to_openai(previous_response_id=ids.new()) == to_openai()
