"""The official clients of OpenAI, Anthropic and Ollama at every protocol: streams, tools to the end, structured output."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import anthropic
import ollama
import openai
import pydantic
import pytest

from antiphon.testing import MockUpstream, RecordedRequest, Step
from antiphon.testing.matrix.abilities import CALL, SAID, SCHEMA, WEATHER
from antiphon.testing.matrix.cells import player_of
from antiphon.testing.matrix.telling import Answer

PROTOCOLS = ["openai", "azure", "anthropic", "gemini", "ollama", "dashscope", "dashscope_multimodal", "bedrock", "qwen", "vllm"]
ASKS: Any = [{"role": "user", "content": "hello"}]
CALLED = Answer(texts=("Let me look.",), calls=(CALL,), finish="tool_calls")
RAINS = Answer(texts=("It ", "rains."))
SHAPED = Answer(texts=('{"place":', '"Köln"}'))
FUNCTION: Any = {"type": "function", "function": {"name": WEATHER.name, "description": "The weather.", "parameters": SCHEMA}}
TOOL: Any = {"name": WEATHER.name, "description": "The weather.", "input_schema": SCHEMA}


class Place(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    place: str


@pytest.fixture
def openais(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def anthropics(url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=url, api_key="sk", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def ollamas(url: str) -> Iterator[ollama.Client]:
    with ollama.Client(host=url, timeout=20) as client:
        yield client


@pytest.fixture(params=PROTOCOLS)
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def play(upstream: MockUpstream, protocol: str, answer: Answer) -> None:
    """Have the server answer as it is asked to: in a stream or in one piece."""
    player = player_of(protocol)

    def answered(request: RecordedRequest) -> Sequence[Step]:
        is_stream = "stream" in request.path or request.json.get("stream")
        return (player.stream if is_stream else player.whole)(answer) or ()

    upstream.script(answered)


def last_turn(upstream: MockUpstream, protocol: str) -> tuple[str, Any]:
    """What the last question ends in: the text, and the call that it is the result of."""
    turn = player_of(protocol).asked(upstream.requests[-1]).turns[-1]
    assert turn.result_of is not None
    return turn.text, turn.result_of.arguments


def test_openais_streams(openais: openai.OpenAI, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, SAID)
    with openais.chat.completions.stream(model=model, messages=ASKS, stream_options={"include_usage": True}) as stream:
        pieces = [event.delta for event in stream if event.type == "content.delta"]
        answer = stream.get_final_completion()
    assert "".join(pieces) == "".join(SAID.texts)
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (11, 7)


def test_openais_tools(openais: openai.OpenAI, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, CALLED)
    with openais.chat.completions.stream(model=model, messages=ASKS, tools=[FUNCTION]) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    (call,) = message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", CALL.arguments)
    play(upstream, model, RAINS)
    said: Any = message.model_dump(exclude_none=True, exclude={"parsed"})
    history: Any = [*ASKS, said, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
    with openais.chat.completions.stream(model=model, messages=history, tools=[FUNCTION]) as stream:
        assert stream.get_final_completion().choices[0].message.content == "It rains."
    assert last_turn(upstream, model) == ("rain", CALL.arguments)


def test_openais_structured_output(openais: openai.OpenAI, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, SHAPED)
    parsed = openais.chat.completions.parse(model=model, messages=ASKS, response_format=Place).choices[0].message.parsed
    assert parsed == Place(place="Köln")
    schema = player_of(model).asked(upstream.requests[-1]).schema
    assert schema is not None
    assert schema["required"] == ["place"]


def test_anthropics_streams(anthropics: anthropic.Anthropic, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, SAID)
    with anthropics.messages.stream(model=model, max_tokens=50, messages=ASKS) as stream:
        assert "".join(stream.text_stream) == "".join(SAID.texts)
        message = stream.get_final_message()
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 7)


def test_anthropics_tools(anthropics: anthropic.Anthropic, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, CALLED)
    with anthropics.messages.stream(model=model, max_tokens=50, messages=ASKS, tools=[TOOL]) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "tool_use"
    call = message.content[-1]
    assert call.type == "tool_use"
    assert (call.name, call.input) == ("weather", CALL.arguments)
    play(upstream, model, RAINS)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    history: Any = [*ASKS, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    with anthropics.messages.stream(model=model, max_tokens=50, messages=history, tools=[TOOL]) as stream:
        assert "".join(stream.text_stream) == "It rains."
    assert last_turn(upstream, model) == ("rain", CALL.arguments)


def test_anthropics_structured_output(anthropics: anthropic.Anthropic, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, SHAPED)
    message = anthropics.messages.parse(model=model, max_tokens=50, messages=ASKS, output_format=Place)
    assert message.parsed_output == Place(place="Köln")
    schema = player_of(model).asked(upstream.requests[-1]).schema
    assert schema is not None
    assert schema["required"] == ["place"]


def test_ollamas_streams(ollamas: ollama.Client, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, SAID)
    parts = list(ollamas.chat(model=model, messages=ASKS, stream=True))
    assert "".join(part.message.content or "" for part in parts) == "".join(SAID.texts)
    assert (parts[-1].done_reason, parts[-1].prompt_eval_count, parts[-1].eval_count) == ("stop", 11, 7)


def test_ollamas_tools(ollamas: ollama.Client, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, CALLED)
    parts = list(ollamas.chat(model=model, messages=ASKS, tools=[FUNCTION], stream=True))
    (call,) = [call for part in parts for call in part.message.tool_calls or ()]
    assert (call.function.name, call.function.arguments) == ("weather", CALL.arguments)
    play(upstream, model, RAINS)
    said: Any = {"role": "assistant", "content": "Let me look.", "tool_calls": [call]}
    history: Any = [*ASKS, said, {"role": "tool", "tool_name": "weather", "content": "rain"}]
    parts = list(ollamas.chat(model=model, messages=history, tools=[FUNCTION], stream=True))
    assert "".join(part.message.content or "" for part in parts) == "It rains."
    assert last_turn(upstream, model) == ("rain", CALL.arguments)


def test_ollamas_structured_output(ollamas: ollama.Client, upstream: MockUpstream, model: str) -> None:
    play(upstream, model, SHAPED)
    answer = ollamas.chat(model=model, messages=ASKS, format=Place.model_json_schema())
    assert Place.model_validate_json(answer.message.content or "") == Place(place="Köln")
    schema = player_of(model).asked(upstream.requests[-1]).schema
    assert schema is not None
    assert schema["required"] == ["place"]
