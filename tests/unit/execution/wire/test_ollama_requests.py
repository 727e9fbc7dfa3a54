"""Requests of Ollama's dialect written for other servers, and those of other dialects written for Ollama's."""

import base64
import json
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import InvalidRequest, UnsupportedParameter
from antiphon.execution.wire import chat
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.ollama import chat as ollama
from antiphon.execution.wire.openai import chat as openai_chat

ABLE = ChatAbilities(reasoning="effort", top_k=True, min_p=True, repetition_penalty=True)
PLAIN = ChatAbilities()
HI = [{"role": "user", "content": "hi"}]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"type": "function", "function": {"name": "weather", "description": "tells it", "parameters": SCHEMA}}
CALL = {"function": {"name": "weather", "arguments": {"city": "Łódź", "n": 12345678901234567890123}}}


def read(**fields: Any) -> chat.ChatRequest:
    return ollama.decode_request(json.dumps({"model": "m", "messages": HI, **fields}).encode())


def read_generate(**fields: Any) -> chat.ChatRequest:
    return ollama.decode_generate_request(json.dumps({"model": "m", "prompt": "hi", **fields}).encode())


def to_openai(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    return json.loads(openai_chat.encode_request(read(**fields), abilities))


def from_openai(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    asked = {"model": "m", "messages": HI, **fields}
    return json.loads(ollama.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), abilities))


def from_anthropic(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    asked = {"model": "m", "max_tokens": 9, "messages": HI, **fields}
    return json.loads(ollama.encode_request(anthropic.decode_request(json.dumps(asked).encode()), abilities))


def again(**fields: Any) -> dict[str, Any]:
    """A request of the dialect, read and written again."""
    return json.loads(ollama.encode_request(read(**fields), ABLE))


def test_the_least_request_is_a_streamed_one() -> None:
    assert to_openai() == {"model": "m", "messages": HI, "stream": True, "stream_options": {"include_usage": True}}
    assert to_openai(stream=None)["stream"] is True
    assert "stream" not in to_openai(stream=False)
    assert read_generate().stream
    assert not read_generate(stream=False).stream


def test_whether_to_stream_is_always_told_to_a_server() -> None:
    assert from_openai() == {"model": "m", "messages": HI, "stream": False}
    assert from_openai(stream=True)["stream"] is True


def test_options_have_their_names() -> None:
    options = {
        "num_predict": 7,
        "temperature": 0.5,
        "top_k": 5,
        "top_p": 0.9,
        "min_p": 0.05,
        "repeat_penalty": 1.1,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "seed": 42,
        "stop": ["a", "b"],
    }
    there = {
        "max_tokens": 7,
        "temperature": 0.5,
        "top_k": 5,
        "top_p": 0.9,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "seed": 42,
        "stop": ["a", "b"],
    }
    assert to_openai(options=options) == {**to_openai(), **there}
    assert from_openai(**there)["options"] == options
    assert again(options=options)["options"] == options


def test_options_that_ask_for_nothing_are_not_told() -> None:
    nothing = {"num_predict": -1, "top_k": 0, "seed": -1, "stop": [""], "mirostat": 0, "typical_p": 1.0, "temperature": None}
    assert to_openai(PLAIN, options=nothing, format="", think=None, suffix="", tools=[]) == to_openai()
    assert to_openai(PLAIN, options={"num_predict": -2, "min_p": 0.0, "repeat_penalty": 1.0, "repeat_last_n": -1}) == to_openai()
    assert to_openai(options={"stop": "x"})["stop"] == ["x"]


def test_options_about_loading_and_what_is_kept_are_left_out_elsewhere_and_passed_on_to_their_own_kind() -> None:
    hints = {"options": {"num_ctx": 8192, "num_gpu": 1, "use_mmap": True}, "keep_alive": "5m", "truncate": True, "shift": True}
    assert to_openai(PLAIN, **hints) == to_openai()
    assert again(**hints) == {"model": "m", "messages": HI, "stream": True, **hints}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"options": {"mirostat": 2}}, "options.mirostat"),
        ({"options": {"repeat_last_n": 64}}, "options.repeat_last_n"),
        ({"options": {"typical_p": 0.5}}, "options.typical_p"),
        ({"options": {"brand_new": 1}}, "options.brand_new"),
        ({"brand_new": {"a": 1}}, "brand_new"),
        ({"options": {"top_k": 5}}, "top_k"),
        ({"options": {"min_p": 0.1}}, "min_p"),
        ({"options": {"repeat_penalty": 1.3}}, "repetition_penalty"),
    ],
)
def test_what_only_ollama_knows_is_refused_by_name_elsewhere(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        to_openai(PLAIN, **fields)
    assert caught.value.param == param
    assert {**again(), **fields} == again(**fields)


@pytest.mark.parametrize(("field", "value"), [("raw", True), ("template", "{{ .Prompt }}"), ("context", [1, 2]), ("suffix", "end")])
def test_what_no_conversation_can_say_is_refused_of_a_generation(field: str, value: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        read_generate(**{field: value})
    assert caught.value.param == field


def test_a_generation_is_a_conversation_of_one_turn() -> None:
    told = json.loads(openai_chat.encode_request(read_generate(system="Be brief.", images=[PNG], raw=False, context=[]), PLAIN))
    assert told["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "text", "text": "hi"},
            ],
        },
    ]
    assert json.loads(openai_chat.encode_request(read_generate(), PLAIN))["messages"] == HI


def test_a_request_to_load_a_model_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="load a model") as caught:
        read(messages=[])
    assert caught.value.param == "messages"
    with pytest.raises(InvalidRequest, match="load a model") as caught:
        read_generate(prompt="")
    assert caught.value.param == "prompt"


def test_roles() -> None:
    told = [{"role": "system", "content": "a"}, *HI, {"role": "assistant", "content": "b"}, {"role": "system", "content": "c"}]
    assert to_openai(messages=told)["messages"] == told
    assert from_openai(messages=[{"role": "developer", "content": "a"}, *told])["messages"] == [
        {"role": "system", "content": "a"},
        *told,
    ]
    with pytest.raises(InvalidRequest) as caught:
        read(messages=[{"role": "robot", "content": "x"}])
    assert caught.value.param == "messages[0].role"


def test_several_texts_of_one_message_become_one() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert from_openai(messages=[{"role": "user", "content": parts}])["messages"] == [{"role": "user", "content": "a\n\nb"}]
    assert from_anthropic(system=parts)["messages"][0] == {"role": "system", "content": "a\n\nb"}


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n0000", "image/png"),
        (b"\xff\xd8\xff\xe000000000", "image/jpeg"),
        (b"GIF89a000000", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"BM0000000000", "image/bmp"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"\0\0\0\x1cftypheic", "image/heic"),
    ],
)
def test_the_kind_of_an_image_is_told_by_its_first_bytes(head: bytes, kind: str) -> None:
    data = base64.b64encode(head + b"rest").decode()
    shown = to_openai(messages=[{**HI[0], "images": [data]}])["messages"][0]["content"]
    assert shown[0] == {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    assert shown[1] == {"type": "text", "text": "hi"}


@pytest.mark.parametrize("data", ["", "aGk=", "not base64!", "data:image/png;base64,aGk="])
def test_what_is_no_image_is_refused_by_its_place(data: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(messages=[{**HI[0], "images": [PNG, data]}])
    assert caught.value.param == "messages[0].images[1]"


def image(data: str = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("parts", "messages"),
    [
        ([text("a"), image()], [{"content": "a", "images": [PNG]}]),
        ([image(), text("a")], [{"content": "a", "images": [PNG]}]),
        ([image(), image(), text("a"), text("b")], [{"content": "a\n\nb", "images": [PNG, PNG]}]),
        ([image()], [{"content": "", "images": [PNG]}]),
        ([text("a"), image(), text("b")], [{"content": "a"}, {"content": "b", "images": [PNG]}]),
        (
            [text("a"), image(), text("b"), image(), image(), text("c")],
            [{"content": "a"}, {"content": "b", "images": [PNG]}, {"content": "c", "images": [PNG, PNG]}],
        ),
        ([image(), text("a"), image()], [{"content": "a", "images": [PNG]}, {"content": "", "images": [PNG]}]),
    ],
)
def test_images_keep_their_place_between_texts(parts: list[Any], messages: list[dict[str, Any]]) -> None:
    told = from_openai(messages=[{"role": "user", "content": parts}])["messages"]
    assert told == [{"role": "user", **message} for message in messages]


def test_an_image_must_come_as_data_and_to_a_model_that_sees() -> None:
    shown = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]
    with pytest.raises(UnsupportedParameter, match="fetches no images") as caught:
        from_openai(messages=shown)
    assert caught.value.param == "messages[0].content"
    with pytest.raises(UnsupportedParameter, match="sees no images"):
        from_openai(ChatAbilities(images=False), messages=[{"role": "user", "content": [image()]}])


def test_documents_of_plain_text_are_text_and_others_are_refused() -> None:
    note = {"type": "document", "title": "note", "source": {"type": "text", "media_type": "text/plain", "data": "milk"}}
    told = from_anthropic(messages=[{"role": "user", "content": [note, text("what?")]}])
    assert told["messages"][0]["content"] == "note\n\nmilk\n\nwhat?"
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}}
    with pytest.raises(UnsupportedParameter, match="document") as caught:
        from_anthropic(messages=[{"role": "user", "content": [pdf]}])
    assert caught.value.param == "messages[0].content"
    sound = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}
    with pytest.raises(UnsupportedParameter, match="audio"):
        from_openai(messages=[{"role": "user", "content": [sound]}])


def test_tools_from_ollama_with_results_that_name_the_tool() -> None:
    other = {"function": {"name": "time", "arguments": {}}}
    told = to_openai(
        tools=[FUNCTION],
        messages=[
            *HI,
            {"role": "assistant", "content": "", "tool_calls": [CALL, other, CALL]},
            {"role": "tool", "content": "20°", "tool_name": "weather"},
            {"role": "tool", "content": "noon", "tool_name": "time"},
            {"role": "tool", "content": "21°", "name": "weather"},
            {"role": "assistant", "content": "more", "tool_calls": [other]},
            {"role": "tool", "content": "one"},
        ],
    )
    assert told["tools"] == [FUNCTION]
    calls = told["messages"][1]["tool_calls"]
    assert [call["id"] for call in calls] == ["call_0", "call_1", "call_2"]
    assert json.loads(calls[0]["function"]["arguments"]) == CALL["function"]["arguments"]
    assert "12345678901234567890123" in calls[0]["function"]["arguments"]
    assert told["messages"][1]["content"] is None
    results = [(message["tool_call_id"], message["content"]) for message in told["messages"] if message["role"] == "tool"]
    assert results == [("call_0", "20°"), ("call_1", "noon"), ("call_2", "21°"), ("call_3", "one")]


def test_ids_that_newer_clients_send_are_kept() -> None:
    calls = [{**CALL, "id": "call_0"}, CALL, {**CALL, "id": "x"}]
    results = [
        {"role": "tool", "content": "c", "tool_call_id": "x"},
        {"role": "tool", "content": "a", "tool_name": "weather"},
        {"role": "tool", "content": "b", "tool_name": "weather"},
    ]
    told = to_openai(messages=[*HI, {"role": "assistant", "tool_calls": calls}, *results])["messages"]
    assert [call["id"] for call in told[1]["tool_calls"]] == ["call_0", "call_1", "x"]
    assert [(message["tool_call_id"], message["content"]) for message in told[2:]] == [("x", "c"), ("call_0", "a"), ("call_1", "b")]


def test_calls_told_in_several_messages_of_a_stream_are_one_message() -> None:
    said = {"role": "assistant", "content": "so"}
    calling = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    answered = [{"role": "tool", "content": told, "tool_name": "weather"} for told in ("20°", "21°")]
    user, call, *results, last = to_openai(messages=[*HI, calling, calling, said, *answered, said])["messages"]
    assert [message["role"] for message in (user, call, last)] == ["user", "assistant", "assistant"]
    assert call["content"] == last["content"] == "so"
    assert [made["id"] for made in call["tool_calls"]] == ["call_0", "call_1"]
    assert [(result["tool_call_id"], result["content"]) for result in results] == [("call_0", "20°"), ("call_1", "21°")]


def test_a_call_without_a_result_gets_none_of_a_later_one() -> None:
    calling = {"role": "assistant", "tool_calls": [CALL]}
    told = to_openai(messages=[*HI, calling, *HI, calling, {"role": "tool", "content": "20°", "tool_name": "weather"}])["messages"]
    assert told[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "20°"}


def test_the_ids_made_for_a_conversation_stay_the_same_as_it_grows() -> None:
    turns = [*HI, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "20°"}]
    more = [*turns, {"role": "assistant", "content": "20"}, {"role": "user", "content": "and now?"}]
    assert to_openai(messages=more)["messages"][: len(turns)] == to_openai(messages=turns)["messages"]


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([{"role": "tool", "content": "x", "tool_name": "weather"}], "messages[0].tool_name"),
        ([{"role": "tool", "content": "x"}], "messages[0]"),
        (
            [{"role": "assistant", "tool_calls": [CALL]}, *[{"role": "tool", "content": "x", "tool_name": "weather"}] * 2],
            "messages[2].tool_name",
        ),
        ([{"role": "user", "tool_calls": [CALL]}], "messages[0].tool_calls"),
        (
            [{"role": "assistant", "tool_calls": [CALL, {"function": {"name": "f", "arguments": '{"a'}}]}],
            "messages[0].tool_calls[1].function.arguments",
        ),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": []}}]}],
         "messages[0].tool_calls[0].function.arguments"),
        ([{"role": "assistant", "tool_calls": [{"function": {}}]}], "messages[0].tool_calls[0].function.name"),
    ],
)  # fmt: skip
def test_a_broken_history_is_refused_by_its_place(messages: list[Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(messages=messages)
    assert caught.value.param == param


def test_calls_and_results_for_ollama() -> None:
    call = {
        "id": "c:0",
        "type": "function",
        "function": {"name": "weather", "arguments": json.dumps(CALL["function"]["arguments"])},
    }
    told = from_openai(
        tools=[FUNCTION],
        messages=[
            *HI,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c:0", "content": "20°"},
        ],
    )
    assert told["tools"] == [FUNCTION]
    assert told["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c:0", "function": {"index": 0, **CALL["function"]}}],
        },
        {"role": "tool", "content": "20°", "tool_name": "weather", "tool_call_id": "c:0"},
    ]


def test_a_failed_result_and_one_with_an_image_for_ollama() -> None:
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}

    def result(**fields: Any) -> dict[str, Any]:
        answered = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", **fields}]}
        return from_anthropic(messages=[*HI, {"role": "assistant", "content": [use]}, answered])["messages"][2]

    named = {"role": "tool", "tool_name": "look", "tool_call_id": "t"}
    assert result(content="no", is_error=True) == {**named, "content": "Error: no"}
    assert result(is_error=True) == {**named, "content": "Error: "}
    assert result(content=[picture, text("seen")]) == {**named, "content": "seen", "images": [PNG]}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [FUNCTION], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "weather"}}}, "tool_choice"),
        ({"tools": [FUNCTION], "parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"tools": [{"type": "function", "function": {**FUNCTION["function"], "strict": True}}]}, "tools[0].strict"),  # type: ignore[dict-item]
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        ({"n": 2}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"logit_bias": {"1": 2}}, "logit_bias"),
        ({"audio": {"voice": "x"}}, "audio"),
    ],
)
def test_what_ollama_has_no_like_of_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        from_openai(**fields)
    assert caught.value.param == param


def test_tools_are_not_shown_to_a_model_that_must_not_call_them() -> None:
    assert "tools" not in from_openai(tools=[FUNCTION], tool_choice="none")
    assert from_openai(tools=[FUNCTION], tool_choice="auto", parallel_tool_calls=True)["tools"] == [FUNCTION]
    with pytest.raises(UnsupportedParameter, match="does not call tools"):
        from_openai(ChatAbilities(tools=False), tools=[FUNCTION])


def test_a_tool_without_a_schema_takes_nothing() -> None:
    least = {"type": "function", "function": {"name": "now"}}
    nothing = {"type": "object", "properties": {}}
    assert from_openai(tools=[least])["tools"][0]["function"]["parameters"] == nothing
    assert to_openai(tools=[{"function": {"name": "now"}}])["tools"][0]["function"]["parameters"] == nothing
    with pytest.raises(InvalidRequest) as caught:
        read(tools=[{"function": {"name": "now", "parameters": [1]}}])
    assert caught.value.param == "tools[0].function.parameters"


def test_formats() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert to_openai(format="json")["response_format"] == {"type": "json_object"}
    assert to_openai(format=SCHEMA)["response_format"] == wanted
    assert from_openai(response_format={"type": "json_object"})["format"] == "json"
    assert from_openai(response_format=wanted)["format"] == SCHEMA
    assert "format" not in from_openai(response_format={"type": "text"})
    with pytest.raises(UnsupportedParameter, match="schema"):
        from_openai(ChatAbilities(json_schema=False), response_format=wanted)
    for wrong in ("yaml", 7, [SCHEMA], True):
        with pytest.raises(InvalidRequest) as caught:
            read(format=wrong)
        assert caught.value.param == "format"


@pytest.mark.parametrize(("think", "effort"), [(False, "none"), ("low", "low"), ("high", "high"), (True, None), (None, None)])
def test_thinking_from_ollama(think: Any, effort: str | None) -> None:
    assert to_openai(think=think).get("reasoning_effort") == effort


@pytest.mark.parametrize(
    ("effort", "think"),
    [("none", False), ("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high"), ("xhigh", "high"), (None, None)],
)
def test_thinking_for_ollama(effort: str | None, think: Any) -> None:
    assert from_openai(reasoning_effort=effort).get("think") == think


def test_thinking_is_asked_for_of_models_that_think_and_forbidden_to_all() -> None:
    assert "think" not in from_openai(PLAIN, reasoning_effort="high")
    assert from_openai(PLAIN, reasoning_effort="none")["think"] is False
    assert from_anthropic(thinking={"type": "adaptive"})["think"] is True
    assert from_anthropic(thinking={"type": "enabled", "budget_tokens": 4096})["think"] == "medium"
    with pytest.raises(InvalidRequest) as caught:
        read(think="a lot")
    assert caught.value.param == "think"


def test_thoughts_of_earlier_answers() -> None:
    told = {"role": "assistant", "content": "4", "thinking": "2+2"}
    assert again(messages=[*HI, told])["messages"][1] == told
    able = msgspec.structs.replace(ABLE, reasoning_back=True)
    assert to_openai(able, messages=[*HI, told])["messages"][1]["reasoning_content"] == "2+2"
    blocks = [
        {"type": "thinking", "thinking": "2+2", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "4"},
    ]
    assert from_anthropic(messages=[*HI, {"role": "assistant", "content": blocks}])["messages"][1] == told


def test_logprobs() -> None:
    asked = {"logprobs": True, "top_logprobs": 2}
    assert {**to_openai(), **asked} == to_openai(**asked)
    assert {**from_openai(), **asked} == from_openai(**asked)
    with pytest.raises(UnsupportedParameter, match="logprobs"):
        from_openai(ChatAbilities(logprobs=False), **asked)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": 7}, "messages"),
        ({"messages": [7]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"options": 7}, "options"),
        ({"options": {"temperature": "hot"}}, "options.temperature"),
        ({"options": {"stop": [1]}}, "options.stop[0]"),
        ({"stream": "yes"}, "stream"),
        ({"think": 3}, "think"),
        ({"tools": [{}]}, "tools[0].function"),
        ({"tools": [{**FUNCTION, "type": "web"}]}, "tools[0].type"),
        ({"model": None}, "model"),
    ],
)
def test_a_wrong_value_is_refused_by_its_place(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model": "m"', b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    for decode in (ollama.decode_request, ollama.decode_generate_request):
        with pytest.raises(InvalidRequest):
            decode(body)
