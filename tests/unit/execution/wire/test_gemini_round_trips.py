"""What goes to a Gemini server and comes from it means what it meant, whatever it is."""

import base64
import json
from contextlib import suppress
from typing import Any

from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import InvalidRequest, UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.gemini import chat as gemini
from antiphon.execution.wire.gemini.turns import NO_SIGNATURE
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.transport import sse
from tests.unit.execution.wire.cases import CASES, FEWER, cases
from tests.unit.execution.wire.test_dialect_round_trips import NAME, OBJECT, TEXT, mutated, openai_requests, requests

ABLE = ChatAbilities(reasoning="budget", documents=True, audio=True)
CHECKED = cases(0.3)
"""Google's types take their time."""


def checked(body: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(body)
    for content in [*told["contents"], told.get("systemInstruction", {})]:
        types.Content.model_validate_json(json.dumps(content))
        assert content.get("role", "user") in ("user", "model")
    for tool in told.get("tools", ()):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(told.get("toolConfig", {}))
    types.GenerationConfig.model_validate(told.get("generationConfig", {}))
    return told


def within_its_means(asked: dict[str, Any]) -> dict[str, Any]:
    """A request without what Gemini cannot do."""
    choice = {name: value for name, value in asked.get("tool_choice", {}).items() if name != "disable_parallel_tool_use"}
    messages = sorted(asked["messages"], key=lambda message: message["role"] != "system")
    return {**asked, "messages": messages, **({"tool_choice": choice} if choice else {})}


@CHECKED
@given(requests())
def test_every_request_of_anthropics_callers_can_be_put_to_gemini(asked: dict[str, Any]) -> None:
    told = checked(gemini.encode_request(anthropic.decode_request(json.dumps(within_its_means(asked)).encode()), ABLE))
    parts = [part for content in told["contents"] for part in content["parts"]]
    blocks = [block for message in asked["messages"] if isinstance(message["content"], list) for block in message["content"]]
    calls = [(part["functionCall"]["id"], part["functionCall"]["args"]) for part in parts if "functionCall" in part]
    assert calls == [(block["id"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    results = [part["functionResponse"]["id"] for part in parts if "functionResponse" in part]
    assert results == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


@CHECKED
@given(openai_requests())
def test_every_request_of_openais_callers_can_be_put_to_gemini(asked: dict[str, Any]) -> None:
    asked.pop("parallel_tool_calls", None)
    told = checked(gemini.encode_request(openai_chat.decode_request(json.dumps(asked).encode()), ABLE))
    words = [part["text"] for content in told["contents"] for part in content["parts"] if "text" in part]
    contents = [message["content"] for message in asked["messages"] if message["role"] in ("user", "assistant")]
    texts = [[content] if isinstance(content, str) else [part.get("text") for part in content or ()] for content in contents]
    assert words == [text for told in texts for text in told if text]


@FEWER
@given(requests(), st.data())
def test_a_wrong_request_of_anthropics_callers_is_refused_and_nothing_else(asked: dict[str, Any], data: st.DataObject) -> None:
    with suppress(InvalidRequest):
        gemini.encode_request(anthropic.decode_request(mutated(asked, data)), ABLE)


@FEWER
@given(openai_requests(), st.data())
def test_a_wrong_request_of_openais_callers_is_refused_and_nothing_else(asked: dict[str, Any], data: st.DataObject) -> None:
    with suppress(InvalidRequest):
        gemini.encode_request(openai_chat.decode_request(mutated(asked, data)), ABLE)


SIGNATURE = st.builds(
    lambda raw: {"thoughtSignature": base64.b64encode(raw).decode()} if raw else {}, st.binary(max_size=4)
)  # fmt: skip
CALL = st.builds(
    lambda name, given, signature: {"functionCall": {"name": name, "args": given}, **signature}, NAME, OBJECT, SIGNATURE
)
COUNT = st.integers(0, 10**6)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """Thoughts, a text and calls, in the order in which models give them."""
    thoughts = draw(st.lists(st.builds(lambda text: {"text": text, "thought": True}, TEXT), max_size=2))
    texts = draw(st.lists(st.builds(lambda text, signature: {"text": text, **signature}, TEXT, SIGNATURE), max_size=1))
    calls = draw(st.lists(CALL, max_size=3))
    numbered = [{**call, "functionCall": {**call["functionCall"], "id": f"c{number}"}} for number, call in enumerate(calls)]
    counts = draw(st.fixed_dictionaries({"promptTokenCount": COUNT, "candidatesTokenCount": COUNT, "thoughtsTokenCount": COUNT}))
    reason = "STOP" if calls else draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY"]))
    content = {"role": "model", "parts": [*thoughts, *texts, *numbered]}
    candidate = {"index": 0, "content": content, "finishReason": reason, "citationMetadata": {"citationSources": []}}
    feedback = {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]}
    usage = {**counts, "totalTokenCount": sum(counts.values())}
    return {"candidates": [candidate], "promptFeedback": feedback, "usageMetadata": usage, "responseId": "r", "modelVersion": "m"}


def read(answer: dict[str, Any]) -> list[neutral.Event]:
    return list(gemini.read_whole(json.dumps(answer).encode()))


def said(events: list[neutral.Event]) -> neutral.Answer:
    answer = neutral.answer_of(events)
    return neutral.Answer(neutral.Began(), answer.choices, answer.counted, answer.failed)


@CASES
@given(answers(), st.data())
def test_a_streamed_answer_says_what_a_whole_one_does(answer: dict[str, Any], data: st.DataObject) -> None:
    candidate = answer["candidates"][0]
    parts = [piece for part in candidate["content"]["parts"] for piece in cut(part, data)]
    ends = sorted({len(parts), *data.draw(st.lists(st.integers(0, len(parts)), max_size=3))})
    chunks = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts[start:end]}}]}
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    chunks[-1]["candidates"][0]["finishReason"] = candidate["finishReason"]
    reader = gemini.AnswerReader()
    raw = b"".join(sse.encode(json.dumps(chunk).encode()) for chunk in [*chunks, {"usageMetadata": answer["usageMetadata"]}])
    assert said([*reader.feed(raw), *reader.end()]) == said(read(answer))


@CASES
@given(answers())
def test_what_a_model_said_comes_back_to_it_as_it_said_it(answer: dict[str, Any]) -> None:
    said_parts = [dict(part) for part in answer["candidates"][0]["content"]["parts"] if "thought" not in part]
    next((part for part in said_parts if "functionCall" in part), {}).setdefault("thoughtSignature", NO_SIGNATURE)
    for callers in (openai_chat, anthropic):
        told = json.loads(callers.write_whole(read(answer), "m", "r1")[1])
        message = told["choices"][0]["message"] if callers is openai_chat else {"role": "assistant", "content": told["content"]}
        history = [{"role": "user", "content": "?"}, message, {"role": "user", "content": "and?"}]
        request = callers.decode_request(json.dumps({"model": "m", "max_tokens": 9, "messages": history}).encode())
        contents = json.loads(gemini.encode_request(request, ABLE))["contents"]
        assert [part for content in contents if content["role"] == "model" for part in content["parts"]] == said_parts


@FEWER
@given(answers(), st.data())
def test_a_wrong_answer_is_the_servers_fault_and_nothing_else(answer: dict[str, Any], data: st.DataObject) -> None:
    for callers in (openai_chat, anthropic):
        with suppress(UpstreamBroken):
            callers.write_whole(gemini.read_whole(mutated(answer, data)), "m", "r")
    for writer in (anthropic.AnswerWriter("m", "r"), openai_chat.AnswerWriter("m", "r", wants_usage=True)):
        reader = gemini.AnswerReader()
        with suppress(UpstreamBroken):
            writer.write([*reader.feed(sse.encode(mutated(answer, data))), *reader.end()])


def cut(part: dict[str, Any], data: st.DataObject) -> list[dict[str, Any]]:
    """A text in two pieces, the signature on the last."""
    if "text" not in part:
        return [part]
    at = data.draw(st.integers(0, len(part["text"])))
    plain = {name: value for name, value in part.items() if name != "thoughtSignature"}
    return [{**plain, "text": part["text"][:at]}, {**part, "text": part["text"][at:]}]
