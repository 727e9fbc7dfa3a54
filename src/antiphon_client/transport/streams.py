"""Answers that come in pieces, for blocking callers and for coroutines.

Nothing is sent before a stream is entered or asked for its first item. Leaving it, or ``close``, closes the connection where the
answer is not over, and the server stops its work.
"""

import threading
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from antiphon_client.errors import APIConnectionError, APIError, Details, InvalidResponseError
from antiphon_client.transport.ask import Ask, ResponseInfo
from antiphon_client.transport.async_sender import AsyncResponse, AsyncSender
from antiphon_client.transport.events import Event, EventReader
from antiphon_client.transport.said_errors import SaidError
from antiphon_client.transport.sender import Response, Sender

Item = TypeVar("Item")
Made_co = TypeVar("Made_co", covariant=True)


class Take(Protocol[Made_co]):
    """Makes an item of an event, or none; and tells whether the event is the last of a whole stream. Raises APIError."""

    def __call__(self, event: Event, info: ResponseInfo) -> tuple[Made_co | None, bool]: ...


class _Feed(Generic[Item]):
    """The items of a response's bytes."""

    def __init__(self, take: Take[Item], info: ResponseInfo) -> None:
        self._take = take
        self._info = info
        self._events = EventReader()
        self.over = False
        self.failed: APIError | None = None
        kind = info.headers.get("content-type", "text/event-stream")
        if not kind.lower().startswith("text/event-stream"):
            raise InvalidResponseError(
                f"the server answered with {kind[:100]!r} where a stream was asked for",
                Details(status=info.status, remedy="check the base URL, or ask without a stream"),
            )

    def items(self, piece: bytes) -> Iterator[Item]:
        """Those that are whole with ``piece``; an empty one is the end. ``failed`` is what comes behind them."""
        try:
            for event in self._events.feed(piece) if piece else self._events.end():
                if not self.over and (item := self._item(event)) is not None:
                    yield item
            if not piece and not self.over:
                raise APIConnectionError(
                    "the server ended its answer before it was complete", Details(remedy="try again; the server's log tells more")
                )
        except APIError as error:
            self.failed = error
            self.over = True

    def _item(self, event: Event) -> Item | None:
        if b'"error"' in event.data and (said := SaidError.read(event.data)) is not None:
            raise said.as_stream_error(event.data)
        item, self.over = self._take(event, self._info)
        return item


class Stream(Generic[Item]):
    """Items of an answer as they come: a context manager and an iterator.

    ``close`` may be called from another thread: the iteration then ends. Iterating raises APIError.
    """

    def __init__(self, sender: Sender, ask: Ask[Any], take: Take[Item]) -> None:
        self._sender = sender
        self._ask = ask
        self._take = take
        self._response: Response | None = None
        self._feed: _Feed[Item] | None = None
        self._items: deque[Item] = deque()
        self._lock = threading.RLock()
        self._closed = False
        """Nobody wants more of it."""
        self._ended = False
        """The connection is given back."""

    @property
    def http(self) -> ResponseInfo | None:
        """Status, headers and request id; None before the answer has begun."""
        return None if self._response is None else self._response.info

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        item = self._next()
        self._seen(item)
        return item

    def close(self) -> None:
        """Want no more of the answer. Harmless when it is over, and from any thread."""
        self._closed = True
        response, feed = self._response, self._feed
        if response is not None and not self._ended and (feed is None or not feed.over):
            response.abort()
        if self._lock.acquire(blocking=response is not None):  # whoever still waits for the answer's head ends it then
            try:
                self._end()
            finally:
                self._lock.release()

    def __del__(self) -> None:
        if getattr(self, "_response", None) is not None:
            self.close()

    def _seen(self, item: Item) -> None:
        """Called with each item, for streams that gather."""

    def _open(self) -> None:
        with self._lock:
            if self._response is not None or self._closed:
                return
            try:
                self._response = self._sender.open(self._ask)
            except BaseException:
                self._closed = True
                raise
            try:
                self._feed = _Feed(self._take, self._response.info)
            except APIError as error:
                self._fail(error)

    def _next(self) -> Item:
        self._open()
        with self._lock:
            while not self._items:
                if self._closed or self._response is None or self._feed is None:
                    self._end()
                    raise StopIteration
                if self._feed.over:
                    self._finish(self._response, self._feed.failed)
                    continue
                try:
                    self._items.extend(self._feed.items(self._response.piece()))
                except APIError as error:
                    if not self._closed:
                        self._fail(error)
            return self._items.popleft()

    def _finish(self, response: Response, failed: APIError | None) -> None:
        if failed is not None:
            self._fail(failed)
        response.finish()
        self._end()

    def _fail(self, error: APIError) -> None:
        self._end()
        assert self._response is not None
        raise self._response.known(error) from error.__cause__

    def _end(self) -> None:
        self._closed = True
        if self._response is not None and not self._ended:
            self._ended = True
            self._response.close()


class AsyncStream(Generic[Item]):
    """Items of an answer as they come: an async context manager and an async iterator.

    ``aclose`` may be called by another task: the iteration then ends. Cancelling the task closes the connection. Iterating raises
    APIError.
    """

    def __init__(self, sender: AsyncSender, ask: Ask[Any], take: Take[Item]) -> None:
        self._sender = sender
        self._ask = ask
        self._take = take
        self._response: AsyncResponse | None = None
        self._feed: _Feed[Item] | None = None
        self._items: deque[Item] = deque()
        self._closed = False

    @property
    def http(self) -> ResponseInfo | None:
        """Status, headers and request id; None before the answer has begun."""
        return None if self._response is None else self._response.info

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        item = await self._next()
        self._seen(item)
        return item

    async def aclose(self) -> None:
        """Want no more of the answer. Harmless when it is over, and from any task."""
        self._closed = True
        if self._response is not None:
            await self._response.aclose()

    def _seen(self, item: Item) -> None:
        """Called with each item, for streams that gather."""

    async def _open(self) -> None:
        if self._response is not None or self._closed:
            return
        try:
            self._response = await self._sender.open(self._ask)
        except BaseException:
            self._closed = True
            raise
        try:
            self._feed = _Feed(self._take, self._response.info)
        except APIError as error:
            await self._fail(error)

    async def _next(self) -> Item:
        await self._open()
        while not self._items:
            if self._closed or self._response is None or self._feed is None:
                await self.aclose()
                raise StopAsyncIteration
            if self._feed.over:
                await self._finish(self._response, self._feed.failed)
                continue
            try:
                self._items.extend(self._feed.items(await self._response.piece()))
            except APIError as error:
                if not self._closed:
                    await self._fail(error)
        return self._items.popleft()

    async def _finish(self, response: AsyncResponse, failed: APIError | None) -> None:
        if failed is not None:
            await self._fail(failed)
        await response.finish()
        await self.aclose()

    async def _fail(self, error: APIError) -> None:
        await self.aclose()
        assert self._response is not None
        raise self._response.known(error) from error.__cause__
