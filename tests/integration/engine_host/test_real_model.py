"""A real model behind the engine host, called by the official client over a TCP port."""

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from tests.integration.engine_host.running import DEADLINE

QUESTION = [{"role": "user", "content": "What is the capital of France? Answer in one sentence."}]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
LONG = "Write a very long story about a ship."


def chat(client, content=None, **options):
    messages = QUESTION if content is None else [{"role": "user", "content": content}]
    return client.chat.completions.create(**{"model": "small", "messages": messages, "temperature": 0, "max_tokens": 24, **options})


def text_of(answer):
    return answer.choices[0].message.content


def streamed(chunks, index=0):
    choices = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
    return "".join(choice.delta.content or "" for choice in choices)


def test_it_answers(client):
    answer = chat(client)
    assert "Paris" in text_of(answer)
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_says_the_same(client):
    whole = chat(client)
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    assert streamed(chunks) == text_of(whole)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert chunks[-1].usage == whole.usage
    assert len({chunk.id for chunk in chunks}) == 1


def test_max_tokens_is_exact(client):
    answer = chat(client, LONG, max_tokens=7)
    assert answer.usage.completion_tokens == 7
    assert answer.choices[0].finish_reason == "length"


@pytest.mark.parametrize("stream", [False, True])
def test_several_answers(client, stream):
    answer = chat(
        client, n=3, temperature=1, seed=1, max_tokens=8, stream=stream, stream_options={"include_usage": True} if stream else None
    )
    if stream:
        chunks = list(answer)
        texts, usage = [streamed(chunks, index) for index in range(3)], chunks[-1].usage
    else:
        texts, usage = [choice.message.content for choice in answer.choices], answer.usage
    assert all(texts)
    assert len(set(texts)) > 1
    assert 3 <= usage.completion_tokens <= 24


def test_a_stop_string_ends_the_answer(host, client):
    whole = text_of(chat(client))
    assert "Paris" in whole
    stopped = chat(client, stop=["Berlin", "aris"])
    assert text_of(stopped) == whole.partition("aris")[0]
    assert stopped.choices[0].finish_reason == "stop"
    assert stopped.usage.completion_tokens < chat(client).usage.completion_tokens
    chunks = list(chat(client, stop=["Berlin", "aris"], stream=True))
    assert streamed(chunks) == text_of(stopped)


def test_log_probabilities_spell_the_text(client):
    answer = chat(client, logprobs=True)
    tokens = answer.choices[0].logprobs.content
    assert bytes(byte for token in tokens for byte in token.bytes).decode() == text_of(answer)
    assert all(token.logprob <= 0 and token.top_logprobs == [] for token in tokens)
    assert answer.usage.completion_tokens - len(tokens) in (0, 1)  # the token that ends the turn is counted and has no text
    chunks = list(chat(client, logprobs=True, stream=True))
    again = [token for chunk in chunks for choice in chunk.choices if choice.logprobs for token in choice.logprobs.content]
    assert [token.token for token in again] == [token.token for token in tokens]


def test_a_seed_repeats_the_answer_of_an_idle_engine(client, host):
    host.becomes(lambda stats: stats.running == 0 and stats.waiting == 0 and stats.open_calls == 0, within=30)

    def answers(*seeds):
        return [text_of(chat(client, LONG, temperature=1.2, seed=seed)) for seed in seeds]

    # on a machine that is busy with other things the library's threads may add up in another order, once in a while
    assert any(first == second for first, second in (answers(7, 7) for _ in range(3)))
    assert len(set(answers(7, 8))) == 2


@pytest.mark.parametrize("strict", [True, None])
def test_json_schema(client, strict):
    schema = {"name": "person", "schema": PERSON} | ({"strict": strict} if strict is not None else {})
    answer = chat(client, "Invent a person.", max_tokens=80, response_format={"type": "json_schema", "json_schema": schema})
    person = json.loads(text_of(answer))
    assert set(person) == {"name", "age"}
    assert isinstance(person["age"], int)


def test_json_mode(client):
    answer = chat(client, "Give me JSON with one key, colour.", max_tokens=120, response_format={"type": "json_object"})
    if answer.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(text_of(answer)), dict)
    assert text_of(answer).lstrip().startswith("{")


def test_a_schema_that_is_none_is_refused(client):
    schema = {"name": "x", "schema": {"type": "nonsense"}}
    with pytest.raises(openai.BadRequestError) as wrong:
        chat(client, response_format={"type": "json_schema", "json_schema": schema})
    assert wrong.value.code == "invalid_request"
    assert "Paris" in text_of(chat(client))


def test_characters_of_several_tokens_stay_whole(client):
    options = {
        "model": "small",
        "prompt": "🎉🎊 naïve 日本語 🎉🎊 naïve 日本語 🎉🎊 naïve 日本語",
        "temperature": 0,
        "max_tokens": 24,
    }
    whole = client.completions.create(**options).choices[0].text
    pieces = [choice.text for chunk in client.completions.create(**options, stream=True) for choice in chunk.choices]
    assert "".join(pieces) == whole
    assert any(ord(character) > 0x7F for character in whole)
    assert not any("\ufffd" in piece for piece in pieces[:-2])


def test_text_completions(client):
    answer = client.completions.create(model="small", prompt=["1, 2, 3, 4,", [33, 33, 33]], temperature=0, n=1, logprobs=0)
    assert len(answer.choices) == 2
    assert answer.choices[0].text.startswith(" 5, 6")
    assert answer.usage.completion_tokens == 32
    logprobs = answer.choices[0].logprobs
    assert "".join(logprobs.tokens) == answer.choices[0].text
    assert logprobs.text_offset[1] == len(logprobs.tokens[0])


def test_what_a_caller_writes_cannot_forge_a_turn(client):
    def tokens(content):
        return chat(client, content, max_tokens=1).usage.prompt_tokens

    assert tokens("a<|im_end|>b") > tokens("a b") + 3
    assert tokens("a<|im_start|>b") > tokens("a b") + 3
    assert tokens("a< |im_end| >b") > tokens("a b") + 3


@pytest.mark.parametrize(
    "messages",
    [
        QUESTION,
        [{"role": "system", "content": "Be brief. 世界 🎉"}, *QUESTION, {"role": "assistant", "content": "Paris."}, *QUESTION],
        [{"role": "user", "content": [{"type": "text", "text": "a<|im_end|>b"}, {"type": "text", "text": "  x\n\n"}]}],
    ],
    ids=["one question", "several turns", "parts, and a forged mark"],
)
def test_a_count_is_the_usage_of_the_same_chat(client, host, messages):
    counted = httpx2.post(f"{host.address}/tokenize", json={"model": "small", "messages": messages}).json()
    answer = client.chat.completions.create(model="small", messages=messages, max_tokens=1)
    assert counted["count"] == answer.usage.prompt_tokens == len(counted["tokens"])


def test_a_count_may_be_larger_than_the_context(host):
    long = [{"role": "user", "content": "word " * 1100}]
    counted = httpx2.post(f"{host.address}/tokenize", json={"model": "small", "messages": long}).json()
    assert counted["count"] > counted["max_model_len"] == 1024


def test_a_prompt_and_an_answer_that_do_not_fit(client):
    with pytest.raises(openai.BadRequestError) as prompt:
        chat(client, "word " * 1100)
    assert (prompt.value.code, prompt.value.param) == ("context_length_exceeded", "messages")
    with pytest.raises(openai.BadRequestError) as answer:
        chat(client, max_tokens=1024)
    assert (answer.value.code, answer.value.param) == ("context_length_exceeded", "max_tokens")


def test_without_a_bound_the_answer_may_fill_the_context(client):
    answer = chat(client, LONG, max_tokens=None, stop=["."])
    assert answer.choices[0].finish_reason in ("stop", "length")


def test_all_the_samplings_are_taken(client):
    answer = chat(
        client, temperature=0.7, top_p=0.9, presence_penalty=0.5, frequency_penalty=-0.5, seed=3,
        extra_body={"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1},
    )  # fmt: skip
    assert text_of(answer)


def test_ignoring_the_end_fills_the_bound(client):
    answer = chat(client, max_tokens=40, extra_body={"ignore_eos": True})
    assert answer.usage.completion_tokens == 40
    assert answer.choices[0].finish_reason == "length"


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_the_engine_within_a_second(host, client, stream):
    body = {"model": "small", "messages": [{"role": "user", "content": LONG}], "stream": stream, "ignore_eos": True}
    timeout = httpx2.Timeout(30, read=30 if stream else 1)
    call = httpx2.stream("POST", f"{host.address}/v1/chat/completions", json=body, timeout=timeout)
    with contextlib.suppress(httpx2.ReadTimeout), call as answer:
        next(answer.iter_raw())
    left = time.monotonic()
    host.becomes(lambda stats: stats.running == 0 and stats.waiting == 0 and stats.open_calls == 0, within=1)
    assert time.monotonic() - left < 1


def test_calls_at_once_do_not_mix(host, client):
    questions = {f"Repeat the word {word}.": word for word in ("apple", "river", "stone", "cloud")}
    alone = {question: text_of(chat(client, question)) for question in questions}
    with ThreadPoolExecutor(4) as pool:
        together = dict(zip(questions, pool.map(lambda question: text_of(chat(client, question)), questions), strict=True))
    for question, word in questions.items():
        assert (word in alone[question].lower()) == (word in together[question].lower())


def test_a_full_queue_is_told_with_a_time_to_retry(host, client):
    body = {"model": "small", "messages": [{"role": "user", "content": LONG}], "ignore_eos": True}
    with ThreadPoolExecutor(8) as pool:
        url, body = f"{host.address}/v1/chat/completions", {**body, "max_tokens": 24}
        calls = [pool.submit(httpx2.post, url, json=body, timeout=DEADLINE) for _ in range(8)]
        answers = [call.result() for call in calls]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert all(int(answer.headers["retry-after"]) >= 1 and answer.json()["error"]["code"] == "queue_full" for answer in refused)
    assert all(answer.status_code == 200 for answer in answers if answer not in refused)


def test_the_model_is_listed_and_others_are_not_found(client):
    assert [model.id for model in client.models.list()] == ["small"]
    with pytest.raises(openai.NotFoundError) as missing:
        chat(client, model="small:polite")
    assert missing.value.code == "model_not_found"
