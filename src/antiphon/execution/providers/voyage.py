"""Voyage: embeddings and ranking."""

from antiphon.execution.providers._retrieval import RetrievalPlugin
from antiphon.execution.wire.dialect import Outbound
from antiphon.execution.wire.voyage import DIALECT
from antiphon.execution.wire.voyage.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.voyage.rerank import OUTBOUND_RERANK

plugin = RetrievalPlugin(
    title="Voyage AI",
    documentation="https://docs.voyageai.com/reference/embeddings-api",
    url="https://api.voyageai.com/v1",
    outbound=Outbound(DIALECT, embedding=OUTBOUND_EMBEDDING, rerank=OUTBOUND_RERANK),
    paths={"embeddings": "embeddings", "rerank": "rerank"},
)
