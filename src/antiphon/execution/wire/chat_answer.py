"""The answer to a chat request as events that belong to no vendor; a whole answer is the same events in one go."""

from collections.abc import Iterable

import msgspec

from antiphon.core.types import Usage
from antiphon.execution.wire.chat import RedactedThinking, Refusal, Text, Thinking, ToolCall


class Began(msgspec.Struct, frozen=True, gc=False):
    """The first event."""

    id: str = ""
    model: str = ""
    created: int = 0
    """Unix time, seconds; 0 where the dialect does not tell it."""


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """More words of choice ``index``."""

    index: int
    text: str


class RefusalDelta(msgspec.Struct, frozen=True, gc=False):
    """More words of a refusal."""

    index: int
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, gc=False):
    """More of what the model thinks."""

    index: int
    text: str


class ThinkingSignature(msgspec.Struct, frozen=True, gc=False):
    """What ends a thought, so that it can be shown to its vendor again."""

    index: int
    signature: str


class RedactedThought(msgspec.Struct, frozen=True, gc=False):
    """An encrypted thought, whole."""

    index: int
    data: str


class ToolCallBegan(msgspec.Struct, frozen=True, gc=False):
    """A call of a tool; ``call`` counts 0, 1, 2 within its choice, whatever the server counted."""

    index: int
    call: int
    id: str
    name: str
    signature: str = ""
    """What its vendor wants back with the call."""


class ToolArguments(msgspec.Struct, frozen=True, gc=False):
    """More of the JSON text of a call's arguments."""

    index: int
    call: int
    text: str


class LogProbs(msgspec.Struct, frozen=True, gc=False):
    """Log-probabilities in OpenAI's shape, JSON."""

    index: int
    raw: msgspec.Raw


class Cited(msgspec.Struct, frozen=True, gc=False):
    """A stretch of a choice's text is another's: characters ``start`` to ``end`` of all its text."""

    index: int
    url: str
    title: str
    start: int
    end: int


class Finished(msgspec.Struct, frozen=True, gc=False):
    """A choice is complete."""

    index: int
    reason: str
    """``stop``, ``length``, ``tool_calls``, ``content_filter``, ``stop_sequence``, ``pause`` or ``refusal``."""
    stop: str = ""
    """The sequence that ended it, where the server tells."""


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What was used, once, behind the last choice."""

    usage: Usage
    cache_written: int = 0
    """Prompt tokens that the server put into its cache; part of ``prompt_tokens``."""
    heard: int = 0
    """Prompt tokens that were sound; part of ``prompt_tokens``."""
    spoken: int = 0
    """Completion tokens that were sound; part of ``completion_tokens``."""


class Failed(msgspec.Struct, frozen=True, gc=False):
    """The server broke off with an error of its own."""

    status: int
    message: str
    code: str = ""
    retry_after: float | None = None
    """Seconds after which the server wants to be asked again."""


class Ended(msgspec.Struct, frozen=True, gc=False):
    """The last event."""


Event = (
    Began
    | TextDelta
    | RefusalDelta
    | ThinkingDelta
    | ThinkingSignature
    | RedactedThought
    | ToolCallBegan
    | ToolArguments
    | LogProbs
    | Cited
    | Finished
    | Counted
    | Failed
    | Ended
)
AnswerPart = Text | Refusal | Thinking | RedactedThinking | ToolCall


class Choice(msgspec.Struct):
    """One of the alternatives of a whole answer."""

    index: int = 0
    parts: list[AnswerPart] = []
    finish: Finished | None = None
    logprobs: list[msgspec.Raw] = []
    citations: list[Cited] = []


class Answer(msgspec.Struct):
    """A whole answer."""

    began: Began = Began()
    choices: list[Choice] = []
    counted: Counted | None = None
    failed: Failed | None = None


def answer_of(events: Iterable[Event]) -> Answer:
    """The answer that the events make up, neighbouring pieces of a kind joined."""
    answer = Answer()
    choices: dict[int, _Gathered] = {}
    for event in events:
        if isinstance(event, Began):
            answer.began = event
        elif isinstance(event, Counted):
            answer.counted = event
        elif isinstance(event, Failed):
            answer.failed = event
        elif not isinstance(event, Ended):
            choices.setdefault(event.index, _Gathered()).take(event)
    answer.choices = [choices[index].choice(index) for index in sorted(choices)]
    return answer


class _Gathered:
    """The pieces of one choice."""

    def __init__(self) -> None:
        self._pieces: list[tuple[type, list[str]]] = []
        self._calls: dict[int, ToolCallBegan] = {}
        self._arguments: dict[int, list[str]] = {}
        self._order: list[int] = []
        self._signatures: dict[int, str] = {}
        self._finish: Finished | None = None
        self._logprobs: list[msgspec.Raw] = []
        self._citations: list[Cited] = []

    def take(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._add(Text, event.text)
            case RefusalDelta():
                self._add(Refusal, event.text)
            case ThinkingDelta():
                self._add(Thinking, event.text)
            case ThinkingSignature():
                last = len(self._pieces) - 1
                if last < 0 or self._pieces[last][0] is not Thinking or last in self._signatures:
                    self._pieces.append((Thinking, []))  # a thought that the vendor keeps to itself
                self._signatures[len(self._pieces) - 1] = event.signature
            case RedactedThought():
                self._pieces.append((RedactedThinking, [event.data]))
            case ToolCallBegan():
                self._calls[event.call] = event
                self._arguments.setdefault(event.call, [])
                self._pieces.append((ToolCall, self._arguments[event.call]))
                self._order.append(event.call)
            case ToolArguments():
                self._arguments.setdefault(event.call, []).append(event.text)
            case LogProbs():
                self._logprobs.append(event.raw)
            case Cited():
                self._citations.append(event)
            case Finished():
                self._finish = event

    def _add(self, kind: type, text: str) -> None:
        last = len(self._pieces) - 1
        if last >= 0 and self._pieces[last][0] is kind and last not in self._signatures:
            self._pieces[last][1].append(text)
        else:
            self._pieces.append((kind, [text]))

    def choice(self, index: int) -> Choice:
        calls = iter(self._order)
        parts: list[AnswerPart] = []
        for place, (kind, texts) in enumerate(self._pieces):
            text = "".join(texts)
            if kind is ToolCall:
                call = self._calls[next(calls)]
                parts.append(ToolCall(call.id, call.name, text or "{}", signature=call.signature))
            elif kind is Thinking:
                parts.append(Thinking(text, self._signatures.get(place, "")))
            elif kind is RedactedThinking:
                parts.append(RedactedThinking(text))
            else:
                parts.append(Text(text) if kind is Text else Refusal(text))
        return Choice(index, parts, self._finish, self._logprobs, self._citations)


def events_of(answer: Answer) -> list[Event]:
    """The events that a whole answer stands for."""
    events: list[Event] = [answer.began]
    for choice in answer.choices:
        calls = 0
        for part in choice.parts:
            events += _events_of_part(choice.index, calls, part)
            calls += isinstance(part, ToolCall)
        events += [LogProbs(choice.index, raw) for raw in choice.logprobs]
        events += choice.citations
        events += [choice.finish] if choice.finish is not None else []
    events += [answer.counted] if answer.counted is not None else []
    events += [answer.failed] if answer.failed is not None else []
    return [*events, Ended()]


def _events_of_part(index: int, call: int, part: AnswerPart) -> list[Event]:
    match part:
        case Text():
            return [TextDelta(index, part.text)]
        case Refusal():
            return [RefusalDelta(index, part.text)]
        case RedactedThinking():
            return [RedactedThought(index, part.data)]
        case Thinking():
            signature = [ThinkingSignature(index, part.signature)] if part.signature else []
            return [ThinkingDelta(index, part.text), *signature]
    began = ToolCallBegan(index, call, part.id, part.name, part.signature)
    return [began, ToolArguments(index, call, part.arguments)]
