"""Models of Alibaba Cloud's DashScope that see or hear, by its native protocol; from Qwen 3.5 on these are most.

Outside of China it is at ``https://dashscope-intl.aliyuncs.com/api/v1``, and each workspace may have an address of its own.
"""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._dashscope import DashScopeVendor
from antiphon.execution.wire.dashscope.chat import MULTIMODAL

plugin = DashScopeVendor(
    title="DashScope, models that see or hear",
    outbound=MULTIMODAL,
    abilities=Abilities(completions=False, documents=False, rerank=True),
)
