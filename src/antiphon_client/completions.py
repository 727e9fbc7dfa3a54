"""``client.completions``: texts that a model continues."""

from collections.abc import Sequence
from typing import Any, Required, Unpack

from antiphon_client.answers import Answer, ApiObject, reader
from antiphon_client.gathering import AsyncGatheredStream, GatheredStream, Gathering, TakeChunks
from antiphon_client.params import Params, take
from antiphon_client.resources import AsyncResource, Resource
from antiphon_client.sampling import JsonSchemaFormat, PlainFormat, SamplingParams, StreamOptions
from antiphon_client.transport.ask import Ask
from antiphon_client.transport.async_sender import AsyncSender
from antiphon_client.transport.sender import Sender
from antiphon_client.usage import Usage


class CompletionParams(SamplingParams, total=False):
    """Arguments of a completion."""

    prompt: Required[str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]]
    best_of: int | None
    echo: bool | None
    logprobs: int | None
    suffix: str | None
    response_format: PlainFormat | JsonSchemaFormat | None


class CompletionStreamParams(CompletionParams, total=False):
    """Arguments of a completion that is streamed."""

    stream_options: StreamOptions | None
    """The usage is asked for where this is not given."""


class CompletionLogprobs(ApiObject, frozen=True, kw_only=True, dict=True):
    """Log-probabilities of the answer's tokens."""

    tokens: tuple[str, ...] = ()
    token_logprobs: tuple[float | None, ...] = ()
    text_offset: tuple[int, ...] = ()
    top_logprobs: tuple[dict[str, float] | None, ...] | None = None


class CompletionChoice(ApiObject, frozen=True, kw_only=True, dict=True):
    """One of ``n`` answers, or a piece of it."""

    index: int = 0
    text: str = ""
    finish_reason: str | None = None
    logprobs: CompletionLogprobs | None = None


class Completion(Answer, frozen=True, kw_only=True, dict=True):
    """A continued text, or a piece of one that is streamed; the piece with the usage has no choices."""

    id: str = ""
    created: int = 0
    """Unix time, seconds."""
    model: str = ""
    choices: tuple[CompletionChoice, ...]
    usage: Usage | None = None
    system_fingerprint: str | None = None
    object: str = "text_completion"

    @property
    def text(self) -> str:
        """The text of the first choice."""
        return "".join(choice.text for choice in self.choices if choice.index == 0)

    @property
    def finish_reason(self) -> str | None:
        """Why the first choice ended."""
        return next((choice.finish_reason for choice in self.choices if choice.index == 0), None)


_read = reader(Completion)


_TAKE = TakeChunks(_read)


class CompletionStream(GatheredStream[Completion, Completion]):
    """A text as it is written: iterate over its pieces, or over ``text_stream``; ``get_final_completion`` has all of it."""

    def __init__(self, sender: Sender, ask: Ask[Completion]) -> None:
        super().__init__(sender, ask, _TAKE, Gathering(Completion, "text_completion"))


class AsyncCompletionStream(AsyncGatheredStream[Completion, Completion]):
    """A text as it is written: iterate over its pieces, or over ``text_stream``; ``get_final_completion`` has all of it."""

    def __init__(self, sender: AsyncSender, ask: Ask[Completion]) -> None:
        super().__init__(sender, ask, _TAKE, Gathering(Completion, "text_completion"))


class Completions(Resource):
    """Asks models to continue texts."""

    def create(self, **params: Unpack[CompletionParams]) -> Completion:
        """The whole answer. Raises APIError."""
        return self._sender.whole(_whole(take(params, CompletionParams, self._options)))

    def stream(self, **params: Unpack[CompletionStreamParams]) -> CompletionStream:
        """The answer as it is written; use it with ``with``, or iterate over it. Entering and iterating raise APIError."""
        return CompletionStream(self._sender, _streamed(take(params, CompletionStreamParams, self._options)))


class AsyncCompletions(AsyncResource):
    """Asks models to continue texts."""

    async def create(self, **params: Unpack[CompletionParams]) -> Completion:
        """The whole answer. Raises APIError."""
        return await self._sender.whole(_whole(take(params, CompletionParams, self._options)))

    def stream(self, **params: Unpack[CompletionStreamParams]) -> AsyncCompletionStream:
        """The answer as it is written; use it with ``async with``, or iterate over it. Entering and iterating raise APIError."""
        return AsyncCompletionStream(self._sender, _streamed(take(params, CompletionStreamParams, self._options)))


def _whole(params: Params) -> Ask[Completion]:
    return Ask(method="POST", path="/v1/completions", body=params.body, decode=_read, options=params.options)


def _streamed(params: Params) -> Ask[Completion]:
    body: dict[str, Any] = {"stream_options": {"include_usage": True}, **params.body, "stream": True}
    return _whole(Params(body, params.options)).of_events()
