"""Mistral's platform."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Mistral",
    documentation="https://docs.mistral.ai/api",
    url="https://api.mistral.ai/v1",
    abilities=Abilities(
        stream_usage=False, completions=False, audio=False, documents=False, dimensions=False, moderations=True, transcription=True
    ),
    words=Words(
        Spelling(
            {"max_completion_tokens": "max_tokens", "seed": "random_seed"},
            needless=("stream_options",),
            developer=False,
            short_ids=True,
        ),
        top_k=True,
        repetition_penalty=True,
    ),
)
