"""The prefix cache holds what was computed, whoever was cancelled, and gives back what a fresh computation would."""

import asyncio

import numpy as np

from antiphon.core.ports import Engine
from tests.integration.engine.asking import CHAT, DirectModel, ask_one, begin, run, until

TOWNS = "".join(f"Item {i}: town number {i * 7 % 91} lies by river {i * 13 % 57}. " for i in range(400))


def test_a_prompt_that_is_cancelled_half_way_is_not_taken_for_computed(engine: Engine, direct: DirectModel) -> None:
    ids = engine.encode(TOWNS)

    async def cancel_early(prompt: list[int]) -> None:
        others = [begin(engine, CHAT.format(f"Count to {i}."), max_tokens=500, ignore_eos=True) for i in range(3)]
        await until(lambda: all(answer.ids for answer, _ in others))
        _, generation = begin(engine, prompt)
        await until(lambda: engine.stats().running == 4)
        generation.cancel()
        for _, other in others:
            other.cancel()
        await until(lambda: engine.stats().running == 0)

    for start in range(100, 500, 100):
        prompt = ids[start : start + 259]
        run(cancel_early(prompt))
        answer = ask_one(engine, prompt, temperature=0, max_tokens=4, logprobs=True, ignore_eos=True)
        tokens = answer.ids[0]
        expected = direct.log_probabilities([*prompt, *tokens])[len(prompt) - 1 : -1][np.arange(4), tokens]
        assert np.abs(np.array(answer.logprobs[0]) - expected).max() < 0.3, start


def test_a_seed_repeats_whatever_part_of_the_prompt_was_cached(engine: Engine) -> None:
    ids = engine.encode(TOWNS)
    for start in range(2000, 2300, 100):
        prompt = ids[start : start + 150]
        texts = {tuple(ask_one(engine, prompt, temperature=1.5, seed=7, max_tokens=40).ids[0]) for _ in range(3)}
        assert len(texts) == 1, start


def test_a_long_prompt_that_is_cancelled_leaves_soon(engine: Engine) -> None:
    async def test() -> None:
        _, generation = begin(engine, engine.encode(TOWNS)[:6000], temperature=0)
        await until(lambda: engine.stats().running == 1)
        generation.cancel()
        answer, _ = begin(engine, CHAT.format("What is the capital of France?"), temperature=0)
        await asyncio.wait_for(answer.over.wait(), 20)
        assert "Paris" in answer.text(engine)
        assert engine.stats().prompt_tokens - before < 100

    before = engine.stats().prompt_tokens
    run(test())
