"""How a model writes: what chats and completions can both be told."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from antiphon_client.options import BodyOptions


class PlainFormat(TypedDict):
    """Text, or any JSON object."""

    type: Literal["text", "json_object"]


class NamedSchema(TypedDict, total=False):
    """A JSON Schema with the name that the model sees."""

    name: Required[str]
    schema: Required[Mapping[str, Any]]
    description: str
    strict: bool | None


class JsonSchemaFormat(TypedDict):
    """JSON that keeps to a schema. ``response_format`` makes one of a type."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


class StreamOptions(TypedDict, total=False):
    """What a stream tells besides."""

    include_usage: bool


class SamplingParams(BodyOptions, total=False):
    """What chats and completions have in common. None leaves a choice to the server."""

    model: Required[str]
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    min_p: float | None
    n: int | None
    stop: str | Sequence[str] | None
    seed: int | None
    presence_penalty: float | None
    frequency_penalty: float | None
    repetition_penalty: float | None
    logit_bias: Mapping[str, float] | None
    user: str | None
