"""Servers that speak DashScope's native protocol, at one of its two endpoints for chats."""

import msgspec

from antiphon.core.errors import UnsupportedParameter
from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions
from antiphon.execution.providers._complaints import Complaints
from antiphon.execution.providers._lacking import Lacking
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dashscope.request_writer import DIALECT
from antiphon.execution.wire.dialect import Outbound, OutboundChat, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.transport.client import ClientPool
from antiphon.transport.deadlines import DeadlineWheel


class DashScopeProvider:
    """A server whose models are all asked at one path, and always for a stream."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel, outbound: OutboundChat) -> None:
        self.name = options.name
        self.local = options.local
        self.secrets = options.secrets()
        self.complaints = Complaints(options.name)
        self.pool = ClientPool(options.origin, options.timeouts, options.max_connections, wheel, options.route)
        able = options.abilities
        self.passing: dict[str, Passing] = {}
        self.outbound = Outbound(DIALECT, outbound if able.chat else None)
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
        self.embedding = EmbeddingAbilities()
        self._lacking = Lacking(options.elsewhere)
        fields = (
            (b"content-type", b"application/json"),
            (b"accept", b"text/event-stream"),
            (b"x-dashscope-sse", b"enable"),
            *_headers(options),
        )
        self._head = self.pool.prepare("POST", f"{options.base_path}/{outbound.endpoint}", fields)

    def prepare(self, call: Call, upstream: str) -> Prepared:
        return Prepared(self._head, call.body)

    def lacks(self, call: Call) -> UnsupportedParameter:
        return self._lacking.endpoint(call)


class DashScopeVendor(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin of one of the endpoints."""

    title: str
    outbound: OutboundChat
    abilities: Abilities
    documentation: str = "https://help.aliyun.com/zh/model-studio/qwen-api-via-dashscope"
    url: str = "https://dashscope.aliyuncs.com/api/v1"
    models_path: str = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return _headers(options)

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> DashScopeProvider:
        return DashScopeProvider(options, wheel, self.outbound)


def _headers(options: ProviderOptions) -> HeaderFields:
    return (*options.headers, *(((b"authorization", b"Bearer " + options.key),) if options.key else ()))
