"""Moonshot's platform, which serves the Kimi models; in China it is at ``https://api.moonshot.cn/v1``."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Moonshot (Kimi)",
    documentation="https://platform.kimi.ai/docs/api/chat",
    url="https://api.moonshot.ai/v1",
    abilities=Abilities(completions=False, embeddings=False, audio=False, documents=False, seed=False, logprobs=False),
    words=Words(Spelling({"max_tokens": "max_completion_tokens"}, developer=False), reasoning_back=True),
)
