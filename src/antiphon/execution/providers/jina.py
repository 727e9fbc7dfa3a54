"""Jina: embeddings and ranking."""

from antiphon.execution.providers._retrieval import RetrievalPlugin
from antiphon.execution.wire.dialect import Outbound
from antiphon.execution.wire.jina import DIALECT
from antiphon.execution.wire.jina.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.jina.rerank import OUTBOUND_RERANK, PASSING

plugin = RetrievalPlugin(
    title="Jina AI",
    documentation="https://api.jina.ai/redoc",
    url="https://api.jina.ai/v1",
    outbound=Outbound(DIALECT, embedding=OUTBOUND_EMBEDDING, rerank=OUTBOUND_RERANK),
    paths={"embeddings": "embeddings", "rerank": "rerank"},
    passing={"rerank": PASSING},
)
