"""An answer of Anthropic's Messages endpoint, read into events that belong to no vendor.

Shapes after Anthropic's documentation, "Streaming messages".
"""

from typing import Any, Final

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.anthropic import fields
from antiphon.execution.wire.anthropic.usage import UsageReader
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.said_errors import said
from antiphon.transport import sse

_WHAT: Final = "Anthropic's Messages endpoint"
_REASONS: Final = {
    "end_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
}
STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of each kind of error (Anthropic's documentation, "Errors"), for those that come inside a stream without one."""


class AnswerReader:
    """Reads the events of one streamed answer."""

    def __init__(self) -> None:
        self._ended = False
        self._reason = ""
        self._stop = ""
        self._usage = UsageReader()
        self._calls: dict[int, int] = {}
        self._wordless: dict[int, bytes] = {}
        """Calls whose arguments have not come in pieces yet, with those that came when they began."""

    def feed(self, raw: bytes) -> list[Event]:
        """What whole server-sent events tell. Raises UpstreamBroken where they are not the JSON of an answer."""
        events: list[Event] = []
        for event in sse.parse(raw):
            if self._ended:
                break
            events += self._read(reading.decode_answer(fields.decode_event, event.data.encode(), _WHAT))
        return events

    def end(self) -> list[Event]:
        """What is left once the stream is over. Raises UpstreamBroken where it broke off before the answer was complete."""
        if self._ended:
            return []
        if not self._reason:
            raise UpstreamBroken
        return self._end()

    def read_whole(self, body: bytes) -> list[Event]:
        """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
        message = reading.decode_answer(fields.decode_message, body, _WHAT)
        if message.error is not None:
            return [neutral.Began(), _failed(message.error), neutral.Ended()]
        if message.content is None:
            raise UpstreamBroken("the model's server answered without a content")
        events: list[Event] = [neutral.Began(message.id or "", message.model or "")]
        for index, block in enumerate(message.content):
            events += self._begin(index, block)
            events += self._read(fields.Event("content_block_stop", index))
        self._usage.count(message.usage)
        self._reason, self._stop = message.stop_reason or "", message.stop_sequence or ""
        return [*events, *self._end()]

    def _read(self, event: fields.Event) -> list[Event]:
        match event:
            case fields.Event(type="message_start", message=fields.Message() as message):
                self._usage.count(message.usage)
                return [neutral.Began(message.id or "", message.model or "")]
            case fields.Event(type="content_block_start", content_block=fields.Block() as block):
                return self._begin(event.index, block)
            case fields.Event(type="content_block_delta", delta=fields.Delta() as delta):
                return self._add(event.index, delta)
            case fields.Event(type="content_block_stop") if event.index in self._wordless:
                whole = self._wordless.pop(event.index)
                return [neutral.ToolArguments(0, self._calls[event.index], whole.decode())]
            case fields.Event(type="message_delta"):
                self._usage.count(event.usage)
                if event.delta is not None:
                    self._reason = event.delta.stop_reason or self._reason
                    self._stop = event.delta.stop_sequence or self._stop
            case fields.Event(type="message_stop"):
                return self._end()
            case fields.Event(type="error"):
                self._ended = True
                return [_failed(event.error), neutral.Ended()]
        return []

    def _begin(self, index: int, block: fields.Block) -> list[Event]:
        match block.type:
            case "text" if block.text:
                return [neutral.TextDelta(0, block.text)]
            case "thinking":
                events: list[Event] = [neutral.ThinkingDelta(0, block.thinking)] if block.thinking else []
                return [*events, *([neutral.ThinkingSignature(0, block.signature)] if block.signature else [])]
            case "redacted_thinking":
                return [neutral.RedactedThought(0, block.data or "")]
            case "tool_use":
                call = self._calls[index] = len(self._calls)
                self._wordless[index] = bytes(block.input)
                return [neutral.ToolCallBegan(0, call, block.id or "", block.name or "")]
        return []

    def _add(self, index: int, delta: fields.Delta) -> list[Event]:
        match delta:
            case fields.Delta(type="text_delta", text=str() as text) if text:
                return [neutral.TextDelta(0, text)]
            case fields.Delta(type="thinking_delta", thinking=str() as text) if text:
                return [neutral.ThinkingDelta(0, text)]
            case fields.Delta(type="signature_delta", signature=str() as signature) if signature:
                return [neutral.ThinkingSignature(0, signature)]
            case fields.Delta(type="input_json_delta", partial_json=str() as text) if text and index in self._calls:
                self._wordless.pop(index, None)
                return [neutral.ToolArguments(0, self._calls[index], text)]
        return []

    def _end(self) -> list[Event]:
        self._ended = True
        reason = _REASONS.get(self._reason, "stop")
        finish = neutral.Finished(0, reason, self._stop if reason == "stop_sequence" else "")
        counted = self._usage.counted()
        return [finish, *([counted] if counted is not None else ()), neutral.Ended()]


def read_whole(body: bytes) -> list[Event]:
    """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
    return AnswerReader().read_whole(body)


def _failed(error: Any) -> neutral.Failed:
    failed = said(error, 500)
    return msgspec.structs.replace(failed, status=STATUSES.get(failed.code, 500))
