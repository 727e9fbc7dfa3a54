"""Guarded calls: what the model is asked, and what the caller sees of its answer, in every dialect and however it is cut."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.errors import UpstreamBroken
from antiphon.gateway import pipeline
from antiphon.gateway.guarded import Finder
from antiphon.gateway.guarding import Guarding, ScopedRule
from antiphon.governance.guarding.rules import Known, Mode, Rule
from antiphon.testing import Body, Comment, Done, Event, Fail, FakeModel, Hang, Header
from antiphon.testing.steps import ModelStep
from antiphon.transport.server import Request, Responder
from tests.unit.gateway.test_pipeline import Door
from tests.unit.governance.guarding.patterns import DIGITS, LONG, MAIL, Pattern, rule

NDJSON = Header("content-type", "application/x-ndjson")


class GuardedDoor(Door):
    """A door whose calls are guarded, at any endpoint."""

    def __init__(self, model: FakeModel, *rules: Rule, scoped: Sequence[ScopedRule] = (), finder: Finder | None = None) -> None:
        every = (*scoped, *(ScopedRule(each) for each in rules))
        super().__init__(model)
        guards = Guarding(every, lambda name: (name, "other-name"), finder)
        self.pipeline = self.piped(guard=guards.look, choose=pipeline.together(guards.guard, self.runs["choose"]))
        self.model = model

    def ask(self, endpoint: str = "chat/completions", /, **body: Any) -> None:
        self.pipeline.run(endpoint, *self.came(json.dumps({"model": "m", **body}).encode(), endpoint))

    def came(self, body: bytes, endpoint: str = "chat/completions") -> tuple[Request, Responder]:
        self.written = b""
        self.responder = Responder(self, keep_alive=True)
        return Request("POST", b"/v1/" + endpoint.encode(), {}, body), self.responder

    @property
    def asked(self) -> dict[str, Any]:
        """What the model was asked last."""
        asked: dict[str, Any] = json.loads(self.model.calls[-1].call.body)
        return asked

    @property
    def told(self) -> tuple[str, ...]:
        return self.heard.events[-1].guarded

    def events(self) -> list[dict[str, Any]]:
        lines = (line.removeprefix("data: ") for line in self.body.decode().splitlines() if line.startswith(("data: {", "{")))
        return [json.loads(line) for line in lines]


def user(text: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


# -- how each dialect streams a text of its model, and what a caller makes of it


def chat(pieces: Sequence[str]) -> list[ModelStep]:
    def event(delta: dict[str, Any], reason: str | None = None) -> Event:
        return Event({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    return [event({"role": "assistant", "content": ""}), *(event({"content": each}) for each in pieces), event({}, "stop"), Done()]


def said_in_chat(events: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


def completions(pieces: Sequence[str]) -> list[ModelStep]:
    events = [Event({"choices": [{"index": 0, "text": each, "finish_reason": None}]}) for each in pieces]
    return [*events, Event({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}), Done()]


def said_in_completions(events: list[dict[str, Any]]) -> str:
    return "".join(choice["text"] for event in events for choice in event["choices"])


def messages(pieces: Sequence[str]) -> list[ModelStep]:
    def event(kind: str, **more: Any) -> Event:
        return Event({"type": kind, **more}, kind)

    deltas = [event("content_block_delta", index=0, delta={"type": "text_delta", "text": each}) for each in pieces]
    return [
        event("message_start", message={"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *deltas,
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}),
        event("message_stop"),
    ]


def said_in_messages(events: list[dict[str, Any]]) -> str:
    order = [event["type"] for event in events]
    assert order.index("content_block_stop") > max(
        (place for place, kind in enumerate(order) if kind == "content_block_delta"), default=0
    )
    return "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")


def responses(pieces: Sequence[str]) -> list[ModelStep]:
    where = {"item_id": "i", "output_index": 0, "content_index": 0}
    whole = "".join(pieces)
    item = {"id": "i", "type": "message", "content": [{"type": "output_text", "text": whole}]}
    steps: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"output": []}},
        *({"type": "response.output_text.delta", **where, "delta": each, "logprobs": []} for each in pieces),
        {"type": "response.output_text.done", **where, "text": whole},
        {"type": "response.content_part.done", **where, "part": {"type": "output_text", "text": whole}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"output": [item]}},
    ]
    return [Event({**step, "sequence_number": number}, step["type"]) for number, step in enumerate(steps)]


def said_in_responses(events: list[dict[str, Any]]) -> str:
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    said = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    done = next(event for event in events if event["type"] == "response.output_text.done")
    assert (done["text"], events[-1]["response"]["output"][0]["content"][0]["text"]) == (said, said)
    return said


def ollama_chat(pieces: Sequence[str]) -> list[ModelStep]:
    lines = [{"model": "m", "message": {"role": "assistant", "content": each}, "done": False} for each in pieces]
    last = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return [NDJSON, *(Body(json.dumps(line) + "\n") for line in (*lines, last))]


def said_in_ollama_chat(events: list[dict[str, Any]]) -> str:
    assert [event["done"] for event in events] == [False] * (len(events) - 1) + [True]
    return "".join(event["message"]["content"] for event in events)


def ollama_generate(pieces: Sequence[str]) -> list[ModelStep]:
    lines = [{"model": "m", "response": each, "done": False} for each in pieces]
    return [NDJSON, *(Body(json.dumps(line) + "\n") for line in (*lines, {"model": "m", "response": "", "done": True}))]


def said_in_ollama_generate(events: list[dict[str, Any]]) -> str:
    return "".join(event["response"] for event in events)


DIALECTS: dict[str, tuple[str, Callable[[Sequence[str]], list[ModelStep]], Callable[[list[dict[str, Any]]], str], str]] = {
    "chat/completions": ("messages", chat, said_in_chat, ""),
    "completions": ("prompt", completions, said_in_completions, ""),
    "messages": ("messages", messages, said_in_messages, ""),
    "responses": ("input", responses, said_in_responses, ""),
    "api/chat": ("messages", ollama_chat, said_in_ollama_chat, ""),
    "api/generate": ("prompt", ollama_generate, said_in_ollama_generate, ""),
}


def prompt(endpoint: str, text: str) -> dict[str, Any]:
    field = DIALECTS[endpoint][0]
    return {field: user(text) if field == "messages" else text}


@pytest.mark.parametrize("endpoint", DIALECTS)
@given(cuts=st.lists(st.integers(1, 6), min_size=1, max_size=20))
@settings(max_examples=25)
def test_masked_in_the_request_restored_in_the_stream_and_the_models_own_masked(endpoint: str, cuts: list[int]) -> None:
    _, write, read, _ = DIALECTS[endpoint]
    answer = "Dear [MAIL_1], call 12345 or x@y; [MAIL_1] and [MAIL_2] [not"
    pieces, rest = [], answer
    for cut in cuts * 20:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    door = GuardedDoor(FakeModel("p/m").script(*write([*pieces, rest])), rule(DIGITS), rule(MAIL))
    door.ask(endpoint, **prompt(endpoint, "I am ab@cd"), stream=True)
    assert "ab@cd" not in json.dumps(door.asked)
    assert "[MAIL_1]" in json.dumps(door.asked)
    assert read(door.events()) == "Dear ab@cd, call [DIGITS] or [MAIL]; ab@cd and [MAIL_2] [not"
    assert door.headers[b"x-antiphon-guardrails"].startswith(b"input.mask.mail.MAIL=1")
    assert door.told == ("input.mask.mail.MAIL=1", "output.mask.digits.DIGITS=1", "output.mask.mail.MAIL=1")
    assert not door.reported


@pytest.mark.parametrize("endpoint", DIALECTS)
def test_a_word_over_two_pieces_ends_the_stream_before_it(endpoint: str) -> None:
    _, write, _, _ = DIALECTS[endpoint]
    steps = write(["it is " + "." * 40, " and then ", "1", "23", "45 comes", " and goes on"])
    door = GuardedDoor(FakeModel("p/m").script(*steps), rule(DIGITS, "block", "no-numbers"))
    door.ask(endpoint, **prompt(endpoint, "hi"), stream=True)
    said = door.body.decode()
    assert "no-numbers" in said
    assert "12345" not in said
    assert "123" not in said
    assert "45 comes" not in said
    assert door.status == 200
    assert (door.heard.events[-1].error, door.told) == ("content_blocked", ("output.block.no-numbers.DIGITS=1",))
    assert door.model.running == 0


@pytest.mark.parametrize("endpoint", DIALECTS)
def test_what_is_blocked_in_the_request_reaches_no_model(endpoint: str) -> None:
    door = GuardedDoor(FakeModel("p/m"), rule(MAIL, "block", "mails"))
    door.ask(endpoint, **prompt(endpoint, "write to ab@cd"))
    assert door.status == 400
    assert b"mails" in door.body
    assert b"ab@cd" not in door.body
    assert door.headers[b"x-antiphon-guardrails"] == b"input.block.mails.MAIL=1"
    assert door.model.calls == []


def test_an_answer_in_one_piece() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"to": "[MAIL_1]", "n": "123"}'}}]
    message = {"role": "assistant", "content": "[MAIL_1] 123", "tool_calls": calls}
    choice = {"index": 0, "message": message, "logprobs": {"content": [{"token": "123"}]}}
    door = GuardedDoor(FakeModel("p/m").script(Body({"choices": [choice]})), rule(DIGITS), rule(MAIL))
    door.ask(messages=user("ab@cd"))
    said = json.loads(door.body)["choices"][0]
    assert said["message"]["content"] == "ab@cd [DIGITS]"
    assert json.loads(said["message"]["tool_calls"][0]["function"]["arguments"]) == {"to": "ab@cd", "n": "[DIGITS]"}
    assert said["logprobs"] is None
    assert door.headers[b"x-antiphon-guardrails"] == b"input.mask.mail.MAIL=1, output.mask.digits.DIGITS=2"


def test_an_answer_in_one_piece_that_is_blocked() -> None:
    door = GuardedDoor(FakeModel("p/m").chat("it is 123"), rule(DIGITS, "block", "no-numbers"))
    door.ask(messages=user("hi"))
    assert door.status == 400
    assert b"in the model's answer" in door.body
    assert b"123" not in door.body


def test_what_nobody_has_to_change_goes_through_byte_by_byte() -> None:
    steps: list[ModelStep] = [Body(b'{"choices" : [ {"message": {"content": "plain"}} ]}')]
    door = GuardedDoor(FakeModel("p/m").script(*steps), rule(DIGITS), rule(MAIL))
    door.ask(messages=user("plain"))
    assert door.body == b'{"choices" : [ {"message": {"content": "plain"}} ]}'
    assert b"x-antiphon-guardrails" not in door.headers
    assert door.told == ()


def test_arguments_of_calls_are_passed_on_as_a_whole() -> None:
    def event(calls: list[dict[str, Any]], reason: str | None = None) -> Event:
        return Event(
            {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": calls} if calls else {}, "finish_reason": reason}]}
        )

    steps = [
        event([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]),
        *(event([{"index": 0, "function": {"arguments": each}}]) for each in ('{"to": "[MA', 'IL_1]", "n"', ': "1', '23"}')),
        event([{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]),
        event([], "tool_calls"),
        Done(),
    ]
    door = GuardedDoor(FakeModel("p/m").script(*steps), rule(DIGITS), rule(MAIL))
    door.ask(messages=user("ab@cd"), stream=True)
    calls: dict[int, dict[str, str]] = {}
    for said in door.events():
        for call in said["choices"][0]["delta"].get("tool_calls", ()):
            known = calls.setdefault(call["index"], {"name": "", "arguments": ""})
            for field in known:
                known[field] += call["function"].get(field) or ""
    assert calls == {0: {"name": "f", "arguments": '{"to":"ab@cd","n":"[DIGITS]"}'}, 1: {"name": "g", "arguments": "{}"}}


def test_thoughts_come_before_the_answer_and_comments_stay() -> None:
    def event(**delta: Any) -> Event:
        return Event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    steps = [event(reasoning_content="hm 12"), Comment("wait"), event(reasoning_content="345"), event(content="so"), Done()]
    door = GuardedDoor(FakeModel("p/m").script(*steps), rule(DIGITS))
    door.ask(messages=user("hi"), stream=True)
    said = [event["choices"][0]["delta"] for event in door.events()]
    assert [each for each in said if any(each.values())] == [{"reasoning_content": "hm [DIGITS]"}, {"content": "so"}]
    assert b": wait" in door.body


def test_a_stream_that_breaks_off_gives_what_was_held_back() -> None:
    steps = [*chat(["half an answer, 12"])[:2], Fail(UpstreamBroken("it is gone"))]
    door = GuardedDoor(FakeModel("p/m").script(*steps), rule(DIGITS))
    door.ask(messages=user("hi"), stream=True)
    events = door.events()
    assert said_in_chat([event for event in events if "choices" in event]) == "half an answer, 12"
    assert "error" in events[-1]


def test_a_caller_that_leaves_ends_the_model() -> None:
    door = GuardedDoor(FakeModel("p/m").script(*chat(["abc"])[:2], Hang()), rule(DIGITS))
    door.ask(messages=user("hi"), stream=True)
    door.listener.gone()
    assert door.model.running == 0
    assert door.heard.events[-1].error == "client_gone"


def test_a_server_that_sends_what_is_no_json_is_broken_off() -> None:
    door = GuardedDoor(FakeModel("p/m").script(*chat(["abc"])[:2], Event("{oops")), rule(DIGITS))
    door.ask(messages=user("hi"), stream=True)
    assert door.heard.events[-1].error == "upstream_truncated"
    assert b"oops" not in door.body


def test_every_place_of_a_request_where_something_may_be_said() -> None:
    door = GuardedDoor(FakeModel("p/m").chat("ok"), rule(MAIL))
    hidden = {
        "system": [{"type": "text", "text": "of a@b"}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "c@d"}, {"type": "image_url", "image_url": {"url": "http://e@f/"}}],
            },
            {"role": "assistant", "tool_calls": [{"id": "g@h", "function": {"name": "f", "arguments": '{"x": "g@h"}'}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "f", "input": {"name": "i@j", "n": [1]}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": "k@l"}]}],
            },
            {
                "role": "user",
                "content": [{"type": "document", "source": {"type": "text", "data": "m@n", "media_type": "text/plain"}}],
            },
        ],
        "tools": [{"type": "function", "function": {"name": "f", "description": "for o@p", "parameters": {"type": "object"}}}],
    }
    door.ask(**hidden)
    asked = json.dumps(door.asked)
    for mail in ("a@b", "c@d", "i@j", "k@l", "m@n", "o@p", '"x": \\"g@h'):
        assert mail not in asked, mail
    assert "http://e@f/" in asked
    assert door.asked["messages"][1]["tool_calls"][0]["id"] == "g@h"


def test_what_is_sent_as_token_ids_is_refused() -> None:
    door = GuardedDoor(FakeModel("p/m"), rule(MAIL))
    door.ask("completions", prompt=[[1, 2, 3]])
    assert door.status == 400
    assert b"token ids" in door.body


def test_a_rule_for_somebody_holds_for_nobody_else_and_for_every_name_of_a_model() -> None:
    scoped = [ScopedRule(rule(MAIL, "block"), models=("other-name",)), ScopedRule(rule(DIGITS, "block"), teams=("t",))]
    door = GuardedDoor(FakeModel("p/m").chat("ok"), scoped=scoped)
    door.ask(messages=user("123"))
    assert door.status == 200
    door.ask(messages=user("ab@cd"))
    assert door.status == 400


def test_a_rule_that_needs_the_whole_text_holds_a_stream_back_and_lets_it_go_at_its_end() -> None:
    door = GuardedDoor(FakeModel("p/m").script(*chat(["short", " enough"])), rule(LONG, "block"))
    door.ask(messages=user("hi"), stream=True)
    assert said_in_chat(door.events()) == "short enough"


class FakeFinder:
    """A compute host that answers when it is told to."""

    def __init__(self, *, at_once: bool = False, down: bool = False) -> None:
        self.at_once = at_once
        self.down = down
        self.asked: list[list[str]] = []
        self.answers: list[Callable[[], None]] = []

    def find(self, rules: Sequence[Rule], texts: Sequence[str], then: Callable[[Known | None], None]) -> None:
        self.asked.append(list(texts))
        known = None if self.down else {text: {rule.key: list(rule.guardrail.find(text)) for rule in rules} for text in texts}
        if self.at_once:
            then(known)
        else:
            self.answers.append(lambda: then(known))


def slow(guardrail: Pattern, microseconds: float = 1e6, mode: Mode = "mask") -> Rule:
    return Rule(guardrail.kind.lower(), guardrail, mode, input=True, output=True, microseconds=microseconds, key=guardrail.kind)


@pytest.mark.parametrize("at_once", [True, False])
def test_what_would_hold_up_the_loop_is_looked_at_elsewhere(at_once: bool) -> None:
    finder = FakeFinder(at_once=at_once)
    door = GuardedDoor(FakeModel("p/m").chat("it is [MAIL_1] or x@y"), slow(MAIL), finder=finder)
    door.ask(messages=user("ab@cd"))
    if not at_once:
        assert door.model.calls == []
        finder.answers.pop()()
        assert door.ended == 0
        finder.answers.pop()()
    assert json.loads(door.body)["choices"][0]["message"]["content"] == "it is ab@cd or [MAIL]"
    assert finder.asked == [["ab@cd"], ["it is [MAIL_1] or x@y"]]


def test_what_is_quick_is_looked_at_here() -> None:
    finder = FakeFinder()
    door = GuardedDoor(FakeModel("p/m").chat("ok"), slow(MAIL, 10), finder=finder)
    door.ask(messages=user("ab@cd"))
    assert (finder.asked, door.status) == ([], 200)


@pytest.mark.parametrize("at_once", [True, False])
def test_without_the_other_process_a_short_text_is_looked_at_here_and_a_long_one_refused(at_once: bool) -> None:
    finder = FakeFinder(at_once=at_once, down=True)
    door = GuardedDoor(FakeModel("p/m").chat("ok", times=None), slow(MAIL, 100_000), finder=finder)
    for text, status in (("ab@cd", 200), ("x" * 1000, 503)):
        door.ask(messages=user(text))
        if not at_once:
            finder.answers.pop()()
        assert door.status == status
    assert b"guardrails_unavailable" in door.body
    assert door.headers[b"retry-after"] == b"1"


def test_a_caller_that_leaves_while_its_text_is_looked_at_is_forgotten() -> None:
    finder = FakeFinder()
    door = GuardedDoor(FakeModel("p/m").chat("ok"), slow(MAIL), finder=finder)
    door.ask(messages=user("ab@cd"))
    door.listener.gone()
    finder.answers.pop()()
    assert door.model.calls == []
    assert [event.error for event in door.heard.events] == ["client_gone"]


def test_a_caller_that_leaves_while_its_answer_is_looked_at_is_forgotten() -> None:
    finder = FakeFinder()
    rule_out = Rule("mail", MAIL, "mask", input=False, output=True, microseconds=1e6)
    door = GuardedDoor(FakeModel("p/m").chat("x@y"), rule_out, finder=finder)
    door.ask(messages=user("hi"))
    door.listener.gone()
    finder.answers.pop()()
    assert [event.error for event in door.heard.events] == ["client_gone"]
    assert door.written == b""


def test_a_rule_for_words_alone_looks_at_neither_thoughts_nor_arguments() -> None:
    words = Rule("words", DIGITS, "block", input=False, output=True, words_only=True)
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"n": "123"}'}}]
    message = {"role": "assistant", "reasoning_content": "123", "content": "none", "tool_calls": calls}
    door = GuardedDoor(FakeModel("p/m").script(Body({"choices": [{"index": 0, "message": message}]})), words)
    door.ask(messages=user("hi"))
    assert door.status == 200
    door = GuardedDoor(FakeModel("p/m").chat("123"), words)
    door.ask(messages=user("hi"))
    assert door.status == 400


@pytest.mark.parametrize(
    "more",
    [
        {"previous_response_id": "resp_1"},
        {"input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "ab@cd"}]},
        {"input": [{"id": "msg_1"}, {"role": "user", "content": "ab@cd"}]},
    ],
)
def test_a_call_that_goes_on_from_another_one_has_placeholders_of_its_own(more: dict[str, Any]) -> None:
    door = GuardedDoor(FakeModel("p/m").script(*responses(["of [MAIL_1]"])), rule(MAIL))
    door.ask("responses", **{"input": "ab@cd", "stream": True, **more})
    assert "[MAIL_1]" not in json.dumps(door.asked)
    assert "[MAIL_1" in json.dumps(door.asked)
    assert said_in_responses(door.events()) == "of [MAIL_1]"


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","messages":[{"role":"user","content":"ab@cd"}],"messages":[{"role":"user","content":"clean"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"ab@cd","content":"clean"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"description":"ab@cd","description":"clean"}]}',
    ],
)
def test_a_field_that_stands_twice_is_refused(body: bytes) -> None:
    door = GuardedDoor(FakeModel("p/m"), rule(MAIL))
    door.pipeline.run("chat/completions", *door.came(body))
    assert (door.status, door.model.calls) == (400, [])
    assert b"stands there twice" in door.body


def test_a_field_that_stands_twice_within_arguments_hides_nothing() -> None:
    door = GuardedDoor(FakeModel("p/m").chat("ok"), rule(MAIL))
    arguments = '{"to": "ab@cd", "to": "clean"}'
    door.ask(messages=[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": arguments}}]}])
    assert "ab@cd" not in json.dumps(door.asked)


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"enum": ["a@b"]}}}}}]},
        {
            "tools": [
                {"name": "f", "input_schema": {"properties": {"format": {"title": "a@b", "default": "a@b", "examples": ["a@b"]}}}}
            ]
        },
        {"tools": [{"type": "custom", "custom": {"format": {"type": "grammar", "grammar": {"definition": "a@b"}}}}]},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "s", "description": "a@b", "schema": {"const": "a@b"}},
            }
        },
        {"text": {"format": {"type": "json_schema", "schema": {"description": "a@b"}}}},
        {"format": {"description": "a@b"}},
        {"chat_template": "a@b"},
        {"chat_template_kwargs": {"note": "a@b"}},
        {"guided_choice": ["a@b"]},
        {"stop": ["a@b"]},
        {"foo": {"bar": ["a@b"]}},
        {"documents": [{"name": "a@b", "url": "a@b"}]},
        {"messages": [{"role": "a@b", "content": "hi"}]},
        {"messages": [{"role": "assistant", "content": "hi", "thinking": "a@b"}]},
    ],
)
def test_no_field_hides_a_text_from_a_guardrail(more: dict[str, Any]) -> None:
    door = GuardedDoor(FakeModel("p/m").chat("ok"), rule(MAIL))
    door.ask(**{"messages": user("hi"), **more})
    assert door.status == 200
    assert "a@b" not in json.dumps(door.asked)


@pytest.mark.parametrize(
    ("endpoint", "more"),
    [
        ("completions", {"prompt": [1.0, 2.0]}),
        ("completions", {"prompt": [None, 1, 2]}),
        ("completions", {"prompt": ["", 1]}),
        ("completions", {"prompt": [[1, 2], [3]]}),
        ("completions", {"prompt": "hi", "prompt_token_ids": [1, 2]}),
        ("embeddings", {"input": [True, 17]}),
    ],
)
def test_nothing_that_is_written_as_numbers_is_let_through(endpoint: str, more: dict[str, Any]) -> None:
    door = GuardedDoor(FakeModel("p/m"), rule(MAIL))
    door.ask(endpoint, **more)
    assert (door.status, door.model.calls) == (400, [])
    assert b"token ids" in door.body


def test_more_text_than_can_be_looked_at_is_refused() -> None:
    door = GuardedDoor(FakeModel("p/m"), rule(MAIL))
    door.ask(messages=user("x" * 2_000_001))
    assert door.status == 413
