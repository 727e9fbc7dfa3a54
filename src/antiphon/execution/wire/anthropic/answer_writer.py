"""Events that belong to no vendor, written as an answer of Anthropic's Messages endpoint.

There, one block follows another, so where a server mixes the pieces of several calls of tools, those of the later ones wait. A call
has no signature there, but the thought before it has.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from antiphon.core.errors import AntiphonError, UpstreamBroken, UpstreamRefused
from antiphon.execution.wire import chat, reading, statuses
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire.answer_ids import MESSAGE, answer_id
from antiphon.execution.wire.anthropic.answer_reader import STATUSES
from antiphon.execution.wire.arguments import Arguments
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.said_errors import of_refused, refused
from antiphon.execution.wire.signatures import at_thoughts, of_call
from antiphon.execution.wire.wrong_values import is_object

_REASONS: Final = {
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_calls": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
}
"""All others are ``end_turn``."""
_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "redacted_thinking": {},
}
"""What a block of each kind holds when it begins."""
_TYPES: Final = {status: name for name, status in STATUSES.items()}


class AnswerWriter:
    """Writes one streamed answer. ``model`` is the caller's name for it; ``request_id`` serves where the server told no id."""

    def __init__(self, model: str, request_id: str) -> None:
        self._model = model
        self._request_id = request_id
        self._began = False
        self._block = -1
        self._open = ""
        self._call = -1
        self._arguments = Arguments()
        self._waiting: deque[Event] = deque()
        self._declined = False
        self._failed = False
        self._finish: neutral.Finished | None = None
        self._counted: neutral.Counted | None = None

    def write(self, events: Iterable[Event]) -> bytes:
        """The server-sent events for these."""
        return b"".join(piece for event in events for piece in self._take(event))

    def fail(self, error: AntiphonError) -> bytes:
        """The event that tells of an error once the answer has begun."""
        return _named("error", msgspec.Raw(render_error(error, self._request_id)[1]))

    def _take(self, event: Event) -> list[bytes]:
        match event:
            case neutral.Began():
                return self._begin(event)
            case neutral.Counted():
                self._counted = event
                return []
            case neutral.Failed():
                self._failed = True
                return [self.fail(refused(event))]
            case neutral.Ended():
                return self._end() if self._began and not self._failed else []
            case neutral.LogProbs() | neutral.Cited():
                return []  # the first cannot be asked for in this dialect, the second be told without what only its vendor knows
        if event.index:
            return []  # nor can more than one choice
        opening = [] if self._began else self._begin(neutral.Began())
        if isinstance(event, neutral.Finished):
            self._finish = event
            return opening
        return opening + self._content(event)

    def _content(self, event: Event) -> list[bytes]:
        """The pieces for what belongs into a block; nothing where it must wait for the end of another."""
        other = not (isinstance(event, neutral.ToolArguments) and event.call == self._call)
        if other and self._open == "tool_use" and (self._waiting or not self._arguments.whole):
            self._waiting.append(event)
            return []
        pieces = self._write(event)
        if self._waiting and self._arguments.whole:
            pieces += self._catch_up()
        return pieces

    def _catch_up(self) -> list[bytes]:
        """Write what waited, as far as the call that is open then lets it."""
        waiting, self._waiting = self._waiting, deque()
        return [piece for event in waiting for piece in self._content(event)]

    def _write(self, event: Event) -> list[bytes]:
        match event:
            case neutral.RefusalDelta():
                self._declined = True
                return [*self._opened("text"), self._delta("text_delta", text=event.text)]
            case neutral.TextDelta():
                return [*self._opened("text"), self._delta("text_delta", text=event.text)]
            case neutral.ThinkingDelta():
                return [*self._opened("thinking"), self._delta("thinking_delta", thinking=event.text)]
            case neutral.ThinkingSignature():
                pieces = [*self._opened("thinking"), self._delta("signature_delta", signature=event.signature)]
                return pieces + self._close()
            case neutral.RedactedThought():
                return [*self._opened("redacted_thinking", data=event.data), *self._close()]
            case neutral.ToolCallBegan():
                pieces = self._signed(event.signature) + self._close() + self._opened("tool_use", id=event.id, name=event.name)
                self._call, self._arguments = event.call, Arguments()
                return pieces
            case neutral.ToolArguments() if event.call == self._call and event.text:
                self._arguments.add(event.text)
                return [self._delta("input_json_delta", partial_json=event.text)]
        return []

    def _begin(self, event: neutral.Began) -> list[bytes]:
        if self._began:
            return []
        self._began = True
        head = _head(event, self._model, self._request_id)
        message = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": _usage(None)}
        return [_named("message_start", {"type": "message_start", "message": message})]

    def _opened(self, kind: str, **fields: Any) -> list[bytes]:
        """What begins a block of this kind, with nothing where one is open."""
        if self._open == kind:
            return []
        pieces = self._close()
        self._block += 1
        self._open = kind
        block = {"type": kind, **fields, **_EMPTY[kind]}
        return [
            *pieces,
            _named("content_block_start", {"type": "content_block_start", "index": self._block, "content_block": block}),
        ]

    def _delta(self, kind: str, **fields: str) -> bytes:
        told = {"type": "content_block_delta", "index": self._block, "delta": {"type": kind, **fields}}
        return _named("content_block_delta", told)

    def _signed(self, signature: str) -> list[bytes]:
        """The thought before a call, with the signature of the call."""
        if not signature:
            return []
        return [*self._opened("thinking"), self._delta("signature_delta", signature=of_call(signature))]

    def _close(self) -> list[bytes]:
        if not self._open:
            return []
        self._open, self._call = "", -1
        return [_named("content_block_stop", {"type": "content_block_stop", "index": self._block})]

    def _end(self) -> list[bytes]:
        pieces = self._write_waiting()
        reason, stop = _stopped(self._finish, declined=self._declined)
        delta = {"stop_reason": reason, "stop_sequence": stop}
        last = {"type": "message_delta", "delta": delta, "usage": _usage(self._counted)}
        return [*pieces, *self._close(), _named("message_delta", last), _named("message_stop", {"type": "message_stop"})]

    def _write_waiting(self) -> list[bytes]:
        """What waits for a call that was never completed goes out as it is, the pieces of each call together."""
        waiting, self._waiting = self._waiting, deque()
        arguments: dict[int, list[neutral.ToolArguments]] = {}
        for event in waiting:
            if isinstance(event, neutral.ToolArguments):
                arguments.setdefault(event.call, []).append(event)
        pieces = [piece for event in arguments.get(self._call, ()) for piece in self._write(event)]
        for event in waiting:
            if not isinstance(event, neutral.ToolArguments):
                pieces += self._write(event)
            if isinstance(event, neutral.ToolCallBegan):
                pieces += [piece for argument in arguments.get(event.call, ()) for piece in self._write(argument)]
        return pieces


def write_whole(events: Iterable[Event], model: str, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body of a whole answer. Raises UpstreamBroken where a call's arguments are not JSON."""
    answer = neutral.answer_of(events)
    if answer.failed is not None:
        return render_error(refused(answer.failed), request_id)
    choice = answer.choices[0] if answer.choices else neutral.Choice()
    declined = any(isinstance(part, chat.Refusal) for part in choice.parts)
    reason, stop = _stopped(choice.finish, declined=declined)
    body = {
        **_head(answer.began, model, request_id),
        "content": [_block(part, cut=reason == "max_tokens") for part in at_thoughts(choice.parts)],
        "stop_reason": reason,
        "stop_sequence": stop,
        "usage": _usage(answer.counted),
    }
    return 200, reading.encode(body)


def _block(part: neutral.AnswerPart, *, cut: bool) -> dict[str, Any]:
    match part:
        case chat.Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case chat.RedactedThinking():
            return {"type": "redacted_thinking", "data": part.data}
        case chat.ToolCall():
            whole = is_object(part.arguments)
            if not whole and not cut:
                raise UpstreamBroken(f"the arguments with which the model called {part.name[:200]} are not the JSON of an object")
            return {
                "type": "tool_use",
                "id": part.id,
                "name": part.name,
                "input": msgspec.Raw(part.arguments.encode()) if whole else {},
            }
    return {"type": "text", "text": part.text}


def _head(began: neutral.Began, model: str, request_id: str) -> dict[str, Any]:
    return {"id": answer_id(MESSAGE, began.id, request_id), "type": "message", "role": "assistant", "model": model}


def _stopped(finish: neutral.Finished | None, *, declined: bool) -> tuple[str, str | None]:
    """Anthropic's reason for the end of an answer, and the sequence that ended it."""
    if declined:
        return "refusal", None
    if finish is None:
        return "end_turn", None
    return _REASONS.get(finish.reason, "end_turn"), finish.stop or None


def _usage(counted: neutral.Counted | None) -> dict[str, Any]:
    if counted is None:
        return {"input_tokens": 0, "output_tokens": 0}
    usage, written = counted.usage, counted.cache_written
    told: dict[str, Any] = {
        "input_tokens": max(0, usage.prompt_tokens - usage.cached_tokens - written),
        "output_tokens": usage.completion_tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cached_tokens,
    }
    if usage.reasoning_tokens:
        told["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return told


def render_error(error: AntiphonError, request_id: str) -> tuple[int, bytes]:
    """HTTP status and body. Of what another dialect's server refused, its own words are kept."""
    mine = neutral.Failed(statuses.status_of(error), str(error))
    failed = of_refused(error) if isinstance(error, UpstreamRefused) else mine
    status = 529 if failed.status == 503 else failed.status
    kind = _TYPES.get(status) or ("invalid_request_error" if status < 500 else "api_error")
    told = {"type": "error", "error": {"type": kind, "message": failed.message}, "request_id": request_id}
    return status, reading.encode(told)


def _named(name: str, told: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), reading.encode(told))
