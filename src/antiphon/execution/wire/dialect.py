"""What a dialect brings: inbound, how its callers are understood and answered; outbound, how its servers are asked and read.

Between the two stand the forms that belong to no vendor (``chat``, ``chat_answer``, ``embedding``, ``rerank``).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from antiphon.core.types import Usage
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.chat_answer import Event
from antiphon.transport.sse import EventSplitter


class Splitter(Protocol):
    """Cuts the bytes of a stream into whole frames: server-sent events, lines of JSON, or a vendor's own."""

    def feed(self, chunk: bytes) -> bytes:
        """The frames that are complete now; empty where none is. Raises UpstreamBroken for one that is too long or none."""

    def rest(self) -> bytes:
        """What is left once the stream is over: no whole frame, empty where it ended well."""


class AnswerReader(Protocol):
    """Reads one streamed answer."""

    def feed(self, raw: bytes) -> Sequence[Event]:
        """What whole frames tell. Raises UpstreamBroken for what is none of the dialect."""

    def end(self) -> Sequence[Event]:
        """What is left once the stream is over. Raises UpstreamBroken where it was cut off."""


class AnswerWriter(Protocol):
    """Writes one streamed answer."""

    def write(self, events: Iterable[Event]) -> bytes:
        """Whole frames; empty where there is nothing to say yet."""


class StreamWatch(Protocol):
    """Watches a streamed answer that goes on as it came, because the caller speaks the server's dialect."""

    ended: bool
    """Its last event went by."""
    begun: bool
    """A reader has seen something of it."""
    failure: Any
    """The error object that the server told inside the stream, behind all that was passed on; None where it told none."""

    def take(self, raw: bytes) -> bytes:
        """What of whole frames is passed on: all, but for what only we asked for and what follows the end or an error."""

    def finish(self) -> bytes:
        """What still has to be said once the connection is over. Raises UpstreamBroken where the answer was cut off."""

    def usage(self) -> Usage | None:
        """What was used, as far as the server told it."""


class InboundChat(msgspec.Struct, frozen=True):
    """How callers of a dialect ask for a chat, and are answered."""

    decode_request: Callable[[bytes], ChatRequest]
    """Raises InvalidRequest, naming the field, for a body that is no request of the dialect."""
    writer: Callable[[ChatRequest, str], AnswerWriter]
    """Of the caller's request and the id of the call."""
    write_whole: Callable[[Iterable[Event], ChatRequest, str], tuple[int, bytes]]
    """Status and body of an answer in one piece."""
    stream_type: bytes = b"text/event-stream"
    """Content type of a streamed answer."""


class OutboundChat(msgspec.Struct, frozen=True):
    """How servers of a dialect are asked for a chat, and read."""

    endpoint: str
    """What the provider is asked to prepare: the path below its root, or a name that it knows."""
    encode_request: Callable[[ChatRequest, ChatAbilities], bytes]
    """Raises UnsupportedParameter, naming the field, for what the server cannot do."""
    reader: Callable[[], AnswerReader]
    read_whole: Callable[[bytes], Sequence[Event]]
    """The events of an answer in one piece. Raises UpstreamBroken where it is none."""
    splitter: Callable[[], Splitter] = EventSplitter
    stream_type: bytes = b"text/event-stream"
    streams_only: bool = False
    """Its servers are always asked for a stream; callers who want none get what it adds up to."""


class Passing(msgspec.Struct, frozen=True):
    """How answers are watched that go on as they came."""

    watch: Callable[[bool], StreamWatch]
    """Of whether the usage was asked for by us alone, so that the caller must not see it."""
    read_answer: Callable[[bytes], tuple[Usage | None, Any]]
    """Usage and error of an answer in one piece, each None where it tells none. Raises one of ``reading.UNREADABLE``."""
