"""Servers that speak DashScope's native protocol; chats are asked for at one of its two endpoints for them."""

import msgspec

from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dashscope.request_writer import DIALECT
from antiphon.execution.wire.dashscope.retrieval import EMBEDDING, RERANK
from antiphon.execution.wire.dialect import Outbound, OutboundChat, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.transport.deadlines import DeadlineWheel


class DashScopeProvider:
    """A server whose chats are all asked for at one path, and always in a stream."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel, outbound: OutboundChat) -> None:
        self.server = Server(options, wheel)
        able = options.abilities
        self.passing: dict[str, Passing] = {}
        self.outbound = Outbound(
            DIALECT,
            outbound if able.chat else None,
            EMBEDDING if able.embeddings else None,
            RERANK if able.rerank else None,
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
            repetition_penalty=True,
            reasoning="enable_thinking" if able.reasoning else "",
            reasoning_back=True,
        )
        self.embedding = EmbeddingAbilities(dimensions=able.dimensions)
        fields = ((b"content-type", b"application/json"), *options.with_key())
        streams = ((b"accept", b"text/event-stream"), (b"x-dashscope-sse", b"enable"))
        self._heads = {
            asked.endpoint: self.server.pool.prepare("POST", f"{options.base_path}/{asked.endpoint}", (*fields, *more))
            for asked, more in ((outbound, streams), (EMBEDDING, ()), (RERANK, ()))
        }

    def prepare(self, call: Call, upstream: str) -> Prepared:
        return Prepared(self._heads[call.endpoint], call.body)


class DashScopeVendor(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin of one of the endpoints."""

    title: str
    outbound: OutboundChat
    abilities: Abilities
    documentation: str = "https://help.aliyun.com/zh/model-studio/qwen-api-via-dashscope"
    url: str = "https://dashscope.aliyuncs.com/api/v1"
    models_path: str = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key()

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> DashScopeProvider:
        return DashScopeProvider(options, wheel, self.outbound)
