"""What is common to all who speak OpenAI's dialect: OpenAI itself, vendors, and the engines on this machine."""

from typing import Final

import msgspec

from antiphon.core.types import Call
from antiphon.execution.providers import HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.providers._missing_fields import MissingFields
from antiphon.execution.providers._words import PLAIN, Words
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.jina.rerank import OUTBOUND_RERANK
from antiphon.execution.wire.openai import passthrough as wire
from antiphon.execution.wire.openai.chat import DIALECT, OUTBOUND_CHAT
from antiphon.execution.wire.openai.counting import OUTBOUND_COUNT
from antiphon.execution.wire.openai.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.openai.form import with_model as with_form_model
from antiphon.execution.wire.openai.passing import GENERATION, MEDIA, WHOLE
from antiphon.execution.wire.openai.respelling import Respeller
from antiphon.execution.wire.responses.counting import PASSING as COUNT
from antiphon.execution.wire.responses.passing import PASSING as RESPONSES
from antiphon.execution.wire.responses.passing import for_server
from antiphon.transport.deadlines import DeadlineWheel

_STREAMED: Final = ("chat/completions", "completions")
_CHAT: Final = "chat/completions"
_PASSING: Final = {
    "chat/completions": GENERATION,
    "completions": GENERATION,
    "embeddings": WHOLE,
    "responses": RESPONSES,
    "responses/input_tokens": COUNT,
    "rerank": WHOLE,
    "moderations": WHOLE,
    "images/generations": MEDIA,
    "images/edits": MEDIA,
    "images/variations": MEDIA,
    "audio/speech": MEDIA,
    "audio/transcriptions": MEDIA,
    "audio/translations": MEDIA,
}
_ABILITIES: Final = {"responses": "responses", "responses/input_tokens": "responses"}
"""What an endpoint needs to be taken as it is, where that is more than to answer it in some way."""


class OpenAIProvider:
    """A server that speaks OpenAI's API, so a call goes out as it came in but for the model's name and the usage chunk."""

    def __init__(
        self, options: ProviderOptions, wheel: DeadlineWheel, words: Words = PLAIN, fields: HeaderFields | None = None
    ) -> None:
        self.server = Server(options, wheel)
        able = options.abilities
        self.passing: dict[str, Passing] = {
            endpoint: passing
            for endpoint, passing in _PASSING.items()
            if getattr(able, _ABILITIES.get(endpoint, ENDPOINTS[endpoint].ability))
        }
        chat = msgspec.structs.replace(OUTBOUND_CHAT, streams_only=words.streams_only)
        self.outbound = Outbound(
            DIALECT,
            chat if able.chat else None,
            OUTBOUND_EMBEDDING if able.embeddings else None,
            OUTBOUND_RERANK if able.rerank else None,
            OUTBOUND_COUNT if able.chat and able.count_tokens else None,
        )
        self.embedding = EmbeddingAbilities(dimensions=able.dimensions, token_ids=not options.local)
        self.chat = ChatAbilities(
            tools=able.tools,
            images=able.vision,
            audio=able.audio,
            documents=able.documents,
            n=able.n,
            logprobs=able.logprobs,
            json_schema=able.json_schema,
            top_k=options.local or words.top_k,
            min_p=options.local or words.min_p,
            repetition_penalty=options.local or words.repetition_penalty,
            reasoning=words.reasoning if able.reasoning else "",
            thinkers=words.thinkers,
            reasoning_back=words.reasoning_back,
            stream_usage=able.stream_usage,
        )
        self._respeller = Respeller(words.spelling) if words.spelling != PLAIN.spelling else None
        self._missing = MissingFields(able, self.server.lacking)
        self._looks_inside = self._missing.any
        self._stream_usage = able.stream_usage
        headers = options.with_key() if fields is None else fields
        typed = ((b"content-type", b"application/json"), *headers)
        paths = {endpoint: f"{options.base_path}/{endpoint}" for endpoint in self.passing}
        self._heads = {endpoint: self.server.pool.prepare("POST", path, typed) for endpoint, path in paths.items()}
        root = options.base_path.removesuffix("/v1")
        self._heads[OUTBOUND_COUNT.endpoint] = self.server.pool.prepare("POST", f"{root}/{OUTBOUND_COUNT.endpoint}", typed)
        self._form_heads = {
            endpoint: self.server.pool.prepare("POST", path, headers)
            for endpoint, path in paths.items()
            if ENDPOINTS[endpoint].forms
        }

    def prepare(self, call: Call, upstream: str) -> Prepared:
        body = call.body
        if call.model_place is not None:
            if call.model != upstream:
                body = with_form_model(body, call.model_place, upstream)
            return Prepared(self._form_heads[call.endpoint], body, fields=b"content-type: %b\r\n" % call.content_type)
        if self._looks_inside:
            body = self._missing.refused(call)
        if self._respeller is not None and call.endpoint == _CHAT:
            body = self._respeller.respelled(body)
        if call.endpoint in _ABILITIES:
            body = for_server(body)
        if call.model != upstream:
            body = wire.with_model(body, call.model, upstream)
        if call.stream and not call.wants_usage and self._stream_usage and call.endpoint in _STREAMED:
            body = wire.with_usage(body)
        return Prepared(self._heads[call.endpoint], body)
