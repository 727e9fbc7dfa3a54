"""Zhipu's platform, which serves the GLM models; outside of China it is at ``https://api.z.ai/api/paas/v4``."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Zhipu (GLM, Z.ai)",
    documentation="https://docs.bigmodel.cn/api-reference",
    url="https://open.bigmodel.cn/api/paas/v4",
    abilities=Abilities(
        stream_usage=False,
        completions=False,
        json_schema=False,
        documents=False,
        n=False,
        logprobs=False,
        rerank=True,
        images=True,
        speech=True,
        transcription=True,
    ),
    words=Words(
        Spelling({"max_completion_tokens": "max_tokens"}, needless=("stream_options",), developer=False),
        reasoning="thinking",
        reasoning_back=True,
    ),
)
