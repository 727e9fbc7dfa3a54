"""The host's ``/tokenize``: what a chat has for a prompt, without an answer."""

import pytest

from antiphon.execution.engine_host.preparation import MAX_COUNTED
from antiphon.testing.fake_engine import FakeEngine, fake_info
from tests.unit.execution.engine_host.peer import PeerResponder, Served, done

HI = [{"role": "user", "content": "hi"}]


async def tokenized(served: Served, **fields: object) -> PeerResponder:
    return await done(served.request("POST", "/tokenize", {"model": "m", "messages": HI, **fields}))


async def test_the_tokens_are_those_that_the_engine_gets_for_the_same_chat():
    served = Served()
    told = (await tokenized(served)).json()
    chat = (await served.chat("hi")).json()
    assert told["tokens"] == served.engine.started[0][0]
    assert told["count"] == chat["usage"]["prompt_tokens"] == len(told["tokens"])
    assert (told["max_model_len"], told["token_strs"]) == (4096, None)


async def test_nothing_is_generated_and_no_call_stays_open():
    served = Served()
    await tokenized(served)
    assert not served.engine.started
    assert served.request("GET", "/stats").json()["open_calls"] == 0


async def test_more_than_the_context_holds_is_counted_too():
    served = Served(FakeEngine(pieces=(b"a longer token",), info=fake_info(context_length=64)))
    text = [{"role": "user", "content": "é" * 30}]
    assert (await tokenized(served, messages=text)).json()["count"] > 64
    assert (await served.chat("é" * 30)).error["code"] == "context_length_exceeded"


async def test_a_text_of_any_length_is_counted_to_its_end():
    served = Served(FakeEngine(info=fake_info(context_length=64)))
    short, long = [[{"role": "user", "content": "x" * length}] for length in (1, 200_001)]
    counts = [(await tokenized(served, messages=messages)).json()["count"] for messages in (short, long)]
    assert counts[1] - counts[0] == 200_000


async def test_what_is_too_long_to_be_counted_is_refused_with_the_reason():
    answer = await tokenized(Served(), messages=[{"role": "user", "content": "x" * MAX_COUNTED}])
    assert (answer.status, answer.error["param"]) == (400, "messages")
    assert f"tokens of at most {MAX_COUNTED} are counted" in answer.error["message"]


async def test_variables_of_the_template_are_among_the_prompt():
    served = Served(FakeEngine(info=fake_info(chat_template="{{ messages[0].content }}{{ tone or '' }}")))
    plain, told = [(await tokenized(served, **more)).json() for more in ({}, {"chat_template_kwargs": {"tone": "kind"}})]
    assert told["count"] == plain["count"] + 4


@pytest.mark.parametrize(
    ("fields", "param", "remedy"),
    [
        ({"prompt": "x"}, "prompt", "give `messages`"),
        ({"tools": [{"type": "function"}]}, "tools", "leave it out"),
        ({"add_generation_prompt": False}, "add_generation_prompt", "give true"),
        ({"continue_final_message": True}, "continue_final_message", "leave it out"),
        ({"return_token_strs": True}, "return_token_strs", "leave it out"),
        ({"mesages": []}, "mesages", "did you mean `messages`?"),
        ({"messages": []}, "messages", "at least one"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role", "give one of"),
        ({"model": "other"}, "model", "name one of m"),
    ],
)
async def test_what_cannot_be_counted_is_refused_by_name(fields, param, remedy):
    answer = await tokenized(Served(), **fields)
    assert answer.status in (400, 404)
    assert answer.error["param"] == param
    assert remedy in answer.error["message"]


@pytest.mark.parametrize(
    "fields", [{"add_generation_prompt": True}, {"tools": []}, {"add_special_tokens": False}, {"prompt": None}]
)
async def test_what_asks_for_nothing_else_passes(fields):
    assert (await tokenized(Served(), **fields)).status == 200


async def test_a_host_without_its_engine_says_when_to_come_back():
    answer = await tokenized(Served().bare())
    assert (answer.status, answer.headers[b"retry-after"]) == (503, b"2")
