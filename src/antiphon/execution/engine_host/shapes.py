"""The two endpoints' ways to write an answer: as one object, or as a stream of events."""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from antiphon.core.types import Usage
from antiphon.execution.engine_host.responses import (
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    ChatDelta,
    ChatLogprobs,
    ChatMessage,
    Completion,
    CompletionChoice,
    CompletionLogprobs,
    UsageObject,
)
from antiphon.execution.engine_host.sequence import Piece, Token

_encode = msgspec.json.Encoder().encode


class Answered(msgspec.Struct):
    """One sequence of an answer that is given whole."""

    text: list[str] = []
    tokens: list[Token] = []
    reason: str = ""


class Shape(ABC):
    """Writes one call's answer. Id, time and model are the same in all of its events."""

    def __init__(self, model: str, fingerprint: str, *, logprobs: bool, include_usage: bool) -> None:
        self.id = self.prefix + uuid.uuid4().hex
        self.created = int(time.time())
        self.model = model
        self.fingerprint = fingerprint
        self.logprobs = logprobs
        self.include_usage = include_usage
        self._no_usage = None if include_usage else UNSET

    prefix: str

    @abstractmethod
    def opening(self, index: int) -> bytes:
        """The event that begins a sequence; none at an endpoint without roles."""

    @abstractmethod
    def piece(self, index: int, piece: Piece) -> bytes:
        """The event for a piece of text."""

    @abstractmethod
    def closing(self, index: int, reason: str) -> bytes:
        """The event that ends a sequence."""

    @abstractmethod
    def usage(self, usage: Usage) -> bytes:
        """The event that tells the usage."""

    @abstractmethod
    def whole(self, answers: Sequence[Answered], usage: Usage) -> bytes:
        """The answer as one object."""


class ChatShape(Shape):
    """``/v1/chat/completions``."""

    prefix = "chatcmpl-"

    def opening(self, index: int) -> bytes:
        return self._event(ChatChunkChoice(index, ChatDelta(role="assistant", content="", refusal=None)))

    def piece(self, index: int, piece: Piece) -> bytes:
        logprobs = ChatLogprobs.of(piece.tokens) if self.logprobs else None
        return self._event(ChatChunkChoice(index, ChatDelta(content=piece.text), logprobs))

    def closing(self, index: int, reason: str) -> bytes:
        return self._event(ChatChunkChoice(index, ChatDelta(), None, reason))

    def usage(self, usage: Usage) -> bytes:
        return self._event(usage=usage)

    def whole(self, answers: Sequence[Answered], usage: Usage) -> bytes:
        choices = [
            ChatChoice(
                index, ChatMessage("".join(answer.text)), ChatLogprobs.of(answer.tokens) if self.logprobs else None, answer.reason
            )
            for index, answer in enumerate(answers)
        ]
        return _encode(
            ChatCompletion(self.id, "chat.completion", self.created, self.model, choices, UsageObject.of(usage), self.fingerprint)
        )

    def _event(self, *choices: ChatChunkChoice, usage: Usage | None = None) -> bytes:
        told = self._no_usage if usage is None else UsageObject.of(usage)
        chunk = ChatChunk(self.id, "chat.completion.chunk", self.created, self.model, self.fingerprint, choices, told)
        return b"data: %b\n\n" % _encode(chunk)


class CompletionShape(Shape):
    """``/v1/completions``."""

    prefix = "cmpl-"

    def opening(self, index: int) -> bytes:
        return b""

    def piece(self, index: int, piece: Piece) -> bytes:
        logprobs = CompletionLogprobs.of(piece.tokens) if self.logprobs else None
        return self._event(CompletionChoice(index, piece.text, logprobs))

    def closing(self, index: int, reason: str) -> bytes:
        return self._event(CompletionChoice(index, "", None, reason))

    def usage(self, usage: Usage) -> bytes:
        return self._event(usage=usage)

    def whole(self, answers: Sequence[Answered], usage: Usage) -> bytes:
        choices = tuple(
            CompletionChoice(
                index, "".join(answer.text), CompletionLogprobs.of(answer.tokens) if self.logprobs else None, answer.reason
            )
            for index, answer in enumerate(answers)
        )
        return _encode(self._completion(choices, UsageObject.of(usage)))

    def _event(self, *choices: CompletionChoice, usage: Usage | None = None) -> bytes:
        return b"data: %b\n\n" % _encode(self._completion(choices, self._no_usage if usage is None else UsageObject.of(usage)))

    def _completion(self, choices: tuple[CompletionChoice, ...], usage: UsageObject | UnsetType | None) -> Completion:
        return Completion(self.id, "text_completion", self.created, self.model, self.fingerprint, choices, usage)
