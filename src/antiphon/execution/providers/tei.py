"""Servers of text-embeddings-inference, each with one model: ranking, and embeddings in OpenAI's dialect."""

from antiphon.execution.providers._retrieval import RetrievalPlugin
from antiphon.execution.wire.dialect import Outbound
from antiphon.execution.wire.openai.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.openai.passing import WHOLE
from antiphon.execution.wire.tei import DIALECT
from antiphon.execution.wire.tei.rerank import OUTBOUND_RERANK

plugin = RetrievalPlugin(
    title="text-embeddings-inference",
    documentation="https://huggingface.co/docs/text-embeddings-inference",
    outbound=Outbound(DIALECT, embedding=OUTBOUND_EMBEDDING, rerank=OUTBOUND_RERANK),
    paths={"embeddings": "v1/embeddings", "rerank": "rerank"},
    passing={"embeddings": WHOLE},
    models_path="info",
)
