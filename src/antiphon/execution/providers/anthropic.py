"""Servers that speak Anthropic's Messages API: Anthropic itself, and those that imitate it."""

from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.wire.anthropic.chat import OUTBOUND
from antiphon.execution.wire.anthropic.counting import OUTBOUND_COUNT
from antiphon.execution.wire.anthropic.counting import PASSING as COUNT
from antiphon.execution.wire.anthropic.foreign_thoughts import without_foreign_thoughts
from antiphon.execution.wire.anthropic.passing import PASSING
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.execution.wire.openai.passthrough import with_model
from antiphon.transport.deadlines import DeadlineWheel

VERSION = b"2023-06-01"
"""Of the API, sent as ``anthropic-version`` unless the row's headers name another."""
MAX_TOKENS = 4096
"""Sent where a caller of another dialect gives no bound, which this API requires."""


class AnthropicProvider:
    """A server at ``{url}/messages`` and ``{url}/messages/count_tokens``."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        self.server = Server(options, wheel)
        able = options.abilities
        self.passing: dict[str, Passing] = {"messages": PASSING} if able.chat else {}
        if able.chat and able.count_tokens:
            self.passing["messages/count_tokens"] = COUNT
        count = OUTBOUND_COUNT if able.chat and able.count_tokens else None
        self.outbound = Outbound(OUTBOUND.dialect, OUTBOUND.chat if able.chat else None, count=count)
        self.chat = ChatAbilities(
            max_tokens=MAX_TOKENS,
            tools=able.tools,
            images=able.vision,
            documents=able.documents,
            n=False,
            logprobs=False,
            json_schema=able.json_schema,
            top_k=True,
            reasoning="budget" if able.reasoning else "",
        )
        self.embedding = EmbeddingAbilities()
        headers = ((b"content-type", b"application/json"), *plugin.headers(options))
        self._heads = {
            endpoint: self.server.pool.prepare("POST", f"{options.base_path}/{endpoint}", headers)
            for endpoint in ("messages", "messages/count_tokens")
        }

    def prepare(self, call: Call, upstream: str) -> Prepared:
        body = without_foreign_thoughts(call.body)
        if call.model != upstream:
            body = with_model(body, call.model, upstream)
        return Prepared(self._heads[call.endpoint], body)


class _Plugin:
    title = "Anthropic, and those who imitate it"
    documentation = "https://docs.claude.com/en/api/messages"
    url = "https://api.anthropic.com/v1"
    abilities = Abilities(completions=False, embeddings=False, audio=False, n=False, seed=False, logprobs=False, count_tokens=True)
    models_path = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        given = {name for name, _ in options.headers}
        version = () if b"anthropic-version" in given else ((b"anthropic-version", VERSION),)
        return (*version, *options.with_key(b"x-api-key", b""))

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> AnthropicProvider:
        return AnthropicProvider(options, wheel)


plugin = _Plugin()
