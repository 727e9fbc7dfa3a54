"""A vendor, or a program, that speaks OpenAI's dialect: what a file of it holds is data alone."""

import msgspec

from antiphon.execution.providers import Abilities, HeaderFields, LoadPage, ProviderOptions
from antiphon.execution.providers._openai import OpenAIProvider
from antiphon.execution.providers._words import PLAIN, Words
from antiphon.transport.deadlines import DeadlineWheel


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin of one vendor."""

    title: str
    """What it is called."""
    documentation: str
    """Where it says all of this."""
    url: str = ""
    """Where it is, unless a row says; empty where nobody can know."""
    abilities: Abilities = Abilities()
    words: Words = PLAIN
    models_path: str = "models"
    load: LoadPage | None = None
    """Where its servers tell how busy they are; none where they do not."""

    def headers(self, options: ProviderOptions) -> HeaderFields:
        return options.with_key()

    def connect(self, options: ProviderOptions, wheel: DeadlineWheel) -> OpenAIProvider:
        return OpenAIProvider(options, wheel, self.words)
