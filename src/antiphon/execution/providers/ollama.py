"""Servers that speak Ollama's own API: Ollama on any machine, and its cloud."""

from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.ollama.chat import DIALECT, OUTBOUND_CHAT
from antiphon.execution.wire.ollama.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.ollama.passing import GENERATION, WHOLE
from antiphon.execution.wire.openai.passthrough import with_model
from antiphon.transport.deadlines import DeadlineWheel

_PASSING = {"api/chat": GENERATION, "api/generate": GENERATION, "api/embed": WHOLE, "api/embeddings": WHOLE}


class OllamaProvider:
    """A server at ``{url}/api``."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        self.server = Server(options, wheel)
        able = options.abilities
        self.passing: dict[str, Passing] = {
            endpoint: passing for endpoint, passing in _PASSING.items() if getattr(able, ENDPOINTS[endpoint].ability)
        }
        self.outbound = Outbound(DIALECT, OUTBOUND_CHAT if able.chat else None, OUTBOUND_EMBEDDING if able.embeddings else None)
        self.chat = ChatAbilities(
            tools=able.tools,
            images=able.vision,
            n=False,
            logprobs=able.logprobs,
            json_schema=able.json_schema,
            top_k=True,
            min_p=True,
            repetition_penalty=True,
            reasoning="effort" if able.reasoning else "",
            reasoning_back=True,
        )
        self.embedding = EmbeddingAbilities(dimensions=able.dimensions, token_ids=False)
        headers = ((b"content-type", b"application/json"), *plugin.headers(options))
        self._heads = {
            endpoint: self.server.pool.prepare("POST", f"{options.base_path}/{endpoint}", headers) for endpoint in self.passing
        }

    def prepare(self, call: Call, upstream: str) -> Prepared:
        body = call.body if call.model == upstream else with_model(call.body, call.model, upstream)
        return Prepared(self._heads[call.endpoint], body)


class _Plugin:
    title = "Ollama"
    documentation = "https://github.com/ollama/ollama/blob/main/docs/api.md"
    url = "http://127.0.0.1:11434"
    abilities = Abilities(completions=False, audio=False, documents=False, n=False)
    models_path = "api/tags"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key()

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> OllamaProvider:
        return OllamaProvider(options, wheel)


plugin = _Plugin()
