"""What becomes of calls where the KV cache is short, and of a model's cached copy."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from antiphon.core.errors import ContextOverflow, SetupError
from antiphon.core.ports import Engine
from antiphon.execution.engines import ENGINES, EngineOptions
from tests.integration.engine.asking import CHAT, DirectModel, ask, ask_one, begin, run

plugin = ENGINES.load("openvino")


@pytest.fixture(scope="module")
def small(options: EngineOptions) -> Iterator[Engine]:
    loaded = plugin.load(msgspec.structs.replace(options, kv_cache_mb=4, max_running=8))
    yield loaded
    loaded.close()


def test_the_context_is_no_more_than_the_cache_holds(small: Engine) -> None:
    held = small.info.context_length
    assert 200 < held < 300

    async def test() -> None:
        with pytest.raises(ContextOverflow, match=str(held)):
            begin(small, [5] * held)

    run(test())


def test_a_call_that_fills_the_whole_cache_is_answered(small: Engine) -> None:
    held = small.info.context_length
    answer = ask_one(small, [5] * (held - 40), max_tokens=40, ignore_eos=True)
    assert (answer.error, len(answer.ids[0])) == (None, 40)


def test_sequences_that_are_pushed_out_lose_and_repeat_nothing(small: Engine, direct: DirectModel) -> None:
    """Twice as much as the cache holds: each token of each greedy answer is still what the model wants after those before it."""
    prompts = [small.encode(CHAT.format(f"Count to {number} in words.")) for number in range(20, 28)]
    answers = ask(small, *((ids, {"max_tokens": 48, "temperature": 0, "ignore_eos": True}) for ids in prompts))
    for ids, answer in zip(prompts, answers, strict=True):
        assert answer.error is None
        tokens = answer.ids[0]
        assert len(tokens) == 48
        logs = direct.log_probabilities([*ids, *tokens])[len(ids) - 1 : -1]
        assert (logs.max(axis=-1) - logs[np.arange(48), tokens]).max() < 0.7


def test_a_long_prompt_is_read_in_parts_and_again_from_the_prefix_cache(engine: Engine, direct: DirectModel) -> None:
    ids = engine.encode(CHAT.format("Repeat: " + "The quick brown fox jumps over the lazy dog. " * 50))
    assert len(ids) > 300
    answers = [ask_one(engine, ids, max_tokens=12, temperature=0) for _ in range(2)]
    assert answers[0].usage == answers[1].usage
    for answer in answers:
        tokens = answer.ids[0]
        logs = direct.log_probabilities([*ids, *tokens])[len(ids) - 1 : -1]
        assert (logs.max(axis=-1) - logs[np.arange(len(tokens)), tokens]).max() < 0.7


def test_a_cache_that_holds_next_to_nothing_is_refused_with_the_least(options: EngineOptions) -> None:
    with pytest.raises(SetupError, match=r'kv_cache_mb 1 of model "real" holds \d+ tokens; set it to at least \d'):
        plugin.load(msgspec.structs.replace(options, kv_cache_mb=1))


def test_more_context_than_the_model_has_is_refused(options: EngineOptions) -> None:
    with pytest.raises(SetupError, match=r"context 9000 .*8192"):
        plugin.load(msgspec.structs.replace(options, context=9000, kv_cache_mb=16))


def test_a_folder_of_ir_is_loaded_as_it_is(options: EngineOptions, converted: Path, engine: Engine) -> None:
    loaded = plugin.load(msgspec.structs.replace(options, path=str(converted), kv_cache_mb=16))
    try:
        info = loaded.info
        assert (info.vocabulary, info.chat_template, info.eos_token) == (49152, engine.info.chat_template, "<|im_end|>")
        assert set(info.eos_token_ids) == {0, 2}
        assert set(info.control_tokens) == set(engine.info.control_tokens)
        assert all(loaded.token_bytes(token) == engine.token_bytes(token) for token in range(info.vocabulary))
        answer = ask_one(loaded, CHAT.format("What is the capital of France?"), temperature=0)
        assert "Paris" in answer.text(loaded)
    finally:
        loaded.close()
