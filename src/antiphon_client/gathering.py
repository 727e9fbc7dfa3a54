"""Streamed answers, put together to the whole that they are pieces of.

Nothing is lost on the way, whether a field is known here or not: texts and lists are joined, and of anything else the last value
counts. A tool call is told by its index; two that are complete and share one, or have none, are told by their ids.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from antiphon_client.answers import NO_RESPONSE, Answer, invalid
from antiphon_client.transport.ask import Ask, ResponseInfo
from antiphon_client.transport.async_sender import AsyncSender
from antiphon_client.transport.events import Event
from antiphon_client.transport.said_errors import UNREADABLE
from antiphon_client.transport.sender import Sender
from antiphon_client.transport.streams import AsyncStream, Stream

DONE = b"[DONE]"
_NOT_JOINED = frozenset({"role", "id", "type", "name", "finish_reason"})
"""Texts that are said whole, and by some servers in every piece."""


class Piece(Protocol):
    """What chunks of chats and of completions have in common."""

    @property
    def text(self) -> str: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def http(self) -> ResponseInfo: ...


Chunk = TypeVar("Chunk", bound=Piece)
Whole = TypeVar("Whole", bound=Answer)


class TakeChunks(Generic[Chunk]):
    """Makes chunks of events; ``[DONE]`` is the last."""

    def __init__(self, read: Callable[[bytes, ResponseInfo], Chunk]) -> None:
        self._read = read

    def __call__(self, event: Event, info: ResponseInfo) -> tuple[Chunk | None, bool]:
        """The chunk, and whether the stream is over. Raises InvalidResponseError."""
        return (None, True) if event.data.strip() == DONE else (self._read(event.data, info), False)


class Gathering(Generic[Whole]):
    """Puts one answer together; ``name`` is what the whole calls itself as an ``object``."""

    def __init__(self, kind: type[Whole], name: str) -> None:
        self._kind = kind
        self._head: dict[str, Any] = {"object": name}
        self._choices: dict[int, _Joined] = {}
        self._info = NO_RESPONSE

    def add(self, piece: Piece) -> None:
        """Take the next piece."""
        self._info = piece.http
        told = msgspec.json.decode(piece.raw)
        for choice in told.pop("choices", None) or ():
            self._choices.setdefault(choice.pop("index", None) or 0, _Joined()).add(choice)
        told.pop("object", None)
        self._head.update({name: value for name, value in told.items() if value is not None})

    def whole(self) -> Whole:
        """The answer as far as it has come. Raises InvalidResponseError where its pieces make none."""
        choices = [{**choice.whole(), "index": index} for index, choice in sorted(self._choices.items())]
        for choice in choices:
            if "delta" in choice:
                choice["message"] = {"role": "assistant", **choice.pop("delta")}
        whole = {**self._head, "choices": choices}
        try:
            return self._kind.of(whole).came_in(self._info)
        except UNREADABLE as error:
            raise invalid(error, msgspec.json.encode(whole), self._info) from error


class _Joined:
    """An object that comes in pieces."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._objects: dict[str, _Joined] = {}
        self._calls: list[_Joined] = []
        self._by_index: dict[Any, _Joined] = {}

    def add(self, piece: dict[str, Any]) -> None:
        for name, value in piece.items():
            if name == "tool_calls":
                for call in value or ():
                    self._add_call(call)
            elif isinstance(value, str) and name not in _NOT_JOINED:
                self._texts.setdefault(name, []).append(value)
            elif isinstance(value, list):
                before = self._values.get(name)
                self._values[name] = [*before, *value] if isinstance(before, list) else value
            elif isinstance(value, dict):
                self._objects.setdefault(name, _Joined()).add(value)
            elif value not in (None, "") or name not in self._values:
                self._values[name] = value

    @property
    def identity(self) -> str:
        return str(self._values.get("id") or "")

    def whole(self) -> dict[str, Any]:
        whole = {name: value for name, value in self._values.items() if value is not None}
        whole |= {name: "".join(pieces) for name, pieces in self._texts.items()}
        whole |= {name: below.whole() for name, below in self._objects.items()}
        return whole | ({"tool_calls": [call.whole() for call in self._calls]} if self._calls else {})

    def _add_call(self, piece: dict[str, Any]) -> None:
        index, identity = piece.pop("index", None), piece.get("id")
        call = self._by_index.get(index)
        if call is None or (identity and call.identity not in ("", identity)):
            call = self._by_index[index] = _Joined()
            self._calls.append(call)
        call.add(piece)


class GatheredStream(Stream[Chunk], Generic[Chunk, Whole]):
    """A streamed answer: iterate over its chunks, or over ``text_stream``; ``get_final_completion`` has all of it."""

    def __init__(self, sender: Sender, ask: Ask[Whole], take: TakeChunks[Chunk], gathering: Gathering[Whole]) -> None:
        super().__init__(sender, ask, take)
        self._gathering = gathering

    @property
    def text_stream(self) -> Iterator[str]:
        """The text of the first choice, piece by piece. Iterating raises APIError."""
        return (chunk.text for chunk in self if chunk.text)

    @property
    def snapshot(self) -> Whole:
        """The answer as far as it has come: text, tool calls, and the usage once it is told."""
        return self._gathering.whole()

    def get_final_completion(self) -> Whole:
        """The whole answer; waits for what has not come yet. Raises APIError."""
        for _ in self:
            pass
        return self.snapshot

    def _seen(self, item: Chunk) -> None:
        self._gathering.add(item)


class AsyncGatheredStream(AsyncStream[Chunk], Generic[Chunk, Whole]):
    """A streamed answer: iterate over its chunks, or over ``text_stream``; ``get_final_completion`` has all of it."""

    def __init__(self, sender: AsyncSender, ask: Ask[Whole], take: TakeChunks[Chunk], gathering: Gathering[Whole]) -> None:
        super().__init__(sender, ask, take)
        self._gathering = gathering

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text of the first choice, piece by piece. Iterating raises APIError."""
        return (chunk.text async for chunk in self if chunk.text)

    @property
    def snapshot(self) -> Whole:
        """The answer as far as it has come: text, tool calls, and the usage once it is told."""
        return self._gathering.whole()

    async def get_final_completion(self) -> Whole:
        """The whole answer; waits for what has not come yet. Raises APIError."""
        async for _ in self:
            pass
        return self.snapshot

    def _seen(self, item: Chunk) -> None:
        self._gathering.add(item)
