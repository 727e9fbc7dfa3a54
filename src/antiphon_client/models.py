"""``client.models``: what can be asked."""

from collections.abc import Iterator
from typing import Unpack

from antiphon_client.answers import Answer, reader
from antiphon_client.options import CallOptions, Options
from antiphon_client.params import take
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.transport.ask import Ask
from antiphon_client.transport.body import in_path


class Model(Answer, frozen=True, kw_only=True, dict=True):
    """A model, or an alias of one."""

    id: str
    created: int = 0
    """Unix time, seconds."""
    owned_by: str = ""
    """The provider; ``antiphon`` for what the server runs itself."""
    kind: str = "chat"
    """``chat`` or ``embedding``, among others."""
    object: str = "model"


class ModelList(Answer, frozen=True, kw_only=True, dict=True):
    """All models, in the order of the server's configuration."""

    data: tuple[Model, ...]
    object: str = "list"

    def __iter__(self) -> Iterator[Model]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)


class Models(Resource):
    """The catalogue."""

    def list(self, **options: Unpack[CallOptions]) -> ModelList:
        """All models. Raises APIError."""
        return self._sender.whole(_all(take(options, CallOptions, self._options).options))

    def retrieve(self, model: str, **options: Unpack[CallOptions]) -> Model:
        """One model. Raises NotFoundError where there is none of that name, and APIError."""
        return self._sender.whole(_one(model, take(options, CallOptions, self._options).options))


class AsyncModels(AsyncResource):
    """The catalogue."""

    async def list(self, **options: Unpack[CallOptions]) -> ModelList:
        """All models. Raises APIError."""
        return await self._sender.whole(_all(take(options, CallOptions, self._options).options))

    async def retrieve(self, model: str, **options: Unpack[CallOptions]) -> Model:
        """One model. Raises NotFoundError where there is none of that name, and APIError."""
        return await self._sender.whole(_one(model, take(options, CallOptions, self._options).options))


def _all(options: Options) -> Ask[ModelList]:
    return Ask(path="/v1/models", decode=reader(ModelList), options=options)


def _one(model: str, options: Options) -> Ask[Model]:
    if not model:
        raise TypeError("the argument 'model' is empty")
    return Ask(path=f"/v1/models/{in_path(model)}", decode=reader(Model), options=options)
