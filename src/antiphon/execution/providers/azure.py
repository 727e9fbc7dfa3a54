"""Azure OpenAI: OpenAI's dialect, with a key in a header of its own, at one of two addresses.

Where the row's address ends in ``/openai/v1``, calls go to the paths of OpenAI's API, and a model is named in the body by the name
of its deployment. At any other address the deployment is part of the path, and ``api_version`` of the row is named with each call.
"""

from urllib.parse import quote

import msgspec

from antiphon.core.errors import ConfigError
from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions
from antiphon.execution.providers._openai import OpenAIProvider
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling
from antiphon.transport.deadlines import DeadlineWheel

_WORDS = Words(Spelling({"max_tokens": "max_completion_tokens"}), reasoning="effort")
_NEWER = "/openai/v1"
_BY_BODY = frozenset({"responses"})
"""Endpoints that are told the deployment in the body at either address."""


class DeploymentsProvider:
    """A resource whose deployments have paths of their own."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        inner = self._inner = OpenAIProvider(options, wheel, _WORDS)
        self.server = inner.server
        self.passing = inner.passing
        self.outbound = inner.outbound
        self.chat = inner.chat
        self.embedding = inner.embedding
        self._root = f"{options.base_path.removesuffix('/openai')}/openai"
        self._version = quote(options.api_version, safe="")
        self._fields = plugin.headers(options)
        self._heads: dict[tuple[str, str, bool], bytes] = {}

    def prepare(self, call: Call, upstream: str) -> Prepared:
        prepared = self._inner.prepare(call, upstream)
        is_form = call.model_place is not None
        head = self._heads.get((upstream, call.endpoint, is_form))
        if head is None:
            place = call.endpoint if call.endpoint in _BY_BODY else f"deployments/{quote(upstream, safe='')}/{call.endpoint}"
            path = f"{self._root}/{place}?api-version={self._version}"
            typed = () if is_form else ((b"content-type", b"application/json"),)
            head = self._heads[upstream, call.endpoint, is_form] = self.server.pool.prepare("POST", path, (*typed, *self._fields))
        return msgspec.structs.replace(prepared, head=head)


class _Plugin:
    title = "Azure OpenAI"
    documentation = "https://learn.microsoft.com/azure/ai-foundry/openai/reference"
    url = ""
    abilities = Abilities(images=True, speech=True, transcription=True)
    models_path = "models"
    words = _WORDS

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key(b"api-key", b"")

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> OpenAIProvider | DeploymentsProvider:
        self.check(options.base_path, options.api_version)
        if options.base_path.endswith(_NEWER):
            return OpenAIProvider(options, wheel, _WORDS, self.headers(options))
        return DeploymentsProvider(options, wheel)

    def check(self, url: str, api_version: str) -> None:
        """At addresses of deployments the version is named with each call."""
        if not api_version and not url.rstrip("/").endswith(_NEWER):
            raise ConfigError(
                f"there is no api_version, and the url does not end in {_NEWER}",
                remedy=f"let the url end in {_NEWER}, or add api_version: 2024-10-21",
            )


plugin = _Plugin()
