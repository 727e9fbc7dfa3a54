"""GET /v1/models and /v1/models/{id}."""

from collections.abc import Callable

import msgspec

from antiphon.core.types import ModelCard
from antiphon.dispatch.directory import Directory
from antiphon.transport.server import Request, Responder

_JSON = ((b"content-type", b"application/json"),)
_encode = msgspec.json.Encoder().encode


class ModelObject(msgspec.Struct, frozen=True):
    """A model in OpenAI's shape. ``kind`` is ours: ``chat`` or ``embedding``."""

    id: str
    created: int
    owned_by: str
    kind: str
    object: str = "model"


class ModelList(msgspec.Struct, frozen=True):
    """All models, in the order of the configuration."""

    data: list[ModelObject]
    object: str = "list"


def _object(card: ModelCard) -> ModelObject:
    return ModelObject(card.id, card.created, card.owned_by, card.kind)


class Models:
    """Serves the catalogue."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def list(self, request: Request, responder: Responder, sees: Callable[[str], bool]) -> None:
        """GET /v1/models."""
        responder.send(200, _JSON, _encode(ModelList([_object(card) for card in self._directory.cards() if sees(card.id)])))

    def show(self, name: str, responder: Responder) -> None:
        """GET /v1/models/{id}. Raises ModelNotFound."""
        responder.send(200, _JSON, _encode(_object(self._directory.card(name))))
