"""DeepSeek's platform."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="DeepSeek",
    documentation="https://api-docs.deepseek.com/api/create-chat-completion",
    url="https://api.deepseek.com/v1",
    abilities=Abilities(completions=False, embeddings=False, json_schema=False, audio=False, documents=False, n=False, seed=False),
    words=Words(
        Spelling({"max_completion_tokens": "max_tokens"}, developer=False), reasoning="thinking_effort", reasoning_back=True
    ),
)
