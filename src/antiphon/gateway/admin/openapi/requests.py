"""What callers send, as the API description shows it.

These structs document; they decode nothing. Which of the fields a model honours depends on who serves it: one that the model cannot
honour is refused by name, never dropped in silence.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Model = Annotated[str, Meta(description="A model or alias that `GET /v1/models` lists.", examples=["smollm2-135m-instruct"])]
Temperature = Annotated[float, Meta(ge=0, le=2, description="0 always takes the most probable token.")]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Share = Annotated[float, Meta(ge=0, le=1)]
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


class StreamOptions(msgspec.Struct, frozen=True):
    """What a stream carries beside text."""

    include_usage: Annotated[bool | None, Meta(description="Send one more chunk, with the usage, before the stream ends.")] = None


class SamplingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What both endpoints for text take. `top_k`, `min_p`, `repetition_penalty` and `ignore_eos` are additions, as in vLLM."""

    model: Model
    stream: Annotated[bool | None, Meta(description="Answer in server-sent events, as the text comes.")] = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[Positive | None, Meta(description="Upper bound of tokens generated per answer.")] = None
    n: Annotated[Positive | None, Meta(description="Answers to give.")] = None
    temperature: Temperature | None = None
    top_p: Annotated[Share | None, Meta(description="Take from the most probable tokens that together have this probability.")] = (
        None
    )
    top_k: Annotated[Natural | None, Meta(description="Take from this many of the most probable tokens; 0 means all.")] = None
    min_p: Annotated[Share | None, Meta(description="Leave out tokens less probable than this share of the most probable one.")] = (
        None
    )
    stop: Annotated[str | list[str] | None, Meta(description="Texts that end the answer; they are not part of it.")] = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=10)] | None = None
    seed: Annotated[
        int | None, Meta(description="Makes sampling repeatable while an engine on this machine has no other work.")
    ] = None
    ignore_eos: Annotated[bool | None, Meta(description="Go on after the end token, up to `max_tokens`; for benchmarks.")] = None
    logit_bias: Annotated[dict[str, float] | None, Meta(description="Not taken by engines on this machine.")] = None
    user: str | None = None


class ContentPart(msgspec.Struct, frozen=True):
    """A part of a message. Which types but `text` a model reads is told by its provider."""

    type: Annotated[str, Meta(examples=["text"])]
    text: str | None = None
    image_url: dict[str, Any] | None = None
    input_audio: dict[str, Any] | None = None


class FunctionCall(msgspec.Struct, frozen=True):
    """A function that the model wants called."""

    name: str
    arguments: Annotated[str, Meta(description="JSON text.")]


class ToolCall(msgspec.Struct, frozen=True):
    """A call of a tool by the model."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"


class ChatMessage(msgspec.Struct, frozen=True):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Annotated[str | list[ContentPart] | None, Meta(description="Only an assistant's may be null.")] = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: Annotated[str | None, Meta(description="In a tool's message: the call that it answers.")] = None


class NamedSchema(msgspec.Struct, frozen=True):
    """A JSON Schema that the answer must satisfy."""

    name: str
    schema: dict[str, Any] = {}
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, frozen=True):
    """The form of the answer's text."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None


class FunctionDefinition(msgspec.Struct, frozen=True):
    """A function that the model may call."""

    name: str
    description: str | None = None
    parameters: Annotated[dict[str, Any] | None, Meta(description="JSON Schema of the arguments.")] = None
    strict: bool | None = None


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call."""

    function: FunctionDefinition
    type: Literal["function"] = "function"


class ChatCompletionRequest(SamplingRequest, frozen=True, kw_only=True):
    """Body of `POST /v1/chat/completions`."""

    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    max_completion_tokens: Annotated[Positive | None, Meta(description="Newer name of `max_tokens`.")] = None
    logprobs: Annotated[bool | None, Meta(description="Report the log-probability of each token of the answer.")] = None
    top_logprobs: Annotated[
        Annotated[int, Meta(ge=0, le=20)] | None,
        Meta(description="Also of this many alternatives; engines on this machine refuse it."),
    ] = None
    response_format: ResponseFormat | None = None
    tools: list[Tool] | None = None
    tool_choice: Annotated[str | dict[str, Any] | None, Meta(description="`none`, `auto`, `required`, or a tool.")] = None
    parallel_tool_calls: bool | None = None
    chat_template_kwargs: Annotated[
        dict[str, Any] | None, Meta(description="Variables for the model's chat template; an addition that vLLM has too.")
    ] = None


class CompletionRequest(SamplingRequest, frozen=True, kw_only=True):
    """Body of `POST /v1/completions`."""

    prompt: Annotated[
        str | list[str | int | list[int]], Meta(description="A text, several texts, a text as token ids, or several of those.")
    ]
    best_of: Positive | None = None
    logprobs: Annotated[
        Natural | None, Meta(description="Report the log-probability of each token of the answer and of this many alternatives.")
    ] = None
    response_format: ResponseFormat | None = None
    echo: Annotated[bool | None, Meta(description="Repeat the prompt; engines on this machine refuse it.")] = None
    suffix: Annotated[str | None, Meta(description="Text behind the answer; engines on this machine refuse it.")] = None


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /v1/embeddings`."""

    model: Annotated[str, Meta(description="An embedding model that `GET /v1/models` lists.", examples=["usem3"])]
    input: Annotated[str | list[str | int | list[int]], Meta(description="A text or several; some providers take token ids.")]
    encoding_format: Annotated[
        Literal["float", "base64"] | None, Meta(description="`base64`: little-endian float32 numbers; the default is `float`.")
    ] = None
    dimensions: Annotated[
        Positive | None, Meta(description="Shorten the vectors; the built-in encoder refuses any but its own size.")
    ] = None
    input_type: Annotated[
        str | None,
        Meta(description="What the vectors are for, such as `query` or `document`, for models that embed these otherwise."),
    ] = None
    truncate: Annotated[
        bool | str | None, Meta(description="Where a text that is too long is cut off: `end`, `start` or `none`; not everywhere.")
    ] = None
    user: str | None = None
