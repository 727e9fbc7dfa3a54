"""Ollama's dialect, as the API description shows it. These structs document; they decode nothing."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from antiphon.gateway.admin.openapi.requests import Model, Natural

Stream = Annotated[bool | None, Meta(description="Answer in lines of JSON, as the text comes; so it is unless this is false.")]
Format = Annotated[str | dict[str, Any] | None, Meta(description="`json`, or a JSON Schema that the answer must satisfy.")]
Think = Annotated[
    bool | str | None, Meta(description="Whether to think before the answer; `low`, `medium` or `high` say how much.")
]
Options = Annotated[
    dict[str, Any] | None,
    Meta(
        description="`num_predict`, `temperature`, `top_k`, `top_p`, `min_p`, `repeat_penalty`, `presence_penalty`, "
        "`frequency_penalty`, `seed`, `stop` and Ollama's own. Those about loading a model, as `num_ctx`, mean nothing to servers "
        "of other kinds; any other that a model's server has no like of is refused by name."
    ),
]
KeepAlive = Annotated[str | float | None, Meta(description="How long an Ollama server keeps the model; nothing to others.")]
Images = Annotated[list[str] | None, Meta(description="Images, each its bytes as base64.")]
Reason = Annotated[
    Literal["stop", "length", "content_filter", "refusal"] | None, Meta(description="Why the answer ended, in the last line.")
]
Nanoseconds = Annotated[Natural | None, Meta(description="Nanoseconds; told as far as it is known.")]


class OllamaFunction(msgspec.Struct, frozen=True):
    """A tool that is called. Its arguments are an object."""

    name: str
    arguments: dict[str, Any] = {}
    index: Natural | None = None


class OllamaCall(msgspec.Struct, frozen=True):
    """A call of a tool by the model."""

    function: OllamaFunction
    id: str | None = None


class OllamaMessage(msgspec.Struct, frozen=True):
    """One message of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    thinking: str | None = None
    images: Images = None
    tool_calls: list[OllamaCall] | None = None
    tool_name: Annotated[str | None, Meta(description="In a tool's message: the tool whose result it is.")] = None
    tool_call_id: str | None = None


class OllamaRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What both endpoints for text take."""

    model: Model
    stream: Stream = None
    format: Format = None
    options: Options = None
    think: Think = None
    logprobs: Annotated[bool | None, Meta(description="Report the log-probability of each token of the answer.")] = None
    top_logprobs: Annotated[Natural | None, Meta(description="Also of this many alternatives.")] = None
    keep_alive: KeepAlive = None


class OllamaChatRequest(OllamaRequest, frozen=True, kw_only=True):
    """Body of `POST /api/chat`."""

    messages: Annotated[list[OllamaMessage], Meta(min_length=1)]
    tools: list[dict[str, Any]] | None = None


class OllamaGenerateRequest(OllamaRequest, frozen=True, kw_only=True):
    """Body of `POST /api/generate`. `raw`, `template`, `context` and `suffix` are for models of Ollama servers alone."""

    prompt: str
    system: Annotated[str | None, Meta(description="What the model is told before the prompt.")] = None
    images: Images = None
    suffix: str | None = None
    template: str | None = None
    context: list[int] | None = None
    raw: bool | None = None


class OllamaEmbedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /api/embed`."""

    model: Annotated[str, Meta(description="An embedding model that `GET /api/tags` lists.", examples=["usem3"])]
    input: str | list[str]
    dimensions: Annotated[Natural | None, Meta(description="Shorten the vectors.")] = None
    truncate: Annotated[bool | None, Meta(description="Cut texts that are too long for the model.")] = None
    options: Options = None
    keep_alive: KeepAlive = None


class OllamaEmbeddingsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /api/embeddings`, the older endpoint for one text."""

    model: Annotated[str, Meta(description="An embedding model that `GET /api/tags` lists.", examples=["usem3"])]
    prompt: str
    options: Options = None
    keep_alive: KeepAlive = None


class OllamaShowRequest(msgspec.Struct, frozen=True):
    """Body of `POST /api/show`."""

    model: Model


class OllamaAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers of both endpoints for text have: a whole answer, or a line of a stream."""

    model: str
    created_at: str
    done: Annotated[bool, Meta(description="True in the last line, and in a whole answer.")]
    done_reason: Reason = None
    logprobs: list[dict[str, Any]] | None = None
    total_duration: Nanoseconds = None
    load_duration: Nanoseconds = None
    prompt_eval_count: Annotated[Natural | None, Meta(description="Tokens of the prompt.")] = None
    prompt_eval_duration: Nanoseconds = None
    eval_count: Annotated[Natural | None, Meta(description="Tokens of the answer.")] = None
    eval_duration: Nanoseconds = None


class OllamaChatAnswer(OllamaAnswer, frozen=True, kw_only=True):
    """An answer of `/api/chat`."""

    message: OllamaMessage


class OllamaGenerateAnswer(OllamaAnswer, frozen=True, kw_only=True):
    """An answer of `/api/generate`."""

    response: str
    thinking: str | None = None
    context: list[int] | None = None


class OllamaEmbedAnswer(msgspec.Struct, frozen=True):
    """The vectors, in the order of the texts."""

    model: str
    embeddings: list[list[float]]
    prompt_eval_count: Natural | None = None
    total_duration: Nanoseconds = None
    load_duration: Nanoseconds = None


class OllamaEmbeddingsAnswer(msgspec.Struct, frozen=True):
    """The vector of one text."""

    embedding: list[float]


class OllamaError(msgspec.Struct, frozen=True):
    """An error, also as the last line of a stream."""

    error: str
    request_id: str | None = None
