"""Every field of every dialect before servers of every other: said, refused by name, or one of the documented hints."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import InvalidRequest, UnsupportedParameter
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.anthropic import request_reader as anthropic_reader
from antiphon.execution.wire.bedrock.chat import CONVERSE
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.dashscope.chat import TEXT
from antiphon.execution.wire.dialect import OutboundChat
from antiphon.execution.wire.gemini import chat as gemini
from antiphon.execution.wire.ollama import chat as ollama
from antiphon.execution.wire.ollama import options as ollama_options
from antiphon.execution.wire.ollama import request_reader as ollama_reader
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.execution.wire.openai import request_reader as openai_reader
from antiphon.execution.wire.responses import request_reader as responses_reader
from tests.architecture.source import ROOT

ABLE = ChatAbilities(
    max_tokens=4096, documents=True, audio=True, top_k=True, min_p=True, repetition_penalty=True, reasoning="adaptive"
)
MODEL = "anthropic.claude-opus-4-6-v1"
SERVERS: dict[str, OutboundChat] = {
    "anthropic": anthropic.OUTBOUND_CHAT,
    "bedrock": CONVERSE,
    "dashscope": TEXT,
    "gemini": gemini.OUTBOUND_CHAT,
    "ollama": ollama.OUTBOUND_CHAT,
    "openai": openai_chat.OUTBOUND_CHAT,
}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]
THEIRS = [{"name": "weather", "input_schema": {"type": "object", "properties": {}}}]
FLAT = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
HELLO = [{"role": "user", "content": "hello"}]
ALWAYS = {"model", "messages", "input", "prompt", "stream", "stream_options", "drop_unsupported"}
"""What every request is, and how its answer is framed."""

OPENAI: dict[str, Any] = {
    "tools": TOOLS,
    "tool_choice": ("required", {"tools": TOOLS}),
    "parallel_tool_calls": (False, {"tools": TOOLS}),
    "max_tokens": 7,
    "max_completion_tokens": 7,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "min_p": 0.5,
    "repetition_penalty": 1.5,
    "stop": ["END"],
    "n": 2,
    "seed": 7,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "logprobs": True,
    "top_logprobs": (2, {"logprobs": True}),
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
    "reasoning_effort": "high",
    "user": "me",
    "safety_identifier": "me",
    "verbosity": "low",
    "logit_bias": {"5": -100},
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "wav"},
    "web_search_options": {},
    "functions": [{"name": "f"}],
    "function_call": {"name": "f"},
    "of_the_future": 1,
} | {name: {"a": "b"} for name in openai_reader.HINTS}
ANTHROPIC: dict[str, Any] = {
    "max_tokens": 7,
    "system": "Be brief.",
    "tools": THEIRS,
    "tool_choice": ({"type": "any"}, {"tools": THEIRS}),
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "stop_sequences": ["END"],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "high"},
    "output_format": {"type": "json_schema", "schema": SCHEMA},
    "metadata": {"user_id": "me"},
    "inference_geo": "eu",
    "container": "c",
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    "mcp_servers": [{"type": "url", "url": "https://example.com", "name": "x"}],
    "of_the_future": 1,
} | {name: {"a": "b"} for name in anthropic_reader.HINTS}
RESPONSES: dict[str, Any] = {
    "instructions": "Be brief.",
    "tools": FLAT,
    "tool_choice": ("required", {"tools": FLAT}),
    "parallel_tool_calls": (False, {"tools": FLAT}),
    "max_output_tokens": 7,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "seed": 7,
    "stop": ["END"],
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "top_logprobs": 2,
    "include": ["message.output_text.logprobs"],
    "text": {"verbosity": "low"},
    "reasoning": {"effort": "high"},
    "truncation": "auto",
    "background": True,
    "conversation": "c",
    "prompt": {"id": "p"},
    "previous_response_id": "resp_1",
    "user": "me",
    "safety_identifier": "me",
    "of_the_future": 1,
    "max_tool_calls": 3,
    "store": True,
    "metadata": {"a": "b"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {"a": "b"},
    "prompt_cache_retention": "24h",
    "service_tier": "flex",
}
OLLAMA: dict[str, Any] = {
    "tools": TOOLS,
    "format": SCHEMA,
    "think": "high",
    "logprobs": True,
    "top_logprobs": (2, {"logprobs": True}),
    "of_the_future": 1,
    "options": {"num_predict": 7},
} | dict.fromkeys(ollama_reader.HINTS, 1)
OPTIONS: dict[str, Any] = {
    "num_predict": 7, "temperature": 0.5, "top_k": 5, "top_p": 0.5, "min_p": 0.5, "repeat_penalty": 1.5, "presence_penalty": 0.5,
    "frequency_penalty": 0.5, "seed": 7, "stop": "END", "mirostat": 1, "typical_p": 0.5, "repeat_last_n": 64, "of_the_future": 1,
} | dict.fromkeys(ollama_options.HINTS, 1)  # fmt: skip

HINTS: dict[str, set[str]] = {
    "openai": {*openai_reader.HINTS, "user", "safety_identifier"},
    "anthropic": {*anthropic_reader.HINTS, "metadata"},
    "responses": {
        "max_tool_calls", "store", "metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier",
        "user", "safety_identifier",
    },
    "ollama": {*ollama_reader.HINTS, *(f"options.{name}" for name in ollama_options.HINTS)},
}  # fmt: skip
WISHES = {"reasoning_effort", "thinking", "output_config", "reasoning", "think"}
"""How much to think: fitted to what the model takes."""


def decoded(dialect: str, fields: dict[str, Any]) -> ChatRequest:
    base: dict[str, Any] = {"model": MODEL, "messages": HELLO}
    if dialect == "responses":
        base = {"model": MODEL, "input": "hello"}
    if dialect == "anthropic":
        base["max_tokens"] = 5
    if dialect == "ollama":
        base["stream"] = False
    read = {
        "openai": openai_reader.decode_request,
        "anthropic": anthropic_reader.decode_request,
        "responses": responses_reader.decode_request,
        "ollama": ollama_reader.decode_request,
    }[dialect]
    return read(json.dumps({**base, **fields}).encode())


def fate(server: str, dialect: str, field: str, fields: dict[str, Any], without: dict[str, Any]) -> str:
    """``said``, ``silent``, or the parameter that is refused."""
    request = None
    try:
        request = decoded(dialect, fields)
        told = SERVERS[server].encode_request(request, ABLE)
    except InvalidRequest as error:
        return request.called(str(error.param)) if request is not None else str(error.param)
    return "silent" if told == SERVERS[server].encode_request(decoded(dialect, without), ABLE) else "said"


def fields_of(dialect: str) -> list[tuple[str, Any]]:
    top = {"openai": OPENAI, "anthropic": ANTHROPIC, "responses": RESPONSES, "ollama": OLLAMA}[dialect]
    return [*top.items(), *((f"options.{name}", value) for name, value in (OPTIONS.items() if dialect == "ollama" else ()))]


@pytest.mark.parametrize(
    ("dialect", "shape"),
    [
        ("openai", openai_reader._Request),
        ("anthropic", anthropic_reader._Request),
        ("responses", responses_reader._Request),
        ("ollama", ollama_reader._Chat),
    ],
)
def test_every_field_that_is_read_is_asked_about(dialect: str, shape: type[msgspec.Struct]) -> None:
    assert set(shape.__struct_fields__) - {name for name, _ in fields_of(dialect)} <= ALWAYS
    if dialect == "ollama":
        assert set(ollama_options.Options.__struct_fields__) <= set(OPTIONS)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("dialect", HINTS)
def test_no_field_is_dropped_in_silence(dialect: str, server: str) -> None:
    if server == dialect:
        return  # bytes pass
    for field, given in fields_of(dialect):
        value, besides = given if isinstance(given, tuple) else (given, {})
        outer, _, inner = field.partition(".")
        fields = {**besides, outer: {inner: value} if inner else value}
        got = fate(server, dialect, field, fields, besides)
        fine = (
            got == "said"
            or got.startswith((field, outer))
            or got == inner
            or (got == "silent" and field in HINTS[dialect] | WISHES)
        )
        fine = fine or got in ("logprobs", "include", "text.verbosity", "output_config.format", "response_format")
        assert fine, (field, got)


def test_every_hint_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reference" / "translation.md").read_text()
    assert [name for names in HINTS.values() for name in names if f"`{name.removeprefix('options.')}`" not in page] == []


@pytest.mark.parametrize("server", [name for name in SERVERS if name != "openai"])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_the_name_of_a_speaker_is_refused_by_its_place(server: str, role: str) -> None:
    messages = [*HELLO, {"role": role, "name": "eve", "content": "x"}, *HELLO]
    with pytest.raises(UnsupportedParameter) as refused:
        SERVERS[server].encode_request(decoded("openai", {"messages": messages}), ABLE)
    assert refused.value.param == "messages[1].name"


@pytest.mark.parametrize("server", SERVERS)
def test_names_that_tell_nobody_apart_are_no_reason_to_refuse(server: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "name": "weather", "content": "rain"}
    messages = [{"role": "system", "name": "rules", "content": "x"}, *HELLO, {"role": "assistant", "tool_calls": [call]}, result]
    assert SERVERS[server].encode_request(decoded("openai", {"messages": messages, "tools": TOOLS}), ABLE)


@pytest.mark.parametrize("server", [name for name in SERVERS if name != "openai"])
def test_names_by_which_the_system_tells_examples_apart_are_refused(server: str) -> None:
    examples = [{"role": "system", "name": f"example_{who}", "content": "x"} for who in ("user", "assistant")]
    with pytest.raises(UnsupportedParameter, match=r"messages\[0\]\.name"):
        SERVERS[server].encode_request(decoded("openai", {"messages": [*examples, *HELLO]}), ABLE)


LATE = [*HELLO, {"role": "assistant", "content": "a"}, {"role": "system", "content": "LATE"}, *HELLO]


@pytest.mark.parametrize("server", ["anthropic", "bedrock", "gemini"])
@pytest.mark.parametrize(
    ("dialect", "fields", "param"),
    [
        ("openai", {"messages": LATE}, "messages[2].role"),
        (
            "responses",
            {"input": [{**message, "role": "developer" if message["role"] == "system" else message["role"]} for message in LATE]},
            "input[2].role",
        ),
        ("ollama", {"messages": LATE}, "messages[2].role"),
    ],
)
def test_what_the_system_says_in_the_middle_is_refused_where_it_would_move(
    server: str, dialect: str, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        SERVERS[server].encode_request(decoded(dialect, fields), ABLE)
    assert refused.value.param == param


@pytest.mark.parametrize("server", ["dashscope", "ollama", "openai"])
def test_it_stays_where_it_stood_before_servers_that_take_it(server: str) -> None:
    told = SERVERS[server].encode_request(decoded("openai", {"messages": LATE}), ABLE)
    assert told.index(b"LATE") > told.index(b'"assistant"')


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-opus-4-8-20260528", "us.claude-opus-4-10", "claude-opus-5"])
def test_newer_models_of_anthropic_take_it_behind_the_user(model: str) -> None:
    late = {"role": "system", "content": "LATE"}
    for messages in ([*HELLO, late], [*HELLO, late, {"role": "assistant", "content": "a"}, *HELLO]):
        told = json.loads(SERVERS["anthropic"].encode_request(decoded("openai", {"model": model, "messages": messages}), ABLE))
        assert told["messages"] == messages
        assert "system" not in told
    with pytest.raises(UnsupportedParameter, match="at this place"):
        SERVERS["anthropic"].encode_request(decoded("openai", {"model": model, "messages": LATE}), ABLE)


@pytest.mark.parametrize(
    "model", ["claude-opus-4-7", "claude-opus-4-20250514", "claude-sonnet-4-8", "claude-3-opus-20240229", "mine"]
)
def test_older_ones_and_others_do_not(model: str) -> None:
    with pytest.raises(UnsupportedParameter):
        SERVERS["anthropic"].encode_request(
            decoded("openai", {"model": model, "messages": [*HELLO, {"role": "system", "content": "LATE"}]}), ABLE
        )


@pytest.mark.parametrize("empty", ["", []])
def test_an_empty_message_is_refused_by_a_server_that_takes_none(empty: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        SERVERS["bedrock"].encode_request(decoded("openai", {"messages": [{"role": "user", "content": empty}]}), ABLE)
    assert refused.value.param == "messages[0].content"
