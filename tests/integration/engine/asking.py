"""Asks a real engine and collects what it says."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import numpy as np

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Engine, Generation, SamplingParams
from antiphon.core.types import Usage
from antiphon.execution.engines._openvino import openvino

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


class Answer:
    def __init__(self) -> None:
        self.ids: dict[int, list[int]] = {}
        self.logprobs: dict[int, list[float]] = {}
        self.ends: dict[int, str] = {}
        self.usage: Usage | None = None
        self.error: AntiphonError | None = None
        self.over = asyncio.Event()

    def tokens(self, index: int, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        self.ids.setdefault(index, []).extend(ids)
        self.logprobs.setdefault(index, []).extend(logprobs)

    def finished(self, index: int, reason: str) -> None:
        self.ends[index] = reason

    def done(self, usage: Usage) -> None:
        self.usage = usage
        self.over.set()

    def failed(self, error: AntiphonError) -> None:
        self.error = error
        self.over.set()

    def text(self, engine: Engine, index: int = 0) -> str:
        return b"".join(engine.token_bytes(token) for token in self.ids[index]).decode("utf-8", "replace")


def begin(engine: Engine, prompt: str | Sequence[int], **params: Any) -> tuple[Answer, Generation]:
    """Start a call on the running loop."""
    answer = Answer()
    ids = engine.encode(prompt) if isinstance(prompt, str) else prompt
    return answer, engine.start(ids, SamplingParams(**{"max_tokens": 16, **params}), answer)


def ask(engine: Engine, *calls: tuple[str | Sequence[int], dict[str, Any]]) -> list[Answer]:
    """The answers to calls that are made at once."""

    async def all_of_them() -> list[Answer]:
        answers = [begin(engine, prompt, **params)[0] for prompt, params in calls]
        await asyncio.gather(*(answer.over.wait() for answer in answers))
        return answers

    return run(all_of_them())


def ask_one(engine: Engine, prompt: str | Sequence[int], **params: Any) -> Answer:
    return ask(engine, (prompt, params))[0]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 100))


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.01)


class DirectModel:
    """The same network without batching, cache or sampler: what the engine is measured against."""

    def __init__(self, network: str) -> None:
        self._compiled = openvino.Core().compile_model(network, "CPU", {"INFERENCE_NUM_THREADS": 2})

    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """Logits after each of ``ids``."""
        count = len(ids)
        request = self._compiled.create_infer_request()
        request.infer(
            {
                "input_ids": np.array([ids], np.int64),
                "attention_mask": np.ones((1, count), np.int64),
                "position_ids": np.arange(count, dtype=np.int64)[None],
                "beam_idx": np.zeros(1, np.int32),
            }
        )
        return request.get_output_tensor().data[0].astype(np.float64)

    def log_probabilities(self, ids: Sequence[int]) -> np.ndarray:
        """Natural logarithms of what the model gives each token after each of ``ids``."""
        logits = self.logits(ids)
        logits -= logits.max(axis=-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
