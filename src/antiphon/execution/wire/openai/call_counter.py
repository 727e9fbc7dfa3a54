"""Counts the calls of tools in one choice, whatever the server counted: 0, 1, 2, each with an id of its own."""

import secrets
from typing import Any

import msgspec

from antiphon.execution.wire.arguments import Arguments


class CallFunction(msgspec.Struct):
    """Name and arguments."""

    name: str | None = None
    arguments: Any = None


class CallPiece(msgspec.Struct):
    """A piece of a call, or all of it."""

    index: int | None = None
    id: str | None = None
    function: CallFunction | None = None


class ReadCall:
    """A call of a tool, as far as it was read."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.name = ""
        self.arguments = Arguments()


class CallCounter:
    """Knows which call a piece belongs to."""

    def __init__(self) -> None:
        self.calls: list[ReadCall] = []
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}

    def place_of(self, told: CallPiece) -> int:
        """Our number of the call that a piece belongs to; a new one where it begins a call."""
        name = told.function.name if told.function is not None else None
        place = self._by_id.get(told.id) if told.id else None
        if place is not None and name and told.index is not None and told.index not in self._by_index:
            place = None  # one id for several calls
        elif place is None and told.index is not None:
            place = self._by_index.get(told.index)
            if place is not None and name and self._is_another(told, place):
                place = None
        elif place is None and self.calls and not name:
            place = len(self.calls) - 1
        if place is None:
            place = len(self.calls)
            fresh = told.id if told.id and told.id not in self._by_id else f"call_{secrets.token_hex(12)}"
            self.calls.append(ReadCall(fresh))
        if told.id:
            self._by_id[told.id] = place
        if told.index is not None:
            self._by_index[told.index] = place
        return place

    def _is_another(self, told: CallPiece, place: int) -> bool:
        """Whether a piece with a name, under an index that is taken, begins another call."""
        call = self.calls[place]
        return bool(call.name) and (bool(told.id) or call.arguments.whole)
