"""The batch of an OpenVINO GenAI pipeline, and what sampling parameters mean there."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from antiphon.core.errors import InvalidRequest
from antiphon.core.ports import SamplingParams
from antiphon.execution.engines._openvino import openvino, openvino_genai
from antiphon.execution.engines._openvino_grammar import ANY_OBJECT
from antiphon.execution.engines._stepper import Produced

BLOCK_TOKENS: Final = 32
"""Tokens of a KV block on a CPU."""
_GREEDY_BELOW: Final = 1e-4
_LEAST_TOP_P: Final = 1e-6
_MOST_MIN_P: Final = 0.999999
_NONE: Final = openvino_genai.GenerationFinishReason.NONE
_LENGTH: Final = openvino_genai.GenerationFinishReason.LENGTH
_IGNORED: Final = openvino_genai.GenerationStatus.IGNORED


def generation_config(params: SamplingParams, end_ids: tuple[int, ...], eos_id: int, seed: int) -> openvino_genai.GenerationConfig:
    """``params`` in the library's terms.

    With temperature 1 and nothing else set it samples from the model's own distribution. ``logprobs`` must be on for the reported
    log-probabilities to be those of that distribution, whatever temperature, filters, penalties and grammar then did to it.
    """
    config = openvino_genai.GenerationConfig(max_new_tokens=params.max_tokens)
    if end_ids:
        config.eos_token_id = eos_id
        config.stop_token_ids = set(end_ids)
    config.ignore_eos = params.ignore_eos
    config.logprobs = int(params.logprobs)
    config.presence_penalty = params.presence_penalty
    config.frequency_penalty = params.frequency_penalty
    config.repetition_penalty = params.repetition_penalty
    if params.temperature >= _GREEDY_BELOW:
        config.do_sample = True
        config.rng_seed = seed
        config.temperature = params.temperature
        config.top_p = max(params.top_p, _LEAST_TOP_P)
        config.min_p = min(params.min_p, _MOST_MIN_P)
        if params.top_k:
            config.top_k = params.top_k
    schema = schema_of(params)
    if schema is not None:
        config.structured_output_config = openvino_genai.StructuredOutputConfig(json_schema=schema)
    return config


def schema_of(params: SamplingParams) -> str | None:
    """The JSON Schema that the text must satisfy; None where it is free."""
    return params.json_schema if params.json_schema is not None else ANY_OBJECT if params.json_object else None


class OpenVinoBatch:
    """Implements ``Batch``. It must be used by one thread only. Schemas must have been checked before."""

    def __init__(self, pipeline: openvino_genai.ContinuousBatchingPipeline, end_ids: tuple[int, ...], eos_id: int) -> None:
        self._pipeline: openvino_genai.ContinuousBatchingPipeline | None = pipeline
        self._end_ids = end_ids
        self._eos_id = eos_id
        self._handles: dict[int, Any] = {}
        self._with_logprobs: set[int] = set()

    def add(self, ticket: int, prompt: Sequence[int], params: SamplingParams, seed: int) -> None:
        assert self._pipeline is not None
        tensor = openvino.Tensor(np.array([prompt], np.int64))
        try:
            config = generation_config(params, self._end_ids, self._eos_id, seed)
            self._handles[ticket] = self._pipeline.add_request(ticket, tensor, config)
        except (RuntimeError, TypeError, ValueError) as error:
            what = f"the engine refuses the sampling parameters: {str(error).splitlines()[-1]}"
            raise InvalidRequest(what, remedy="change them, or leave them out") from error
        if params.logprobs:
            self._with_logprobs.add(ticket)

    def cancel(self, ticket: int) -> None:
        handle = self._handles.pop(ticket, None)
        self._with_logprobs.discard(ticket)
        if handle is not None:
            handle.cancel()

    def busy(self) -> bool:
        return self._pipeline is not None and bool(self._pipeline.has_non_finished_requests())

    def step(self) -> list[Produced]:
        assert self._pipeline is not None
        self._pipeline.step()
        produced = [self._read(ticket, handle) for ticket, handle in self._handles.items()]
        for item in produced:
            if item.end:
                del self._handles[item.ticket]
                self._with_logprobs.discard(item.ticket)
        return [item for item in produced if item.ids or item.end]

    def _read(self, ticket: int, handle: Any) -> Produced:
        ids: list[int] = []
        logprobs: list[float] = []
        end = ""
        while handle.can_read():
            for output in handle.read().values():
                ids.extend(output.generated_ids)
                if ticket in self._with_logprobs:
                    logprobs.extend(output.generated_log_probs)
                if output.finish_reason != _NONE:
                    end = "length" if output.finish_reason == _LENGTH else "stop"
        if not end and handle.get_status() == _IGNORED:
            end = "memory"
        return Produced(ticket, ids, logprobs, end)

    def cache_usage(self) -> float:
        assert self._pipeline is not None
        return float(self._pipeline.get_metrics().cache_usage) / 100

    def close(self) -> None:
        for ticket in list(self._handles):
            self.cancel(ticket)
        if self.busy():
            assert self._pipeline is not None
            self._pipeline.step()
        self._pipeline = None
