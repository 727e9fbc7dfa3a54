"""The store of responses of one process: in memory, and gone with it."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from antiphon.core.clock import SystemClock
from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Clock
from antiphon.core.response_store import (
    MAX_TURNS,
    Conversation,
    Deleted,
    Found,
    Kept,
    ResponseBounds,
    ResponseStats,
    StoredResponse,
    broken_off,
    no_room,
    too_large,
    too_long,
)

OVERHEAD: Final = 500
"""Bytes that a response takes beside its texts, about."""

_Place = tuple[str, str]


class MemoryResponseStore:
    """Keeps responses within ``bounds``, and answers at once."""

    def __init__(self, clock: Clock | None = None, bounds: ResponseBounds | None = None) -> None:
        self._now = (clock or SystemClock()).monotonic
        self._bounds = bounds or ResponseBounds()
        self._entries: OrderedDict[_Place, tuple[StoredResponse, float]] = OrderedDict()
        """Each with when it was used last, in that order."""
        self._bytes = self._kept = self._evictions = 0

    def put(self, tenant: str, response: StoredResponse, then: Kept) -> None:
        size = _size(response)
        if size > self._bounds.max_bytes:
            then(too_large(size, self._bounds))
            return
        self._expire()
        before = self._before(tenant, response)
        if isinstance(before, AntiphonError):
            then(before)
            return
        together = size + sum(_size(self._entries[place][0]) for place in before)
        if together > self._bounds.max_bytes:
            then(no_room(response.id, together, self._bounds))
            return
        place = (tenant, response.id)
        self._remove(place)
        while self._bytes + size > self._bounds.max_bytes:
            self._evictions += 1
            self._remove(next(oldest for oldest in self._entries if oldest not in before))
        self._entries[place] = (response, self._now())
        self._bytes += size
        self._kept += 1
        then(None)

    def find(self, tenant: str, ids: Sequence[str], then: Found) -> None:
        self._expire()
        found = {name: self._use((tenant, name)) for name in ids if (tenant, name) in self._entries}
        then(found)

    def conversation(self, tenant: str, response: str, then: Conversation) -> None:
        self._expire()
        turns: list[StoredResponse] = []
        size, name = 0, response
        while name:
            if (tenant, name) not in self._entries:
                then(broken_off(response, name))
                return
            turns.append(self._entries[tenant, name][0])
            size += _size(turns[-1])
            if len(turns) > MAX_TURNS or size > self._bounds.max_conversation:
                then(too_long(response, self._bounds))
                return
            name = turns[-1].previous
        turns.reverse()
        for turn in turns:
            self._use((tenant, turn.id))
        then(turns)

    def delete(self, tenant: str, response: str, then: Deleted) -> None:
        self._expire()
        then(self._remove((tenant, response)))

    def stats(self) -> ResponseStats:
        return ResponseStats(self._kept, 0, self._evictions, len(self._entries), self._bytes)

    def _before(self, tenant: str, response: StoredResponse) -> set[_Place] | AntiphonError:
        """What a response continues; the error where one of them is gone."""
        before: set[_Place] = set()
        name = response.previous
        while name and (tenant, name) not in before:
            if (tenant, name) not in self._entries:
                return broken_off(response.id, name)
            before.add((tenant, name))
            name = self._entries[tenant, name][0].previous
        return before

    def _use(self, place: _Place) -> StoredResponse:
        response, _ = self._entries[place]
        self._entries[place] = (response, self._now())
        self._entries.move_to_end(place)
        return response

    def _expire(self) -> None:
        oldest = self._now() - self._bounds.max_age
        while self._entries:
            place, (_, used) = next(iter(self._entries.items()))
            if used > oldest:
                return
            self._remove(place)

    def _remove(self, place: _Place) -> bool:
        entry = self._entries.pop(place, None)
        if entry is None:
            return False
        self._bytes -= _size(entry[0])
        return True


def _size(response: StoredResponse) -> int:
    return len(response.response) + len(response.input) + OVERHEAD
