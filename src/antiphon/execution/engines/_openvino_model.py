"""Makes a cache entry of a model, and pipelines of a cache entry."""

import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from antiphon.core.errors import SetupError
from antiphon.execution.engines._gguf import GgufMetadata, make_sure_it_is_whole, read_metadata
from antiphon.execution.engines._openvino import openvino, openvino_genai
from antiphon.execution.engines._openvino_cache import ModelCard
from antiphon.execution.engines._openvino_pipeline import BLOCK_TOKENS
from antiphon.execution.engines._openvino_zero_points import restore_zero_points
from antiphon.execution.engines._vocabulary import END_PIECES, gguf_control_tokens, gguf_end_ids, gguf_pieces, plain_pieces

NETWORK: Final = "openvino_model.xml"
BATCHED_TOKENS: Final = 256
"""Tokens, of prompts and of running sequences together, that one step works on; see the design note for what was measured."""
LIBRARY_ERRORS: Final = (RuntimeError, ValueError, TypeError, IndexError, KeyError, MemoryError)
"""What the library is known to raise where a model is not to its liking, depending on what it stumbles over."""
_PROBE_BLOCKS: Final = 16


def versions() -> str:
    return f"openvino {openvino.get_version()} genai {openvino_genai.get_version()}"


def step_tokens(max_running: int) -> int:
    """Tokens that one step works on: ``BATCHED_TOKENS``, but enough that prompts come in beside all running sequences."""
    return max(BATCHED_TOKENS, max_running + BATCHED_TOKENS // 4)


def scheduler(blocks: int, max_running: int = 1) -> openvino_genai.SchedulerConfig:
    """Continuous batching over a KV cache of fixed size: prompts in chunks between decoding steps, prefixes kept."""
    config = openvino_genai.SchedulerConfig()
    config.num_kv_blocks = blocks
    config.max_num_batched_tokens = step_tokens(max_running)
    config.dynamic_split_fuse = True
    config.enable_prefix_caching = True
    return config


def make_card(path: str, folder: str, properties: dict[str, Any]) -> ModelCard:
    """Convert the model at ``path`` into ``folder`` unless it is converted already, and describe it."""
    return _convert(path, Path(folder), properties) if Path(path).is_file() else _describe(Path(path), properties)


def block_bytes(pipeline: openvino_genai.ContinuousBatchingPipeline, blocks: int) -> int:
    """Bytes of one KV block, measured by having the pipeline generate a token. It also warms the pipeline up."""
    prompt = openvino.Tensor(np.zeros((1, 1), np.int64))
    pipeline.add_request(0, prompt, openvino_genai.GenerationConfig(max_new_tokens=1, ignore_eos=True))
    while pipeline.has_non_finished_requests():
        pipeline.step()
    return -(-int(pipeline.get_metrics().cache_size_in_bytes) // blocks)


def _convert(path: str, folder: Path, properties: dict[str, Any]) -> ModelCard:
    metadata = read_metadata(path)
    make_sure_it_is_whole(path)
    link = folder / "model.gguf"  # the library writes what it converts beside the path that it is given
    os.symlink(os.path.abspath(path), link)
    try:
        tokenizer = openvino_genai.Tokenizer(link, enable_save_ov_model=True)
        block = _probe(link, tokenizer, {**properties, "enable_save_ov_model": True})
        restore_zero_points(path, folder / NETWORK)
    except LIBRARY_ERRORS as error:
        raise SetupError(
            f'engine "openvino" cannot convert "{path}" (architecture {metadata.architecture or "unknown"}): {_brief(error)}',
            remedy="it reads GGUF files of the llama and qwen families; take another file, or a folder of OpenVINO IR",
        ) from error
    finally:
        link.unlink()
    return _gguf_card(metadata, _logits(folder), block)


def _gguf_card(metadata: GgufMetadata, vocabulary: int, block: int) -> ModelCard:
    def text(token: int) -> str:
        return metadata.tokens[token].decode("utf-8", "replace") if 0 <= token < len(metadata.tokens) else ""

    return ModelCard(
        context_length=metadata.context_length,
        vocabulary=vocabulary,
        chat_template=metadata.chat_template,
        bos_token=text(metadata.bos_id),
        eos_token=text(metadata.eos_id),
        eos_id=metadata.eos_id,
        end_ids=gguf_end_ids(metadata),
        pieces=gguf_pieces(metadata),
        control_tokens=gguf_control_tokens(metadata),
        kv_block_bytes=block,
    )


def _describe(path: Path, properties: dict[str, Any]) -> ModelCard:
    """The card of a folder of OpenVINO IR, from the files that come with one and from its tokenizer."""
    try:
        tokenizer = openvino_genai.Tokenizer(path)
        block = _probe(path, tokenizer, properties)
    except LIBRARY_ERRORS as error:
        raise SetupError(f'engine "openvino" cannot load "{path}": {_brief(error)}', remedy="export the model again") from error
    vocabulary = _logits(path)
    control = _control_tokens(tokenizer, vocabulary)
    words = tokenizer.get_vocab()
    eos = int(tokenizer.get_eos_token_id())
    declared = _json(path / "generation_config.json").get("eos_token_id", [])
    known = (token for piece, token in words.items() if piece in END_PIECES and token in control)
    return ModelCard(
        context_length=int(_json(path / "config.json").get("max_position_embeddings", 0)),
        vocabulary=vocabulary,
        chat_template=tokenizer.get_original_chat_template(),
        bos_token=tokenizer.get_bos_token(),
        eos_token=tokenizer.get_eos_token(),
        eos_id=eos,
        end_ids=tuple(sorted({eos, *(declared if isinstance(declared, list) else [declared]), *known} - {-1})),
        pieces=plain_pieces(words, sorted(control), vocabulary),
        control_tokens=tuple(control.values()),
        kv_block_bytes=block,
    )


def _control_tokens(tokenizer: openvino_genai.Tokenizer, vocabulary: int) -> dict[int, str]:
    """Ids and texts of the tokens that vanish from the text when special ones are skipped."""
    ids = [[token] for token in range(min(vocabulary, len(tokenizer.get_vocab())))]
    shown = tokenizer.decode(ids, skip_special_tokens=False)
    skipped = tokenizer.decode(ids, skip_special_tokens=True)
    return {token: whole for token, (whole, text) in enumerate(zip(shown, skipped, strict=True)) if whole and not text}


def _probe(path: Path, tokenizer: openvino_genai.Tokenizer, properties: dict[str, Any]) -> int:
    pipeline = openvino_genai.ContinuousBatchingPipeline(path, tokenizer, scheduler(_PROBE_BLOCKS), "CPU", **properties)
    return block_bytes(pipeline, _PROBE_BLOCKS)


def _logits(folder: Path) -> int:
    shape = openvino.Core().read_model(folder / NETWORK).output("logits").get_partial_shape()
    return int(shape[len(shape) - 1].get_length())


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SetupError(f'"{path}" is not JSON: {error}', remedy="fetch the model again") from error
    return content if isinstance(content, dict) else {}


def _brief(error: Exception) -> str:
    """The last line of one of the library's errors; the ones before it tell where in its source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def capacity(blocks: int) -> int:
    """Tokens that a sequence alone can hold in a KV cache of ``blocks`` blocks."""
    return (blocks - 1) * BLOCK_TOKENS
