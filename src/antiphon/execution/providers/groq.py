"""Groq's cloud."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor

plugin = Vendor(
    title="Groq",
    documentation="https://console.groq.com/docs/openai",
    url="https://api.groq.com/openai/v1",
    abilities=Abilities(
        completions=False, embeddings=False, audio=False, documents=False, n=False, logprobs=False, speech=True, transcription=True
    ),
)
