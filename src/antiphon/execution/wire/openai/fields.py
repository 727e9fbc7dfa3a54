"""The fields of OpenAI's JSON that a gateway looks into; all others are skipped unread."""

from typing import Any

import msgspec
from msgspec import UNSET

from antiphon.execution.wire.reading import Count


class _StreamOptions(msgspec.Struct, gc=False):
    include_usage: bool | None = None


class RequestHead(msgspec.Struct, gc=False):
    """What routing needs of a request body."""

    model: str
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    drop_unsupported: bool | None = None
    """Ours: what the model's server cannot do may be left out."""
    api_base: Any = UNSET
    base_url: Any = UNSET
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    prompt_cache_key: Any = None
    n: Any = None
    best_of: Any = None
    options: Any = None
    """Ollama's, with its bound of the answer among them."""

    @property
    def choices(self) -> int:
        """Answers that are wanted."""
        return max([count for count in (self.n, self.best_of) if type(count) is int and count > 0], default=1)

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class AskedFields(msgspec.Struct):
    """The fields whose support differs between servers."""

    n: Any = None
    logprobs: Any = None
    top_logprobs: Any = None
    tools: Any = None
    response_format: Any = None
    seed: Any = None
    reasoning_effort: Any = None
    dimensions: Any = None
    messages: Any = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: Count | None = None


class UsageFields(msgspec.Struct, gc=False):
    """What a model says that it used; each count may be missing."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    """Moonshot's, for what others tell among the details."""
    prompt_cache_hit_tokens: Count | None = None
    """DeepSeek's, for the same."""
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class Answer(msgspec.Struct, gc=False):
    """An answer in one piece, as far as the gateway looks into it."""

    usage: UsageFields | None = None
    error: Any = None


class OddAnswer(msgspec.Struct, gc=False):
    """One whose usage is not as it should be."""

    error: Any = None


class Delta(msgspec.Struct):
    """What a streamed chunk adds."""

    content: Any = None
    tool_calls: Any = None
    function_call: Any = None
    refusal: Any = None
    reasoning: Any = None
    reasoning_content: Any = None
    audio: Any = None


class Choice(msgspec.Struct):
    """One of the alternatives of a chunk; ``text`` is what /v1/completions has in place of a delta."""

    delta: Delta | None = None
    text: Any = None
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    """One event of a stream, as far as the gateway looks into it."""

    choices: list[Choice] = []
    usage: UsageFields | None = None
    error: Any = None
