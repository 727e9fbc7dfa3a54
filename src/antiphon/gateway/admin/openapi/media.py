"""Moderation, pictures and sounds, as the API description shows them. These structs document; they decode nothing.

Such calls are passed on as they are, so each may have more fields than are named here.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from antiphon.gateway.admin.openapi.requests import Model, Positive, Temperature

File = Annotated[str, Meta(description="The file's bytes.", extra_json_schema={"contentMediaType": "application/octet-stream"})]
Format = Annotated[str | None, Meta(description="As the model knows them.")]


class ModerationRequest(msgspec.Struct, frozen=True):
    """What is to be looked through."""

    model: Model
    input: Annotated[str | list[str | dict[str, Any]], Meta(description="A text, several, or texts and images.")]


class ModerationAnswer(msgspec.Struct, frozen=True):
    """What was found of each."""

    id: str
    model: str
    results: list[dict[str, Any]]


class ImageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A picture to be made."""

    model: Model
    prompt: str
    n: Positive | None = None
    size: Format = None
    quality: Format = None
    response_format: Format = None
    stream: Annotated[bool | None, Meta(description="Answer in server-sent events.")] = None


class ImageEditForm(ImageRequest, frozen=True, kw_only=True):
    """A picture to be changed."""

    image: File
    mask: File | None = None


class ImageVariationForm(msgspec.Struct, frozen=True, kw_only=True):
    """A picture to be varied."""

    model: Model
    image: File
    n: Positive | None = None
    size: Format = None
    response_format: Format = None


class ImagesAnswer(msgspec.Struct, frozen=True):
    """Pictures, each by its address or as base64."""

    created: int
    data: list[dict[str, Any]]
    usage: dict[str, Any] | None = None


class MediaEvent(msgspec.Struct, frozen=True):
    """One event of a stream; its type tells what else it has."""

    type: Annotated[str, Meta(examples=["image_generation.completed", "transcript.text.delta", "speech.audio.done"])]


class SpeechRequest(msgspec.Struct, frozen=True):
    """What is to be said."""

    model: Model
    input: str
    voice: Annotated[str | dict[str, Any], Meta(description="As the model knows them.", examples=["alloy"])]
    response_format: Annotated[str | None, Meta(examples=["mp3", "wav"])] = None
    speed: float | None = None
    stream_format: Annotated[str | None, Meta(description="`sse` answers in server-sent events.")] = None


class TranslationForm(msgspec.Struct, frozen=True, kw_only=True):
    """What was said, to be written down in English."""

    model: Model
    file: File
    prompt: str | None = None
    response_format: Annotated[str | None, Meta(description="`json`, `text`, `srt`, `verbose_json` or `vtt`.")] = None
    temperature: Temperature | None = None


class TranscriptionForm(TranslationForm, frozen=True, kw_only=True):
    """What was said, to be written down."""

    language: str | None = None
    stream: Annotated[bool | None, Meta(description="Answer in server-sent events.")] = None


class Transcription(msgspec.Struct, frozen=True):
    """What was said; more fields follow, as the format has them."""

    text: str
    usage: dict[str, Any] | None = None
