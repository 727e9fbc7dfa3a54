"""OpenRouter, which asks other vendors."""

from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words

plugin = Vendor(
    title="OpenRouter",
    documentation="https://openrouter.ai/docs/api/reference/parameters",
    url="https://openrouter.ai/api/v1",
    words=Words(reasoning="reasoning", top_k=True, min_p=True, repetition_penalty=True),
)
