"""What is translated into another dialect and back means what it meant."""

import json
from contextlib import suppress
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.transport import sse
from tests.unit.execution.wire.cases import CASES, FEWER

ABLE = ChatAbilities(reasoning="adaptive", documents=True, top_k=True, system_anywhere=True)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
NAME = st.sampled_from(["weather", "time-of_day", "f"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=2)
MARK = st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of the fields, each there or not."""
    return st.fixed_dictionaries({}, optional=fields)


TEXT_BLOCK = st.builds(lambda text, mark: {"type": "text", "text": text, **mark}, TEXT, MARK)
IMAGE_SOURCE = st.sampled_from(
    [
        {"type": "base64", "media_type": "image/png", "data": "aGk="},
        {"type": "base64", "media_type": "image/jpeg", "data": "eA=="},
        {"type": "url", "url": "https://example.com/a.png?b=c"},
    ]
)
IMAGE_BLOCK = st.builds(lambda source, mark: {"type": "image", "source": source, **mark}, IMAGE_SOURCE, MARK)
PDF_SOURCE = st.just({"type": "base64", "media_type": "application/pdf", "data": "aGk="})
PDF_BLOCK = st.builds(lambda source, title: {"type": "document", "source": source, "title": title}, PDF_SOURCE, TEXT)
THOUGHT = st.sampled_from([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "xyz"}])
TEXTS = TEXT | st.lists(TEXT_BLOCK, min_size=1, max_size=3)
TOOL = st.builds(
    lambda name, properties, rest: {"name": name, "input_schema": {"type": "object", "properties": properties}, **rest},
    NAME,
    st.dictionaries(TEXT, OBJECT, max_size=2),
    some(description=TEXT, strict=st.booleans(), type=st.just("custom"), cache_control=st.just({"type": "ephemeral"})),
)
CHOICE = st.builds(
    lambda choice, rest: {**choice, **(rest if choice["type"] != "none" else {})},
    st.sampled_from([{"type": "auto"}, {"type": "any"}, {"type": "none"}, {"type": "tool", "name": "f"}]),
    some(disable_parallel_tool_use=st.booleans()),
)
SETTINGS = some(
    system=TEXTS,
    temperature=st.floats(0, 1),
    top_p=st.floats(0, 1),
    top_k=st.integers(1, 99),
    stop_sequences=st.lists(TEXT, min_size=1, max_size=3),
    metadata=st.builds(lambda user: {"user_id": user}, TEXT),
    stream=st.booleans(),
    service_tier=st.just("auto"),
    thinking=st.sampled_from([{"type": "adaptive"}, {"type": "disabled"}, {"type": "enabled", "budget_tokens": 4096}]),
    output_config=some(
        effort=st.sampled_from(["low", "medium", "high", "xhigh", "max"]),
        format=st.builds(lambda schema: {"type": "json_schema", "schema": schema}, OBJECT),
    ),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns as Anthropic takes them: each call of a tool is answered at the beginning of the next turn."""
    turns: list[dict[str, Any]] = []
    open_calls: list[str] = []
    for turn in range(draw(st.integers(1, 3))):
        results = []
        for call in open_calls:
            content = draw(some(content=TEXTS, is_error=st.booleans()))
            results.append({"type": "tool_result", "tool_use_id": call, **content})
        asked = draw(st.lists(TEXT_BLOCK | IMAGE_BLOCK | PDF_BLOCK, min_size=0 if results else 1, max_size=3))
        turns.append({"role": "user", "content": results + asked if results else draw(st.just(asked) | TEXT)})
        if draw(st.integers(0, 9)) == 0:
            turns.append({"role": "system", "content": draw(TEXTS)})
        open_calls = [f"toolu_{turn}_{number}" for number in range(draw(st.integers(0, 2)))]
        calls = [{"type": "tool_use", "id": call, "name": draw(NAME), "input": draw(OBJECT)} for call in open_calls]
        said = draw(st.lists(THOUGHT, max_size=1)) + draw(st.lists(TEXT_BLOCK, min_size=0 if calls else 1, max_size=2))
        turns.append({"role": "assistant", "content": said + calls})
    results = [{"type": "tool_result", "tool_use_id": call, "content": "done"} for call in open_calls]
    return [*turns, {"role": "user", "content": [*results, {"type": "text", "text": "well?"}]}]


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    asked = {"model": draw(TEXT), "max_tokens": draw(st.integers(1, 9999)), "messages": draw(conversations()), **draw(SETTINGS)}
    tools = draw(st.lists(TOOL, max_size=2))
    if tools:
        asked |= {"tools": tools, **draw(some(tool_choice=CHOICE))}
    return asked


def meaning(asked: dict[str, Any]) -> dict[str, Any]:
    """What a request for Anthropic asks for, however it is put; without hints, and without thoughts of earlier answers."""
    turns = [("system", blocks(asked.get("system", [])))]
    turns += [(message["role"], blocks(message["content"])) for message in asked["messages"]]
    joined = [(role, [block for _, content in group for block in content]) for role, group in groupby(turns, lambda turn: turn[0])]
    tools = [
        {name: tool.get(name) for name in ("name", "description", "input_schema", "strict") if tool.get(name) is not None}
        for tool in asked.get("tools", ())
    ]
    same = ("model", "max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "tool_choice")
    return {
        **{name: asked[name] for name in same if name in asked},
        "turns": [turn for turn in joined if turn[1]],
        "tools": tools,
        "stream": asked.get("stream", False),
        "format": asked.get("output_config", {}).get("format"),
        "effort": effort(asked),
    }


def blocks(content: Any) -> list[Any]:
    told = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block(part) for part in told if "thinking" not in part["type"]]


def block(part: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in part.items() if name not in ("cache_control", "is_error")}
    if part["type"] == "tool_result":
        plain["content"] = blocks(part.get("content", []))
        if part.get("is_error"):
            first = plain["content"][0]["text"] if plain["content"] else ""
            plain["content"][:1] = [{"type": "text", "text": f"Error: {first}"}]
    return plain


def effort(asked: dict[str, Any]) -> str | None:
    thinking = asked.get("thinking", {})
    if thinking.get("type") == "disabled":
        return "none"
    told = asked.get("output_config", {}).get("effort")
    return told or ("medium" if thinking.get("type") == "enabled" else None)


@CASES
@given(requests())
def test_a_request_of_anthropic_means_the_same_behind_openai(asked: dict[str, Any]) -> None:
    there = openai_chat.encode_request(anthropic.decode_request(json.dumps(asked).encode()), ABLE)
    back = anthropic.encode_request(openai_chat.decode_request(there), ABLE)
    assert meaning(json.loads(back)) == meaning(asked)
    again = openai_chat.encode_request(anthropic.decode_request(back), ABLE)
    assert json.loads(again) == json.loads(there)


OPENAI_TEXT = st.builds(lambda text: {"type": "text", "text": text}, TEXT)
OPENAI_IMAGE = st.builds(
    lambda url: {"type": "image_url", "image_url": {"url": url}},
    st.sampled_from(["https://example.com/a.png", "data:image/png;base64,aGk="]),
)
FUNCTION = st.builds(
    lambda name, properties, rest: {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties}, **rest},
    },
    NAME,
    OBJECT,
    some(description=TEXT, strict=st.booleans()),
)


@st.composite
def openai_requests(draw: st.DrawFn) -> dict[str, Any]:
    """Requests in the very form that is written, but for the number of neighbouring messages of one role."""
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(TEXT)})
    for turn in range(draw(st.integers(1, 3))):
        parts = draw(st.lists(OPENAI_TEXT | OPENAI_IMAGE, min_size=2, max_size=3))
        messages.append({"role": "user", "content": draw(TEXT | st.just(parts))})
        calls = [
            {
                "id": f"call_{turn}_{number}",
                "type": "function",
                "function": {"name": draw(NAME), "arguments": json.dumps(draw(OBJECT))},
            }
            for number in range(draw(st.integers(0, 2)))
        ]
        if calls:
            messages.append({"role": "assistant", "content": draw(st.none() | TEXT), "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": draw(TEXT)} for call in calls]
        messages.append({"role": "assistant", "content": draw(TEXT)})
    messages.append({"role": "user", "content": draw(TEXT)})
    settings_of = some(
        temperature=st.floats(0, 1),
        top_p=st.floats(0, 1),
        stop=st.lists(TEXT, min_size=1, max_size=3),
        user=TEXT,
        reasoning_effort=st.sampled_from(["none", "low", "medium", "high", "xhigh", "max"]),
        response_format=st.builds(
            lambda schema: {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}, OBJECT
        ),
    )
    asked = {"model": draw(TEXT), "max_tokens": draw(st.integers(1, 999)), "messages": messages, **draw(settings_of)}
    if draw(st.booleans()):
        asked |= {"stream": True, "stream_options": {"include_usage": True}}
    tools = draw(st.lists(FUNCTION, max_size=2))
    if tools:
        named = {"type": "function", "function": {"name": "f"}}
        asked["tools"] = tools
        asked |= draw(st.sampled_from([{}, {"tool_choice": "required"}, {"tool_choice": "none"}, {"tool_choice": named}]))
        if "tool_choice" in asked and asked["tool_choice"] != "none":
            asked |= draw(some(parallel_tool_calls=st.booleans()))
    return asked


@FEWER
@given(openai_requests())
def test_a_request_of_openai_is_the_same_behind_anthropic(asked: dict[str, Any]) -> None:
    there = anthropic.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), ABLE)
    back = openai_chat.encode_request(anthropic.decode_request(there), ABLE)
    assert json.loads(back) == asked


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place inside of a JSON value: what holds it, and under which key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *places(value[key])]]


def mutated(value: Any, data: st.DataObject) -> bytes:
    """The JSON of a value with something else in one place."""
    copy = json.loads(json.dumps(value))
    holder, key = data.draw(st.sampled_from(places(copy)))
    holder[key] = data.draw(JSON | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([[], {}, [{}], "", -1]))
    return json.dumps(copy).encode()


@FEWER
@given(requests(), st.data())
def test_a_wrong_request_of_anthropic_is_refused_and_nothing_else(asked: dict[str, Any], data: st.DataObject) -> None:
    with suppress(InvalidRequest):
        openai_chat.encode_request(anthropic.decode_request(mutated(asked, data)), ABLE)


@FEWER
@given(openai_requests(), st.data())
def test_a_wrong_request_of_openai_is_refused_and_nothing_else(asked: dict[str, Any], data: st.DataObject) -> None:
    with suppress(InvalidRequest):
        anthropic.encode_request(openai_chat.decode_request(mutated(asked, data)), ABLE)


CONTENT = st.tuples(
    st.lists(st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, TEXT), max_size=2),
    st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXT), max_size=2),
    st.lists(st.builds(lambda name, given: {"type": "tool_use", "name": name, "input": given}, NAME, OBJECT), max_size=3),
)
COUNT = st.integers(0, 10**6)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    thoughts, texts, calls = draw(CONTENT)
    numbered = [{**call, "id": f"toolu_{number}"} for number, call in enumerate(calls)]
    reason = "tool_use" if calls else draw(st.sampled_from(["end_turn", "max_tokens", "refusal"]))
    counts = {"input_tokens": COUNT, "output_tokens": COUNT, "cache_read_input_tokens": COUNT, "cache_creation_input_tokens": COUNT}
    usage = draw(st.fixed_dictionaries(counts))
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": thoughts + texts + numbered,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


def said(answer: dict[str, Any]) -> dict[str, Any]:
    """What an answer says, neighbouring texts joined."""
    texts = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
    others = [part for part in answer["content"] if part["type"] != "text"]
    return {**answer, "content": [*others, texts]}


@CASES
@given(answers())
def test_a_whole_answer_says_the_same_behind_openai(answer: dict[str, Any]) -> None:
    there = openai_chat.write_whole(anthropic.read_whole(json.dumps(answer).encode()), "m", "r")[1]
    back = anthropic.write_whole(openai_chat.read_whole(there), "m", "r")[1]
    assert said(json.loads(back)) == said(answer)


@CASES
@given(answers(), st.data())
def test_a_streamed_answer_says_what_a_whole_one_does(answer: dict[str, Any], data: st.DataObject) -> None:
    events = [piece for event in anthropic.read_whole(json.dumps(answer).encode()) for piece in cut(event, data)]
    theirs, ours = anthropic.AnswerReader(), openai_chat.AnswerReader()
    read = theirs.feed(anthropic.AnswerWriter("m", "r").write(events))
    ours_read = ours.feed(openai_chat.AnswerWriter("m", "r", wants_usage=True).write(read))
    assert theirs.end() == ours.end() == []
    back = anthropic.write_whole(ours_read, "m", "r")[1]
    assert said(json.loads(back)) == said(answer)


@FEWER
@given(answers(), st.data())
def test_a_wrong_answer_is_the_servers_fault_and_nothing_else(answer: dict[str, Any], data: st.DataObject) -> None:
    events = anthropic.read_whole(json.dumps(answer).encode())
    with suppress(UpstreamBroken):
        openai_chat.write_whole(anthropic.read_whole(mutated(answer, data)), "m", "r")
    with suppress(UpstreamBroken):
        there = json.loads(openai_chat.write_whole(events, "m", "r")[1])
        anthropic.write_whole(openai_chat.read_whole(mutated(there, data)), "m", "r")
    for reader, raw in (
        (anthropic.AnswerReader(), anthropic.AnswerWriter("m", "r").write(events)),
        (openai_chat.AnswerReader(), openai_chat.AnswerWriter("m", "r", wants_usage=True).write(events)),
    ):
        chunks = [json.loads(event.data) for event in sse.parse(raw) if event.data != "[DONE]"]
        place = data.draw(st.integers(0, len(chunks) - 1))
        wrong = [mutated(chunk, data) if at == place else json.dumps(chunk).encode() for at, chunk in enumerate(chunks)]
        with suppress(UpstreamBroken):
            read = [event for chunk in wrong for event in reader.feed(sse.encode(chunk))]
            for writer in (anthropic.AnswerWriter("m", "r"), openai_chat.AnswerWriter("m", "r", wants_usage=True)):
                writer.write([*read, *reader.end()])


def cut(event: neutral.Event, data: st.DataObject) -> list[neutral.Event]:
    """A piece of a text or of arguments in two."""
    if isinstance(event, neutral.TextDelta | neutral.ThinkingDelta):
        at = data.draw(st.integers(0, len(event.text)))
        return [type(event)(event.index, text) for text in (event.text[:at], event.text[at:])]
    if isinstance(event, neutral.ToolArguments):
        at = data.draw(st.integers(0, len(event.text)))
        return [neutral.ToolArguments(event.index, event.call, text) for text in (event.text[:at], event.text[at:])]
    return [event]
