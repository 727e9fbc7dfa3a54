"""An answer of Bedrock's Converse and ConverseStream, read into events that belong to no vendor.

``inputTokens`` there leaves out what came from the cache
or went into it; here all of it is part of the prompt, as everywhere else.
"""

from collections.abc import Iterable

import msgspec

from antiphon.core.errors import UpstreamBroken
from antiphon.core.types import Usage
from antiphon.execution.wire import chat_answer as neutral
from antiphon.execution.wire import reading
from antiphon.execution.wire.bedrock import fields
from antiphon.execution.wire.bedrock.frames import Message, messages
from antiphon.execution.wire.chat_answer import Event
from antiphon.execution.wire.reading import UNREADABLE
from antiphon.execution.wire.said_errors import said

_WHAT = "Bedrock's Converse"
_REASONS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
_STATUSES = {
    "validationException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "modelTimeoutException": 408,
    "modelErrorException": 424,
    "modelStreamErrorException": 424,
    "modelNotReadyException": 429,
    "throttlingException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}
"""The status of each exception, for those that come inside a stream without one."""


class AnswerReader:
    """Reads the frames of one streamed answer."""

    def __init__(self) -> None:
        self._ended = False
        self._reason = ""
        self._counted: neutral.Counted | None = None
        self._calls: dict[int, int] = {}
        self._wordless: set[int] = set()
        """Blocks that call a tool and whose arguments have not come yet."""

    def feed(self, raw: bytes) -> list[Event]:
        """What whole frames tell. Raises UpstreamBroken where they are not those of an answer."""
        events: list[Event] = []
        for message in messages(raw):
            if self._ended:
                break
            events += self._read(message)
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
        answer = reading.decode_answer(fields.decode_answer, body, _WHAT)
        message = answer.output.message if answer.output is not None else None
        if message is None or message.content is None:
            raise UpstreamBroken("the model's server answered without a message")
        events: list[Event] = [neutral.Began()]
        for index, block in enumerate(message.content):
            events += self._whole(index, block)
        self._reason = _reason(answer.stop_reason or "") or "stop"
        self._counted = _counted(answer.usage)
        return [*events, *self._end()]

    def _read(self, message: Message) -> Iterable[Event]:
        if message.kind != "event":
            self._ended = True
            return [_failed(message), neutral.Ended()]
        if message.name == "messageStart":
            return [neutral.Began()]
        event = reading.decode_answer(fields.decode_event, message.payload, _WHAT)
        index = event.content_block_index
        match message.name:
            case "contentBlockStart" if event.start is not None and event.start.tool_use is not None:
                self._wordless.add(index)
                return [self._called(index, event.start.tool_use)]
            case "contentBlockDelta" if event.delta is not None:
                return self._piece(index, event.delta)
            case "contentBlockStop" if index in self._wordless:
                self._wordless.discard(index)
                return [neutral.ToolArguments(0, self._calls[index], "{}")]
            case "messageStop":
                self._reason = _reason(event.stop_reason or "")
            case "metadata":
                self._counted = _counted(event.usage)
        return []

    def _called(self, index: int, told: fields.ToolUse) -> Event:
        call = self._calls[index] = len(self._calls)
        return neutral.ToolCallBegan(0, call, told.tool_use_id, told.name)

    def _piece(self, index: int, delta: fields.Block) -> list[Event]:
        if delta.text:
            return [neutral.TextDelta(0, delta.text)]
        if delta.tool_use is not None:
            text = reading.decode_answer(fields.decode_text, bytes(delta.tool_use.input), _WHAT)
            if not text or index not in self._calls:
                return []
            self._wordless.discard(index)
            return [neutral.ToolArguments(0, self._calls[index], text)]
        return _thought(delta.reasoning_content)

    def _whole(self, index: int, block: fields.Block) -> list[Event]:
        if block.text:
            return [neutral.TextDelta(0, block.text)]
        if block.tool_use is not None:
            began = self._called(index, block.tool_use)
            return [began, neutral.ToolArguments(0, self._calls[index], bytes(block.tool_use.input).decode())]
        if block.citations_content is not None:
            return [neutral.TextDelta(0, cited.text) for cited in block.citations_content.content if cited.text]
        return _thought(block.reasoning_content)

    def _end(self) -> list[Event]:
        self._ended = True
        counted = [self._counted] if self._counted is not None else []
        return [neutral.Finished(0, self._reason), *counted, neutral.Ended()]


def read_whole(body: bytes) -> list[Event]:
    """The events of an answer that was not streamed. Raises UpstreamBroken where it is none."""
    return AnswerReader().read_whole(body)


def _thought(told: fields.Reasoning | None) -> list[Event]:
    if told is None:
        return []
    text = told.reasoning_text.text if told.reasoning_text is not None else told.text
    signature = told.reasoning_text.signature if told.reasoning_text is not None else told.signature
    return [
        *([neutral.ThinkingDelta(0, text)] if text else []),
        *([neutral.ThinkingSignature(0, signature)] if signature else []),
        *([neutral.RedactedThought(0, told.redacted_content)] if told.redacted_content else []),
    ]


def _reason(told: str) -> str:
    """Our word for why the answer ended. Raises UpstreamBroken where it did because the model spoiled it."""
    if told.startswith("malformed_"):
        raise UpstreamBroken(f'the model\'s server broke its answer off as "{told[:200]}"')
    return _REASONS.get(told, "stop") if told else ""


def _counted(raw: msgspec.Raw) -> neutral.Counted | None:
    try:
        usage = fields.decode_usage(raw)
    except msgspec.ValidationError:
        return None  # what is no count is not told on
    if usage is None:
        return None
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_write_input_tokens or 0
    prompt, completion = (usage.input_tokens or 0) + cached + written, usage.output_tokens or 0
    return neutral.Counted(Usage(prompt, completion, prompt + completion, cached), written)


def _failed(message: Message) -> neutral.Failed:
    status = _STATUSES.get(message.name, 500)
    try:
        told = fields.decode_exception(message.payload)
    except UNREADABLE:
        return said({"code": message.name, "message": message.payload.decode("utf-8", "replace")}, status)
    original = told.original_status_code
    if original is not None and 400 <= original < 600:
        status = original
    return said({"code": message.name, "message": told.message or told.original_message}, status)
