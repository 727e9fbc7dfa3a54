"""What servers have in common that embed texts and rank documents, and do nothing else."""

from collections.abc import Mapping
from typing import Final

import msgspec

from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.openai.passthrough import with_model
from antiphon.transport.deadlines import DeadlineWheel

ABILITIES: Final = Abilities(
    stream_usage=False,
    chat=False,
    completions=False,
    tools=False,
    parallel_tools=False,
    json_schema=False,
    vision=False,
    audio=False,
    documents=False,
    reasoning=False,
    n=False,
    seed=False,
    logprobs=False,
    rerank=True,
)


class RetrievalPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol of such servers."""

    title: str
    documentation: str
    url: str = ""
    outbound: Outbound
    paths: Mapping[str, str]
    """Paths below the root, by endpoint: those that ``outbound`` names, and those that pass as they are."""
    passing: Mapping[str, Passing] = {}
    abilities: Abilities = ABILITIES
    models_path: str = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key()

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> "RetrievalProvider":
        return RetrievalProvider(self, options, wheel)


class RetrievalProvider:
    """Such a server."""

    def __init__(self, plugin: RetrievalPlugin, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        self.server = Server(options, wheel)
        able, outbound = options.abilities, plugin.outbound
        self.passing = {
            endpoint: passing for endpoint, passing in plugin.passing.items() if getattr(able, ENDPOINTS[endpoint].ability)
        }
        self.outbound = Outbound(
            outbound.dialect,
            embedding=outbound.embedding if able.embeddings else None,
            rerank=outbound.rerank if able.rerank else None,
        )
        self.chat = ChatAbilities()
        self.embedding = EmbeddingAbilities(dimensions=able.dimensions)
        headers = ((b"content-type", b"application/json"), *plugin.headers(options))
        self._heads = {
            endpoint: self.server.pool.prepare("POST", f"{options.base_path}/{path}", headers)
            for endpoint, path in plugin.paths.items()
        }

    def prepare(self, call: Call, upstream: str) -> Prepared:
        body = call.body
        if call.model != upstream:
            body = with_model(body, call.model, upstream)
        return Prepared(self._heads[call.endpoint], body)
