"""What is translated from Ollama's dialect into another and back means what it meant."""

import base64
import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.ollama import chat as ollama
from antiphon.execution.wire.ollama.passing import Watch
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.transport import lines
from tests.unit.execution.wire.cases import CASES, FEWER
from tests.unit.execution.wire.test_dialect_round_trips import JSON, NAME, OBJECT, TEXT, cut, mutated, some

ABLE = ChatAbilities(reasoning="effort", reasoning_back=True, top_k=True, min_p=True, repetition_penalty=True)
ASKED = ChatRequest(dialect="ollama", model="m", messages=())
IMAGE = st.sampled_from([b"\x89PNG\r\n\x1a\n....", b"\xff\xd8\xff\xe0........", b"GIF89a......"]).map(
    lambda head: base64.b64encode(head).decode()
)
IMAGES = some(images=st.lists(IMAGE, min_size=1, max_size=2))
COMMON_OPTIONS = {
    "temperature": st.floats(0, 1),
    "top_p": st.floats(0, 1),
    "top_k": st.integers(1, 99),
    "num_predict": st.integers(1, 9999),
    "stop": st.lists(TEXT, min_size=1, max_size=3),
}
OPTIONS = some(
    **COMMON_OPTIONS,
    min_p=st.floats(0, 1),
    repeat_penalty=st.floats(0.5, 2),
    presence_penalty=st.floats(-2, 2),
    frequency_penalty=st.floats(-2, 2),
    seed=st.integers(0, 2**31),
)
TOOL = st.builds(
    lambda name, properties, rest: {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties}, **rest},
    },
    NAME,
    st.dictionaries(TEXT, OBJECT, max_size=2),
    some(description=TEXT),
)
ASKED_BESIDE = some(
    stream=st.booleans(),
    think=st.sampled_from([False, "low", "medium", "high"]),
    keep_alive=st.sampled_from(["5m", 0, -1]),
    tools=st.lists(TOOL, min_size=1, max_size=2),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns as Ollama takes them: each call of a tool is answered behind its message."""
    turns: list[dict[str, Any]] = [{"role": "system", "content": draw(TEXT)}] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        turns.append({"role": "user", "content": draw(TEXT), **draw(IMAGES)})
        names = draw(st.lists(NAME, max_size=3))
        if names:
            calls = [{"function": {"name": name, "arguments": draw(OBJECT)}} for name in names]
            turns.append(
                {"role": "assistant", "content": draw(TEXT | st.just("")), "tool_calls": calls, **draw(some(thinking=TEXT))}
            )
            turns += [{"role": "tool", "content": draw(TEXT), "tool_name": name} for name in names]
        turns.append({"role": "assistant", "content": draw(TEXT), **draw(some(thinking=TEXT))})
    return [*turns, {"role": "user", "content": draw(TEXT)}]


@st.composite
def requests(draw: st.DrawFn, options: st.SearchStrategy[dict[str, Any]] = OPTIONS) -> dict[str, Any]:
    asked = {"model": draw(TEXT), "messages": draw(conversations()), **draw(ASKED_BESIDE)}
    told = draw(options)
    return {**asked, "options": told} if told else asked


FORMAT = some(format=st.just("json") | OBJECT)


def encoded(asked: dict[str, Any]) -> bytes:
    return json.dumps(asked).encode()


def meaning(asked: dict[str, Any]) -> dict[str, Any]:
    """What a request for Ollama asks for: without hints, and without the ids that older servers know nothing of."""
    told = {name: value for name, value in asked.items() if name not in ("keep_alive", "messages")}
    return {**told, "stream": asked.get("stream", True), "turns": [turn(message) for message in asked["messages"]]}


def turn(message: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in message.items() if name != "tool_call_id"}
    if "tool_calls" in told:
        told["tool_calls"] = [{name: call["function"][name] for name in ("name", "arguments")} for call in message["tool_calls"]]
    return told


@CASES
@given(requests(), FORMAT)
def test_a_request_means_the_same_behind_openai(asked: dict[str, Any], wanted: dict[str, Any]) -> None:
    asked = {**asked, **wanted}
    there = openai_chat.encode_request(ollama.decode_request(encoded(asked)), ABLE)
    back = ollama.encode_request(openai_chat.decode_request(there), ABLE)
    assert meaning(json.loads(back)) == meaning(asked)
    again = openai_chat.encode_request(ollama.decode_request(back), ABLE)
    assert json.loads(again) == json.loads(there)


@CASES
@given(requests(), FORMAT)
def test_a_request_read_and_written_again_is_the_same(asked: dict[str, Any], wanted: dict[str, Any]) -> None:
    asked = {**asked, **wanted}
    back = json.loads(ollama.encode_request(ollama.decode_request(encoded(asked)), ABLE))
    assert meaning(back) == meaning(asked)
    assert back.get("keep_alive") == asked.get("keep_alive")


@FEWER
@given(requests(some(**COMMON_OPTIONS)))
def test_a_request_means_the_same_behind_anthropic(asked: dict[str, Any]) -> None:
    able = ChatAbilities(reasoning="effort", system_anywhere=True)
    asked["options"] = {"num_predict": 100, **asked.get("options", {})}
    there = anthropic.encode_request(ollama.decode_request(encoded(asked)), able)
    back = meaning(json.loads(ollama.encode_request(anthropic.decode_request(there), ABLE)))
    wanted = meaning(asked)
    for told in (back, wanted):
        told.pop("think", None)  # tells Anthropic's models how much, not whether
        for message in told["turns"]:
            message.pop("thinking", None)  # Anthropic takes back its own alone
    assert back == wanted


@FEWER
@given(requests(), FORMAT, st.data())
def test_a_wrong_request_is_refused_and_nothing_else(asked: dict[str, Any], wanted: dict[str, Any], data: st.DataObject) -> None:
    wrong = mutated({**asked, **wanted}, data)
    with suppress(InvalidRequest):
        read = ollama.decode_request(wrong)
        for encode in (openai_chat.encode_request, anthropic.encode_request, ollama.encode_request):
            with suppress(InvalidRequest):
                encode(read, ABLE)


GENERATION = st.builds(
    lambda model, rest: {"model": model, **rest},
    TEXT,
    some(prompt=TEXT, system=TEXT, images=st.lists(IMAGE, max_size=2), stream=st.booleans(), options=OPTIONS, format=JSON),
)


@FEWER
@given(GENERATION, st.data())
def test_a_wrong_generation_is_refused_and_nothing_else(asked: dict[str, Any], data: st.DataObject) -> None:
    with suppress(InvalidRequest):
        openai_chat.encode_request(ollama.decode_generate_request(mutated(asked, data)), ABLE)


COUNT = st.integers(0, 10**6)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(NAME, max_size=3))
    calls = [
        {"id": f"call_{number}", "function": {"index": number, "name": name, "arguments": draw(OBJECT)}}
        for number, name in enumerate(names)
    ]
    message = {"role": "assistant", "content": draw(TEXT | st.just("")), **draw(some(thinking=TEXT))}
    return {
        "model": "m",
        "created_at": "2026-01-02T03:04:05Z",
        "message": {**message, **({"tool_calls": calls} if calls else {})},
        "done": True,
        "done_reason": "stop" if calls else draw(st.sampled_from(["stop", "length", "content_filter"])),
        "prompt_eval_count": draw(COUNT),
        "eval_count": draw(COUNT),
    }


@CASES
@given(answers())
def test_a_whole_answer_says_the_same_behind_openai(answer: dict[str, Any]) -> None:
    there = openai_chat.write_whole(ollama.read_whole(encoded(answer)), "m", "r")[1]
    assert json.loads(ollama.write_whole(openai_chat.read_whole(there), ASKED, "r")[1]) == answer


@FEWER
@given(answers())
def test_a_whole_answer_says_the_same_behind_anthropic(answer: dict[str, Any]) -> None:
    there = anthropic.write_whole(ollama.read_whole(encoded(answer)), "m", "r")[1]
    back = json.loads(ollama.write_whole(anthropic.read_whole(there), ASKED, "r")[1])
    if answer["done_reason"] == "content_filter":
        answer["done_reason"] = "refusal"  # its nearest word there
    assert {**back, "created_at": answer["created_at"]} == answer


@CASES
@given(answers(), st.data())
def test_a_streamed_answer_says_what_a_whole_one_does(answer: dict[str, Any], data: st.DataObject) -> None:
    events = [piece for event in ollama.read_whole(encoded(answer)) for piece in cut(event, data)]
    theirs, ours = ollama.AnswerReader(), openai_chat.AnswerReader()
    read = theirs.feed(ollama.AnswerWriter(ASKED, "r").write(events))
    ours_read = ours.feed(openai_chat.AnswerWriter("m", "r", wants_usage=True).write(read))
    assert theirs.end() == ours.end() == []
    assert json.loads(ollama.write_whole(ours_read, ASKED, "r")[1]) == answer


@FEWER
@given(answers(), st.data())
def test_a_wrong_answer_is_the_servers_fault_and_nothing_else(answer: dict[str, Any], data: st.DataObject) -> None:
    events = ollama.read_whole(encoded(answer))
    with suppress(UpstreamBroken):
        openai_chat.write_whole(ollama.read_whole(mutated(answer, data)), "m", "r")
    with suppress(UpstreamBroken):
        there = json.loads(openai_chat.write_whole(events, "m", "r")[1])
        ollama.write_whole(openai_chat.read_whole(mutated(there, data)), ASKED, "r")
    told = [json.loads(line) for line in lines.split(ollama.AnswerWriter(ASKED, "r").write(events))]
    place = data.draw(st.integers(0, len(told) - 1))
    wrong = [mutated(line, data) if at == place else json.dumps(line).encode() for at, line in enumerate(told)]
    reader, watch = ollama.AnswerReader(), Watch(False)
    with suppress(UpstreamBroken):
        read: list[neutral.Event] = [event for line in wrong for event in reader.feed(lines.encode(line))]
        writers = (anthropic.AnswerWriter("m", "r"), ollama.AnswerWriter(ASKED, "r"), ollama.GeneratedWriter(ASKED, "r"))
        for writer in writers:
            writer.write([*read, *reader.end()])
    with suppress(UpstreamBroken):
        for line in wrong:
            watch.take(lines.encode(line))
        watch.finish()
