"""Any server that speaks OpenAI's API: vendors, vLLM, SGLang, llama.cpp, Ollama, and the engines on this machine."""

import msgspec

from antiphon.core.errors import UnsupportedParameter
from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, Prepared, ProviderOptions
from antiphon.execution.providers._complaints import Complaints
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.openai import passthrough as wire
from antiphon.execution.wire.openai.fields import AskedFields
from antiphon.execution.wire.reading import decode_request
from antiphon.transport.client import ClientPool
from antiphon.transport.deadlines import DeadlineWheel

_decode_asked = msgspec.json.Decoder(AskedFields).decode
_ABILITY_OF = {"chat/completions": "chat", "completions": "completions", "embeddings": "embeddings"}
MAX_SHOWN = 8
"""Names of other models in an error."""
_STREAMED = ("chat/completions", "completions")


class OpenAIProvider:
    """A server that speaks OpenAI's API, so a call goes out as it came in but for the model's name and the usage chunk."""

    dialect = "openai"

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        self.name = options.name
        self.local = options.local
        self.secrets = options.secrets()
        self.complaints = Complaints(options.name)
        self.pool = ClientPool(options.origin, options.timeouts, options.max_connections, wheel, options.route)
        self._abilities = able = options.abilities
        self.chat = ChatAbilities(
            tools=able.tools,
            n=able.n,
            logprobs=able.logprobs,
            json_schema=able.json_schema,
            top_k=options.local,
            stream_usage=able.stream_usage,
        )
        self._elsewhere = options.elsewhere
        self._whole = options.abilities == Abilities()
        headers = ((b"content-type", b"application/json"), *options.headers)
        self._heads = {
            endpoint: self.pool.prepare("POST", f"{options.base_path}/{endpoint}", headers)
            for endpoint, ability in _ABILITY_OF.items()
            if getattr(options.abilities, ability)
        }

    def prepare(self, call: Call, upstream: str) -> Prepared:
        head = self._heads.get(call.endpoint)
        if head is None:
            what = f'model "{call.model}" does not serve /v1/{call.endpoint}'
            raise UnsupportedParameter(what, remedy=self._who_can(_ABILITY_OF[call.endpoint]), param="model")
        body = call.body
        if not self._whole:
            self._refuse_what_is_missing(call)
        if call.model != upstream:
            body = wire.with_model(body, call.model, upstream)
        strips_usage = call.stream and not call.wants_usage and self._abilities.stream_usage and call.endpoint in _STREAMED
        if strips_usage:
            body = wire.with_usage(body)
        return Prepared(head, body, strips_usage)

    def _who_can(self, ability: str) -> str:
        able = self._elsewhere.get(ability, ())
        return f"ask one that does: {', '.join(able[:MAX_SHOWN])}" if able else "no model here does"

    def _refuse_what_is_missing(self, call: Call) -> None:
        asked, has = decode_request(_decode_asked, call.body), self._abilities
        format_type = asked.response_format.get("type") if isinstance(asked.response_format, dict) else None
        missing = [
            (name, ability)
            for name, ability, wanted in (
                ("n", "n", asked.n not in (None, 1)),
                ("logprobs", "logprobs", asked.logprobs not in (None, False)),
                ("tools", "tools", bool(asked.tools)),
                ("response_format", "json_schema", format_type == "json_schema"),
            )
            if wanted and not getattr(has, ability)
        ]
        if missing:
            name, ability = missing[0]
            what = f'model "{call.model}" does not support `{name}`'
            raise UnsupportedParameter(what, remedy=f"leave it out; {self._who_can(ability)}", param=name)


class _Plugin:
    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> OpenAIProvider:
        return OpenAIProvider(options, wheel)


plugin = _Plugin()
