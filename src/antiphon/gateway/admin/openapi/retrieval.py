"""Ranking, as the API description shows it. These structs document; they decode nothing."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from antiphon.gateway.admin.openapi.requests import Model, Positive


class RerankRequest(msgspec.Struct, frozen=True):
    """Documents to be put in the order of their relevance for a query, in the shape of Cohere's and Jina's APIs."""

    model: Model
    query: str
    documents: Annotated[list[str | dict[str, Any]], Meta(min_length=1, description="Texts, or objects with a `text`.")]
    top_n: Annotated[Positive | None, Meta(description="How many of the best to give; all otherwise.")] = None
    return_documents: Annotated[
        bool | None, Meta(description="Repeat the documents in the answer. At `/v1/rerank` that goes without saying.")
    ] = None
    max_tokens_per_doc: Annotated[Positive | None, Meta(description="What is longer is cut off; some servers refuse it.")] = None
    truncation: Annotated[bool | None, Meta(description="Cut off what is too long, or else refuse it.")] = None


class RerankResult(msgspec.Struct, frozen=True):
    """One document."""

    index: Annotated[int, Meta(description="Its place in the request, from 0.")]
    relevance_score: float
    document: Annotated[dict[str, Any] | None, Meta(description="As it was given, where it is to be repeated.")] = None


class RerankUsage(msgspec.Struct, frozen=True):
    """Tokens used."""

    total_tokens: int
    prompt_tokens: int


class RerankAnswer(msgspec.Struct, frozen=True):
    """The documents, best first."""

    id: str
    results: list[RerankResult]
    model: Annotated[str, Meta(description="At `/v1/rerank`.")] = ""
    usage: Annotated[RerankUsage | None, Meta(description="At `/v1/rerank`, where the server tells it.")] = None
    meta: Annotated[dict[str, Any] | None, Meta(description="What is billed, in Cohere's shape.")] = None


class RerankError(msgspec.Struct, frozen=True):
    """What went wrong, where Cohere's clients look for it (`message`) and Jina's (`detail`)."""

    message: str
    detail: str
    code: Annotated[str, Meta(description="Stable name of the error.", examples=["model_not_found"])]
    param: Annotated[str | None, Meta(description="The field of the request at fault.")]
    remedy: str
    id: Annotated[str, Meta(description="Of the request; also in the header `x-request-id`.")]
