"""What callers get back, as the API description shows it. These structs document; they encode nothing."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from antiphon.gateway.admin.openapi.requests import ToolCall

UnixTime = Annotated[int, Meta(description="Unix time, seconds.")]
FinishReason = Annotated[
    Literal["stop", "length", "tool_calls", "content_filter"],
    Meta(description="`stop`: the model ended or a stop text came; `length`: a limit of tokens was reached."),
]


class PromptTokensDetails(msgspec.Struct, frozen=True):
    """Of the prompt's tokens."""

    cached_tokens: int | None = None


class CompletionTokensDetails(msgspec.Struct, frozen=True):
    """Of the answer's tokens."""

    reasoning_tokens: int | None = None


class UsageObject(msgspec.Struct, frozen=True):
    """Tokens used, as the model that answered counted them."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None


class TokenAlternative(msgspec.Struct, frozen=True):
    """A token that could have stood here."""

    token: str
    logprob: float
    bytes: list[int] | None = None


class TokenLogprob(TokenAlternative, frozen=True):
    """A token of the answer."""

    top_logprobs: list[TokenAlternative] = []


class ChatLogprobs(msgspec.Struct, frozen=True):
    """Log-probabilities of the answer's tokens."""

    content: list[TokenLogprob] | None = None


class AnswerMessage(msgspec.Struct, frozen=True):
    """The message that the model wrote."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None


class ChatChoice(msgspec.Struct, frozen=True):
    """One of `n` answers."""

    index: int
    message: AnswerMessage
    finish_reason: FinishReason
    logprobs: ChatLogprobs | None = None


class ChatCompletion(msgspec.Struct, frozen=True):
    """An answer to a conversation."""

    id: str
    created: UnixTime
    model: str
    choices: list[ChatChoice]
    usage: UsageObject | None = None
    system_fingerprint: str | None = None
    object: Literal["chat.completion"] = "chat.completion"


class ChatDelta(msgspec.Struct, frozen=True):
    """What a chunk adds to the answer."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class ChatChunkChoice(msgspec.Struct, frozen=True):
    """A chunk's part for one of `n` answers."""

    index: int
    delta: ChatDelta
    finish_reason: Annotated[FinishReason | None, Meta(description="Null in all chunks of an answer but its last.")] = None
    logprobs: ChatLogprobs | None = None


class ChatCompletionChunk(msgspec.Struct, frozen=True):
    """The data of one server-sent event. The stream ends with `data: [DONE]`; after an error event it ends without."""

    id: str
    created: UnixTime
    model: str
    choices: Annotated[list[ChatChunkChoice], Meta(description="Empty in the chunk that carries the usage.")]
    usage: UsageObject | None = None
    system_fingerprint: str | None = None
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


class CompletionLogprobs(msgspec.Struct, frozen=True):
    """Log-probabilities of the answer's tokens."""

    tokens: list[str]
    token_logprobs: list[float | None]
    text_offset: list[int]
    top_logprobs: list[dict[str, float] | None] | None = None


class CompletionChoice(msgspec.Struct, frozen=True):
    """One of `n` answers, or a chunk's part for it."""

    index: int
    text: str
    finish_reason: FinishReason | None = None
    logprobs: CompletionLogprobs | None = None


class Completion(msgspec.Struct, frozen=True):
    """An answer to a prompt, and also the data of one server-sent event of it."""

    id: str
    created: UnixTime
    model: str
    choices: list[CompletionChoice]
    usage: UsageObject | None = None
    system_fingerprint: str | None = None
    object: Literal["text_completion"] = "text_completion"


class Embedding(msgspec.Struct, frozen=True):
    """The vector of one text."""

    index: Annotated[int, Meta(description="Which of the inputs it belongs to.")]
    embedding: Annotated[list[float] | str, Meta(description="Numbers, or base64 where the request asked for it.")]
    object: Literal["embedding"] = "embedding"


class EmbeddingList(msgspec.Struct, frozen=True):
    """The vectors of all inputs, in their order."""

    data: list[Embedding]
    model: str
    usage: UsageObject
    object: Literal["list"] = "list"


class ModelObject(msgspec.Struct, frozen=True):
    """A model of the catalogue."""

    id: str
    created: UnixTime
    owned_by: Annotated[str, Meta(description="The provider; `antiphon` for what runs on this machine.")]
    kind: Annotated[
        str, Meta(description="What it does: `chat`, `embedding`, `rerank`, `image` and others; an addition of Antiphon's.")
    ]
    object: Literal["model"] = "model"


class ModelList(msgspec.Struct, frozen=True):
    """The catalogue."""

    data: list[ModelObject]
    object: Literal["list"] = "list"


class Health(msgspec.Struct, frozen=True):
    """The server answers."""

    status: Annotated[str, Meta(examples=["ok"])]
    version: str


class Ready(msgspec.Struct, frozen=True):
    """Whether everything that the configuration asks for serves."""

    status: Literal["ready", "not_ready"]
    parts: Annotated[dict[str, str], Meta(description="Each process beside the worker: `ok`, `busy`, `starting` or `down`.")]


class ErrorObject(msgspec.Struct, frozen=True):
    """What went wrong."""

    message: Annotated[str, Meta(description="What is wrong, why, and what to do about it.")]
    type: Literal["invalid_request_error", "authentication_error", "rate_limit_error", "server_error"]
    param: Annotated[str | None, Meta(description="The field of the request at fault.")]
    code: Annotated[str | None, Meta(description="Stable name of the error.", examples=["model_not_found"])]
    remedy: Annotated[str, Meta(description="What to do about it: the end of the message by itself.")] = ""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """Every error has this shape. A provider's own error comes through as the provider wrote it."""

    error: ErrorObject
    request_id: Annotated[str, Meta(description="Also in the header `x-request-id`; quote it when you report a problem.")] = ""
