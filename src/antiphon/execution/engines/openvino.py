"""Runs models on this machine's CPU with OpenVINO GenAI: GGUF files of the llama and qwen families, and folders of OpenVINO IR."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from antiphon.core.errors import AntiphonError, ContextOverflow, InvalidRequest, NoMemory, SetupError, UnsupportedParameter
from antiphon.core.ports import EngineInfo, EngineStats, SamplingParams, TokenListener
from antiphon.execution.engines import EngineOptions
from antiphon.execution.engines._gguf import MAGIC
from antiphon.execution.engines._memory import available_memory, thread_count, usable_cores
from antiphon.execution.engines._openvino import openvino_genai
from antiphon.execution.engines._openvino_cache import Entry, entry_for, forget, is_made, update_card
from antiphon.execution.engines._openvino_grammar import SchemaChecker, check_form
from antiphon.execution.engines._openvino_model import (
    LIBRARY_ERRORS,
    NETWORK,
    block_bytes,
    capacity,
    make_card,
    scheduler,
    step_tokens,
    versions,
)
from antiphon.execution.engines._openvino_pipeline import BLOCK_TOKENS, OpenVinoBatch, schema_of
from antiphon.execution.engines._openvino_tokenizer import TOKENIZER, WholeTokenizer
from antiphon.execution.engines._schema_queue import SchemaQueue
from antiphon.execution.engines._stepper import Generation, Limits, Stepper

log = logging.getLogger(__name__)

PRECISIONS: Final[dict[str, dict[str, Any]]] = {"default": {}}
"""Names of numeric precisions and the properties that they mean to the library."""

_MIB: Final = 1 << 20
_BASE_MEMORY: Final = 250 * _MIB
_LOAD_FACTOR: Final = 1.5
_CONVERT_FACTOR: Final = 3.0
_DISK_FACTOR: Final = 2.6
_LEAST_CONTEXT: Final = 128


class OpenVinoEngine:
    """A loaded model. Implements ``Engine``."""

    def __init__(
        self,
        info: EngineInfo,
        tokenizer: WholeTokenizer,
        pieces: Sequence[bytes],
        stepper: Stepper,
        schemas: SchemaQueue,
    ) -> None:
        self._info = info
        self._tokenizer = tokenizer
        self._pieces = pieces
        self._stepper = stepper
        self._schemas = schemas

    @property
    def info(self) -> EngineInfo:
        return self._info

    @property
    def failure(self) -> AntiphonError | None:
        """Why the engine runs no more; None while it does."""
        return self._stepper.failure

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``. Raises InvalidRequest where it is not Unicode (a lone surrogate) or cannot be read to its end."""
        if not text.isascii():
            _make_sure_of_unicode(text)
        return self._tokenizer.encode(text)

    def token_bytes(self, token: int) -> bytes:
        return self._pieces[token] if 0 <= token < len(self._pieces) else b""

    def start(self, prompt: Sequence[int], params: SamplingParams, listener: TokenListener) -> Generation:
        """Queue a prompt, on the running event loop.

        A JSON Schema that cannot be enforced is told to ``listener.failed`` as InvalidRequest, since finding out takes a while.
        Calls without a new schema do not wait for that.
        """
        self._check(prompt, params)
        generation = Generation(self._stepper, prompt, params, listener)
        schema = schema_of(params)
        if schema is None or self._schemas.checker.knows(schema):
            self._stepper.submit(generation)
        else:
            self._schemas.submit(schema, generation)
        return generation

    def stats(self) -> EngineStats:
        return self._stepper.stats()

    def close(self) -> None:
        self._schemas.close()
        self._stepper.close()

    def _check(self, prompt: Sequence[int], params: SamplingParams) -> None:
        info, length = self._info, len(prompt)
        if params.adapter is not None:
            what = f'model "{info.model}" has no adapter "{params.adapter}"'
            raise UnsupportedParameter(what, remedy="leave it out: it has none", param="adapter")
        if params.max_tokens < 1 or params.n < 1:
            raise InvalidRequest(f"max_tokens is {params.max_tokens} and n is {params.n}", remedy="give at least 1 for each")
        if not length:
            raise InvalidRequest("the prompt is empty", remedy="give at least one token")
        if min(prompt) < 0 or max(prompt) >= info.vocabulary:
            raise InvalidRequest(
                "the prompt has a token that is not in the vocabulary", remedy=f"give tokens from 0 to {info.vocabulary - 1}"
            )
        if length >= info.context_length:
            raise ContextOverflow(
                f'the prompt has {length} tokens; the context of model "{info.model}" holds {info.context_length} with the answer',
                remedy="shorten the prompt",
            )
        if length + params.max_tokens > info.context_length:
            raise ContextOverflow(
                f"the prompt has {length} tokens and max_tokens is {params.max_tokens}, {length + params.max_tokens} together;"
                f' the context of model "{info.model}" holds {info.context_length}',
                remedy=f"shorten the prompt or ask for at most {info.context_length - length} tokens",
                param="max_tokens",
            )


class OpenVinoPlugin:
    """Loads models for the engine named ``openvino``."""

    def supports(self, path: str) -> bool:
        place = Path(path)
        if place.is_dir():
            return (place / NETWORK).is_file() and (place / TOKENIZER).is_file()
        try:
            with place.open("rb") as file:
                return file.read(len(MAGIC)) == MAGIC
        except OSError:
            return False

    def versions(self) -> str:
        return versions()

    def memory_needed(self, options: EngineOptions) -> int:
        here = os.path.isdir(options.path) or is_made(options.path, options.cache_dir, _cache_versions(options))
        return _memory_needed(options, _size(options.path), _LOAD_FACTOR if here else _CONVERT_FACTOR)

    def load(self, options: EngineOptions) -> OpenVinoEngine:
        """Convert the model if that was not done before, load it and start the engine's thread."""
        properties = _properties(options)
        if not self.supports(options.path):
            raise SetupError(
                f'engine "openvino" cannot load "{options.path}" for model "{options.model}": it is neither a GGUF file nor a'
                " folder of OpenVINO IR with its tokenizer",
                remedy="check the model's source",
            )
        size = _size(options.path)
        _make_sure_of_memory(options, size, _LOAD_FACTOR)
        network_bytes = int(size * _DISK_FACTOR) if os.path.isfile(options.path) else 0

        def make(path: str, folder: str) -> Any:
            _make_sure_of_memory(options, size, _CONVERT_FACTOR)
            return make_card(path, folder, properties)

        entry = entry_for(options.path, options.cache_dir, _cache_versions(options), network_bytes, make)
        return _start(options, properties, entry)


def _make_sure_of_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        what = f"the text is not valid Unicode: {error.reason} at character {error.start}"
        raise InvalidRequest(what, remedy="remove half characters from it") from error


def _start(options: EngineOptions, properties: dict[str, Any], entry: Entry) -> OpenVinoEngine:
    folder = entry.folder if os.path.isfile(options.path) else options.path
    wanted = _wanted_context(options, entry.card.context_length)
    try:
        whole = WholeTokenizer(folder)
        tokenizer = openvino_genai.Tokenizer(folder)
        pipeline, entry, blocks = _pipeline(options, properties, entry, folder, tokenizer)
    except MemoryError as error:
        raise _no_memory(options, f"the library could not get what it needs: {error}") from error
    except LIBRARY_ERRORS as error:
        forget(entry)
        raise SetupError(
            f'model "{options.model}" cannot be loaded from "{folder}": {error}', remedy="its cached copy was removed; start again"
        ) from error
    card = entry.card
    info = EngineInfo(
        model=options.model,
        context_length=_held_context(options, wanted, blocks),
        vocabulary=card.vocabulary,
        chat_template=card.chat_template,
        bos_token=card.bos_token,
        eos_token=card.eos_token,
        eos_token_ids=card.end_ids,
        precision=options.precision,
        control_tokens=card.control_tokens,
    )
    checker = SchemaChecker(tokenizer, card.vocabulary, card.end_ids)
    batch = OpenVinoBatch(pipeline, card.end_ids, card.eos_id)
    running = max(1, options.max_running)
    limits = Limits(running, max(0, options.max_waiting), blocks, BLOCK_TOKENS, step_tokens(running))
    stepper = Stepper(options.model, batch, limits)
    return OpenVinoEngine(info, whole, card.pieces, stepper, SchemaQueue(options.model, checker, check_form))


def _pipeline(
    options: EngineOptions, properties: dict[str, Any], entry: Entry, folder: str, tokenizer: openvino_genai.Tokenizer
) -> tuple[openvino_genai.ContinuousBatchingPipeline, Entry, int]:
    """A warm pipeline whose KV cache takes what was asked.

    A block is measured again, since its size depends on the processor; if it is another, the pipeline is made anew.
    """
    pipeline, blocks = _sized_pipeline(options, properties, entry, folder, tokenizer)
    measured = block_bytes(pipeline, blocks)
    if measured != entry.card.kv_block_bytes:
        del pipeline
        entry = update_card(entry, msgspec.structs.replace(entry.card, kv_block_bytes=measured))
        pipeline, blocks = _sized_pipeline(options, properties, entry, folder, tokenizer)
    return pipeline, entry, blocks


def _sized_pipeline(
    options: EngineOptions, properties: dict[str, Any], entry: Entry, folder: str, tokenizer: openvino_genai.Tokenizer
) -> tuple[openvino_genai.ContinuousBatchingPipeline, int]:
    blocks = options.kv_cache_mb * _MIB // entry.card.kv_block_bytes
    if capacity(blocks) < _LEAST_CONTEXT:
        raise SetupError(
            f'kv_cache_mb {options.kv_cache_mb} of model "{options.model}" holds {max(0, capacity(blocks))} tokens',
            remedy=f"set it to at least {-(-entry.card.kv_block_bytes * (_LEAST_CONTEXT // BLOCK_TOKENS + 1) // _MIB)}",
        )
    plan = scheduler(blocks, options.max_running)
    return openvino_genai.ContinuousBatchingPipeline(folder, tokenizer, plan, "CPU", **properties), blocks


def _properties(options: EngineOptions) -> dict[str, Any]:
    if options.precision not in PRECISIONS:
        raise SetupError(
            f'precision "{options.precision}" of model "{options.model}" is not known to engine "openvino";'
            f" known: {', '.join(PRECISIONS)}",
            remedy='set precision to "default"',
        )
    if options.adapters:
        raise SetupError(
            f'engine "openvino" cannot use LoRA adapters ({", ".join(options.adapters)} of model "{options.model}"): a batch'
            " applies one to all calls or none",
            remedy="remove adapters, or merge them into the model and add that as a model of its own",
        )
    threads = thread_count(options.threads, usable_cores())
    return {
        "INFERENCE_NUM_THREADS": threads,
        "sampler_num_threads": threads,
        "ENABLE_CPU_PINNING": False,  # two engines, or an engine and a worker, would be pinned to the same cores
        **PRECISIONS[options.precision],
    }


def _wanted_context(options: EngineOptions, own: int) -> int:
    """Tokens that a call may have: as asked, or as the model was trained for; 0 where neither is known."""
    if options.context > own > 0:
        raise SetupError(
            f'context {options.context} of model "{options.model}" is more than the {own} tokens it was trained for',
            remedy=f"set context to at most {own}, or 0",
        )
    return options.context or own


def _held_context(options: EngineOptions, wanted: int, blocks: int) -> int:
    """``wanted``, but no more than the KV cache holds."""
    held = capacity(blocks)
    if wanted > held:
        text = 'context of model "%s" is cut from %d to %d tokens: kv_cache_mb %d holds no more'
        log.warning(text, options.model, wanted, held, options.kv_cache_mb)
    return min(wanted or held, held)


def _size(path: str) -> int:
    place = Path(path)
    return place.stat().st_size if place.is_file() else sum(item.stat().st_size for item in place.iterdir() if item.is_file())


def _cache_versions(options: EngineOptions) -> str:
    return f"{versions()} {options.precision}"


def _memory_needed(options: EngineOptions, size: int, factor: float) -> int:
    return int(size * factor) + options.kv_cache_mb * _MIB + _BASE_MEMORY


def _make_sure_of_memory(options: EngineOptions, size: int, factor: float) -> None:
    needed = _memory_needed(options, size, factor)
    free = available_memory()
    if free is None or free >= needed:
        return
    raise _no_memory(
        options,
        f"it takes about {needed // _MIB} MiB ({size // _MIB} MiB of weights, {options.kv_cache_mb} MiB of KV cache and room to"
        f" work), {free // _MIB} MiB are available",
    )


def _no_memory(options: EngineOptions, reason: str) -> NoMemory:
    return NoMemory(
        f'model "{options.model}" does not fit into memory: {reason}',
        remedy="lower kv_cache_mb of the model, take a smaller or more quantised one, or free some memory",
    )


plugin = OpenVinoPlugin()
