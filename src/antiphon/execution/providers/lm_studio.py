"""LM Studio's server."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="LM Studio",
    documentation="https://lmstudio.ai/docs/developer/openai-compat",
    url="http://127.0.0.1:1234/v1",
    abilities=Abilities(audio=False, documents=False, n=False, logprobs=False, dimensions=False),
    words=Words(
        Spelling({"max_completion_tokens": "max_tokens", "repetition_penalty": "repeat_penalty"}),
        top_k=True,
        repetition_penalty=True,
    ),
)
