"""The store of responses: what was answered, so that a caller can read it again or go on from it.

Each response belongs to a tenant, who alone sees it, and knows the one that it continues. A **conversation** is a response with all
that it continues; it is read as a whole or not at all, for one with a hole in it would mean something else. To use a response
keeps it, and all that it continues, from growing old.

``put`` takes in no response that could not be continued, since what it continues is gone, or has no room together with it. To make
room, nothing leaves of the conversation that goes on.

No method blocks or raises. The answer comes through ``then``, exactly once, on the loop, maybe before the method returns: what was
asked for, or the error that a caller is told.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from antiphon.core.errors import NOT_KEPT, AntiphonError, CapacityError, InvalidRequest, PreviousResponseNotFound

MAX_TURNS: Final = 1000
"""Responses that one conversation may have."""


class StoredResponse(msgspec.Struct, frozen=True):
    """A response as it is kept."""

    id: str
    response: bytes
    """The response, JSON."""
    input: bytes = b"[]"
    """What was asked, a JSON list of items, without what it continues."""
    previous: str = ""
    """The response that it continues; empty where it continues none."""


class ResponseBounds(msgspec.Struct, frozen=True):
    """How much is kept, and how long."""

    max_bytes: int = 1 << 30
    """Of all tenants together; what was not used for longest leaves first."""
    max_age: float = 30 * 86400.0
    """Seconds since it was used last."""
    max_conversation: int = 32 << 20
    """Bytes of one conversation."""


class ResponseStats(msgspec.Struct, frozen=True):
    """Counts since this process began; what is kept, where the store can tell without asking."""

    kept: int = 0
    """Responses that were taken in."""
    errors: int = 0
    """Operations that were not done, or not in time."""
    evictions: int = 0
    """Responses that made room for others before their time."""
    responses: int = 0
    bytes: int = 0


Kept = Callable[[AntiphonError | None], None]
Found = Callable[[Mapping[str, StoredResponse] | AntiphonError], None]
Conversation = Callable[[Sequence[StoredResponse] | AntiphonError], None]
Deleted = Callable[[bool | AntiphonError], None]


class ResponseStore(Protocol):
    """Keeps responses. One store belongs to one thread."""

    def put(self, tenant: str, response: StoredResponse, then: Kept) -> None:
        """Keep a response. Once ``then`` has heard None, every process that shares the store finds it, and what it continues."""

    def find(self, tenant: str, ids: Sequence[str], then: Found) -> None:
        """Those of these responses that are kept, by their ids."""

    def conversation(self, tenant: str, response: str, then: Conversation) -> None:
        """A response and all that it continues, the first one first.

        The error is PreviousResponseNotFound where one is not kept, InvalidRequest where there are too many or too large ones.
        """

    def delete(self, tenant: str, response: str, then: Deleted) -> None:
        """Forget a response; True where there was one. What it continues stays; what continues it can be continued no more."""

    def stats(self) -> ResponseStats: ...


def unavailable() -> CapacityError:
    """The error of a store that does not answer."""
    return CapacityError(
        "the store of responses does not answer", remedy="try again in a moment, or send the whole conversation as `input`"
    )


def too_large(size: int, bounds: ResponseBounds) -> CapacityError:
    """The error for a response that the store has no room for."""
    return CapacityError(
        f"a response of {size} bytes does not fit into a store of {bounds.max_bytes} bytes",
        remedy="the operator may raise server.responses.max_mb",
    )


def no_room(response: str, size: int, bounds: ResponseBounds) -> CapacityError:
    """The error for a response that the store has no room for beside the conversation that it ends, ``size`` bytes in all."""
    return CapacityError(
        f"the conversation that '{response[:200]}' ends has {size} bytes and does not fit into a store of {bounds.max_bytes} bytes",
        remedy="the operator may raise server.responses.max_mb",
    )


def broken_off(asked: str, missing: str) -> PreviousResponseNotFound:
    """The error for a conversation of which a response is not kept."""
    if asked == missing:
        return PreviousResponseNotFound(asked)
    return PreviousResponseNotFound(missing, f"'{asked[:200]}' continues it, and {NOT_KEPT}")


def too_long(asked: str, bounds: ResponseBounds) -> InvalidRequest:
    """The error for a conversation that is longer than may be read."""
    return InvalidRequest(
        f"the conversation that '{asked[:200]}' ends has more than {MAX_TURNS} responses or {bounds.max_conversation >> 20} MiB",
        remedy="begin a new one, with what matters of it as `input`",
        param="previous_response_id",
    )
