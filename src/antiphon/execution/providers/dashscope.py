"""Models of Alibaba Cloud's DashScope that read text alone, by its native protocol.

Outside of China it is at ``https://dashscope-intl.aliyuncs.com/api/v1``, and each workspace may have an address of its own.
"""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._dashscope import DashScopeVendor
from antiphon.execution.wire.dashscope.chat import TEXT

plugin = DashScopeVendor(
    title="DashScope, models of text",
    outbound=TEXT,
    abilities=Abilities(completions=False, vision=False, audio=False, documents=False, rerank=True),
)
