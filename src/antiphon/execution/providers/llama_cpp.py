"""A server of llama.cpp (``llama-server``)."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._gauges import Gauges
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="llama.cpp server",
    documentation="https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
    abilities=Abilities(documents=False, dimensions=False, rerank=True),
    words=Words(
        Spelling({"max_completion_tokens": "max_tokens", "repetition_penalty": "repeat_penalty"}),
        top_k=True,
        min_p=True,
        repetition_penalty=True,
    ),
    load=Gauges(running=("llamacpp:requests_processing",), waiting=("llamacpp:requests_deferred",)),
)
