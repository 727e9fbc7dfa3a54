"""Qwen and others in the compatible mode of Alibaba Cloud's DashScope; ``dashscope`` is its native protocol.

Outside of China it is at ``https://dashscope-intl.aliyuncs.com/compatible-mode/v1``, and each workspace may have an address of its
own.
"""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Qwen (DashScope's compatible mode)",
    documentation="https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions",
    url="https://dashscope.aliyuncs.com/compatible-mode/v1",
    abilities=Abilities(completions=False, documents=False),
    words=Words(
        Spelling(developer=False),
        reasoning="enable_thinking",
        reasoning_back=True,
        top_k=True,
        repetition_penalty=True,
        streams_only=True,
    ),
)
