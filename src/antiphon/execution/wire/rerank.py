"""A request to put documents in the order of their relevance, and its answer, in forms that belong to no vendor.

A field of one dialect that has no like in the others is kept by its name, as in ``chat``.
"""

from collections.abc import Iterable

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage


class Candidate(msgspec.Struct, frozen=True):
    """A document to be ranked by its text."""

    text: str
    whole: msgspec.Raw | None = None
    """The object that it came in, where it was no bare text; callers who want documents back get it as it was."""


class RerankRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Documents to be ranked by a query. None means that the caller did not say."""

    dialect: str
    """The one that it was read from."""
    model: str
    query: str
    documents: tuple[Candidate, ...]
    """At least one."""
    top_n: int | None = None
    """How many of the best are wanted; all where it is None."""
    return_documents: bool = False
    """The answer is to repeat the documents."""
    max_tokens_per_document: int | None = None
    """What is longer is cut off."""
    truncate: bool | None = None
    """Whether what is too long for the model is cut off, or else refused."""
    extra: dict[str, msgspec.Raw] = {}
    """Fields of its dialect alone that change the answer."""
    hints: dict[str, msgspec.Raw] = {}
    """Fields of its dialect alone that do not."""


class Ranked(msgspec.Struct, frozen=True, gc=False):
    """One document of the answer, by its place in the request, counted from 0."""

    index: int
    score: float


class RerankAnswer(msgspec.Struct, frozen=True):
    """The documents, best first, and no more than were asked for."""

    results: tuple[Ranked, ...]
    usage: Usage | None = None
    search_units: int | None = None
    """What Cohere bills: queries of up to a hundred documents."""


def best_first(found: Iterable[Ranked], request: RerankRequest) -> tuple[Ranked, ...]:
    """What a server found, in the order and number that callers are promised, whether or not it keeps to them itself.

    Raises UpstreamBroken for an index that no document has, or that comes twice, and where fewer were ranked than asked for.
    """
    ranked = sorted(found, key=lambda result: -result.score)
    indexes = {result.index for result in ranked}
    count = len(request.documents)
    if len(indexes) != len(ranked) or not indexes <= set(range(count)):
        raise UpstreamBroken("the model's server ranked documents that it was not given, or one of them twice")
    wanted = count if request.top_n is None else min(request.top_n, count)
    if len(ranked) < wanted:
        raise UpstreamBroken(f"the model's server ranked {len(ranked)} documents where {wanted} were asked for")
    return tuple(ranked[:wanted])
