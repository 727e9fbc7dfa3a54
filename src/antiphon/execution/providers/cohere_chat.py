"""Cohere's Command models, by its compatibility API."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Cohere (compatibility API)",
    documentation="https://docs.cohere.com/docs/compatibility-api",
    url="https://api.cohere.ai/compatibility/v1",
    abilities=Abilities(completions=False, parallel_tools=False, audio=False, documents=False, n=False, logprobs=False),
    words=Words(Spelling({"max_completion_tokens": "max_tokens"})),
)
