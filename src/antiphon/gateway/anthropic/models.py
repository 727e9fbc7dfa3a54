"""GET /v1/models and /v1/models/{id}, as callers of Anthropic's dialect know them.

Shapes after Anthropic's API reference, "List Models", and its Python SDK.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qs

import msgspec

from antiphon.core.errors import InvalidRequest
from antiphon.core.types import ModelCard
from antiphon.dispatch.directory import Directory
from antiphon.transport.server import Request, Responder

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 1000
STAGE: Final = "active"
"""Where in its life every model is that is configured."""
_JSON = ((b"content-type", b"application/json"),)
_encode = msgspec.json.Encoder().encode


class AnthropicModel(msgspec.Struct, frozen=True):
    """A model. What is not known of it is null; a time that is not known is the epoch, which is how Anthropic says that."""

    id: str
    display_name: str
    created_at: str
    """RFC 3339."""
    type: str = "model"
    lifecycle: str = STAGE
    capabilities: None = None
    deprecated_at: None = None
    line: None = None
    max_input_tokens: None = None
    max_tokens: None = None
    retires_at: None = None


class AnthropicModels(msgspec.Struct, frozen=True):
    """A page of the models, in the order of the configuration."""

    data: list[AnthropicModel]
    has_more: bool
    """Whether there are others beyond this page, in the direction in which pages are turned."""
    first_id: str | None
    last_id: str | None


class AnthropicCatalogue:
    """Serves the catalogue."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def list(self, request: Request, responder: Responder, sees: Callable[[str], bool]) -> None:
        """GET /v1/models. Raises InvalidRequest, naming the parameter."""
        asked = parse_qs(request.query)
        stages = asked.get("lifecycle", []) + asked.get("lifecycle[]", [])
        cards = [card for card in self._directory.cards() if sees(card.id)] if STAGE in stages or not stages else []
        chosen, more = _page(cards, asked)
        models = [_model(card) for card in chosen]
        ends = (models[0].id, models[-1].id) if models else (None, None)
        responder.send(200, _JSON, _encode(AnthropicModels(models, more, *ends)))

    def show(self, name: str, responder: Responder) -> None:
        """GET /v1/models/{id}. Raises ModelNotFound."""
        responder.send(200, _JSON, _encode(_model(self._directory.card(name))))


def _page(cards: Sequence[ModelCard], asked: dict[str, list[str]]) -> tuple[Sequence[ModelCard], bool]:
    """The models that were asked for, and whether there are more in that direction."""
    limit = asked.get("limit", [str(DEFAULT_LIMIT)])[-1]
    if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:9]) <= MAX_LIMIT):
        raise InvalidRequest("`limit` is out of its range", remedy=f"give a whole number from 1 to {MAX_LIMIT}", param="limit")
    count = int(limit)
    after, before = _place(cards, asked, "after_id"), _place(cards, asked, "before_id")
    if after is not None and before is not None:
        raise InvalidRequest("`after_id` and `before_id` are both given", remedy="give one of them", param="before_id")
    if before is not None:
        begin = max(0, before - count)
        return cards[begin:before], begin > 0
    begin = 0 if after is None else after + 1
    return cards[begin : begin + count], begin + count < len(cards)


def _place(cards: Sequence[ModelCard], asked: dict[str, list[str]], param: str) -> int | None:
    """Where the model stands that a parameter names; None where it names none."""
    if param not in asked:
        return None
    name = asked[param][-1]
    for place, card in enumerate(cards):
        if card.id == name:
            return place
    raise InvalidRequest(f'`{param}` is "{name[:200]}", which no model is called', remedy="give an `id` of the list", param=param)


def _model(card: ModelCard) -> AnthropicModel:
    return AnthropicModel(card.id, card.id, datetime.fromtimestamp(card.created, UTC).isoformat().replace("+00:00", "Z"))
