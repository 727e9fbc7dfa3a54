"""``client.rerank``: texts in the order in which they answer a question."""

from collections.abc import Mapping, Sequence
from typing import Any, Required, Unpack

from antiphon_client.answers import Answer, ApiObject, reader
from antiphon_client.options import BodyOptions
from antiphon_client.params import Params, take
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.transport.ask import Ask
from antiphon_client.usage import Usage


class RerankParams(BodyOptions, total=False):
    """Arguments of a ranking."""

    model: Required[str]
    query: Required[str]
    documents: Required[Sequence[str] | Sequence[Mapping[str, Any]]]
    top_n: int | None
    """How many of the best to give back; all where it is not given."""
    return_documents: bool | None


class RankedDocument(ApiObject, frozen=True, kw_only=True, dict=True):
    """A document and how well it fits."""

    index: int
    """Its place in ``documents``, from 0."""
    relevance_score: float
    document: str | dict[str, Any] | None = None
    """What was asked with; only with ``return_documents``."""

    @property
    def text(self) -> str:
        """The document's text, where it came back."""
        told = self.document.get("text", "") if isinstance(self.document, dict) else self.document
        return told if isinstance(told, str) else ""


class Ranking(Answer, frozen=True, kw_only=True, dict=True):
    """The documents, best first."""

    results: tuple[RankedDocument, ...]
    id: str = ""
    model: str = ""
    usage: Usage | None = None


class Rerank(Resource):
    """Asks models to rank."""

    def create(self, **params: Unpack[RerankParams]) -> Ranking:
        """The documents in the order in which they answer the query. Raises APIError."""
        return self._sender.whole(_ask(take(params, RerankParams, self._options)))


class AsyncRerank(AsyncResource):
    """Asks models to rank."""

    async def create(self, **params: Unpack[RerankParams]) -> Ranking:
        """The documents in the order in which they answer the query. Raises APIError."""
        return await self._sender.whole(_ask(take(params, RerankParams, self._options)))


def _ask(params: Params) -> Ask[Ranking]:
    return Ask(method="POST", path="/v1/rerank", body=params.body, decode=reader(Ranking), options=params.options)
