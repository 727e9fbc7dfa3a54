"""Cohere: embeddings and ranking. What chats there is asked by the protocol ``openai``, at Cohere's compatible endpoint."""

from antiphon.execution.providers._retrieval import RetrievalPlugin
from antiphon.execution.wire.cohere import DIALECT
from antiphon.execution.wire.cohere.embeddings import OUTBOUND_EMBEDDING
from antiphon.execution.wire.cohere.rerank import OUTBOUND_RERANK, PASSING
from antiphon.execution.wire.dialect import Outbound

plugin = RetrievalPlugin(
    title="Cohere",
    documentation="https://docs.cohere.com/reference/rerank",
    url="https://api.cohere.com",
    outbound=Outbound(DIALECT, embedding=OUTBOUND_EMBEDDING, rerank=OUTBOUND_RERANK),
    paths={"embed": "v2/embed", "rerank": "v2/rerank", "v2/rerank": "v2/rerank"},
    passing={"v2/rerank": PASSING},
    models_path="v1/models",
)
