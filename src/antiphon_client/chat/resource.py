"""``client.chat``: create, stream and parse."""

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack, overload

from antiphon_client.answers import reader
from antiphon_client.chat.answers import ChatCompletion, ChatMessage, ParsedCompletion
from antiphon_client.chat.formats import response_format
from antiphon_client.chat.params import ChatParams, ChatStreamParams, ParseParams
from antiphon_client.chat.streams import AsyncChatStream, ChatStream
from antiphon_client.options import Options
from antiphon_client.params import Params, take
from antiphon_client.parsing import JsonSchema
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.transport.ask import Ask

Wanted = TypeVar("Wanted")

_read = reader(ChatCompletion)


class Chat(Resource):
    """Asks chat models."""

    def create(self, **params: Unpack[ChatParams]) -> ChatCompletion:
        """The whole answer to a conversation. Raises APIError."""
        return self._sender.whole(_whole(take(params, ChatParams, self._options)))

    def stream(self, **params: Unpack[ChatStreamParams]) -> ChatStream:
        """The answer as it is written; use it with ``with``, or iterate over it. Entering and iterating raise APIError."""
        return ChatStream(self._sender, _streamed(take(params, ChatStreamParams, self._options)))

    @overload
    def parse(self, into: type[Wanted], **params: Unpack[ParseParams]) -> ParsedCompletion[Wanted]: ...
    @overload
    def parse(self, into: JsonSchema, **params: Unpack[ParseParams]) -> ParsedCompletion[Any]: ...
    def parse(self, into: type[Any] | JsonSchema, **params: Unpack[ParseParams]) -> ParsedCompletion[Any]:
        """An answer of a type: a msgspec struct, a pydantic model, a dataclass ..., or plain JSON that keeps to a JSON Schema.

        The model is held to the type's schema where its server can do that. Raises APIError, and ParseError where the text is
        not of the type, was cut off, or is a refusal.
        """
        completion = self._sender.whole(_formed(into, params, self._options))
        return ParsedCompletion(completion.parse(into), completion)


class AsyncChat(AsyncResource):
    """Asks chat models."""

    async def create(self, **params: Unpack[ChatParams]) -> ChatCompletion:
        """The whole answer to a conversation. Raises APIError."""
        return await self._sender.whole(_whole(take(params, ChatParams, self._options)))

    def stream(self, **params: Unpack[ChatStreamParams]) -> AsyncChatStream:
        """The answer as it is written; use it with ``async with``, or iterate over it. Entering and iterating raise APIError."""
        return AsyncChatStream(self._sender, _streamed(take(params, ChatStreamParams, self._options)))

    @overload
    async def parse(self, into: type[Wanted], **params: Unpack[ParseParams]) -> ParsedCompletion[Wanted]: ...
    @overload
    async def parse(self, into: JsonSchema, **params: Unpack[ParseParams]) -> ParsedCompletion[Any]: ...
    async def parse(self, into: type[Any] | JsonSchema, **params: Unpack[ParseParams]) -> ParsedCompletion[Any]:
        """An answer of a type: a msgspec struct, a pydantic model, a dataclass ..., or plain JSON that keeps to a JSON Schema.

        The model is held to the type's schema where its server can do that. Raises APIError, and ParseError where the text is
        not of the type, was cut off, or is a refusal.
        """
        completion = await self._sender.whole(_formed(into, params, self._options))
        return ParsedCompletion(completion.parse(into), completion)


def _whole(params: Params) -> Ask[ChatCompletion]:
    body = {**params.body, "messages": [_sent(message) for message in params.body["messages"]]}
    return Ask(method="POST", path="/v1/chat/completions", body=body, decode=_read, options=params.options)


def _streamed(params: Params) -> Ask[ChatCompletion]:
    body = {"stream_options": {"include_usage": True}, **params.body, "stream": True}
    return _whole(Params(body, params.options)).of_events()


def _formed(into: type[Any] | JsonSchema, given: Mapping[str, Any], options: Options) -> Ask[ChatCompletion]:
    params = take(given, ParseParams, options)
    if params.body.get("n", 1) != 1:
        raise TypeError("parse reads one answer: leave n out, or call create and parse the choices")
    return _whole(Params({**params.body, "response_format": response_format(into)}, params.options))


def _sent(message: Any) -> Any:
    return message.to_dict() if isinstance(message, ChatMessage) else message
