"""Answers are put together as clients do it, and what no client could read is a miss."""

import pytest

from antiphon.testing.fidelity.outcome import Answer, Miss, Outcome
from antiphon.testing.fidelity.reading import read, so_far
from antiphon.testing.fidelity.reading.events import events
from antiphon.testing.fidelity.words import anthropic, openai, responses
from antiphon.testing.steps import Body, Comment, Done, Event, payload


def answered(*steps, callers="openai", streamed=True, status=200, fault=""):
    body = b"".join(payload(step) for step in steps if isinstance(step, Body | Comment | Done | Event))
    return Outcome(answer=Answer(status, (), body, fault), callers=callers, streamed=streamed)


def of_scene(scene, **more):
    return answered(*scene.acts, **more)


def test_a_stream_of_chat_completions():
    reply = read(
        answered(
            openai.delta(role="assistant", content=""),
            openai.delta(content="One "),
            openai.delta(1, content="Two"),
            openai.call(0, "", name="f", call_id="c1"),
            openai.call(1, '{"b":2}', name="g", call_id="c2"),
            openai.call(0, '{"a":1}'),
            openai.delta(content="more", reasoning_content="Hm."),
            openai.delta(finish="stop"),
            openai.usage_chunk({"prompt_tokens": 1}),
            Done(),
            openai.delta(content="too late"),
        )
    )
    first = reply.choice(0)
    assert (first.text, first.thought, first.finish, reply.choice(1).text) == ("One more", "Hm.", "stop", "Two")
    assert [(call.id, call.name, call.arguments) for call in first.calls] == [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')]
    assert reply.usage == [{"prompt_tokens": 1}]


def test_calls_that_share_an_index_become_one_as_in_every_client():
    reply = read(answered(openai.call(0, "{}", name="f", call_id="c1"), openai.call(0, "{}", name="g", call_id="c2")))
    assert [call.name for call in reply.choice(0).calls] == ["fg"]


def test_an_answer_in_one_piece():
    scene = openai.whole(None, finish="tool_calls", tool_calls=[openai.whole_call()], reasoning="Hm.")
    spoken = read(of_scene(scene, streamed=False)).choice(0)
    assert (spoken.text, spoken.thought, spoken.finish) == ("", "Hm.", "tool_calls")
    assert [(call.id, call.name) for call in spoken.calls] == [("call_1", "weather")]


def test_a_stream_of_messages():
    scene = anthropic.streamed(
        anthropic.thought(0, "Hm", ".", signature="s"),
        anthropic.text(1, "One", " two"),
        anthropic.call(2, "t1", "f", '{"a":', "1}"),
        anthropic.call(3, "t2", "now"),
        reason="stop_sequence",
        stop="END",
    )
    spoken = read(of_scene(scene, callers="anthropic")).choice(0)
    assert (spoken.text, spoken.thought, spoken.thoughts[0].signature) == ("One two", "Hm.", "s")
    assert [(call.id, call.arguments) for call in spoken.calls] == [("t1", '{"a":1}'), ("t2", "{}")]
    assert (spoken.finish, spoken.stop) == ("stop_sequence", "END")


START, TEXT, END = anthropic.start(), anthropic.text(0, "One"), anthropic.end()


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([*TEXT, *END], "content_block_start comes where it must not"),
        ([START, *TEXT], "ends without message_stop"),
        ([START, *TEXT, END[0]], "ends without message_stop"),
        ([START, *TEXT, END[1]], "message_stop comes where it must not"),
        ([START, *TEXT[:-1], *END], "message_delta comes where it must not"),
        ([START, *anthropic.text(1, "One"), *END], "begins with index 1"),
        ([START, *TEXT, *TEXT, *END], "begins with index 0"),
        ([START, TEXT[0], *TEXT, *END], "content_block_start comes where it must not"),
        ([START, TEXT[0], anthropic.text(1, "One")[1], *END], "is for block 1 while block 0 is open"),
        ([START, TEXT[0], anthropic.call(0, "t", "f", "{}")[1], *END], "input_json_delta comes in a block of type text"),
        ([START, START, *END], "message_start comes where it must not"),
        ([START, Event({"type": "message_delta", "delta": {}}, "message_stop")], 'named "message_stop"'),
        ([START, *TEXT, Event({"type": "error", "error": {"message": "On fire."}}, "error")], "On fire."),
    ],
)
def test_messages_must_come_in_the_documented_order(steps, told):
    with pytest.raises(Miss, match=told):
        read(answered(*steps, callers="anthropic"))


def test_what_came_before_a_failure_can_be_read():
    cut = answered(START, *TEXT[:-1], Event({"type": "error", "error": {"message": "On fire."}}, "error"), callers="anthropic")
    assert so_far(cut).choice(0).text == "One"
    assert so_far(answered(openai.delta(content="One"), Body(b'data: {"cho'), fault="reset")).choice(0).text == "One"


def test_a_stream_of_responses():
    spoken = read(of_scene(responses.streamed_text("One", " two"), callers="responses")).choice(0)
    assert (spoken.text, spoken.finish) == ("One two", "completed")
    called = read(of_scene(responses.streamed_call("f", '{"a":', "1}"), callers="responses")).choice(0)
    assert [(call.name, call.arguments, call.id) for call in called.calls] == [("f", '{"a":1}', "call_1")]


SAID = responses.streamed_text("One", " two").acts


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (SAID[1:], "does not begin with response.created"),
        (SAID[:-1], "does not end with response.completed"),
        ((*SAID[:3], *SAID[4:]), "not numbered in order"),
        ((*SAID[:4], Event({**dict(SAID[4].data), "delta": "Eins"}), *SAID[5:]), "the deltas say Eins two"),
        ((), "does not begin"),
    ],
)
def test_responses_must_agree_with_themselves(steps, told):
    with pytest.raises(Miss, match=told):
        read(answered(*steps, callers="responses"))


def line(content="", *, done=False, **more):
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return Body({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done, **more})


def lines(*given):
    return [step for one in given for step in (one, Body(b"\n"))]


def test_lines_of_ollama():
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    told = lines(
        line("One", message={"thinking": "Hm."}),
        line(" two", message={"tool_calls": [call]}),
        line(done=True, done_reason="stop", eval_count=3),
    )
    spoken = read(answered(*told, callers="ollama")).choice(0)
    assert (spoken.text, spoken.thought, spoken.finish, spoken.calls[0].arguments) == ("One two", "Hm.", "stop", '{"a":1}')


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lines(line("One")), "says done: false"),
        (lines(line("One", done=True), line(done=True)), "line 0 of 2 says done: true"),
        ([], "empty"),
        (lines(Body({"model": "m"})), "not as documented"),
    ],
)
def test_lines_of_ollama_must_end_once(given, told):
    with pytest.raises(Miss, match=told):
        read(answered(*given, callers="ollama"))


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(), "answered nothing"),
        (answered(Body("oops"), status=500), "status 500: oops"),
        (answered(Body("oops"), streamed=False), "not JSON"),
        (answered(Body("data: oops\n\n")), "not JSON"),
        (answered(Body("data: [1]\n\n")), "not an object"),
        (answered(Body(b'data: {"a":"\xff"}\n\n')), "not UTF-8"),
        (answered(Event({"choices": [{"delta": {}}]})), "missing required field `index`"),
        (answered(Event({"choices": [{"index": 0, "delta": {"tool_calls": [{"id": "c"}]}}]})), "missing required field `index`"),
        (answered(Event({"error": {"message": "On fire."}})), "On fire."),
        (answered(openai.delta(content="One"), fault="it was reset"), "broke off behind .* it was reset"),
    ],
)
def test_what_is_no_answer_is_a_miss(outcome, told):
    with pytest.raises(Miss, match=told):
        read(outcome)


def test_an_event_that_the_end_cut_off_does_not_count():
    assert [event.data for event in events(b'data: {}\n\ndata: {"a":')] == ["{}"]
    assert [event.data for event in events(b"data: {}\n\ndata: [DONE]")] == ["{}", "[DONE]"]
