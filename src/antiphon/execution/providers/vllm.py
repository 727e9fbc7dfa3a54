"""A server of vLLM."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._gauges import Gauges
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words

plugin = Vendor(
    title="vLLM",
    documentation="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    url="http://127.0.0.1:8000/v1",
    abilities=Abilities(documents=False, rerank=True, transcription=True, count_tokens=True),
    words=Words(top_k=True, min_p=True, repetition_penalty=True),
    load=Gauges(
        running=("vllm:num_requests_running",),
        waiting=("vllm:num_requests_waiting",),
        usage=("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
        capacity=("vllm:cache_config_info", ("num_gpu_blocks", "block_size")),
    ),
)
