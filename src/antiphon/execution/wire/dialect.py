"""What a dialect brings: inbound, how its callers are understood and answered; outbound, how its servers are asked and read.

Between the two stand the forms that belong to no vendor (``chat``, ``chat_answer``, ``embedding``, ``rerank``).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamRefused
from antiphon.core.types import Usage
from antiphon.execution.wire import said_errors
from antiphon.execution.wire.chat import ChatAbilities, ChatRequest
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.embedding import EmbeddingAbilities, EmbeddingAnswer, EmbeddingRequest
from antiphon.execution.wire.rerank import RerankAnswer, RerankRequest
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
    failure: UpstreamRefused | None
    """What the server told of an error inside the stream, behind all that was passed on."""

    def take(self, raw: bytes) -> bytes:
        """What of whole frames is passed on: all, but for what only we asked for and what follows the end or an error."""

    def finish(self) -> bytes:
        """What still has to be said once the connection is over. Raises UpstreamBroken where the answer was cut off."""

    def usage(self) -> Usage | None:
        """What was used, as far as the server told it."""


class Framing(msgspec.Struct, frozen=True):
    """How a streamed answer is cut into frames."""

    splitter: Callable[[], Splitter]
    content_type: bytes
    end: bytes
    """What completes a last frame that came without it."""


SSE = Framing(EventSplitter, b"text/event-stream", b"\n\n")


class InboundChat(msgspec.Struct, frozen=True):
    """How callers of a dialect ask for a chat, and are answered."""

    decode_request: Callable[[bytes], ChatRequest]
    """Raises InvalidRequest, naming the field, for a body that is no request of the dialect."""
    writer: Callable[[ChatRequest, str], AnswerWriter]
    """Of the caller's request and the id of the call."""
    write_whole: Callable[[Iterable[Event], ChatRequest, str], tuple[int, bytes]]
    """Status and body of an answer in one piece."""
    stream_type: bytes = SSE.content_type
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
    framing: Framing = SSE
    streams_only: bool = False
    """Its servers are always asked for a stream; callers who want none get what it adds up to."""


class InboundEmbedding(msgspec.Struct, frozen=True):
    """How callers of a dialect ask for embeddings, and are answered."""

    decode_request: Callable[[bytes], EmbeddingRequest]
    """Raises InvalidRequest, naming the field, for a body that is no request of the dialect."""
    write_answer: Callable[[EmbeddingAnswer, EmbeddingRequest, str], bytes]
    """Of the answer, the caller's request and the id of the call. Raises UpstreamBroken where a vector cannot be told so."""


class OutboundEmbedding(msgspec.Struct, frozen=True):
    """How servers of a dialect are asked for embeddings, and read."""

    endpoint: str
    """What the provider is asked to prepare: the path below its root, or a name that it knows."""
    encode_request: Callable[[EmbeddingRequest, EmbeddingAbilities], bytes]
    """Raises UnsupportedParameter, naming the field, for what the server cannot do."""
    read_answer: Callable[[bytes, EmbeddingRequest], EmbeddingAnswer]
    """Of a body and what was asked. Raises UpstreamBroken where it is no answer to that, UpstreamRefused for an error."""


class InboundRerank(msgspec.Struct, frozen=True):
    """How callers of a dialect ask for documents to be ranked, and are answered."""

    decode_request: Callable[[bytes], RerankRequest]
    """Raises InvalidRequest, naming the field, for a body that is no request of the dialect."""
    write_answer: Callable[[RerankAnswer, RerankRequest, str], bytes]
    """Of the answer, the caller's request and the id of the call."""


class OutboundRerank(msgspec.Struct, frozen=True):
    """How servers of a dialect are asked to rank documents, and read."""

    endpoint: str
    """What the provider is asked to prepare: the path below its root, or a name that it knows."""
    encode_request: Callable[[RerankRequest], bytes]
    """Raises UnsupportedParameter, naming the field, for what the server cannot do."""
    read_answer: Callable[[bytes, RerankRequest], RerankAnswer]
    """Of a body and what was asked. Raises UpstreamBroken where it is no answer to that, UpstreamRefused for an error."""


class InboundCount(msgspec.Struct, frozen=True):
    """How callers of a dialect ask how many tokens a chat has before it is answered, and are told."""

    decode_request: Callable[[bytes], ChatRequest]
    """Raises InvalidRequest, naming the field, for a body that is no request of the dialect."""
    write_answer: Callable[[int], bytes]
    """Of the number of tokens."""


class OutboundCount(msgspec.Struct, frozen=True):
    """How servers of a dialect are asked for that number, and read."""

    endpoint: str
    """What the provider is asked to prepare: a name that it knows."""
    encode_request: Callable[[ChatRequest, ChatAbilities], bytes]
    """Raises UnsupportedParameter, naming the field, for what the server could not do in the chat itself."""
    read_answer: Callable[[bytes], int]
    """Raises UpstreamBroken where the body tells no number, UpstreamRefused for an error."""


class Caller(msgspec.Struct, frozen=True):
    """How callers of a dialect hear of errors."""

    name: str
    render_error: Callable[[AntiphonError, str], tuple[int, bytes]]
    """Status and body, of the error and the id of the request."""
    render_refused: Callable[[AntiphonError, str], tuple[int, bytes]]
    """The same where a server of another dialect refused: its own words are kept."""
    error_event: Callable[[bytes, bytes], bytes]
    """A body as the frame of a stream that nothing follows, and the frame that went before."""
    root: str = ""
    """Path above all that belongs to them."""
    words_error: Callable[[bytes], bool] = said_errors.is_object
    """Whether the body of an error is worded as the dialect wants it, so that it can go on as it came."""
    id_header: bytes = b""
    """Where its clients look for the id of the request, beside ``x-request-id``."""


class Endpoint(msgspec.Struct, frozen=True):
    """What callers may ask for at one place, and in which dialect."""

    path: str
    caller: Caller
    ability: str
    """What a server must be able to do, by the name of the capability."""
    chat: InboundChat | None = None
    """How a chat is translated where the server's dialect is another. Where nothing is, only the same dialect can answer."""
    embedding: InboundEmbedding | None = None
    rerank: InboundRerank | None = None
    count: InboundCount | None = None
    forms: bool = False
    """Requests may come as forms (multipart/form-data), since they carry files."""
    streams: bool = False
    """An answer is streamed unless the caller says otherwise."""


class Passing(msgspec.Struct, frozen=True):
    """How answers of one endpoint are watched that go on as they came."""

    read_answer: Callable[[bytes], tuple[Usage | None, UpstreamRefused | None]]
    """Usage and failure of an answer in one piece, each None where it tells none. Raises one of ``reading.UNREADABLE``."""
    watch: Callable[[bool], StreamWatch] | None = None
    """Of whether the caller did not ask for the usage, so that it must not see it. None where nothing is streamed."""
    framing: Framing = SSE
    decode: Callable[[bytes], Any] | None = None
    """What ``Frame.view`` shows of a frame."""
    any_type: bool = False
    """An answer's type tells what it is: JSON, events, or else sounds and texts, which are not looked into."""


class Outbound(msgspec.Struct, frozen=True):
    """What servers of a dialect understand, when it is not what the caller said."""

    dialect: str
    chat: OutboundChat | None = None
    embedding: OutboundEmbedding | None = None
    rerank: OutboundRerank | None = None
    count: OutboundCount | None = None
