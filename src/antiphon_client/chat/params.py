"""What a chat call takes. Each is a typed dictionary, so that a type checker knows its fields and a plain dictionary will do."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from antiphon_client.chat.answers import ChatMessage
from antiphon_client.sampling import JsonSchemaFormat, PlainFormat, SamplingParams, StreamOptions


class CacheControl(TypedDict, total=False):
    """Marks a prefix that the model's server may keep."""

    type: Required[Literal["ephemeral"]]
    ttl: str


class TextPart(TypedDict, total=False):
    """Text."""

    type: Required[Literal["text"]]
    text: Required[str]
    cache_control: CacheControl


class ImageUrl(TypedDict, total=False):
    """``https://...`` or ``data:image/png;base64,...``."""

    url: Required[str]
    detail: Literal["auto", "low", "high"]


class ImagePart(TypedDict):
    """An image."""

    type: Literal["image_url"]
    image_url: ImageUrl


class InputAudio(TypedDict):
    """Base64."""

    data: str
    format: Literal["wav", "mp3"]


class AudioPart(TypedDict):
    """Speech."""

    type: Literal["input_audio"]
    input_audio: InputAudio


class FileData(TypedDict, total=False):
    """A file by its id, or its data as ``data:application/pdf;base64,...``."""

    file_id: str
    file_data: str
    filename: str


class FilePart(TypedDict):
    """A document."""

    type: Literal["file"]
    file: FileData


class RefusalPart(TypedDict):
    """What the model said when it refused."""

    type: Literal["refusal"]
    refusal: str


class CalledFunction(TypedDict):
    """A function and its arguments, as JSON text."""

    name: str
    arguments: str


class ToolCallParam(TypedDict):
    """A call of a tool that the model made."""

    id: str
    type: Literal["function"]
    function: CalledFunction


class SystemMessage(TypedDict, total=False):
    """Instructions; ``developer`` is what newer models call them."""

    role: Required[Literal["system", "developer"]]
    content: Required[str | Sequence[TextPart]]
    name: str


class UserMessage(TypedDict, total=False):
    """What the user says and shows."""

    role: Required[Literal["user"]]
    content: Required[str | Sequence[TextPart | ImagePart | AudioPart | FilePart]]
    name: str


class AssistantMessage(TypedDict, total=False):
    """What the model said before. An answer's ``message`` does as well."""

    role: Required[Literal["assistant"]]
    content: str | Sequence[TextPart | RefusalPart] | None
    refusal: str | None
    reasoning_content: str | None
    thinking_blocks: Sequence[Mapping[str, Any]]
    tool_calls: Sequence[ToolCallParam]
    name: str


class ToolMessage(TypedDict):
    """What a tool gave back."""

    role: Literal["tool"]
    content: str | Sequence[TextPart]
    tool_call_id: str


MessageParam = SystemMessage | UserMessage | AssistantMessage | ToolMessage | ChatMessage


class FunctionDefinition(TypedDict, total=False):
    """A function that the model may call; ``parameters`` is a JSON Schema."""

    name: Required[str]
    description: str
    parameters: Mapping[str, Any]
    strict: bool | None


class FunctionTool(TypedDict):
    """A tool. ``function_tool`` makes one of a type."""

    type: Literal["function"]
    function: FunctionDefinition


class ChosenFunction(TypedDict):
    """By its name."""

    name: str


class ToolChoice(TypedDict):
    """The tool that the model has to call."""

    type: Literal["function"]
    function: ChosenFunction


class ParseParams(SamplingParams, total=False):
    """Arguments of a chat whose form is told otherwise."""

    messages: Required[Sequence[MessageParam]]
    max_completion_tokens: int | None
    logprobs: bool | None
    top_logprobs: int | None
    tools: Sequence[FunctionTool] | None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None
    parallel_tool_calls: bool | None
    reasoning_effort: str | None
    metadata: Mapping[str, str] | None
    service_tier: str | None


class ChatParams(ParseParams, total=False):
    """Arguments of a chat."""

    response_format: PlainFormat | JsonSchemaFormat | None


class ChatStreamParams(ChatParams, total=False):
    """Arguments of a chat whose answer is streamed."""

    stream_options: StreamOptions | None
    """The usage is asked for where this is not given."""
