"""GET /v1/models and /v1/models/{id}."""

from urllib.parse import unquote

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import ModelCard
from antiphon.dispatch.directory import Directory
from antiphon.gateway import errors
from antiphon.gateway.exchange import request_id
from antiphon.transport.server import Request, Responder

PREFIX = "/v1/models/"
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

    def list(self, request: Request, responder: Responder) -> None:
        """GET /v1/models."""
        responder.send(200, _JSON, _encode(ModelList([_object(card) for card in self._directory.cards()])))

    def show(self, request: Request, responder: Responder) -> None:
        """GET /v1/models/{id}; an id may hold slashes."""
        try:
            card = self._directory.card(unquote(request.path[len(PREFIX) :]))
        except AntiphonError as error:
            errors.refuse(responder, error, request_id(request))
            return
        responder.send(200, _JSON, _encode(_object(card)))
