"""Amazon Bedrock, by its Converse operations.

The row's key is one of Bedrock's API keys, or an access key of AWS as ``ID:SECRET`` or ``ID:SECRET:SESSION_TOKEN``. Without a key
the library of AWS looks for credentials where it always does: in the shared files, and at the machine's, container's or pod's role.
"""

import re
from typing import Final
from urllib.parse import quote

from antiphon.core.errors import ConfigError
from antiphon.core.types import Call
from antiphon.execution.providers import Abilities, HeaderFields, Prepared, ProviderOptions, Server
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import Outbound, Passing
from antiphon.execution.wire.embedding import EmbeddingAbilities
from antiphon.transport.deadlines import DeadlineWheel

try:
    from antiphon.execution.providers._aws import Signer
    from antiphon.execution.wire.bedrock.chat import OUTBOUND
except ImportError as error:
    raise ConfigError(
        "the protocol bedrock needs the library of AWS, which is not installed", remedy='pip install "antiphon[bedrock]"'
    ) from error

_ACCESS_KEY: Final = re.compile(rb"[A-Z0-9]{16,128}:[^:]+(?::.+)?")


class BedrockProvider:
    """Bedrock in one region."""

    def __init__(self, options: ProviderOptions, wheel: DeadlineWheel) -> None:
        self.server = Server(options, wheel, tuple(part for part in options.key.split(b":")[1:] if part))
        able = options.abilities
        self.passing: dict[str, Passing] = {}
        self.outbound = OUTBOUND if able.chat else Outbound(OUTBOUND.dialect)
        self.chat = ChatAbilities(
            tools=able.tools,
            images=able.vision,
            audio=able.audio,
            documents=able.documents,
            n=False,
            logprobs=False,
            json_schema=able.json_schema,
            reasoning="effort" if able.reasoning else "",
        )
        self.embedding = EmbeddingAbilities()
        self._root = f"{options.base_path}/model"
        self._fields = ((b"content-type", b"application/json"), *plugin.headers(options))
        self._signer = None if _bearer(options) else Signer(options)
        self._heads: dict[str, bytes] = {}

    def prepare(self, call: Call, upstream: str) -> Prepared:
        operation = "converse-stream" if call.stream else "converse"
        path = f"{self._root}/{quote(upstream, safe='')}/{operation}"
        head = self._heads.get(path)
        if head is None:
            head = self._heads[path] = self.server.pool.prepare("POST", path, self._fields)
        signed = () if self._signer is None else self._signer.headers(path, call.body)
        return Prepared(head, call.body, fields=b"".join(b"%b: %b\r\n" % field for field in signed))


def _bearer(options: ProviderOptions) -> bool:
    """Whether the key is shown as it is, and no call need be signed."""
    return bool(options.key) and _ACCESS_KEY.fullmatch(options.key) is None


class _Plugin:
    title = "Amazon Bedrock"
    documentation = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
    url = ""
    abilities = Abilities(completions=False, embeddings=False, n=False, seed=False, logprobs=False)
    models_path = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key() if _bearer(options) else options.headers

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> BedrockProvider:
        return BedrockProvider(options, wheel)


plugin = _Plugin()
