"""Together's cloud."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Together",
    documentation="https://docs.together.ai/reference/chat-completions-1",
    url="https://api.together.xyz/v1",
    abilities=Abilities(
        documents=False, logprobs=False, dimensions=False, rerank=True, images=True, speech=True, transcription=True
    ),
    words=Words(
        Spelling({"max_completion_tokens": "max_tokens"}, developer=False), top_k=True, min_p=True, repetition_penalty=True
    ),
)
