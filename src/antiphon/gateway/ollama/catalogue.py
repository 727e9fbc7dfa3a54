"""GET /api/tags, /api/ps and /api/version, POST /api/show: the catalogue as callers of Ollama's dialect know it.

What is not known of a model, as its size, its family or its template, stands there as zero or empty, which is how Ollama says that.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from antiphon import __version__
from antiphon.core.errors import ModelNotFound
from antiphon.core.types import ModelCard
from antiphon.dispatch.directory import Directory
from antiphon.execution.wire.reading import decode_request
from antiphon.execution.wire.wrong_values import missing
from antiphon.gateway.readiness import SERVING, Readiness
from antiphon.transport.server import Request, Responder

Sees = Callable[[str], bool]
"""Which models whoever asks may see, by their names."""
Answers = Callable[[Request, Responder, Sees], None]
API_VERSION: Final = "0.13.0"
"""The version of Ollama whose API this is: callers go by it to know what they may ask."""
CAPABILITIES: Final = {
    "chat": "completion",
    "tools": "tools",
    "vision": "vision",
    "audio": "audio",
    "reasoning": "thinking",
    "embeddings": "embedding",
}
"""Ollama's words for what a model can do, by ours."""
_NEVER: Final = "0001-01-01T00:00:00Z"
"""The time that Ollama tells where there is none."""
_JSON = ((b"content-type", b"application/json"),)
_encode = msgspec.json.Encoder().encode


class OllamaDetails(msgspec.Struct, frozen=True):
    """What a model is made of."""

    parent_model: str = ""
    format: str = ""
    family: str = ""
    families: list[str] | None = None
    parameter_size: str = ""
    quantization_level: str = ""


class OllamaModel(msgspec.Struct, frozen=True):
    """A model in a list. ``digest`` is that of what is told of it, so that it changes with it."""

    name: str
    model: str
    modified_at: str
    size: int
    digest: str
    details: OllamaDetails


class OllamaRunningModel(msgspec.Struct, frozen=True):
    """A model that is loaded. It stays so, and no graphics memory is counted."""

    name: str
    model: str
    size: int
    digest: str
    details: OllamaDetails
    size_vram: int = 0


class OllamaModels(msgspec.Struct, frozen=True):
    """Answer of ``/api/tags``: all models, in the order of the configuration."""

    models: list[OllamaModel]


class OllamaRunning(msgspec.Struct, frozen=True):
    """Answer of ``/api/ps``: the models on this machine whose processes take calls. What providers have loaded is not known."""

    models: list[OllamaRunningModel]


class OllamaShown(msgspec.Struct, frozen=True):
    """Answer of ``/api/show``."""

    modified_at: str
    capabilities: list[str]
    details: OllamaDetails = OllamaDetails()
    model_info: dict[str, str] = {}
    modelfile: str = ""
    parameters: str = ""
    template: str = ""
    license: str = ""


class OllamaVersion(msgspec.Struct, frozen=True):
    """Answer of ``/api/version``. ``antiphon`` is the version of the server itself."""

    version: str = API_VERSION
    antiphon: str = __version__


class _Show(msgspec.Struct):
    model: str | None = None
    name: str | None = None


_decode_show = msgspec.json.Decoder(_Show).decode


class OllamaCatalogue:
    """Serves it. ``hosts`` are the processes that hold the models on this machine, each with its model."""

    def __init__(self, directory: Directory, readiness: Readiness, hosts: Mapping[str, str]) -> None:
        self._directory = directory
        self._readiness = readiness
        self._hosts = hosts

    def routes(self) -> dict[str, tuple[str, Answers]]:
        """Method and handler of each path."""
        return {
            "/api/tags": ("GET", self.tags),
            "/api/ps": ("GET", self.running),
            "/api/show": ("POST", self.show),
            "/api/version": ("GET", self.version),
        }

    def tags(self, request: Request, responder: Responder, sees: Sees) -> None:
        """GET /api/tags."""
        models = [
            OllamaModel(card.id, card.id, _modified(card), 0, _digest(card), OllamaDetails())
            for card in self._directory.cards()
            if sees(card.id)
        ]
        responder.send(200, _JSON, _encode(OllamaModels(models)))

    def running(self, request: Request, responder: Responder, sees: Sees) -> None:
        """GET /api/ps."""

        def told(said: Mapping[str, str]) -> None:
            loaded = [model for host, model in self._hosts.items() if said[host] in SERVING and sees(model)]
            cards = [self._directory.card(model) for model in loaded]
            models = [OllamaRunningModel(card.id, card.id, 0, _digest(card), OllamaDetails()) for card in cards]
            responder.send(200, _JSON, _encode(OllamaRunning(models)))

        self._readiness.ask(self._hosts, told)

    def show(self, request: Request, responder: Responder, sees: Sees) -> None:
        """POST /api/show. Raises InvalidRequest or ModelNotFound."""
        asked = decode_request(_decode_show, request.body)
        name = asked.model or asked.name  # its older name
        if not name:
            raise missing("model")
        card = self._directory.card(name)
        if not sees(name):
            raise ModelNotFound(f'model "{name[:200]}" is not served here, or not to you', remedy="GET /api/tags lists yours")
        capabilities = [theirs for ours, theirs in CAPABILITIES.items() if ours in card.abilities]
        responder.send(200, _JSON, _encode(OllamaShown(_modified(card), capabilities)))

    def version(self, request: Request, responder: Responder, sees: Sees) -> None:
        """GET /api/version."""
        responder.send(200, _JSON, _encode(OllamaVersion()))


def _modified(card: ModelCard) -> str:
    return datetime.fromtimestamp(card.created, UTC).isoformat().replace("+00:00", "Z") if card.created else _NEVER


def _digest(card: ModelCard) -> str:
    return hashlib.sha256(_encode(card)).hexdigest()
