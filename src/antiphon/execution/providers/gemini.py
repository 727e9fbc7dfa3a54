"""Servers that speak Google's Gemini API: Google itself, and those that imitate it."""

from urllib.parse import quote

from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.execution.wire.gemini.chat import OUTBOUND_CHAT
from antiphon.execution.wire.gemini.counting import OUTBOUND_COUNT
from antiphon.execution.wire.gemini.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.gemini.names import DIALECT, resource_name
from antiphon.transport.deadlines import DeadlineWheel

_STREAMED = "streamGenerateContent?alt=sse"


class GeminiProvider:
    """A server at ``{url}/models/{model}:generateContent``, and the other methods of a model."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        self.server = Server(options, wheel)
        able = options.abilities
        self.passing: dict[str, Passing] = {}
        self.outbound = Outbound(
            DIALECT,
            OUTBOUND_CHAT if able.chat else None,
            OUTBOUND_EMBEDDING if able.embeddings else None,
            count=OUTBOUND_COUNT if able.chat and able.count_tokens else None,
        )
        self.chat = ChatAbilities(
            tools=able.tools,
            images=able.vision,
            audio=able.audio,
            documents=able.documents,
            n=able.n,
            logprobs=able.logprobs,
            json_schema=able.json_schema,
            top_k=True,
            reasoning="budget" if able.reasoning else "",
        )
        self.embedding = EmbeddingAbilities(dimensions=able.dimensions, token_ids=False)
        self._root = options.base_path
        self._headers = ((b"content-type", b"application/json"), *plugin.headers(options))
        self._heads: dict[tuple[str, str], bytes] = {}
        """By model and method; the models are those of the configuration."""

    def prepare(self, call: Call, upstream: str) -> Prepared:
        method = _STREAMED if call.stream and call.endpoint == OUTBOUND_CHAT.endpoint else call.endpoint
        head = self._heads.get((upstream, method))
        if head is None:
            path = f"{self._root}/{quote(resource_name(upstream), safe='/@')}:{method}"
            head = self._heads[upstream, method] = self.server.pool.prepare("POST", path, self._headers)
        return Prepared(head, call.body)


class _Plugin:
    title = "Google Gemini"
    documentation = "https://ai.google.dev/api"
    url = "https://generativelanguage.googleapis.com/v1beta"
    abilities = Abilities(completions=False, logprobs=False, count_tokens=True)
    models_path = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key(b"x-goog-api-key", b"")

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> GeminiProvider:
        return GeminiProvider(options, wheel)


plugin = _Plugin()
