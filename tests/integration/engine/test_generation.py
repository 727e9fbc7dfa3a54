import asyncio
import json

import pytest

from antiphon.core.errors import ContextOverflow, InvalidRequest, UnsupportedParameter
from antiphon.core.ports import Engine
from tests.integration.engine.asking import CHAT, ask, ask_one, begin, run, until

FRANCE = CHAT.format("What is the capital of France?")
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def test_it_tells_what_it_loaded(engine: Engine) -> None:
    info = engine.info
    assert info.context_length == 8192
    assert info.vocabulary == 49152
    assert (info.bos_token, info.eos_token) == ("<|im_start|>", "<|im_end|>")
    assert "add_generation_prompt" in info.chat_template
    assert info.eos_token_ids == (0, 2)
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>"} <= set(info.control_tokens)


@pytest.mark.parametrize("text", ["hello", " héllo  wörld\t", "你好世界。", "👩‍👩‍👧‍👦🙂", "a\x00b\r\n", "﷽ نص", ""])
def test_tokens_spell_the_text_exactly(engine: Engine, text: str) -> None:
    assert b"".join(map(engine.token_bytes, engine.encode(text))) == text.encode()


@pytest.mark.parametrize("words", [8_000, 9_000, 40_000, 200_000])
def test_a_text_of_any_length_is_read_to_its_end(engine: Engine, words: int) -> None:
    assert len(engine.encode("hello " * words)) == words + 1  # the last space stands alone


def test_control_tokens_are_recognised_and_silent(engine: Engine) -> None:
    ids = engine.encode("<|im_start|>user")
    assert len(ids) == 2
    assert engine.token_bytes(ids[0]) == b""
    assert engine.encode("plain")[0] != ids[0]


def test_text_that_is_no_unicode_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidRequest, match="not valid Unicode"):
        engine.encode("a\ud800b")


def test_a_greedy_answer_ends_and_is_counted(engine: Engine) -> None:
    answer = ask_one(engine, FRANCE, temperature=0, max_tokens=40)
    assert "Paris" in answer.text(engine)
    assert answer.ends == {0: "stop"}
    assert answer.ids[0][-1] in engine.info.eos_token_ids
    assert answer.logprobs == {0: []}
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (len(engine.encode(FRANCE)), len(answer.ids[0]))
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_sequences_of_one_prompt_come_separately(engine: Engine) -> None:
    answer = ask_one(engine, FRANCE, n=3, seed=1, max_tokens=12, logprobs=True)
    assert sorted(answer.ids) == sorted(answer.ends) == [0, 1, 2]
    assert answer.usage.completion_tokens == sum(map(len, answer.ids.values()))
    assert all(len(answer.logprobs[index]) == len(answer.ids[index]) for index in range(3))
    assert len({tuple(ids) for ids in answer.ids.values()}) > 1


def test_it_stops_at_max_tokens_and_can_ignore_end_tokens(engine: Engine) -> None:
    answer = ask_one(engine, FRANCE, temperature=0, max_tokens=60, ignore_eos=True)
    assert (len(answer.ids[0]), answer.ends) == (60, {0: "length"})
    assert any(token in engine.info.eos_token_ids for token in answer.ids[0])


def test_a_seed_repeats_on_an_idle_engine(engine: Engine) -> None:
    first, second, other = (ask_one(engine, FRANCE, seed=seed, max_tokens=20, temperature=1.5).ids for seed in (5, 5, 6))
    assert first == second != other


@pytest.mark.parametrize("filters", [{"top_k": 1}, {"top_p": 0.0}, {"min_p": 1.0}, {"temperature": 1e-6}])
def test_filters_that_leave_one_token_are_greedy(engine: Engine, filters: dict[str, float]) -> None:
    greedy = ask_one(engine, FRANCE, temperature=0, max_tokens=8)
    assert ask_one(engine, FRANCE, max_tokens=8, **filters).ids == greedy.ids


@pytest.mark.parametrize("penalty", [{"presence_penalty": 2.0}, {"frequency_penalty": 2.0}, {"repetition_penalty": 1.5}])
def test_penalties_lessen_repetition(engine: Engine, penalty: dict[str, float]) -> None:
    prompt = "one two one two one two one two one two"
    plain, penalised = (ask_one(engine, prompt, temperature=0, max_tokens=24, **extra).ids[0] for extra in ({}, penalty))
    assert len(set(plain)) < len(set(penalised))


def test_a_json_schema_is_kept_to(engine: Engine) -> None:
    prompt = CHAT.format("Describe a person as JSON with name and age.")
    for seed in range(3):
        answer = ask_one(engine, prompt, json_schema=json.dumps(PERSON), max_tokens=120, seed=seed, temperature=0.7)
        person = json.loads(answer.text(engine))
        assert set(person) == {"name", "age"}
        assert isinstance(person["name"], str)
        assert 0 <= person["age"] <= 120
        assert answer.ends == {0: "stop"}


def test_json_mode_gives_an_object(engine: Engine) -> None:
    prompt = CHAT.format('Repeat exactly: {"capital": "Paris"}')  # so that the object ends, on any processor
    answer = ask_one(engine, prompt, json_object=True, max_tokens=200, temperature=0)
    assert json.loads(answer.text(engine)) == {"capital": "Paris"}


@pytest.mark.parametrize(
    "schema", ["{", "[]", '{"type":"banana"}', '{"$ref":"#/nowhere"}', '{"type":"string","pattern":"(["}', "false"]
)
def test_a_schema_that_cannot_be_enforced_harms_nobody_else(engine: Engine, schema: str) -> None:
    refused, other = ask(engine, (FRANCE, {"json_schema": schema}), (FRANCE, {"temperature": 0}))
    assert isinstance(refused.error, InvalidRequest)
    assert refused.error.param == "response_format"
    assert not refused.ids
    assert "Paris" in other.text(engine)


def test_a_schema_that_only_refers_to_itself_is_refused(engine: Engine) -> None:
    answer = ask_one(engine, FRANCE, json_schema='{"allOf": [{"$ref": "#"}]}')
    assert isinstance(answer.error, InvalidRequest)
    assert "refers to itself" in str(answer.error)


def test_a_schema_beyond_reason_is_refused(engine: Engine) -> None:
    schema = json.dumps({"enum": [f"value {number}" for number in range(10_000)]})
    assert "65536 bytes" in str(ask_one(engine, FRANCE, json_schema=schema).error)


def test_free_calls_do_not_wait_for_schemas(engine: Engine) -> None:
    """One token, which needs no more than one step, comes before the three that the first schema's answer has at least."""
    order: list[str] = []

    async def test() -> None:
        schemas = [json.dumps({"type": "string", "minLength": 3, "maxLength": 200 + number}) for number in range(8)]
        calls = {f"schema {number}": begin(engine, FRANCE, json_schema=schema)[0] for number, schema in enumerate(schemas)}
        calls["free"] = begin(engine, FRANCE, max_tokens=1)[0]

        async def wait(name: str) -> None:
            await calls[name].over.wait()
            order.append(name)

        await asyncio.gather(*(wait(name) for name in calls))

    run(test())
    assert order[0] == "free"


def test_what_does_not_fit_the_context_is_refused_with_both_numbers(engine: Engine) -> None:
    async def test() -> None:
        with pytest.raises(ContextOverflow, match=r"8192 tokens.*holds 8192.*shorten"):
            begin(engine, [5] * 8192)
        with pytest.raises(ContextOverflow, match=r"8000 tokens and max_tokens is 193, 8193 together.*holds 8192.*at most 192"):
            begin(engine, [5] * 8000, max_tokens=193)

    run(test())


@pytest.mark.parametrize(
    ("prompt", "params", "error"),
    [
        ([], {}, InvalidRequest),
        ([49152], {}, InvalidRequest),
        ([-1], {}, InvalidRequest),
        ([5], {"max_tokens": 0}, InvalidRequest),
        ([5], {"n": 0}, InvalidRequest),
        ([5], {"adapter": "french"}, UnsupportedParameter),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(engine: Engine, prompt: list[int], params: dict, error: type[Exception]) -> None:
    async def test() -> None:
        with pytest.raises(error):
            begin(engine, prompt, **params)

    run(test())


@pytest.mark.parametrize("params", [{"presence_penalty": 9.0}, {"repetition_penalty": -1.0}])
def test_what_the_library_refuses_is_told_and_harms_nobody_else(engine: Engine, params: dict[str, float]) -> None:
    refused, other = ask(engine, (FRANCE, params), (FRANCE, {"temperature": 0}))
    assert isinstance(refused.error, InvalidRequest)
    assert "Paris" in other.text(engine)


def test_cancelling_frees_every_place(engine: Engine) -> None:
    async def test() -> None:
        calls = [begin(engine, FRANCE, max_tokens=5000, ignore_eos=True, n=2) for _ in range(40)]
        await until(lambda: engine.stats().running == 64 and engine.stats().waiting > 0)
        for _, generation in calls:
            generation.cancel()
        heard = [sum(map(len, answer.ids.values())) for answer, _ in calls]
        await until(lambda: engine.stats().running == engine.stats().waiting == 0)
        after, _ = begin(engine, FRANCE, temperature=0)
        await after.over.wait()
        assert "Paris" in after.text(engine)
        assert [sum(map(len, answer.ids.values())) for answer, _ in calls] == heard
        assert engine.stats().kv_cache_usage < 0.05

    run(test())
