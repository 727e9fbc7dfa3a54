"""Whole and streamed chat answers, in the shapes of the official client's types."""

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from antiphon.testing.fake_engine import FakeAnswer, FakeEngine
from tests.unit.execution.engine_host.peer import Served

STREAM = {"stream": True, "stream_options": {"include_usage": True}}


async def test_a_whole_answer():
    served = Served(FakeEngine([FakeAnswer(("Hello!",), cached_tokens=3)]))
    answer = await served.chat("hi")
    completion = ChatCompletion.model_validate(answer.json(), strict=True)
    assert answer.status == 200
    assert completion.object == "chat.completion"
    assert completion.model == "m"
    assert completion.id.startswith("chatcmpl-")
    assert completion.system_fingerprint.startswith("fp_")
    assert completion.choices[0].message.content == "Hello!"
    assert completion.choices[0].message.role == "assistant"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.choices[0].logprobs is None
    usage = completion.usage
    prompt = len(served.engine.started[0][0])
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (prompt, 6, prompt + 6)
    assert usage.prompt_tokens_details.cached_tokens == 3


async def test_a_stream():
    served = Served(FakeEngine(["Hello!"]))
    answer = await served.chat("hi", **STREAM)
    assert answer.headers[b"content-type"].startswith(b"text/event-stream")
    chunks = answer.chunks()
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)
    assert {(chunk["id"], chunk["created"], chunk["object"], chunk["model"]) for chunk in chunks} == {
        (chunks[0]["id"], chunks[0]["created"], "chat.completion.chunk", "m")
    }
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]]
    assert reasons == [None] * (len(reasons) - 1) + ["stop"]
    assert chunks[-2]["choices"][0]["delta"] == {}
    assert answer.text() == "Hello!"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == 6
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


async def test_without_include_usage_no_chunk_has_a_usage():
    answer = await Served().chat(stream=True)
    assert not any("usage" in chunk for chunk in answer.chunks())
    assert all(chunk["choices"] for chunk in answer.chunks())


async def test_a_step_is_one_write():
    served = Served(FakeEngine([FakeAnswer(("abc", "xyz"), per_step=1)], by_hand=True))
    answer = served.ask(stream=True, n=2)
    await served.started()
    for step in range(2):
        served.engine.step()
        await served.turn()
        assert len(answer.writes) == step + 1


@pytest.mark.parametrize("stream", [False, True])
async def test_several_answers_keep_apart(stream):
    served = Served(FakeEngine([FakeAnswer(("one", "second", ""))]))
    answer = await served.chat(n=3, stream=stream)
    assert [answer.text(index) for index in range(3)] == ["one", "second", ""]
    if stream:
        for index in range(3):
            own = [choice for chunk in answer.chunks() for choice in chunk["choices"] if choice["index"] == index]
            assert own[0]["delta"]["role"] == "assistant"
            assert [choice["finish_reason"] for choice in own] == [None] * (len(own) - 1) + ["stop"]
            assert not any("role" in choice["delta"] for choice in own[1:])


@pytest.mark.parametrize("stream", [False, True])
async def test_characters_over_several_tokens(stream):
    text = "naïve 🎉🏳️‍🌈 中文"
    answer = await Served(FakeEngine([text])).chat(stream=stream)
    assert answer.text() == text


@pytest.mark.parametrize("stream", [False, True])
async def test_log_probabilities(stream):
    served = Served(FakeEngine([FakeAnswer(("a🎉",), logprob=-0.5)]))
    answer = await served.chat(logprobs=True, stream=stream)
    choices = [choice for chunk in answer.chunks() for choice in chunk["choices"]] if stream else answer.json()["choices"]
    found = [token for choice in choices for token in ((choice["logprobs"] or {}).get("content") or [])]
    assert [token["token"] for token in found] == ["a", r"bytes:\xf0", r"bytes:\x9f", r"bytes:\x8e", r"bytes:\x89"]
    assert bytes(byte for token in found for byte in token["bytes"]).decode() == "a🎉"
    assert all(token["logprob"] == -0.5 and token["top_logprobs"] == [] for token in found)
    if stream:
        for choice in choices:
            here = b"".join(bytes(token["bytes"]) for token in ((choice["logprobs"] or {}).get("content") or []))
            assert here.decode() == choice["delta"].get("content", "")


async def test_the_bound_of_tokens_ends_with_length():
    answer = await Served(FakeEngine(["a long answer"])).chat(max_tokens=3)
    assert answer.json()["choices"][0]["finish_reason"] == "length"
    assert answer.text() == "a l"
    assert answer.json()["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("per_step", [1, 100])
async def test_a_stop_string_ends_the_answer_and_the_generation(stream, per_step):
    served = Served(FakeEngine([FakeAnswer(("one two STOP three",), per_step=per_step)]))
    answer = await served.chat(stop=["never", "STOP"], stream=stream, stream_options=STREAM["stream_options"] if stream else None)
    assert answer.text() == "one two "
    usage = answer.chunks()[-1]["usage"] if stream else answer.json()["usage"]
    assert usage["completion_tokens"] == len("one two STOP")
    choice = answer.chunks()[-2]["choices"][0] if stream else answer.json()["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert served.engine.cancelled == 1
    assert served.engine.stats().running == 0


async def test_a_stop_string_ends_only_its_own_answer():
    served = Served(FakeEngine([FakeAnswer(("one STOP and much more", "another answer"))]))
    answer = await served.chat(stop="STOP", n=2)
    assert [answer.text(0), answer.text(1)] == ["one ", "another answer"]
    assert answer.json()["usage"]["completion_tokens"] == len("one STOP") + len("another answer")


async def test_what_looks_like_a_stop_string_comes_after_all():
    answer = await Served(FakeEngine(["one ST"])).chat(stop="STOP", stream=True)
    assert answer.text() == "one ST"


async def test_the_same_model_has_the_same_fingerprint():
    first, second = await Served().chat(), await Served().chat()
    assert first.json()["system_fingerprint"] == second.json()["system_fingerprint"]
    assert first.json()["system_fingerprint"] != (await Served(name="other").chat(model="other")).json()["system_fingerprint"]


async def test_parameters_reach_the_engine():
    served = Served()
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    answer_format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    penalties = {"presence_penalty": 1, "frequency_penalty": -1, "repetition_penalty": 1.1}
    choosing = {"temperature": 0.5, "top_p": 0.9, "seed": 42, "top_k": 5, "min_p": 0.1}
    await served.chat(max_completion_tokens=7, ignore_eos=True, response_format=answer_format, **penalties, **choosing)
    params = served.engine.started[0][1]
    assert (params.max_tokens, params.temperature, params.top_p, params.seed) == (7, 0.5, 0.9, 42)
    assert (params.presence_penalty, params.frequency_penalty, params.top_k, params.min_p) == (1, -1, 5, 0.1)
    assert (params.repetition_penalty, params.ignore_eos, params.logprobs) == (1.1, True, False)
    assert params.json_schema == '{"type":"object","properties":{"a":{"type":"integer"}}}'


async def test_the_defaults_are_openais():
    served = Served()
    await served.chat(temperature=None, n=None, response_format={"type": "text"}, stop=None, seed=None)
    prompt, params = served.engine.started[0]
    assert (params.temperature, params.top_p, params.n, params.seed) == (1.0, 1.0, 1, None)
    assert params.max_tokens == served.engine.info.context_length - len(prompt)
    assert (params.json_object, params.json_schema) == (False, None)


async def test_json_mode():
    served = Served()
    await served.chat(response_format={"type": "json_object"})
    assert served.engine.started[0][1].json_object
