"""``client.responses``: answers that the server may keep, and go on from."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Required, Unpack

from antiphon_client.answers import Answer, ApiObject, reader
from antiphon_client.errors import APIConnectionError, Details
from antiphon_client.options import BodyOptions, CallOptions, Options
from antiphon_client.params import Params, take
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.transport.ask import Ask, ResponseInfo
from antiphon_client.transport.async_sender import AsyncSender
from antiphon_client.transport.body import in_path
from antiphon_client.transport.events import Event
from antiphon_client.transport.said_errors import SaidError
from antiphon_client.transport.sender import Sender
from antiphon_client.transport.streams import AsyncStream, Stream

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class ResponseParams(BodyOptions, total=False):
    """Arguments of a response."""

    model: Required[str]
    input: Required[str | Sequence[Mapping[str, Any]]]
    """A question, or items: messages, calls of tools and what they gave back."""
    instructions: str | None
    previous_response_id: str | None
    """The response that this one goes on from."""
    store: bool | None
    """Whether the server keeps it; it does where nothing is said."""
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: str | Mapping[str, Any] | None
    parallel_tool_calls: bool | None
    reasoning: Mapping[str, Any] | None
    text: Mapping[str, Any] | None
    """Form of the text, such as ``{"format": {"type": "json_schema", ...}}``."""
    include: Sequence[str] | None
    truncation: str | None
    metadata: Mapping[str, str] | None
    user: str | None


class OutputContent(ApiObject, frozen=True, kw_only=True, dict=True):
    """A part of a message or of a summary: ``output_text``, ``refusal``, ``summary_text``."""

    type: str
    text: str = ""
    refusal: str = ""
    annotations: tuple[dict[str, Any], ...] = ()


class OutputItem(ApiObject, frozen=True, kw_only=True, dict=True):
    """Something that the model put out: ``message``, ``function_call``, ``reasoning``."""

    type: str
    id: str = ""
    status: str = ""
    role: str = ""
    content: tuple[OutputContent, ...] = ()
    summary: tuple[OutputContent, ...] = ()
    call_id: str = ""
    name: str = ""
    arguments: str = ""


class InputTokensDetails(ApiObject, frozen=True, kw_only=True, dict=True):
    """Of the input's tokens."""

    cached_tokens: int = 0


class OutputTokensDetails(ApiObject, frozen=True, kw_only=True, dict=True):
    """Of the output's tokens."""

    reasoning_tokens: int = 0


class ResponseUsage(ApiObject, frozen=True, kw_only=True, dict=True):
    """Tokens, as the model that answered counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_details: InputTokensDetails | None = None
    output_tokens_details: OutputTokensDetails | None = None


class ResponseFailure(ApiObject, frozen=True, kw_only=True, dict=True):
    """Why a response failed."""

    code: str = ""
    message: str = ""


class Response(Answer, frozen=True, kw_only=True, dict=True):
    """An answer in items."""

    id: str
    status: str = ""
    """``completed``, ``incomplete``, ``failed``, ``in_progress``, ``queued`` or ``cancelled``."""
    model: str = ""
    created_at: float = 0.0
    """Unix time, seconds."""
    output: tuple[OutputItem, ...] = ()
    usage: ResponseUsage | None = None
    error: ResponseFailure | None = None
    incomplete_details: dict[str, Any] | None = None
    previous_response_id: str | None = None
    object: str = "response"

    @property
    def output_text(self) -> str:
        """The text of all messages."""
        return "".join(part.text for item in self.output for part in item.content if part.type == "output_text")

    @property
    def function_calls(self) -> tuple[OutputItem, ...]:
        """The functions that the model wants called."""
        return tuple(item for item in self.output if item.type == "function_call")


class DeletedResponse(Answer, frozen=True, kw_only=True, dict=True):
    """That a response is not kept any more."""

    id: str
    deleted: bool = True
    object: str = "response"


class ResponseEvent(Answer, frozen=True, kw_only=True, dict=True):
    """An event of a streamed response; which fields it has depends on its type."""

    type: str
    sequence_number: int = 0
    delta: Any = None
    """What is added: in ``response.output_text.delta`` a text."""
    item: OutputItem | None = None
    item_id: str = ""
    output_index: int = 0
    content_index: int = 0
    response: Response | None = None
    """The whole, in events about the whole."""

    @property
    def text(self) -> str:
        """The text that it adds."""
        return self.delta if self.type == "response.output_text.delta" and isinstance(self.delta, str) else ""


_read = reader(Response)
_read_event = reader(ResponseEvent)


def _take_event(event: Event, info: ResponseInfo) -> tuple[ResponseEvent, bool]:
    read = _read_event(event.data, info)
    if read.type == "error":
        said = SaidError(str(read.extra.get("message") or "the answer failed"), code=str(read.extra.get("code") or ""))
        raise said.as_stream_error(event.data)
    if read.response is not None:
        read.response.came_in(info)
    return read, read.type in _LAST


def _of_last(event: ResponseEvent | None) -> Response:
    if event is None or event.response is None:
        raise APIConnectionError("the stream was closed before the response was complete", Details(remedy="read it to its end"))
    return event.response


class ResponseStream(Stream[ResponseEvent]):
    """A streamed response: iterate over its events, or over ``text_stream``; ``get_final_response`` has all of it."""

    def __init__(self, sender: Sender, ask: Ask[Response]) -> None:
        super().__init__(sender, ask, _take_event)
        self._last: ResponseEvent | None = None

    @property
    def text_stream(self) -> Iterator[str]:
        """The text, piece by piece. Iterating raises APIError."""
        return (event.text for event in self if event.text)

    def get_final_response(self) -> Response:
        """The whole response, complete or failed; waits for what has not come yet. Raises APIError."""
        for _ in self:
            pass
        return _of_last(self._last)

    def _seen(self, item: ResponseEvent) -> None:
        self._last = item


class AsyncResponseStream(AsyncStream[ResponseEvent]):
    """A streamed response: iterate over its events, or over ``text_stream``; ``get_final_response`` has all of it."""

    def __init__(self, sender: AsyncSender, ask: Ask[Response]) -> None:
        super().__init__(sender, ask, _take_event)
        self._last: ResponseEvent | None = None

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text, piece by piece. Iterating raises APIError."""
        return (event.text async for event in self if event.text)

    async def get_final_response(self) -> Response:
        """The whole response, complete or failed; waits for what has not come yet. Raises APIError."""
        async for _ in self:
            pass
        return _of_last(self._last)

    def _seen(self, item: ResponseEvent) -> None:
        self._last = item


class Responses(Resource):
    """Asks for responses, and for those that were kept."""

    def create(self, **params: Unpack[ResponseParams]) -> Response:
        """The whole response. Raises APIError."""
        return self._sender.whole(_whole(take(params, ResponseParams, self._options)))

    def stream(self, **params: Unpack[ResponseParams]) -> ResponseStream:
        """The response as it is made; use it with ``with``, or iterate over it. Entering and iterating raise APIError."""
        return ResponseStream(self._sender, _streamed(take(params, ResponseParams, self._options)))

    def retrieve(self, response_id: str, **options: Unpack[CallOptions]) -> Response:
        """A response that was kept. Raises NotFoundError where it was not, and APIError."""
        return self._sender.whole(_kept(response_id, take(options, CallOptions, self._options).options))

    def delete(self, response_id: str, **options: Unpack[CallOptions]) -> DeletedResponse:
        """Keep it no longer. Raises NotFoundError where it was not, and APIError."""
        return self._sender.whole(_deleted(response_id, take(options, CallOptions, self._options).options))


class AsyncResponses(AsyncResource):
    """Asks for responses, and for those that were kept."""

    async def create(self, **params: Unpack[ResponseParams]) -> Response:
        """The whole response. Raises APIError."""
        return await self._sender.whole(_whole(take(params, ResponseParams, self._options)))

    def stream(self, **params: Unpack[ResponseParams]) -> AsyncResponseStream:
        """The response as it is made; use it with ``async with``, or iterate over it. Entering and iterating raise APIError."""
        return AsyncResponseStream(self._sender, _streamed(take(params, ResponseParams, self._options)))

    async def retrieve(self, response_id: str, **options: Unpack[CallOptions]) -> Response:
        """A response that was kept. Raises NotFoundError where it was not, and APIError."""
        return await self._sender.whole(_kept(response_id, take(options, CallOptions, self._options).options))

    async def delete(self, response_id: str, **options: Unpack[CallOptions]) -> DeletedResponse:
        """Keep it no longer. Raises NotFoundError where it was not, and APIError."""
        return await self._sender.whole(_deleted(response_id, take(options, CallOptions, self._options).options))


def _whole(params: Params) -> Ask[Response]:
    kept = params.body.get("store", True)
    return Ask(method="POST", path="/v1/responses", body=params.body, decode=_read, options=params.options, repeatable=not kept)


def _streamed(params: Params) -> Ask[Response]:
    return _whole(Params({**params.body, "stream": True}, params.options)).of_events()


def _kept(response_id: str, options: Options) -> Ask[Response]:
    return Ask(path=_path(response_id), decode=_read, options=options)


def _deleted(response_id: str, options: Options) -> Ask[DeletedResponse]:
    return Ask(method="DELETE", path=_path(response_id), decode=reader(DeletedResponse), options=options, repeatable=False)


def _path(response_id: str) -> str:
    if not response_id:
        raise TypeError("the argument 'response_id' is empty")
    return f"/v1/responses/{in_path(response_id)}"
