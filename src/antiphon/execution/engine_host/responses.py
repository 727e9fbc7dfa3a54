"""OpenAI's answer objects, as they go over the wire."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from antiphon.core.types import Usage
from antiphon.execution.engine_host.sequence import Token


class PromptTokensDetails(msgspec.Struct, frozen=True):
    """Of the prompt tokens."""

    cached_tokens: int


class UsageObject(msgspec.Struct, frozen=True):
    """Tokens used."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails

    @classmethod
    def of(cls, usage: Usage) -> "UsageObject":
        """The wire's form of what the engine counted."""
        return cls(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens, PromptTokensDetails(usage.cached_tokens))


class TokenLogprob(msgspec.Struct, frozen=True, gc=False):
    """A token of a chat answer. The most probable alternatives are never known here."""

    token: str
    logprob: float
    bytes: list[int] | None
    top_logprobs: tuple[()] = ()


class ChatLogprobs(msgspec.Struct, frozen=True):
    """Log-probabilities of a chat choice."""

    content: list[TokenLogprob]
    refusal: None = None

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> "ChatLogprobs":
        """Of the tokens of a piece or of a whole answer."""
        return cls([TokenLogprob(token.text, token.logprob, list(token.data) if token.data else None) for token in tokens])


class CompletionLogprobs(msgspec.Struct, frozen=True):
    """Log-probabilities of a text choice, in the older shape."""

    tokens: list[str]
    token_logprobs: list[float]
    text_offset: list[int]
    """Characters of the answer before each token."""
    top_logprobs: None = None

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> "CompletionLogprobs":
        """Of the tokens of a piece or of a whole answer."""
        return cls([token.text for token in tokens], [token.logprob for token in tokens], [token.start for token in tokens])


class ChatMessage(msgspec.Struct, frozen=True):
    """The message of a whole chat answer."""

    content: str
    role: str = "assistant"
    refusal: None = None


class ChatChoice(msgspec.Struct, frozen=True):
    """One answer of a whole chat answer."""

    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: str


class ChatCompletion(msgspec.Struct, frozen=True):
    """A whole chat answer."""

    id: str
    object: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: UsageObject
    system_fingerprint: str


class ChatDelta(msgspec.Struct, frozen=True, gc=False):
    """What a chunk adds to a chat answer. An opening one gives the role, a closing one nothing."""

    role: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    refusal: UnsetType | None = UNSET


class ChatChunkChoice(msgspec.Struct, frozen=True):
    """One answer's part in a chunk."""

    index: int
    delta: ChatDelta
    logprobs: ChatLogprobs | None = None
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct, frozen=True):
    """One event of a streamed chat answer."""

    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str
    choices: tuple[ChatChunkChoice, ...]
    usage: UsageObject | UnsetType | None = UNSET


class CompletionChoice(msgspec.Struct, frozen=True):
    """One answer, or its part in a chunk, of the text endpoint."""

    index: int
    text: str
    logprobs: CompletionLogprobs | None = None
    finish_reason: str | None = None


class Completion(msgspec.Struct, frozen=True):
    """A text answer, or one event of it: both have the same shape."""

    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str
    choices: tuple[CompletionChoice, ...]
    usage: UsageObject | UnsetType | None = UNSET


class ModelObject(msgspec.Struct, frozen=True):
    """A model in the list."""

    id: str
    created: int
    object: str = "model"
    owned_by: str = "antiphon"


class ModelList(msgspec.Struct, frozen=True):
    """Answer of ``GET /v1/models``."""

    data: list[ModelObject]
    object: str = "list"
