"""The seams: what one part of Antiphon asks of another, and what every implementation must keep to."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from antiphon.core.audit import AuditEntry, AuditQuery
from antiphon.core.errors import AntiphonError
from antiphon.core.events import CallFinished
from antiphon.core.types import Call, Frame, Headers, Usage
from antiphon.core.usage import UsageQuery, UsageRow


class Sink(Protocol):
    """Takes one answer. ``head`` at most once and first; then frames; then ``end`` or ``fail`` exactly once and last.

    A call that failed before its head was passed on has sent nothing to the caller.
    """

    def head(self, status: int, headers: Headers) -> None: ...
    def frame(self, frame: Frame) -> None: ...
    def end(self, usage: Usage | None) -> None: ...
    def fail(self, error: AntiphonError) -> None: ...


class Handle(Protocol):
    """Holds a running call."""

    def cancel(self, reason: str) -> None:
        """Stop the call in every nested member; the sink hears nothing any more. Calling it again, or late, does nothing."""

    def pause(self) -> None:
        """Stop reading from whoever answers: the caller is slow."""

    def resume(self) -> None:
        """Go on after ``pause``."""


@runtime_checkable
class Model(Protocol):
    """Anything that can answer a call: a replica, a fall-back chain, a cache, a vote of five. Models nest."""

    @property
    def name(self) -> str: ...

    def start(self, call: Call, sink: Sink) -> Handle:
        """Begin to answer. Neither raises nor blocks: what goes wrong is told to ``sink.fail``, maybe before ``start`` returns."""


class Clock(Protocol):
    """Time as an argument, so that tests and the simulator bring their own."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean something."""

    def time(self) -> float:
        """Unix time, seconds."""


class SamplingParams(msgspec.Struct, frozen=True):
    """How an engine chooses tokens. Names and ranges are those of the OpenAI API."""

    max_tokens: int
    """Upper bound of tokens per sequence; at least 1."""
    n: int = 1
    """Sequences generated for the one prompt."""
    temperature: float = 1.0
    """0 is greedy decoding; at most 2."""
    top_p: float = 1.0
    top_k: int = 0
    """0 means all."""
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    logprobs: bool = False
    """Report the log-probability of each chosen token."""
    ignore_eos: bool = False
    json_schema: str | None = None
    """A JSON Schema that the text must satisfy, as JSON text."""
    json_object: bool = False
    """The text must be one JSON object."""
    adapter: str | None = None
    """Name of a LoRA adapter; an engine that has none by that name refuses."""


class EngineInfo(msgspec.Struct, frozen=True):
    """What an engine says of the model that it has loaded."""

    model: str
    context_length: int
    """Tokens, prompt and completion together."""
    vocabulary: int
    chat_template: str
    """Jinja source, empty for a model without one."""
    bos_token: str
    eos_token: str
    eos_token_ids: tuple[int, ...]
    precision: str
    adapters: tuple[str, ...] = ()
    control_tokens: tuple[str, ...] = ()
    """Texts that ``encode`` takes for control tokens, so that the host can keep callers from writing them into a prompt."""


class EngineStats(msgspec.Struct, frozen=True):
    """An engine's load at one moment."""

    running: int
    """Sequences groups being decoded or prefilled."""
    waiting: int
    kv_cache_usage: float
    """Share of the KV cache in use, 0..1."""
    generated_tokens: int
    """Tokens generated since the engine started."""
    prompt_tokens: int = 0
    cached_tokens: int = 0


class TokenListener(Protocol):
    """Hears what an engine generates. All calls come on the event loop that ``start`` was called on, in order."""

    def tokens(self, index: int, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """New tokens of sequence ``index``; ``logprobs`` is empty unless asked for."""

    def finished(self, index: int, reason: str) -> None:
        """Sequence ``index`` ended: ``stop`` (an end token) or ``length``."""

    def done(self, usage: Usage) -> None:
        """All sequences have ended. Last call, exactly once, unless ``failed`` came."""

    def failed(self, error: AntiphonError) -> None:
        """The engine could not go on. Last call."""


class Generation(Protocol):
    """One prompt being answered."""

    def cancel(self) -> None:
        """Free its place and its memory; the listener hears nothing more. The engine's running count falls within a second."""


class Engine(Protocol):
    """Generates tokens from tokens. It knows no text protocol: templates, stop strings and text are its host's work."""

    @property
    def info(self) -> EngineInfo: ...

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``; control tokens written in it are recognised and none are added."""

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for, exactly (a token may be part of a UTF-8 character); empty for control tokens."""

    def start(self, prompt: Sequence[int], params: SamplingParams, listener: TokenListener) -> Generation:
        """Queue a prompt. Raises QueueFull, ContextOverflow or UnsupportedParameter at once; never blocks."""

    def stats(self) -> EngineStats: ...

    def close(self) -> None:
        """Stop stepping, fail what still runs, free the memory. Blocks until the engine's thread has ended."""


class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of ``dimensions`` float32 numbers of unit length per text. Takes milliseconds: not for a data-plane loop."""

    def count_tokens(self, text: str) -> int: ...


class Observer(Protocol):
    """Hears one event per finished call. It must return within microseconds."""

    def call_finished(self, event: CallFinished) -> None: ...


class EventSink(Protocol):
    """Takes bundles of events to where they are recorded."""

    async def send(self, bundle: bytes) -> None:
        """Hand over an ``EventBundle`` as MessagePack. Raises AntiphonError where it may not have been taken."""


class RecordStore(Protocol):
    """Keeps what is known of finished calls. Its methods may block. Each raises AntiphonError where it cannot be done now."""

    def add(self, events: Sequence[CallFinished], once: str = "") -> None:
        """Record calls, all of them or none. What was added under the name ``once`` is not added under it again."""

    def recent(self, limit: int, model: str = "") -> Sequence[CallFinished]:
        """The last calls, latest first; of one model, as callers name it, where ``model`` is not empty."""

    def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """What calls used together, in the order of the dimensions that they are put together by, ``MAX_ROWS`` rows at most."""

    def forget(self, before: float) -> int:
        """Forget the calls that began before a moment, Unix time in seconds; how many they were."""


class AuditTrail(Protocol):
    """Tells what was done, by whom and when. Its methods may block. Each raises AntiphonError where it cannot be done now."""

    def search(self, query: AuditQuery, limit: int) -> Sequence[AuditEntry]:
        """The last records that are asked for, latest first. Raises InvalidRequest where ``after`` is not there."""
