"""xAI's platform, which serves the Grok models."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="xAI (Grok)",
    documentation="https://docs.x.ai/docs/api-reference#chat-completions",
    url="https://api.x.ai/v1",
    abilities=Abilities(embeddings=False, audio=False, documents=False, images=True),
    words=Words(Spelling(developer=False)),
)
