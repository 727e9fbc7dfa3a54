"""Answers of a Gemini server, each of which Google's own client knows, written for callers of the other dialects."""

import json
from typing import Any

import openai as openai_sdk
import pytest
from google.genai import types

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.anthropic import chat as anthropic
from antiphon.execution.wire.chat import ChatAbilities, Text, Thinking, ToolCall
from antiphon.execution.wire.gemini import chat as gemini
from antiphon.execution.wire.openai import chat as openai_chat
from antiphon.execution.wire.said_errors import read_error
from tests.unit.execution.wire.official_clients import seen_by_anthropic, seen_by_openai

SIGNATURE = "c2lnbmVk"
MARKED = f"antiphon:gemini:{SIGNATURE}"


def chunk(*parts: dict[str, Any], finish: str = "", usage: dict[str, Any] | None = None, **candidate: Any) -> dict[str, Any]:
    """What a server sends, whole or as one chunk of a stream."""
    told = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **candidate}
    if finish:
        told["finishReason"] = finish
    body = {"candidates": [told], "modelVersion": "theirs", "responseId": "r-1"}
    return {**body, "usageMetadata": usage} if usage is not None else body


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"text": words, **fields}


def thought(words: str, **fields: Any) -> dict[str, Any]:
    return {"text": words, "thought": True, **fields}


def call(name: str, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **({"args": arguments} if arguments is not None else {}), **fields}}


def sse(*answers: dict[str, Any], end: bytes = b"\r\n\r\n") -> bytes:
    for answer in answers:
        if "error" not in answer:
            types.GenerateContentResponse._from_response(response=json.loads(json.dumps(answer)), kwargs={})
    return b"".join(b"data: " + json.dumps(answer).encode() + end for answer in answers)


def read_raw(raw: bytes) -> list[neutral.Event]:
    reader = gemini.AnswerReader()
    return [*reader.feed(raw), *reader.end()]


def read(*answers: dict[str, Any]) -> list[neutral.Event]:
    return read_raw(sse(*answers))


def whole(*parts: dict[str, Any], finish: str = "STOP", **fields: Any) -> list[neutral.Event]:
    return list(gemini.read_whole(json.dumps(chunk(*parts, finish=finish, **fields)).encode()))


def for_openai(*answers: dict[str, Any]) -> list[Any]:
    return seen_by_openai(openai_chat.AnswerWriter("mine", "r1", wants_usage=True).write(read(*answers)))


def for_anthropic(*answers: dict[str, Any]) -> Any:
    return seen_by_anthropic(anthropic.AnswerWriter("mine", "r1").write(read(*answers)))


def parts_of(events: list[neutral.Event]) -> list[Any]:
    return neutral.answer_of(events).choices[0].parts


def usage_of(events: list[neutral.Event]) -> Usage:
    counted = neutral.answer_of(events).counted
    assert counted is not None
    return counted.usage


HELLO = (
    chunk(text("Grü"), usage={"promptTokenCount": 7}),
    chunk(text("ße 👋")),
    chunk(text(""), finish="STOP", usage={"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}),
)


def test_a_stream_of_text_for_openai() -> None:
    chunks = for_openai(*HELLO)
    assert chunks[0].id == "chatcmpl-r-1"
    assert {chunk.model for chunk in chunks} == {"mine"}
    deltas = [choice for chunk in chunks for choice in chunk.choices]
    assert [choice.delta.content for choice in deltas] == ["Grü", "ße 👋", None]
    assert [choice.finish_reason for choice in deltas] == [None, None, "stop"]
    usages = [chunk.usage for chunk in chunks if chunk.usage is not None]
    assert [(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) for usage in usages] == [(7, 3, 10)]


def test_a_stream_of_text_for_anthropic() -> None:
    message = for_anthropic(*HELLO)
    assert [block.to_dict() for block in message.content] == [{"type": "text", "text": "Grüße 👋"}]
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("end_turn", 7, 3)


def test_a_whole_answer() -> None:
    events = whole(text("a"), text("b"), usage={"promptTokenCount": 1})
    assert parts_of(events) == [Text("ab")]
    assert events[0] == neutral.Began("r-1", "theirs")
    assert usage_of(events) == Usage(1, 0, 1)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_stream_is_the_same_however_its_bytes_come(cut: int) -> None:
    raw = sse(*HELLO)
    splitter, reader = gemini.OUTBOUND_CHAT.framing.splitter(), gemini.OUTBOUND_CHAT.reader()
    pieces = [raw[at : at + cut] for at in range(0, len(raw), cut)]
    events = [event for piece in pieces for event in reader.feed(splitter.feed(piece))]
    assert [*events, *reader.feed(splitter.rest()), *reader.end()] == read(*HELLO)


def test_a_reason_on_every_chunk_ends_nothing_early() -> None:
    assert parts_of(read(chunk(text("a"), finish="STOP"), chunk(text("b"), finish="STOP"))) == [Text("ab")]


@pytest.mark.parametrize(
    "answers",
    [(), (chunk(text("a")),), (chunk(text("a"), finish="FINISH_REASON_UNSPECIFIED"),), ({"usageMetadata": {}},)],
)
def test_a_stream_without_an_end_was_cut_off(answers: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(UpstreamBroken):
        read(*answers)


def test_calls_are_counted_by_us_and_have_ids_of_their_own() -> None:
    chunks = for_openai(
        chunk(text("wait"), call("f", {"a": "ł", "n": 1.0})),
        chunk(call("g"), text("and"), call("h", {}, id="x")),
        chunk(call("i", {}, id="x"), finish="STOP"),
    )
    pieces = [piece for chunk in chunks for choice in chunk.choices for piece in choice.delta.tool_calls or ()]
    begun = [piece for piece in pieces if piece.id]
    assert [(piece.index, piece.function.name) for piece in begun] == [(0, "f"), (1, "g"), (2, "h"), (3, "i")]
    assert len({piece.id for piece in begun}) == 4
    assert begun[2].id == "x"
    arguments = [piece.function.arguments for piece in pieces if not piece.id]
    assert [json.loads(told) for told in arguments] == [{"a": "ł", "n": 1.0}, {}, {}, {}]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    message = for_anthropic(chunk(call("f", {"a": 1}), text("so"), call("g"), finish="STOP"))
    assert [block.type for block in message.content] == ["tool_use", "text", "tool_use"]
    assert message.content[0].input == {"a": 1}
    assert message.stop_reason == "tool_use"


def test_large_numbers_in_arguments_stay_exact() -> None:
    raw = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890123}}}]}}]}'
    assert [part.arguments for part in parts_of(gemini.read_whole(raw))] == ['{"n":12345678901234567890123}']


@pytest.mark.parametrize("wrong", [call("f", [1]), call("f", "x"), call("", {}), {"functionCall": {}}])
def test_a_call_that_is_none_is_the_servers_fault(wrong: dict[str, Any]) -> None:
    with pytest.raises(UpstreamBroken, match="function call"):
        gemini.read_whole(json.dumps(chunk(wrong)).encode())


SIGNED_CALL = chunk(thought("hm"), {**call("f", {}, id="c1"), "thoughtSignature": SIGNATURE}, call("g", {}, id="c2"), finish="STOP")


def test_the_signature_of_a_call_for_openai() -> None:
    chunks = for_openai(SIGNED_CALL)
    pieces = [piece for chunk in chunks for choice in chunk.choices for piece in choice.delta.tool_calls or () if piece.id]
    extra = {"extra_content": {"google": {"thought_signature": SIGNATURE}}}
    assert [piece.model_extra for piece in pieces] == [extra, {}]
    body = openai_chat.write_whole(read(SIGNED_CALL), "mine", "r1")[1]
    message = openai_sdk.types.chat.ChatCompletion.model_validate_json(body).choices[0].message
    assert [one.model_extra for one in message.tool_calls] == [extra, {}]
    assert message.to_dict()["reasoning_content"] == "hm"


def test_the_signature_of_a_call_for_anthropic() -> None:
    streamed = for_anthropic(SIGNED_CALL)
    body = json.loads(anthropic.write_whole(read(SIGNED_CALL), "mine", "r1")[1])
    block = {"type": "thinking", "thinking": "hm", "signature": f"antiphon:call:{MARKED}"}
    assert streamed.content[0].to_dict(mode="json") == body["content"][0] == block
    assert [one["type"] for one in body["content"]] == ["thinking", "tool_use", "tool_use"]


def test_a_signed_call_without_a_thought_has_an_empty_one_for_anthropic() -> None:
    answer = chunk(text("wait"), {**call("f", {}), "thoughtSignature": SIGNATURE}, finish="STOP")
    block = {"type": "thinking", "thinking": "", "signature": f"antiphon:call:{MARKED}"}
    assert [one.to_dict(mode="json") for one in for_anthropic(answer).content][1] == block
    assert json.loads(anthropic.write_whole(read(answer), "mine", "r1")[1])["content"][1] == block


SIGNED_TEXT = (
    chunk(thought("h")),
    chunk(thought("m"), text("s")),
    chunk(text("o"), text("", thoughtSignature=SIGNATURE), finish="STOP"),
)


def test_thoughts_and_the_signature_of_a_text() -> None:
    assert parts_of(read(*SIGNED_TEXT)) == [Thinking("hm"), Text("so"), Thinking("", MARKED)]
    chunks = for_openai(*SIGNED_TEXT)
    extras = [choice.delta.model_extra or {} for chunk in chunks for choice in chunk.choices]
    assert "".join(extra.get("reasoning_content", "") for extra in extras) == "hm"
    blocks = [block for extra in extras for block in extra.get("thinking_blocks", ())]
    assert [block["signature"] for block in blocks] == [MARKED]
    message = for_anthropic(*SIGNED_TEXT)
    told = [(block.type, getattr(block, "text", None) or getattr(block, "signature", None)) for block in message.content]
    assert told == [("thinking", ""), ("text", "so"), ("thinking", MARKED)]


def test_a_thought_may_be_signed_itself() -> None:
    events = read(chunk(thought("hm", thoughtSignature=SIGNATURE), text("so"), finish="STOP"))
    assert parts_of(events) == [Thinking("hm", MARKED), Text("so")]


@pytest.mark.parametrize("callers", [openai_chat, anthropic], ids=["openai", "anthropic"])
def test_signatures_survive_the_way_through_a_caller(callers: Any) -> None:
    second = {**call("g", {}, id="c2"), "thoughtSignature": "b3RoZXIx"}
    answer = chunk(
        thought("hm"), text("so", thoughtSignature=SIGNATURE), {**call("f", {}, id="c1"), "thoughtSignature": "dGhpcmQx"}, second
    )
    told = json.loads(callers.write_whole(gemini.read_whole(json.dumps(answer).encode()), "m", "r1")[1])
    message = told["choices"][0]["message"] if callers is openai_chat else {"role": "assistant", "content": told["content"]}
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}, message]}
    request = callers.decode_request(json.dumps(asked).encode())
    body = json.loads(gemini.encode_request(request, ChatAbilities()))
    sent = body["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in sent] == [SIGNATURE, "dGhpcmQx", "b3RoZXIx"]
    assert [part.get("text") or part["functionCall"]["id"] for part in sent] == ["so", "c1", "c2"]


def test_signatures_of_gemini_are_not_shown_to_another_vendor() -> None:
    told = json.loads(anthropic.write_whole(read(SIGNED_CALL), "m", "r1")[1])
    asked = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": told["content"]}],
    }
    request = anthropic.decode_request(json.dumps(asked).encode())
    body = anthropic.encode_request(request, ChatAbilities())
    assert b"signature" not in body
    assert b"signature" not in openai_chat.encode_request(request, ChatAbilities())


@pytest.mark.parametrize(
    ("reason", "openais", "anthropics"),
    [
        ("STOP", "stop", "end_turn"),
        ("MAX_TOKENS", "length", "max_tokens"),
        *((reason, "content_filter", "refusal") for reason in (
            "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
        )),
    ],
)  # fmt: skip
def test_reasons_for_the_end(reason: str, openais: str, anthropics: str) -> None:
    answer = chunk(text("a"), finish=reason)
    assert for_openai(answer)[-1].choices[0].finish_reason == openais
    assert for_anthropic(answer).stop_reason == anthropics
    empty = {"candidates": [{"finishReason": reason}]}
    assert for_openai(empty)[-1].choices[0].finish_reason == openais


def test_a_reason_that_is_new_is_no_natural_end() -> None:
    finish = neutral.answer_of(whole(text("a"), finish="MADE_UP_TOMORROW")).choices[0].finish
    assert finish == neutral.Finished(0, "content_filter")


def test_what_was_cut_at_its_length_may_hold_calls() -> None:
    assert for_openai(chunk(call("f", {}), finish="MAX_TOKENS"))[-1].choices[0].finish_reason == "length"


@pytest.mark.parametrize("reason", list(types.FinishReason))
def test_no_reason_that_googles_client_knows_is_forgotten(reason: types.FinishReason) -> None:
    if reason is types.FinishReason.FINISH_REASON_UNSPECIFIED:
        return
    answer = neutral.answer_of(read(chunk(text("a"), finish=reason.value)))
    failed = reason.value in (
        "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER",
        "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE",
    )  # fmt: skip
    assert (answer.failed is not None) == failed


def test_a_malformed_call_is_an_error_behind_what_came_before() -> None:
    events = read(chunk(text("let me")), chunk(finish="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: f("))
    assert events[1:] == [
        neutral.TextDelta(0, "let me"),
        neutral.Failed(502, "Malformed function call: f(", "MALFORMED_FUNCTION_CALL"),
        neutral.Ended(),
    ]
    status, body = openai_chat.write_whole(whole(finish="UNEXPECTED_TOOL_CALL"), "mine", "r1")
    assert (status, json.loads(body)["error"]["code"]) == (502, "UNEXPECTED_TOOL_CALL")
    assert b"called a tool that it was not given; try again" in body


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"fileUri": "https://e.com/a"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
    ],
)
def test_what_no_answer_of_a_chat_can_hold_is_an_error_by_name(part: dict[str, Any]) -> None:
    events = read(chunk(text("here:"), part), chunk(text("more"), finish="STOP"))
    failed = events[-2]
    assert events[1] == neutral.TextDelta(0, "here:")
    assert isinstance(failed, neutral.Failed)
    assert (failed.status, failed.code) == (502, "unsupported_answer")
    assert next(iter(part)) in failed.message


def test_a_prompt_that_is_blocked() -> None:
    answer = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}}
    chunks = for_openai(answer)
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices] == [None, "content_filter"]
    assert chunks[-1].usage.prompt_tokens == 9
    assert for_anthropic(answer).stop_reason == "refusal"
    body = openai_chat.write_whole(gemini.read_whole(json.dumps(answer).encode()), "m", "r1")[1]
    assert openai_sdk.types.chat.ChatCompletion.model_validate_json(body).choices[0].finish_reason == "content_filter"


def test_ratings_alone_block_nothing() -> None:
    rated = {"promptFeedback": {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]}}
    with pytest.raises(UpstreamBroken):
        gemini.read_whole(json.dumps(rated).encode())
    assert parts_of(read({**rated, **chunk(text("a"), finish="STOP")})) == [Text("a")]


def test_several_candidates() -> None:
    def one(index: int, words: str, finish: str = "") -> dict[str, Any]:
        return chunk(text(words), finish=finish, index=index)

    events = read(one(1, "x"), one(0, "a"), one(0, "b", "STOP"), one(1, "y", "MAX_TOKENS"))
    choices = neutral.answer_of(events).choices
    assert [(choice.parts, choice.finish.reason) for choice in choices] == [([Text("ab")], "stop"), ([Text("xy")], "length")]
    unnumbered = {"candidates": [{"content": {"parts": [text(words)]}, "finishReason": "STOP"} for words in "pq"]}
    assert [choice.parts for choice in neutral.answer_of(gemini.read_whole(json.dumps(unnumbered).encode())).choices] == [
        [Text("p")],
        [Text("q")],
    ]
    with pytest.raises(UpstreamBroken):
        read(one(0, "a", "STOP"), one(1, "x"))


def counts(**told: Any) -> dict[str, Any]:
    """``prompt=1`` as Gemini spells it."""
    return {f"{name}TokenCount": count for name, count in told.items()}


@pytest.mark.parametrize(
    ("told", "used"),
    [
        (counts(prompt=10, candidates=5, thoughts=7, total=22), Usage(10, 12, 22, 0, 7)),
        (counts(prompt=10, candidates=12, thoughts=7, total=22), Usage(10, 12, 22, 0, 7)),
        (counts(prompt=10, cachedContent=4, candidates=5, total=15), Usage(10, 5, 15, 4)),
        (counts(prompt=10, toolUsePrompt=3, candidates=5, total=18), Usage(13, 5, 18)),
        (counts(prompt=10, thoughts=7), Usage(10, 7, 17, 0, 7)),
        (counts(prompt=10, candidates=0, total=10), Usage(10, 0, 10)),
        (counts(prompt=10, candidates=-1), None),
        (counts(prompt="ten"), None),
        ([], None),
    ],
)
def test_usage(told: Any, used: Usage | None) -> None:
    answer = neutral.answer_of(gemini.read_whole(json.dumps({**chunk(finish="STOP"), "usageMetadata": told}).encode()))
    assert (answer.counted.usage if answer.counted is not None else None) == used


def test_counts_of_a_stream_are_of_all_so_far() -> None:
    first = chunk(text("a"), usage=counts(prompt=10, candidates=1, thoughts=6, total=17))
    events = read(first, chunk(text("b"), finish="STOP", usage=counts(prompt=10, candidates=5, total=21)))
    assert [event for event in events if isinstance(event, neutral.Counted)] == [neutral.Counted(Usage(10, 11, 21, 0, 6))]


def test_no_usage_is_not_made_up() -> None:
    assert neutral.answer_of(whole(text("a"))).counted is None


def test_sound_is_counted_by_itself() -> None:
    usage = {
        "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2}, {"modality": "AUDIO", "tokenCount": 8}],
        "candidatesTokensDetails": [{"modality": "AUDIO", "tokenCount": 5}],
    }  # fmt: skip
    (*_, last) = for_openai(chunk(text("a"), finish="STOP", usage=usage))
    assert (last.usage.prompt_tokens_details.audio_tokens, last.usage.completion_tokens_details.audio_tokens) == (8, 5)


def test_log_probabilities_have_openais_shape() -> None:
    def token(word: str, probability: float) -> dict[str, Any]:
        return {"token": word, "tokenId": 5, "logProbability": probability}

    result = {
        "chosenCandidates": [token("Łó", -0.5), token("dź", -0.25)],
        "topCandidates": [{"candidates": [token("Łó", -0.5), token("L", -2.0)]}, {"candidates": []}],
    }
    events = read(chunk(text("Łódź"), finish="STOP", logprobsResult=result))
    body = openai_chat.write_whole(events, "m", "r1")[1]
    told = openai_sdk.types.chat.ChatCompletion.model_validate_json(body).choices[0].logprobs.content
    assert [(one.token, one.logprob, bytes(one.bytes).decode()) for one in told] == [("Łó", -0.5, "Łó"), ("dź", -0.25, "dź")]
    assert [[other.token for other in one.top_logprobs] for one in told] == [["Łó", "L"], []]
    chunks = for_openai(chunk(text("Łódź"), finish="STOP", logprobsResult=result))
    assert [one.token for chunk in chunks for choice in chunk.choices if choice.logprobs for one in choice.logprobs.content] == [
        "Łó",
        "dź",
    ]
    assert read(chunk(text("a"), finish="STOP", logprobsResult={}))[1:3] == [neutral.TextDelta(0, "a"), neutral.Finished(0, "stop")]


def test_citations_are_told_in_characters() -> None:
    sources = [
        {"startIndex": 3, "endIndex": 6, "uri": "https://e.com/a", "title": "A", "license": "MIT"},
        {"endIndex": 99, "uri": "https://e.com/b"},
        {"license": "unknown"},
    ]
    cited = {"citationMetadata": {"citationSources": sources}}
    answers = (chunk(text("łł"), **cited), chunk(text("öl"), finish="STOP", **cited))
    chunks = for_openai(*answers)
    told = [choice.delta.model_extra["annotations"] for chunk in chunks for choice in chunk.choices if choice.delta.model_extra]
    notes = [
        {"type": "url_citation", "url_citation": {"start_index": 1, "end_index": 3, "url": "https://e.com/a", "title": "A"}},
        {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 4, "url": "https://e.com/b", "title": ""}},
    ]
    assert [note for one in told for note in one] == notes
    body = openai_chat.write_whole(read(*answers), "m", "r1")[1]
    annotations = openai_sdk.types.chat.ChatCompletion.model_validate_json(body).choices[0].message.annotations
    assert [one.to_dict() for one in annotations] == notes
    assert for_anthropic(*answers).content[0].text == "łłöl"
    events = read(*answers)
    assert neutral.answer_of(neutral.events_of(neutral.answer_of(events))) == neutral.answer_of(events)


@pytest.mark.parametrize("odd", [7, {"citationSources": 7}, {"citationSources": [{"startIndex": "x"}]}, {}])
def test_citations_that_cannot_be_read_cost_no_answer(odd: Any) -> None:
    raw = json.dumps(chunk(text("a"), finish="STOP", citationMetadata=odd)).encode()
    assert parts_of(gemini.read_whole(raw)) == [Text("a")]


def test_an_error_inside_a_stream() -> None:
    told = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    events = read(chunk(text("a")), told)
    assert events[1:] == [
        neutral.TextDelta(0, "a"),
        neutral.Failed(503, "The model is overloaded.", "UNAVAILABLE"),
        neutral.Ended(),
    ]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b"<html>", b'{"candidates":[]}', b'{"candidates":7}', b'{"candidates":[{"content":{"parts":[7]}}]}']
)
def test_what_is_no_answer(body: bytes) -> None:
    with pytest.raises(UpstreamBroken):
        gemini.read_whole(body)
    with pytest.raises(UpstreamBroken):
        read_raw(b"data: " + body + b"\n\n")


QUOTA = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ],
    }
}


def test_what_error_bodies_say() -> None:
    failed = neutral.Failed(429, "You exceeded your current quota", "RESOURCE_EXHAUSTED", 34.5)
    assert read_error(429, json.dumps(QUOTA).encode()) == read_error(429, json.dumps([QUOTA]).encode()) == failed


def test_a_wrong_key_is_not_the_callers_fault() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]
    told = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": details}}
    assert read_error(400, json.dumps(told).encode()).status == 401


@pytest.mark.parametrize("details", [7, [7], [{"retryDelay": 7}], [{"retryDelay": "1e9s"}], [{"retryDelay": "-1s"}], {"a": "b"}])
def test_details_that_cannot_be_read_tell_nothing(details: Any) -> None:
    failed = read_error(429, json.dumps({"error": {"code": 429, "message": "m", "details": details}}).encode())
    assert failed == neutral.Failed(429, "m")


def test_what_calls_stand_for_is_kept_by_the_neutral_form() -> None:
    events = read(SIGNED_CALL)
    assert parts_of(events) == [Thinking("hm"), ToolCall("c1", "f", "{}", signature=MARKED), ToolCall("c2", "g", "{}")]
    assert neutral.answer_of(neutral.events_of(neutral.answer_of(events))) == neutral.answer_of(events)
