"""A server of Hugging Face's Text Generation Inference."""

from antiphon.execution.providers import Abilities
from antiphon.execution.providers._gauges import Gauges
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.providers._words import Words
from antiphon.execution.wire.openai.respelling import Spelling

plugin = Vendor(
    title="Text Generation Inference",
    documentation="https://huggingface.co/docs/text-generation-inference/reference/api_reference",
    abilities=Abilities(embeddings=False, audio=False, documents=False, n=False),
    words=Words(Spelling({"max_completion_tokens": "max_tokens"}, developer=False)),
    load=Gauges(running=("tgi_batch_current_size",), waiting=("tgi_queue_size",)),
)
