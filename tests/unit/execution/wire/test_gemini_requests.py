"""Requests of OpenAI's and Anthropic's callers written for Gemini, each held to the types of Google's own client."""

import json
from typing import Any

import pytest
from google.genai import types

from antiphon.core.errors import InvalidRequest, UnsupportedParameter
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.gemini import chat as gemini
from antiphon.execution.wire.gemini.turns import NO_SIGNATURE
from antiphon.execution.wire.openai import chat as openai_chat

ABLE = ChatAbilities(reasoning="budget", documents=True, audio=True)
HI: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: dict[str, Any] = {"type": "function", "function": {"name": "weather", "description": "tells it", "parameters": SCHEMA}}
TOOL: dict[str, Any] = {"name": "weather", "description": "tells it", "input_schema": SCHEMA}
DECLARED = {"name": "weather", "description": "tells it", "parametersJsonSchema": SCHEMA}
SIGNATURE = "c2lnbmVk"
TELL = {"includeThoughts": True}
OTHER = "b3RoZXIx"


def checked(body: bytes) -> dict[str, Any]:
    """A body that Google's client knows each field of."""
    told: dict[str, Any] = json.loads(body)
    assert told.keys() <= {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}
    for content in [*told["contents"], told.get("systemInstruction", {})]:
        types.Content.model_validate_json(json.dumps(content))
    for tool in told.get("tools", ()):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(told.get("toolConfig", {}))
    types.GenerationConfig.model_validate(told.get("generationConfig", {}))
    return told


def from_openai(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    asked = {"model": "m", "messages": HI, **fields}
    return checked(gemini.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), abilities))


def from_anthropic(abilities: ChatAbilities = ABLE, /, **fields: Any) -> dict[str, Any]:
    asked = {"model": "m", "max_tokens": 100, "messages": HI, **fields}
    return checked(gemini.encode_request(anthropic.decode_request(json.dumps(asked).encode()), abilities))


def config(told: dict[str, Any]) -> dict[str, Any]:
    return told.get("generationConfig", {})


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(identity: str = "c1", name: str = "weather", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def signed(signature: str) -> dict[str, Any]:
    return {"extra_content": {"google": {"thought_signature": signature}}}


def called(identity: str = "c1", name: str = "weather", signature: str = NO_SIGNATURE, /, **arguments: Any) -> dict[str, Any]:
    told = {"functionCall": {"id": identity, "name": name, "args": arguments}}
    return {**told, "thoughtSignature": signature} if signature else told


def result(identity: str = "c1", name: str = "weather", /, **response: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": identity, "name": name, "response": response}}


def test_the_least_request() -> None:
    assert from_openai() == {"contents": [user({"text": "hi"})]}
    assert from_anthropic() == {"contents": [user({"text": "hi"})], "generationConfig": {"maxOutputTokens": 100}}


def test_roles() -> None:
    told = from_openai(
        messages=[
            {"role": "system", "content": "be brief"},
            {"role": "developer", "content": [{"type": "text", "text": "in French"}]},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            {"role": "user", "content": "c"},
            {"role": "user", "content": [{"type": "text", "text": "d"}, {"type": "text", "text": "e"}]},
        ]
    )
    assert told["systemInstruction"] == {"parts": [{"text": "be brief"}, {"text": "in French"}]}
    assert told["contents"] == [
        user({"text": "a"}),
        model({"text": "b"}, {"text": "no"}),
        user({"text": "c"}, {"text": "d"}, {"text": "e"}),
    ]
    assert from_anthropic(system="be brief")["systemInstruction"] == {"parts": [{"text": "be brief"}]}


def test_a_system_message_alone_is_asked_as_the_user() -> None:
    assert from_openai(messages=[{"role": "system", "content": "hello?"}]) == {"contents": [user({"text": "hello?"})]}


def test_messages_without_words() -> None:
    told = from_openai(messages=[{"role": "user", "content": ""}, {"role": "assistant", "content": ""}, *HI])
    assert told["contents"] == [user({"text": ""}, {"text": "hi"})]


def test_settings_have_their_names() -> None:
    told = from_openai(
        max_completion_tokens=7, temperature=0.5, top_p=0.9, top_k=5, stop=["a", "b"], n=2, seed=-3, presence_penalty=0.1,
        frequency_penalty=-0.2, user="u", metadata={"x": "y"}, stream=True, stream_options={"include_usage": True},
    )  # fmt: skip
    assert config(told) == {
        "maxOutputTokens": 7, "temperature": 0.5, "topP": 0.9, "topK": 5, "stopSequences": ["a", "b"], "candidateCount": 2,
        "seed": -3, "presencePenalty": 0.1, "frequencyPenalty": -0.2,
    }  # fmt: skip
    told = from_anthropic(top_k=5, stop_sequences=["END"], metadata={"user_id": "u"}, service_tier="auto")
    assert config(told) == {"maxOutputTokens": 100, "topK": 5, "stopSequences": ["END"]}


def test_settings_that_ask_for_nothing_are_left_out() -> None:
    assert config(from_openai(min_p=0, repetition_penalty=1.0, logit_bias={}, user="", n=None)) == {}


def test_one_stop_sequence_may_stand_alone() -> None:
    assert config(from_openai(stop="x")) == {"stopSequences": ["x"]}


def test_log_probabilities() -> None:
    assert config(from_openai(logprobs=True, top_logprobs=3)) == {"responseLogprobs": True, "logprobs": 3}
    assert config(from_openai(logprobs=True)) == {"responseLogprobs": True}
    assert config(from_openai(logprobs=False, top_logprobs=0)) == {}


PNG = "data:image/png;base64,aGk="
DATA = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


@pytest.mark.parametrize(
    ("url", "part"),
    [
        (PNG, DATA),
        ("https://e.com/a.png?b=c", {"fileData": {"mimeType": "image/png", "fileUri": "https://e.com/a.png?b=c"}}),
        ("https://e.com/a.JPG", {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://e.com/a.JPG"}}),
        ("http://e.com/a", {"fileData": {"fileUri": "http://e.com/a"}}),
        ("http://[e.com/a", {"fileData": {"fileUri": "http://[e.com/a"}}),
    ],
)
def test_images(url: str, part: dict[str, Any]) -> None:
    content = [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": url, "detail": "low"}}]
    assert from_openai(messages=[{"role": "user", "content": content}])["contents"] == [user({"text": "what?"}, part)]


def test_images_of_anthropics_callers() -> None:
    sources = [{"type": "base64", "media_type": "image/png", "data": "aGk="}, {"type": "url", "url": "https://e.com/a.webp"}]
    told = from_anthropic(messages=[{"role": "user", "content": [{"type": "image", "source": source} for source in sources]}])
    web = {"fileData": {"mimeType": "image/webp", "fileUri": "https://e.com/a.webp"}}
    assert told["contents"] == [user(DATA, web)]


def test_sound() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}
    told = from_openai(messages=[{"role": "user", "content": [sound]}])
    assert told["contents"] == [user({"inlineData": {"mimeType": "audio/mp3", "data": "aGk="}})]


def test_documents() -> None:
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}
    told = from_openai(messages=[{"role": "user", "content": [pdf]}])
    data = {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}}
    assert told["contents"] == [user({"text": "a.pdf"}, data)]
    url = {"type": "document", "source": {"type": "url", "url": "https://e.com/a.pdf"}}
    plain = {
        "type": "document",
        "source": {"type": "text", "data": "words", "media_type": "text/plain"},
        "title": "T",
        "context": "C",
    }
    told = from_anthropic(messages=[{"role": "user", "content": [url, plain]}])
    web = {"fileData": {"mimeType": "application/pdf", "fileUri": "https://e.com/a.pdf"}}
    assert told["contents"] == [user(web, {"text": "T\n\nC\n\nwords"})]


def test_tools() -> None:
    assert from_openai(tools=[FUNCTION])["tools"] == [{"functionDeclarations": [DECLARED]}]
    assert from_anthropic(tools=[TOOL])["tools"] == [{"functionDeclarations": [DECLARED]}]
    assert "toolConfig" not in from_openai(tools=[FUNCTION])


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object", "properties": {}},
        {"properties": {}, "required": [], "type": "object", "additionalProperties": False},
    ],
)
def test_a_tool_that_takes_nothing_has_no_parameters(schema: Any) -> None:
    told = from_openai(tools=[{"type": "function", "function": {"name": "now", "parameters": schema}}])
    assert told["tools"] == [{"functionDeclarations": [{"name": "now"}]}]


UNION = {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"a": UNION}, "$defs": {"b": {"const": 12345678901234567890}}},
    ],
)
def test_schemas_stay_as_they_are(schema: dict[str, Any]) -> None:
    told = from_openai(tools=[{"type": "function", "function": {"name": "f", "parameters": {"$schema": "draft", **schema}}}])
    assert told["tools"] == [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ({"type": "function", "function": {"name": "weather"}}, {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
    ],
)
def test_tool_choice(theirs: Any, ours: dict[str, Any]) -> None:
    told = from_openai(tools=[FUNCTION], tool_choice=theirs, parallel_tool_calls=True)
    assert told["toolConfig"] == {"functionCallingConfig": ours}


def test_tool_choice_of_anthropics_callers() -> None:
    told = from_anthropic(tools=[TOOL], tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": False})
    assert told["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}}


def test_a_choice_among_some_tools_leaves_the_others_out() -> None:
    other = {"type": "function", "function": {"name": "other"}}
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
    told = from_openai(tools=[FUNCTION, other], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert told["tools"] == [{"functionDeclarations": [DECLARED]}]
    assert told["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}


def test_a_strict_tool_is_called_as_it_is_declared() -> None:
    strict = {**FUNCTION, "function": {**FUNCTION["function"], "strict": True}}
    assert from_openai(tools=[strict])["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    told = from_openai(tools=[strict], tool_choice="required")
    assert told["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}


def test_calls_and_their_results() -> None:
    calling = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call(arguments='{"n": 12345678901234567890}'), call("c2", "time")],
    }
    told = from_openai(
        messages=[
            *HI,
            calling,
            {"role": "tool", "tool_call_id": "c2", "content": "noon"},
            {"role": "tool", "tool_call_id": "c1", "content": '{"t": 20}'},
            {"role": "user", "content": "so?"},
        ]
    )
    assert told["contents"][1:] == [
        model(called(n=12345678901234567890), called("c2", "time", "")),
        user(result(output='{"t": 20}'), result("c2", "time", output="noon")),
        user({"text": "so?"}),
    ]


def test_results_of_anthropics_callers() -> None:
    calls = [{"type": "tool_use", "id": identity, "name": "weather", "input": {}} for identity in ("a", "b", "c")]
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": "a"},
        {"type": "tool_result", "tool_use_id": "b", "content": "no such place", "is_error": True},
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
    ]
    turns: list[dict[str, Any]] = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    told = from_anthropic(messages=[*HI, *turns])
    assert told["contents"][2] == user(
        result("a", output=""), result("b", error="no such place"), result("c", output=["x", "y"])
    )  # fmt: skip


def test_what_a_result_shows_follows_as_if_the_user_showed_it() -> None:
    content = [{"type": "text", "text": "a chart"}, {"type": "image_url", "image_url": {"url": PNG}}]
    calling = {"role": "assistant", "tool_calls": [call()]}
    told = from_openai(messages=[*HI, calling, {"role": "tool", "tool_call_id": "c1", "content": content}, *HI])
    assert told["contents"][2:] == [
        user(result(output="a chart")),
        user({"text": "Belongs to the result of the call c1:"}, DATA, {"text": "hi"}),
    ]


def test_an_id_that_comes_twice_belongs_to_the_latest_call() -> None:
    def turn(name: str, answer: str) -> list[dict[str, Any]]:
        calling = {"role": "assistant", "tool_calls": [call(name=name)]}
        return [calling, {"role": "tool", "tool_call_id": "c1", "content": answer}]

    told = from_openai(messages=[*HI, *turn("weather", "rain"), *turn("time", "noon")])
    assert [told["contents"][at] for at in (2, 4)] == [user(result(output="rain")), user(result("c1", "time", output="noon"))]


def test_a_result_without_its_call_is_refused_unless_it_names_it() -> None:
    alone = {"role": "tool", "tool_call_id": "c9", "content": "rain"}
    with pytest.raises(InvalidRequest, match="c9") as told:
        from_openai(messages=[*HI, alone])
    assert told.value.param == "messages[1].tool_call_id"
    assert from_openai(messages=[*HI, {**alone, "name": "weather"}])["contents"][1] == user(result("c9", output="rain"))
    with pytest.raises(InvalidRequest) as told:
        from_anthropic(messages=[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}])
    assert told.value.param == "messages[0].content"


def test_the_signature_of_a_call_comes_back_with_it() -> None:
    calls = [call(**signed(SIGNATURE)), call("c2", "time"), call("c3", "time", **signed(OTHER))]
    told = from_openai(messages=[*HI, {"role": "assistant", "content": "wait", "tool_calls": calls}])
    assert told["contents"][1] == model(
        {"text": "wait"}, called("c1", "weather", SIGNATURE), called("c2", "time", ""), called("c3", "time", OTHER)
    )


def test_a_call_of_another_vendors_model_is_said_to_have_no_signature() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "by Claude"}
    secret = {"type": "redacted_thinking", "data": "xyz"}
    use = {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}
    told = from_anthropic(messages=[*HI, {"role": "assistant", "content": [thought, secret, use]}])
    assert told["contents"][1] == model(called())


def test_the_signature_of_a_text_comes_back_with_it() -> None:
    block = {"type": "thinking", "thinking": "", "signature": f"antiphon:gemini:{SIGNATURE}"}
    text = {"type": "text", "text": "so"}
    part = {"text": "so", "thoughtSignature": SIGNATURE}
    told = from_anthropic(messages=[*HI, {"role": "assistant", "content": [text, block]}])
    assert told["contents"][1] == model(part)
    told = from_openai(messages=[*HI, {"role": "assistant", "content": "so", "thinking_blocks": [block]}])
    assert told["contents"][1] == model(part)


def test_a_signature_without_its_text_is_not_lost() -> None:
    blocks = [{"type": "thinking", "thinking": "", "signature": f"antiphon:gemini:{one}"} for one in (SIGNATURE, OTHER)]
    alone = [{"text": "", "thoughtSignature": one} for one in (SIGNATURE, OTHER)]
    told = from_openai(messages=[*HI, {"role": "assistant", "content": None, "thinking_blocks": blocks}])
    assert told["contents"][1] == model(*alone)
    told = from_openai(messages=[*HI, {"role": "assistant", "thinking_blocks": blocks, "tool_calls": [call()]}])
    assert told["contents"][1] == model(*alone, called())


def thinking(name: str, /, **wish: Any) -> Any:
    """How a model is told to think."""
    asked = from_openai if "reasoning_effort" in wish else from_anthropic
    return config(asked(model=name, **wish)).get("thinkingConfig")


@pytest.mark.parametrize(
    ("effort", "budget", "level"),
    [
        ("minimal", 1024, "MINIMAL"),
        ("low", 1024, "LOW"),
        ("medium", 8192, "MEDIUM"),
        ("high", 24576, "HIGH"),
        ("max", 24576, "HIGH"),
    ],
)
def test_effort(effort: str, budget: int, level: str) -> None:
    assert thinking("gemini-2.5-flash", reasoning_effort=effort) == {"thinkingBudget": budget, **TELL}
    assert thinking("gemini-3-flash-preview", reasoning_effort=effort) == {"thinkingLevel": level, **TELL}
    assert config(from_openai(ChatAbilities(), reasoning_effort=effort)) == {}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gemini-2.0-flash", None),
        ("gemini-1.5-pro-002", None),
        ("gemma-3-27b-it", None),
        ("gemini-2.5-pro", {"thinkingBudget": 1024, **TELL}),
        ("gemini-flash-latest", {"thinkingBudget": 1024, **TELL}),
        ("tunedModels/mine", {"thinkingBudget": 1024, **TELL}),
        ("gemini-3-pro-preview", {"thinkingLevel": "LOW", **TELL}),
        ("models/gemini-3.1-pro", {"thinkingLevel": "LOW", **TELL}),
        ("gemini-10-flash", {"thinkingLevel": "MINIMAL", **TELL}),
    ],
)
def test_a_model_is_told_to_think_in_the_way_of_its_generation(name: str, told: Any) -> None:
    assert thinking(name, reasoning_effort="minimal") == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gemini-2.5-flash", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", {"thinkingBudget": 128}),
        ("gemini-3-flash", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3-pro", {"thinkingLevel": "LOW"}),
    ],
)
def test_a_model_that_is_not_to_think_thinks_as_little_as_it_can(name: str, told: Any) -> None:
    assert thinking(name, reasoning_effort="none") == thinking(name, thinking={"type": "disabled"}) == told


@pytest.mark.parametrize(
    ("wish", "budgets", "levels"),
    [
        ({"type": "enabled", "budget_tokens": 2000}, {"thinkingBudget": 2000, **TELL}, {"thinkingLevel": "LOW", **TELL}),
        ({"type": "enabled", "budget_tokens": 64000}, {"thinkingBudget": 24576, **TELL}, {"thinkingLevel": "HIGH", **TELL}),
        ({"type": "enabled", "budget_tokens": 8000, "display": "omitted"}, {"thinkingBudget": 8000}, {"thinkingLevel": "MEDIUM"}),
        ({"type": "adaptive"}, {"thinkingBudget": -1, **TELL}, TELL),
        ({"type": "adaptive", "display": "omitted"}, {"thinkingBudget": -1}, None),
        ({"type": "between_tools"}, None, None),
    ],
)
def test_thinking(wish: dict[str, Any], budgets: Any, levels: Any) -> None:
    assert thinking("gemini-2.5-flash", thinking=wish) == budgets
    assert thinking("gemini-3-pro", thinking=wish) == levels


def test_structured_output() -> None:
    json_schema = {"name": "answer", "schema": SCHEMA, "strict": True}
    told = from_openai(response_format={"type": "json_schema", "json_schema": json_schema})
    assert config(told) == {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    told = from_anthropic(output_config={"format": {"type": "json_schema", "schema": SCHEMA}})
    assert config(told)["responseJsonSchema"] == SCHEMA
    assert config(from_openai(response_format={"type": "json_object"})) == {"responseMimeType": "application/json"}
    assert config(from_openai(response_format={"type": "text"})) == {}


SOUND = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}
PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}
IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
LITTLE = ChatAbilities(tools=False, images=False, n=False, logprobs=False, json_schema=False)


def shown(part: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part]}]}


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"parallel_tool_calls": False, "tools": [FUNCTION]}, "parallel_tool_calls"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"min_p": 0.1}, "min_p"),
        ({"repetition_penalty": 1.1}, "repetition_penalty"),
        ({"frobnicate": 1}, "frobnicate"),
        ({"seed": 2**31}, "seed"),
        ({"stop": list("abcdef")}, "stop"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        (shown({"type": "image_url", "image_url": {"url": "gs://bucket/a.png"}}), "messages[0].content"),
        (shown({"type": "file", "file": {"file_id": "f1"}}), "messages[0].content"),
    ],
)
def test_what_gemini_cannot_do_is_refused_by_name(asked: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as told:
        from_openai(**asked)
    assert told.value.param == param


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"tools": [FUNCTION]}, "tools"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": FORMAT}, "response_format"),
        (shown(IMAGE), "messages[0].content"),
        (shown(SOUND), "messages[0].content"),
        (shown(PDF), "messages[0].content"),
    ],
)
def test_what_the_model_cannot_do_is_refused_by_name(asked: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as told:
        from_openai(LITTLE, **asked)
    assert told.value.param == param


CITED = {"type": "document", "source": {"type": "text", "data": "x", "media_type": "text/plain"}, "citations": {"enabled": True}}


ONE_AT_A_TIME = {"tools": [TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        (ONE_AT_A_TIME, "tool_choice.disable_parallel_tool_use"),
        ({"stop_sequences": list("abcdef")}, "stop_sequences"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "output_config.format"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
        ({"tools": [{**TOOL, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"messages": [{"role": "user", "content": [CITED]}]}, "messages[0].content"),
        ({"container": "c"}, "container"),
    ],
)  # fmt: skip
def test_fields_have_the_callers_names(asked: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedParameter) as told:
        from_anthropic(ChatAbilities(json_schema=False), **asked)
    assert told.value.param == param
