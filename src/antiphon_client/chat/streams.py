"""A streamed chat: its chunks, its text, and in the end the whole answer."""

from antiphon_client.answers import reader
from antiphon_client.chat.answers import ChatCompletion, ChatCompletionChunk
from antiphon_client.gathering import AsyncGatheredStream, GatheredStream, Gathering, TakeChunks
from antiphon_client.transport.ask import Ask
from antiphon_client.transport.async_sender import AsyncSender
from antiphon_client.transport.sender import Sender

_TAKE = TakeChunks(reader(ChatCompletionChunk))


class ChatStream(GatheredStream[ChatCompletionChunk, ChatCompletion]):
    """A streamed chat: iterate over its chunks, or over ``text_stream``; ``get_final_completion`` has all of it."""

    def __init__(self, sender: Sender, ask: Ask[ChatCompletion]) -> None:
        super().__init__(sender, ask, _TAKE, Gathering(ChatCompletion, "chat.completion"))


class AsyncChatStream(AsyncGatheredStream[ChatCompletionChunk, ChatCompletion]):
    """A streamed chat: iterate over its chunks, or over ``text_stream``; ``get_final_completion`` has all of it."""

    def __init__(self, sender: AsyncSender, ask: Ask[ChatCompletion]) -> None:
        super().__init__(sender, ask, _TAKE, Gathering(ChatCompletion, "chat.completion"))
