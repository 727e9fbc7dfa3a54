"""A server of SGLang."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._gauges import Gauges
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words

plugin = Vendor(
    title="SGLang",
    documentation="https://docs.sglang.ai/basic_usage/openai_api_completions.html",
    url="http://127.0.0.1:30000/v1",
    abilities=Abilities(documents=False),
    words=Words(top_k=True, min_p=True, repetition_penalty=True),
    load=Gauges(
        running=("sglang:num_running_reqs",),
        waiting=("sglang:num_queue_reqs",),
        usage=("sglang:token_usage",),
        tokens=("sglang:num_used_tokens",),
        lag=32.0,  # it counts anew with every 40th step of decoding, and many versions keep the last count for 30 s without calls
    ),
)
