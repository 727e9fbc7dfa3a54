"""Whole and streamed answers of the older text endpoint."""

import pytest
from openai.types import Completion

from antiphon.testing.fake_engine import FakeAnswer, FakeEngine
from tests.unit.execution.engine_host.peer import Served


async def test_a_whole_answer():
    served = Served(FakeEngine([" upon a time"]))
    answer = await served.complete("once")
    completion = Completion.model_validate(answer.json(), strict=True)
    assert completion.object == "text_completion"
    assert completion.id.startswith("cmpl-")
    assert (completion.choices[0].text, completion.choices[0].finish_reason) == (" upon a time", "stop")
    assert completion.choices[0].logprobs is None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (4, 12)


async def test_a_stream():
    answer = await Served(FakeEngine([" upon"])).complete("once", stream=True, stream_options={"include_usage": True})
    chunks = answer.chunks()
    for chunk in chunks[-2:]:  # the client's type does not know that finish_reason is null before
        Completion.model_validate(chunk, strict=True)
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert answer.text() == " upon"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None] * 5 + ["stop"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 9
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


@pytest.mark.parametrize("stream", [False, True])
async def test_several_prompts_and_several_answers_each(stream):
    served = Served(FakeEngine([FakeAnswer(("a", "b")), FakeAnswer(("c", "d"))]))
    answer = await served.complete(
        ["first", "second!"], n=2, stream=stream, **({"stream_options": {"include_usage": True}} if stream else {})
    )
    assert [answer.text(index) for index in range(4)] == ["a", "b", "c", "d"]
    usage = answer.chunks()[-1]["usage"] if stream else answer.json()["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (12, 4, 16)


@pytest.mark.parametrize(
    ("prompt", "taken"), [([104, 105], [[104, 105]]), ([[104], [105, 33]], [[104], [105, 33]]), (["hi"], [[104, 105]])]
)
async def test_prompts_as_token_ids(prompt, taken):
    served = Served()
    answer = await served.complete(prompt)
    assert answer.status == 200
    assert [tokens for tokens, _ in served.engine.started] == taken


async def test_a_prompt_is_taken_as_it_is():
    served = Served()
    await served.complete("<|im_start|>user\nhi")
    assert served.engine.started[0][0][0] == 257


@pytest.mark.parametrize("stream", [False, True])
async def test_log_probabilities_in_the_older_shape(stream):
    served = Served(FakeEngine([FakeAnswer([[b"one", b" two", b" three"]])]))
    answer = await served.complete(logprobs=0, stream=stream)
    choices = [choice for chunk in answer.chunks() for choice in chunk["choices"]] if stream else answer.json()["choices"]
    found = [choice["logprobs"] for choice in choices if choice["logprobs"]]
    assert [token for part in found for token in part["tokens"]] == ["one", " two", " three"]
    assert [offset for part in found for offset in part["text_offset"]] == [0, 3, 7]
    assert [logprob for part in found for logprob in part["token_logprobs"]] == [-0.25] * 3
    assert all(part["top_logprobs"] is None for part in found)


async def test_the_default_bound_is_openais_sixteen_tokens():
    served = Served(FakeEngine(["x" * 40]))
    answer = await served.complete()
    assert answer.json()["usage"]["completion_tokens"] == 16


async def test_a_full_queue_answers_none_of_the_prompts():
    served = Served(FakeEngine(by_hand=True, max_running=1, max_waiting=0))
    answer = await served.complete(["one", "two"])
    assert answer.status == 429
    assert served.engine.stats().running == 0


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a", ""]}, "prompt[1]"),
        ({"prompt": ["a", 5]}, "prompt"),
        ({"prompt": [[1, 99999]]}, "prompt[0][1]"),
        ({"prompt": [-1]}, "prompt[0]"),
        ({"prompt": [[]]}, "prompt[0]"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": ["x"] * 65}, "prompt"),
        ({"best_of": 3}, "best_of"),
        ({"echo": True}, "echo"),
        ({"suffix": "end"}, "suffix"),
        ({"logprobs": 1}, "logprobs"),
        ({"logprobs": True}, "logprobs"),
        ({"messages": []}, "messages"),
    ],
)
async def test_what_cannot_be_honoured_is_refused_by_name(fields, param):
    answer = await Served().complete(**{"prompt": "once", **fields})
    assert answer.status == 400
    assert answer.error["param"] == param
    assert param.split("[")[0] in answer.error["message"]


async def test_neutral_values_pass():
    answer = await Served().complete(best_of=1, echo=False, suffix=None, logit_bias={}, logprobs=None, user="me")
    assert answer.status == 200
