"""Any server that speaks OpenAI's API: OpenAI itself, vendors, and the engines on this machine."""

import re
from typing import Final

from antiphon.execution.providers import Abilities, HeaderFields, ProviderOptions
from antiphon.execution.providers._openai import OpenAIProvider
from antiphon.execution.providers._words import PLAIN, Words
from antiphon.execution.wire.openai.respelling import Spelling
from antiphon.transport.deadlines import DeadlineWheel

OPENAI_HOST: Final = "api.openai.com"
OPENAI: Final = Words(
    Spelling({"max_tokens": "max_completion_tokens"}), reasoning="effort", thinkers=re.compile(r"o\d|gpt-(?:[5-9]|\d\d)")
)
"""OpenAI's own words: its newer models refuse ``max_tokens``, which its older ones know under both names."""


class _Plugin:
    title = "OpenAI, and all who imitate it"
    documentation = "https://platform.openai.com/docs/api-reference"
    url = ""
    abilities = Abilities(moderations=True, images=True, speech=True, transcription=True)
    models_path = "models"

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key()

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> OpenAIProvider:
        return OpenAIProvider(options, wheel, OPENAI if options.origin.host == OPENAI_HOST else PLAIN)


plugin = _Plugin()
